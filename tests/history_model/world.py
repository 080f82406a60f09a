"""A naive world: entities, templates, and the edits that change them. Every edit returns its parts.

docs/undo.md explains edits and parts. An entity is named by a symbol, such as "a3", instead of an
id. A value is a dict from properties to plain values: {"health": 3, "at": {"x": 0.0, "y": 1.0},
"slots[0]": {...}}. A reference is "@" and a symbol, or None for nil. Everything is copied whenever
that is simpler than sharing.
"""
import copy
import dataclasses

# The defaults of the components in level.fbs. The elements of an array are separate properties.
SLOT = {"count": 0, "item": None}
COMPONENTS = {
    "Aim": {"target": None, "others[0]": None, "others[1]": None},
    "Bag": {"slots[0]": SLOT, "slots[1]": SLOT, "slots[2]": SLOT, "marks[0]": 0, "marks[1]": 0},
    "Body": {"health": 100, "at": {"x": 0.0, "y": 0.0}, "title": ""},
    "Frozen": {},
    "Shield": {"left": 0},
}


class Refused(Exception):
    """An edit that the world refuses; the text is the reason in the Fault."""


@dataclasses.dataclass
class Entity:
    symbol: str
    name: str
    parent: "str | None"
    children: list
    components: dict

    def copied(self):
        return Entity(self.symbol, self.name, self.parent, list(self.children),
                      {component: dict(value) for component, value in self.components.items()})


@dataclasses.dataclass
class Place:
    """A parent, and the siblings after and before the entity. Roots have no order."""
    parent: "str | None"
    following: "str | None" = None
    preceding: "str | None" = None
    ancestors: tuple = ()  # of the parent, the nearest first

    def same(self, other):
        return (self.parent, self.following) == (other.parent, other.following)


@dataclasses.dataclass
class Part:
    """One part of an edit. `before` and `after` are the values of the place that it concerns."""
    kind: str
    entity: str = ""
    component: str = ""
    property: str = ""  # or the name of a template
    before: object = None
    after: object = None
    place: "Place | None" = None  # of a destroyed entity
    sequence: int = 0

    def key(self):
        return self.kind, self.entity, self.component, self.property


def full(component, given):
    """A whole value of which only some properties are given."""
    return copy.deepcopy(COMPONENTS[component] | given)


def names_of(field):
    """The steps of a path: "slots[1].count" consists of the property "slots[1]" and ["count"]."""
    first, *rest = field.split(".")
    return first, rest


def elements_of(component, array):
    return [each for each in COMPONENTS[component] if each.startswith(array + "[")]


