"""Turns operations into batches for a server, and values from a server into plain values."""
from fields import fingerprint, located
from flat import read_struct, struct_bytes
from session import EACH, NIL, SHARED, TABLE, Batch, Message, entity, entity_value, hash32
from world import COMPONENTS

NAMESPACE = "level."
OWNERS = {"a": "anna", "q": "anna2", "b": "ben", "c": "cleo"}
CLASHES = ("refuse", "suffix")
MODES = ("add_or_replace", "add", "replace")
TYPES = {hash32(NAMESPACE + each): each for each in COMPONENTS}


class Encoding:
    """Knows the ids of the symbols and the sessions to which unused ids are granted."""

    def __init__(self):
        self.ids, self.symbols = {}, {}  # symbol -> id, and back
        self.sessions, self.unborn = {}, {}

    # ---- symbols and values --------------------------------------------------------------------

    def id_of(self, symbol, name=None):
        """The id of a symbol. A new symbol gets an id that is granted to session `name`."""
        if symbol is None:
            return NIL
        if symbol not in self.ids:
            name = name or OWNERS[symbol[0]]
            self.ids[symbol] = self.sessions[name].next_id()
            former = self.symbols.get(self.ids[symbol])
            assert former not in self.ids, f"{self.ids[symbol]}, which was {former}, is granted again"
            self.symbols[self.ids[symbol]] = symbol
            self.unborn[name].add(symbol)
        return self.ids[symbol]

    def value_id(self, symbol):
        return entity_value(self.id_of(symbol))

    def to_server(self, session, value):
        """A plain value as a field has it."""
        if isinstance(value, dict):
            return {name: self.to_server(session, each) for name, each in value.items()}
        if value is None or isinstance(value, str) and value.startswith("#"):
            return entity_value(NIL)
        if isinstance(value, str):
            return self.value_id(value[1:]) if value.startswith("@") else session.text(value)
        return value

    def component(self, session, component, given):
        """The value of a whole component; what is not given has its default."""
        value = {}
        for name, default in COMPONENTS[component].items():
            part = self.to_server(session, given.get(name, default))
            if name.endswith("]"):
                value.setdefault(name.split("[")[0], []).append(part)
            else:
                value[name] = part
        return value

    def rows(self, session, rows):
        return {NAMESPACE + each: self.component(session, each, given) for each, given in (rows or {}).items()}

    def from_server(self, value, is_text=False):
        if isinstance(value, dict) and set(value) == {"index", "generation"}:
            pair = entity(value)
            return None if pair == NIL else "@" + self.symbols.get(pair, f"{pair[0]}:{pair[1]}")
        if isinstance(value, dict):
            return {name: self.from_server(each) for name, each in value.items()}
        return self.sessions["ben"].text_of(value) if is_text else value

    def properties(self, component, value):
        """A component of the server with the elements of arrays as properties."""
        if not COMPONENTS[component]:
            return {}
        found = {}
        for name, each in value.items():
            if isinstance(each, list):
                found |= {f"{name}[{i}]": self.from_server(element) for i, element in enumerate(each)}
            else:
                found[name] = self.from_server(each, name == "title")
        return found

    # ---- batches -------------------------------------------------------------------------------

    def batch(self, name, verb, messages):
        session = self.sessions[name]
        return getattr(self, "batch_of_" + verb)(session, name, messages)

    def each(self, session, type_name, messages, value_of):
        return Batch(type_name, EACH, [Message(self.id_of(each["target"]), value_of(each), self.rows(session, each.get("rows")))
                                       for each in messages])

    def row_value(self, session, message):
        return {"parent": self.value_id(message.get("parent")), "before": self.value_id(message.get("before")),
                "name": session.text(message.get("name", "")), "clash": CLASHES.index(message.get("clash", "refuse"))}

    def batch_of_create(self, session, name, messages):
        for each in messages:
            self.id_of(each["target"], name)
        return self.each(session, "muster.Create", messages, lambda each: self.row_value(session, each))

    def batch_of_set(self, session, _name, messages):
        return self.each(session, "muster.Set", messages, lambda each: {"mode": MODES.index(each.get("mode", MODES[0]))})

    def batch_of_remove(self, session, _name, messages):
        return self.each(session, "muster.Remove", messages, lambda each: {"component": hash32(NAMESPACE + each["component"])})

    def batch_of_destroy(self, session, _name, messages):
        return self.each(session, "muster.Destroy", messages, lambda _each: {})

    def batch_of_reparent(self, session, _name, messages):
        return self.each(session, "muster.Reparent", messages, lambda each: {
            "parent": self.value_id(each.get("parent")), "before": self.value_id(each.get("before"))})

    def batch_of_rename(self, session, _name, messages):
        return self.each(session, "muster.Rename", messages, lambda each: {
            "name": session.text(each.get("name", "")), "clash": CLASHES.index(each.get("clash", "refuse"))})

    def field_bytes(self, session, component, path, value):
        """The bytes of a field, cut out of a component that has this value there."""
        first, *inner = path.split(".")
        given = {f"{first}[{i}]": each for i, each in enumerate(value)} if isinstance(value, list) else \
            {first: {inner[0]: value} if inner else value}
        data = struct_bytes(session.types.by_name, NAMESPACE + component, self.component(session, component, given))
        offset, size = located(session.types.by_name, NAMESPACE + component, path)
        return data[offset:offset + size]

    def field_value(self, session, message, value):
        data = self.field_bytes(session, message["component"], message["field"], value)
        return {"component": hash32(NAMESPACE + message["component"]), "field": hash32(message["field"]), "bytes": len(data),
                "value": data.ljust(64, b"\0")}

    def batch_of_set_field(self, session, _name, messages):
        return self.each(session, "muster.SetField", messages, lambda each: self.field_value(session, each, each["value"]))

    def batch_of_set_field_if(self, session, _name, messages):
        return self.each(session, "muster.SetFieldIf", messages, lambda each: {
            "set": self.field_value(session, each, each["value"]),
            "expected": self.field_value(session, each, each["expected"])["value"]})

    def batch_of_spawn(self, session, name, messages):
        message, = messages
        value = self.row_value(session, message) | {"what": session.text(message["what"])}
        return Batch("muster.Spawn", SHARED, [Message(self.id_of(each, name), value, self.rows(session, message.get("rows")))
                                              for each in message["ids"]])

    def batch_of_merge(self, session, name, messages):
        message, = messages
        return Batch("muster.MergeTemplate", SHARED, [Message(self.id_of(each, name), {"what": session.text(message["what"])}, {})
                                                      for each in message["ids"]])

    def batch_of_define(self, session, _name, messages):
        return Batch("muster.DefineTemplate", TABLE, [Message(NIL, self.definition(session, **each), {}) for each in messages])

    def definition(self, session, name, nodes):
        texts = sorted({given["title"] for node in nodes for given in node["components"].values() if given.get("title")})
        return {"name": name, "texts": texts, "nodes": [
            {"parent": node["parent"], "name": node["name"], "messages": [],
             "components": [self.template_value(session, each, node["components"][each])
                            for each in sorted(node["components"], key=lambda each: hash32(NAMESPACE + each))]}
            for node in nodes]}

    def template_value(self, session, component, given):
        """A component of a template, and where its given properties and references are."""
        types, name = session.types.by_name, NAMESPACE + component
        spans, references = [], []
        for path in given:
            spans.append(located(types, name, path))
            inner = [(f"{path}.{each}", given[path][each]) for each in given[path]] if isinstance(given[path], dict) \
                else [(path, given[path])]
            references += [(located(types, name, each)[0], int(value[1:])) for each, value in inner
                           if isinstance(value, str) and value.startswith("#")]
        return {"type": hash32(name), "fingerprint": fingerprint(types, name),
                "value": struct_bytes(types, name, self.component(session, component, given)),
                "given": [{"offset": offset, "bytes": size} for offset, size in sorted(spans)],
                "references": [{"offset": offset, "node": node} for offset, node in sorted(references)]}

    def nodes(self, definition):
        """The nodes of a template that a server has, in the form of World.define."""
        types = self.sessions["ben"].types.by_name
        return [{"parent": node["parent"], "name": node["name"],
                 "components": {TYPES[each["type"]]: self.given(types, TYPES[each["type"]], each) for each in node["components"]}}
                for node in definition["nodes"]]

    def given(self, types, component, value):
        given = set()
        for span in value["given"]:
            given |= set(range(span["offset"], span["offset"] + span["bytes"]))
        nodes = {each["offset"]: f"#{each['node']}" for each in value["references"]}
        whole = self.properties(component, read_struct(types, NAMESPACE + component, value["value"]))
        result = {}
        for path in whole:
            offset, size = located(types, NAMESPACE + component, path)
            if not given >= set(range(offset, offset + size)):
                continue
            result[path] = nodes.get(offset, whole[path])
            if isinstance(whole[path], dict):
                result[path] = {inner: nodes.get(located(types, NAMESPACE + component, f"{path}.{inner}")[0], each)
                                for inner, each in whole[path].items()}
        return result
