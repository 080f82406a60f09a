"""A real server that carries out the operations of a program."""
import json
import signal
import time

from encoding import TYPES, Encoding
from model import STEPS_SHOWN, USERS
from session import NIL, TABLE, Refused, Session, Stream, batch_bytes, entity, entity_value
from world import Entity, World

REASONS = ("edited_by_other", "not_alive", "component_missing", "component_exists", "worked_on_by_other", "id_released",
           "would_be_circle")
UNDO_FIELDS = ("label", "done", "passed_over", "nil_references", "other_parents", "other_names")


class ServedWorld(Encoding):
    def __init__(self, folder, programs):
        super().__init__()
        self.folder, self.level = folder, programs.level
        self.schema = programs.session.read_bytes()
        self.tokens = {}
        self.serve()
        self.connect("cleo")
        for user in ("anna", "ben"):
            self.tokens[user] = self.sessions["cleo"].ask("CreateToken", {"name": user, "role": 2})["token"]
        self.connect_all()

    # ---- the server and its sessions -----------------------------------------------------------

    def serve(self):
        self.process = self.folder.serve("w.muster", "--schema", self.level, "--autosave", "0")
        beside = json.loads((self.folder.path / "w.muster-server.json").read_text())
        self.address, self.own_token = beside["address"], beside["token"]

    def connect_all(self):
        for name in USERS:
            self.connect(name)

    def connect(self, name):
        if name in self.sessions:
            self.sessions[name].close()
        for symbol in self.unborn.pop(name, ()):  # the ids that a session has not used are returned
            del self.ids[symbol]
        self.unborn[name] = set()
        session = Session(Stream(self.address), self.schema)
        session.hello(self.own_token if USERS[name] == 0 else self.tokens[name.rstrip("2")])
        session.get_schema()
        self.sessions[name] = session

    def apply(self, operation):
        """The answer to an operation, as the model gives it."""
        name, verb, argument = operation
        if name == "-":
            getattr(self, verb)()
            return {}
        if verb == "reconnect":
            self.connect(name)
            return {}
        session = self.sessions[name]
        try:
            if verb in ("undo", "redo"):
                return self.undo(session, verb, argument)
            if verb == "step":
                data = b"".join(batch_bytes(session.types, self.batch(name, *each)) for each in argument["batches"])
                value = {"batches": data, "label": argument.get("label", ""), "gesture": argument.get("gesture", 0)}
                self.ack = session.push("muster.Step", NIL, value, kind=TABLE)
                # An entity that the Step also destroys is in no content, but its id is used.
                used = {symbol for _, messages in argument["batches"] for each in messages
                        for symbol in each.get("ids", [each.get("target")])}
                for unborn in self.unborn.values():
                    unborn -= used
            else:
                self.ack = session.push_batch(self.batch(name, verb, argument))
        except Refused as refusal:
            if verb in ("undo", "redo") and refusal.fault["code"] == 104:
                return {"nothing": True}
            return {"refused": [refusal.fault["reason"]]}
        return {"refused": ["dead_entity"] if self.ack["dead"] else []}

    def restart(self):
        self.folder.stop(self.process)
        self.serve()
        self.connect_all()

    def kill(self):
        session = self.sessions["cleo"]
        through = session.ask("GetInfo", {})["sequence"]
        until = time.monotonic() + 20
        while session.ask("GetInfo", {})["durable_sequence"] < through:
            assert time.monotonic() < until, "the inputs do not become durable"
            time.sleep(0.01)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)
        self.serve()
        self.connect_all()

    def save(self):
        self.sessions["cleo"].ask("Save", {})

    def droptexts(self):
        self.sessions["cleo"].ask("DropTexts", {})

    # ---- undo and redo -------------------------------------------------------------------------

    def undo(self, session, verb, argument):
        value = {"act": ("undo", "redo").index(verb), "dry": argument.get("dry", 0),
                 "on_conflict": ("skip", "overwrite").index(argument.get("on_conflict", "skip"))}
        undone = session.ask("Undo", value)
        assert undone["act"] == value["act"], undone
        skipped = zip(undone["skipped_reasons"], map(entity, undone["skipped_entities"]), undone["skipped_components"],
                      undone["skipped_fields"], undone["skipped_users"], undone["skipped_mine"], undone["skipped_theirs"], strict=True)
        return {name: undone[name] for name in UNDO_FIELDS} | {"done": undone["done"] > 0, "skipped": sorted(
            {(REASONS[reason], self.symbols.get(of, str(of)) if of != NIL else "", TYPES.get(component, ""), field, user, mine, theirs)
             for reason, of, component, field, user, mine, theirs in skipped}, key=repr)}

    def as_text(self, value):
        """A value as the server writes it into an answer."""
        if isinstance(value, dict):
            return ", ".join(self.as_text(each) for each in value.values())
        if isinstance(value, str) and value.startswith("@"):
            return "{}:{}".format(*self.ids[value[1:]])
        return "nil" if value is None else f"{value:g}" if isinstance(value, (int, float)) else value

    def expected(self, answer):
        """The model's answer with its values as text."""
        if "skipped" not in answer:
            return answer
        return answer | {"done": answer["done"] > 0, "skipped": sorted({
            (*skip[:5], *(self.as_text(each) if skip[3] and skip[1] and skip[0] == "edited_by_other" else "" for each in skip[5:]))
            for skip in answer["skipped"]}, key=repr)}

    def history(self, name, redo_steps):
        """The numbers of steps, and each of the next steps as in Model.history."""
        offset = max(0, redo_steps - STEPS_SHOWN)
        page = self.sessions[name].ask("GetHistory", {"offset": offset, "limit": redo_steps - offset + STEPS_SHOWN})
        steps = zip(page["is_redo"], page["labels"], strict=True)
        return [page["undo_steps"], page["redo_steps"], *steps]

    # ---- the content ---------------------------------------------------------------------------

    def content(self):
        session, world = self.sessions["ben"], World()
        found = session.ask("Find", {"limit": 10000})["entities"]
        requests = []
        for each in found:
            requests.append(session.next_request())
            session.control("Show", {"entity": each}, requests[-1])
        for pair, request in zip(map(entity, found), requests, strict=True):
            frames = session.answer(request)
            value = frames[0].batch.messages[0].value
            rows = frames[1].batch.messages[0].rows if len(frames) > 1 else {}
            symbol, parent = self.symbol_of(pair), value["parent"] and self.symbol_of(entity(value["parent"]))
            world.entities[symbol] = Entity(symbol, value["name"], parent, [], {
                name.removeprefix("level."): self.properties(name.removeprefix("level."), row)
                for name, row in rows.items() if name != "muster.Name"})
            for unborn in self.unborn.values():
                unborn.discard(symbol)
            if value["child_count"]:
                children = session.ask("ListChildren", {"entity": entity_value(pair), "limit": 10000})["entities"]
                world.entities[symbol].children = [self.symbol_of(entity(each)) for each in children]
        for name in session.ask("ListTemplates", {})["names"]:
            world.templates[name] = self.nodes(session.ask("GetTemplate", {"name": name}))
        return world.content()

    def symbol_of(self, pair):
        return self.symbols.get(pair, f"{pair[0]}:{pair[1]}")