class World:
    def __init__(self):
        self.entities = {}
        self.templates = {}
        self.used = set()  # every symbol that was ever an entity

    def copied(self):
        """A copy that shares only values of properties, which are replaced and never changed."""
        world = World()
        world.entities = {symbol: each.copied() for symbol, each in self.entities.items()}
        world.templates = dict(self.templates)
        world.used = set(self.used)
        return world

    # ---- looking -------------------------------------------------------------------------------

    def alive(self, symbol):
        return symbol in self.entities

    def need(self, symbol):
        if not self.alive(symbol):
            raise Refused("dead_entity")
        return self.entities[symbol]

    def siblings(self, parent):
        """The children of an entity in order, or the roots."""
        if parent is None:
            return sorted(each.symbol for each in self.entities.values() if each.parent is None)
        return self.entities[parent].children

    def subtree(self, symbol):
        """The entity and everything below it, parents before children."""
        found = [symbol]
        for child in self.entities[symbol].children:
            found += self.subtree(child)
        return found

    def place_of(self, symbol):
        parent = self.entities[symbol].parent
        if parent is None:
            return Place(None)
        row = self.siblings(parent)
        at = row.index(symbol)
        return Place(parent, row[at + 1] if at + 1 < len(row) else None, row[at - 1] if at else None,
                     tuple(self.ancestors(parent)))

    def ancestors(self, symbol):
        parent = self.entities[symbol].parent
        return [] if parent is None else [parent, *self.ancestors(parent)]

    def name_is_taken(self, parent, name, but=None):
        return name != "" and any(self.entities[each].name == name
                                  for each in self.siblings(parent) if each != but)

    def free_name(self, parents, name, but=None):
        """The name, or the name with the next suffix that is free under all of these parents."""
        candidate, number = name, 2
        while any(self.name_is_taken(parent, candidate, but) for parent in parents):
            candidate, number = f"{name}~{number}", number + 1
        return candidate

    def content(self):
        """Ids, values, names and the order of children as text, a line for each entity."""
        lines = []
        for symbol in sorted(self.entities):
            each = self.entities[symbol]
            lines.append(f"{symbol} {each.name!r} under {each.parent} children {' '.join(each.children)}")
            lines += shown_components(each.components)
        for name in sorted(self.templates):
            lines.append(f"template {name}")
            for node in self.templates[name]:
                lines += [f" node {node['name']!r} under {node['parent']}", *shown_components(node["components"])]
        return "\n".join(lines) + "\n"

    # ---- changing, without any check -----------------------------------------------------------

    def link(self, symbol, place):
        """Puts an entity without a parent at a place, as docs/undo.md defines "the same place"."""
        self.entities[symbol].parent = place.parent
        if place.parent is None:
            return
        row = self.entities[place.parent].children
        if place.following in row:
            row.insert(row.index(place.following), symbol)
        elif place.preceding in row:
            row.insert(row.index(place.preceding) + 1, symbol)
        else:
            row.append(symbol)

    def unlink(self, symbol):
        parent = self.entities[symbol].parent
        if parent is not None:
            self.entities[parent].children.remove(symbol)
        self.entities[symbol].parent = None

    def add_entity(self, symbol, name, place):
        self.entities[symbol] = Entity(symbol, name, None, [], {})
        self.used.add(symbol)
        self.link(symbol, place)

    def move(self, symbol, place):
        before = self.place_of(symbol)
        self.unlink(symbol)
        self.link(symbol, place)
        after = self.place_of(symbol)
        return [] if before.same(after) else [Part("moved", symbol, before=before, after=after)]

    def give_name(self, symbol, name):
        before, self.entities[symbol].name = self.entities[symbol].name, name
        return [] if before == name else [Part("renamed", symbol, before=before, after=name)]

    def write_property(self, symbol, component, name, value):
        values = self.entities[symbol].components[component]
        before, values[name] = values[name], copy.deepcopy(value)
        return [] if before == value else [Part("field", symbol, component, name, before, copy.deepcopy(value))]

    def add_component(self, symbol, component, value):
        self.entities[symbol].components[component] = copy.deepcopy(value)
        return [Part("added", symbol, component, after=copy.deepcopy(value))]

    def take_component(self, symbol, component):
        return [Part("removed", symbol, component, before=self.entities[symbol].components.pop(component))]

    def take_subtree(self, symbol):
        """Destroys an entity and everything below it. The part contains copies of all of them."""
        place = self.place_of(symbol)
        entities = [self.entities[each].copied() for each in self.subtree(symbol)]
        self.unlink(symbol)
        for each in entities:
            del self.entities[each.symbol]
        return [Part("destroyed", symbol, before=entities, place=place)]

    def put_subtree(self, entities, name, place):
        """Revives what take_subtree destroyed."""
        root = entities[0].symbol
        for each in entities:
            self.entities[each.symbol] = each.copied()
        self.entities[root].name = name
        self.entities[root].parent = None
        self.link(root, place)
        return [Part("created", root)]

    def define_template(self, name, nodes):
        before = self.templates.pop(name, None)
        if nodes:
            self.templates[name] = copy.deepcopy(nodes)
        after = self.templates.get(name)
        return [] if before == after else [Part("template", property=name, before=before, after=after)]

    # ---- edits ---------------------------------------------------------------------------------

    def check_row(self, parent, before):
        if parent is not None:
            self.need(parent)
        if before is not None and (parent is None or before not in self.siblings(parent)):
            raise Refused("before_is_no_child")

    def chosen_name(self, parent, name, clash, but=None):
        if not self.name_is_taken(parent, name, but):
            return name
        if clash == "refuse":
            raise Refused("name_taken")
        return self.free_name([parent], name)

    def create(self, target, parent=None, before=None, name="", clash="refuse", rows=None):
        if target in self.used:
            raise Refused("id_not_granted")
        self.check_row(parent, before)
        self.add_entity(target, self.chosen_name(parent, name, clash), Place(parent, before))
        for component, given in (rows or {}).items():
            self.entities[target].components[component] = full(component, given)
        return [Part("created", target)]

    def destroy(self, target):
        self.need(target)
        return self.take_subtree(target)

    def set(self, target, mode="add_or_replace", rows=None):
        components = self.need(target).components
        if mode == "add" and any(each in components for each in rows):
            raise Refused("component_there")
        if mode == "replace" and not all(each in components for each in rows):
            raise Refused("missing_component")
        parts = []
        for component, given in rows.items():
            parts += self.put(target, component, full(component, given))
        return parts

    def put(self, target, component, value):
        """Adds a component, or writes those of its properties that `value` has."""
        if component not in self.entities[target].components:
            return self.add_component(target, component, value)
        parts = []
        for name in value:
            parts += self.write_property(target, component, name, value[name])
        return parts

    def remove(self, target, component):
        if component not in self.need(target).components:
            raise Refused("missing_component")
        return self.take_component(target, component)

    def properties_at(self, target, component, field, value):
        """The new values of the properties that a field belongs to: {property: value}."""
        components = self.need(target).components
        if component not in components:
            raise Refused("missing_component")
        first, rest = names_of(field)
        elements = elements_of(component, first)
        if elements:
            return dict(zip(elements, value))
        if not rest:
            return {first: value}
        return {first: components[component][first] | {rest[0]: value}}

    def set_field(self, target, component, field, value):
        return self.put(target, component, self.properties_at(target, component, field, value))

    def set_field_if(self, target, component, field, value, expected):
        now = self.need(target).components.get(component)
        if now is None:
            raise Refused("missing_component")
        for name, wanted in self.properties_at(target, component, field, expected).items():
            if now[name] != wanted:
                raise Refused("value_mismatch")
        return self.set_field(target, component, field, value)

    def reparent(self, target, parent=None, before=None):
        self.need(target)
        if parent is not None:
            self.need(parent)
            if parent in self.subtree(target):
                raise Refused("cycle")
        if before == target:
            raise Refused("before_is_no_child")
        self.check_row(parent, before)
        if self.name_is_taken(parent, self.entities[target].name, target):
            raise Refused("name_taken")
        return self.move(target, Place(parent, before))

    def rename(self, target, name="", clash="refuse"):
        parent = self.need(target).parent
        return self.give_name(target, self.chosen_name(parent, name, clash, target))

    def define(self, name, nodes):
        """Each node is {"parent": NUMBER, "name": TEXT, "components": {COMPONENT: PROPERTIES}}. A
        reference in it is "#" and the number of a node, or None."""
        return self.define_template(name, nodes)

    def spawn(self, ids, what, parent=None, before=None, name="", clash="refuse", rows=None):
        """Creates one tree, or several trees: `ids` has the ids of each tree in turn."""
        if what not in self.templates:
            raise Refused("unknown_template")
        nodes = self.templates[what]
        if len(ids) % len(nodes):
            raise Refused("wrong_targets")
        if any(each in self.used for each in ids):
            raise Refused("id_not_granted")
        self.check_row(parent, before)
        parts = []
        for at in range(0, len(ids), len(nodes)):
            tree = ids[at:at + len(nodes)]
            self.add_entity(tree[0], self.chosen_name(parent, name, clash), Place(parent, before))
            for i, node in enumerate(nodes):
                if i:
                    self.add_entity(tree[i], node["name"], Place(tree[node["parent"]]))
                for component, given in node["components"].items():
                    self.entities[tree[i]].components[component] = full(component, resolved(given, tree))
            for component, given in (rows or {}).items():
                self.entities[tree[0]].components[component] = full(component, given)
            parts.append(Part("created", tree[0]))
        return parts

    def merge_ids(self, root, what):
        """For each node of a template: the entity that it matches below `root`, or None."""
        matched = []
        for i, node in enumerate(self.templates[what]):
            parent = matched[node["parent"]] if i else None
            same = [each for each in self.siblings(parent) if node["name"] and
                    self.entities[each].name == node["name"]] if i and parent else []
            matched.append(root if i == 0 else same[0] if same else None)
        return matched

    def merge(self, ids, what):
        if what not in self.templates:
            raise Refused("unknown_template")
        nodes = self.templates[what]
        if len(ids) != len(nodes):
            raise Refused("wrong_targets")
        if not self.alive(ids[0]):
            raise Refused("id_not_granted")
        matched = self.merge_ids(ids[0], what)
        for each, match in zip(ids, matched):
            if match is None and each in self.used:
                raise Refused("id_not_granted")
            if match is not None and each != match:
                raise Refused("wrong_targets")
        parts = []
        for i, (node, match) in enumerate(zip(nodes, matched)):
            if match is None:
                self.add_entity(ids[i], node["name"], Place(ids[node["parent"]]))
                if matched[node["parent"]] is not None:
                    parts.append(Part("created", ids[i]))
            for component, given in node["components"].items():
                given = resolved(given, ids)
                if match is None:
                    self.entities[ids[i]].components[component] = full(component, given)
                elif component in self.entities[match].components:
                    parts += self.put(match, component, given)
                else:
                    parts += self.add_component(match, component, full(component, given))
        return parts


def resolved(value, ids):
    """A value of a template, with the entities of one tree in the place of its nodes."""
    if isinstance(value, dict):
        return {name: resolved(each, ids) for name, each in value.items()}
    if isinstance(value, str) and value.startswith("#"):
        return "@" + ids[int(value[1:])]
    return value


def shown_components(components):
    return [f"  {each} {shown(components[each])}" for each in sorted(components)]


def shown(value):
    if isinstance(value, dict):
        return "{" + ",".join(f"{name}={shown(value[name])}" for name in sorted(value)) + "}"
    return "nil" if value is None else repr(value) if not isinstance(value, str) or not value.startswith("@") else value
