"""Tools that read the world."""
from ..errors import Mistaken
from ..ids import hash64
from ..schema import ARRAY, SCALARS, VECTOR
from ..values import codec_of, enum_text
from .answers import cut, offset_of, page, plain, text_of
from .conditions import read_conditions
from .placement import TRANSFORM, Placement
from .tool import COUNT, CURSOR, TEXT, TEXTS, tool

ENTITY = {"type": "string", "description": "An id (12:1), a path (/town/tower), or a name that only one entity has"}


def _person(person):
    """Describes a session, with the first entities that its user has selected, drags or has
    locked."""
    row = {"name": person.name, "kind": person.kind}
    row.update((name, [str(each) for each in entities[:10]]) for name, entities in
               (("selected", person.selection), ("drags", person.dragged), ("locked", person.locks)) if entities)
    return row


@tool()
def info(agent):
    """Describes the world: what it contains, its clock, whether a run is on, who you are and what
    you may do, who else is there and what each has selected."""
    world = agent.world
    about, clock, present = world.info(), world.clock(), world.presence()
    people = [_person(each) for each in present]
    roots = world.ask("ListChildren", limit=20)
    answer = {"sequence": world.sequence, "world": world.welcome.world, "entities": about.entities,
              "roots": roots.names, "root_count": roots.total, "role": world.role, "you": _you(agent, present),
              "playing": world.playing, "clock": agent.clock_text(clock), "people": people[:50], "people_count": len(people),
              "hint": "describe_type lists the types; find and show look at entities."}
    return text_of(answer)


def _you(agent, present):
    """Says as whom the others see the agent, and which tools its rights leave out."""
    own = agent.world.welcome.session
    row = {"name": next((each.name for each in present if each.session == own), "")}
    user = next((each.user for each in present if each.session == own), 0)
    row["user"] = user if user else "the server's own token"
    forbidden = [each.name for each in agent.all_tools if each.name not in agent.tools]
    return {**row, "role": agent.world.role, **({"forbidden_tools": forbidden} if forbidden else {})}


@tool(name={"type": "string", "description": "Part of the name; case is ignored"},
      having={**TEXTS, "description": "Components that an entity must have"},
      without={**TEXTS, "description": "Components that it must not have"},
      where={"type": "string", "description": "Conditions on values, such as {condition}. Compares with < <= = != >= >, and "
             "with ~ for a part of a text"},
      under={**ENTITY, "description": "Only this entity and those below it"},
      children_of={**ENTITY, "description": "Only the direct children of this entity, in order; / for the roots"},
      show={**TEXTS, "description": "Components or fields to include, such as {field}"}, cursor=CURSOR)
def find(agent, name="", having=(), without=(), where="", under=None, children_of=None, show=(), cursor=None):
    """Finds entities by name, by components, by their values and by place. Each row has the
    entity's id and path."""
    world, offset = agent.world, offset_of(cursor)
    conditions = read_conditions(where, agent.place, world.entity) if where else []
    having = [world.types.component(each) for each in having]
    having += [each.type for each in conditions if each.type not in having]
    without = [world.types.component(each) for each in without]
    if children_of is not None:
        if under is not None:
            raise Mistaken("give either under or children_of")
        found = [(each.entity, each.name) for each in world.children(children_of)
                 if name.lower() in each.name.lower() and all(type_.name in each.components for type_ in having)]
        key = "name"
    else:
        found, key = world.find(name, having, under), "path"
    looked_at = len(found)
    if found and (conditions or without):
        found = _that_meet(world, found, conditions, having, without, under or children_of)
    places, head = [agent.place(each) for each in show], agent.now()

    def rows():
        for entity, text in found[offset:]:
            row = {"entity": str(entity), key: text}
            if places:
                shown = world.show(entity)
                row.update((said, agent.read(shown, place)) for said, place in zip(show, places) if place[0] in shown)
            yield row
    hint = "" if found else _why_none(looked_at, name, " and ".join(each.short for each in having), under or children_of)
    whole = next((type_ for type_, part in places if part is None and type_.fields), None)
    less = f": show accepts single fields, such as {whole.short}.{whole.fields[0].name}" if whole is not None else ""
    return page(head, "entities", rows(), len(found), offset, hint, less=less)


def _why_none(looked_at, name, components, place):
    """Says which part of a search nothing has met. `looked_at` entities met all of it but the
    conditions on values and the components that they must not have."""
    named = f" with a name that contains '{cut(name, 80)}'" if name else ""
    if looked_at:
        return f"0 of {looked_at} entities{f' with {components}' if components else ''} match."
    if components:
        return f"No entity{' there' if place not in (None, '/') else ''}{named} has {components}."
    return f"No name contains '{cut(name, 80)}'. Each entity is found by its own name, not by those of its parents." if name else ""


def _that_meet(world, found, conditions, having, without, under):
    """Returns those of the found rows whose entities meet conditions. Reads all values at once."""
    types = list({each.type.name: each.type for each in conditions}.values())
    scope = () if under in (None, "/") else (under,)
    with world.watch(*scope, having=having, without=without, components=types or ["muster.Name"]) as watch:
        words, nodes = world.core.words, watch.entities

        def meets(node):
            values = {each.type: node.bytes_of(each.type) for each in conditions}
            return all(values[each.type] is not None and each.holds(values[each.type], words) for each in conditions)
        return [row for row in found if row[0] in nodes and meets(nodes[row[0]])]


@tool(required=["entities"], entities={**TEXTS, "description": "Ids, paths, or names that only one entity has"},
      components={**TEXTS, "description": "Only these components"}, cursor=CURSOR)
def show(agent, entities, components=None, cursor=None):
    """Shows entities with the values of their components. For an entity with a Transform below
    others, or with a Shape, world is its position in the world, and between which corners its Shape
    lies."""
    world, offset, head = agent.world, offset_of(cursor), agent.now()
    placement = Placement(world)
    types = None if components is None else {world.types.component(each).name for each in components}

    def rows():
        for each in entities[offset:]:
            shown = world.show(each)
            values = {name: plain(value) for name, value in shown.components.items()
                      if name not in ("muster.Name", "muster.ChildOf") and (types is None or name in types)}
            row = {"entity": str(shown.entity), "path": shown.path, "children": shown.child_count, "components": values}
            place = placement.of(shown) if TRANSFORM in values else None
            yield {**row, "world": place} if place is not None else row
    return page(head, "entities", rows(), len(entities), offset)


@tool(names={**TEXTS, "description": "Components or messages to describe; without it, all are listed"},
      search={"type": "string", "description": "List only types with this text in their names, fields or descriptions"},
      cursor=CURSOR)
def describe_type(agent, names=None, search="", cursor=None):
    """Lists the types of components and messages, or describes some: fields, units, ranges,
    defaults and enums."""
    world, offset = agent.world, offset_of(cursor)
    if names is None:
        messages = {name: cls for name, cls in world.types.messages.items() if not name.startswith("muster.")}
        listed = [(name, cls._type, _fields_with(cls._type, search.lower()))
                  for name, cls in {**world.types.components, **messages}.items()]
        listed = [each for each in listed if each[2] or search.lower() in f"{each[0]} {each[1].doc}".lower()]
        rows = ({"type": name, "is": _kind(type_), "doc": cut(type_.doc, 120), **({"fields": fields} if fields else {})}
                for name, type_, fields in listed[offset:])
        hint = "Give names to see the fields." if listed else f"No type, field or description contains '{cut(search, 80)}'."
        return page({"sequence": world.sequence}, "types", rows, len(listed), offset, hint)
    found, hint = [world.types.find(each) for each in names], "A field without default is 0, false, empty or nil."
    return page({"sequence": world.sequence}, "types", (_described(each) for each in found[offset:]), len(found), offset, hint)


def _fields_with(type_, text):
    """Returns the names of the fields with a text in their name, description or enum."""
    return [each.name for each in type_.fields if text and each.name != "reserved" and text in " ".join(
        [each.name, each.doc, *(each.enum.values if each.enum is not None else ())]).lower()]


def _kind(type_):
    return "component" if type_.is_component else "message" if type_.is_message else "struct"


def _described(type_, depth=0):
    row = {"type": type_.name, "is": _kind(type_)}
    if type_.is_component or type_.is_message:
        row["right"] = type_.right
    if type_.doc and not depth:
        row["doc"] = type_.doc
    row["fields"] = [_field(each, depth) for each in type_.fields if each.name != "reserved"]
    return row


def _field(field, depth):
    row = {"name": field.name, "type": field.kind}
    row.update((name, field.attributes[name]) for name in ("default", "range", "unit") if name in field.attributes)
    if field.enum is not None and field.base in SCALARS:
        row.setdefault("default", enum_text(field.enum, field.default or 0))
    if field.required:
        row["required"] = True
    if field.doc:
        row["doc"] = field.doc
    if field.enum is not None:
        row["values"] = list(field.enum.values)
    elif field.of is not None and not field.is_entity and depth < 3:
        row["of"] = [_field(each, depth + 1) for each in field.of.fields]
    if field.base in (ARRAY, VECTOR) and field.length:
        row["length"] = field.length
    return row


@tool(sequence={"type": "integer", "minimum": 0, "description": "The sequence of an answer before"}, cursor=CURSOR)
def changes_since(agent, sequence=None, cursor=None):
    """Says what has changed in the world after a sequence, by whomever. The first call begins to
    watch the world, and returns the sequence to give the next time."""
    offset, is_new = offset_of(cursor), agent.watch is None
    watch, told = agent.watched(), agent.world.sequence
    watch.catch_up(60)
    # A watch is not told of inputs that change nothing.
    head = {"sequence": max(told, watch.sequence)}
    if is_new or sequence is None:
        hint = "The world is watched from this sequence on. Give it with the next call."
        return page(head, "changes", (), 0, 0, hint)
    since = watch.changes_since(sequence)
    changed = [*since.entities.items(), *((entity, None) for entity in since.gone)]

    def rows():
        for entity, names in changed[offset:]:
            if names is None:
                yield {"entity": str(entity), "gone": True}
            else:
                yield {"entity": str(entity), "path": watch[entity].path, "changed": names}
    hint = "" if since.complete else "Changes before the watch began, or that are too old, are not included."
    return page(head, "changes", rows(), len(changed), offset, hint)


@tool(limit=COUNT)
def history(agent, limit=20):
    """Lists your steps: those to redo, the next one last, then those to undo, the next one
    first."""
    world = agent.world
    steps = world.history(limit)
    rows = [{"step": each.label or each.what, "parts": each.parts, "sequence": each.sequence,
             "to": "redo" if each.is_redo else "undo"} for each in steps]
    return page({"sequence": world.sequence}, "steps", rows, len(rows))


@tool(name={**TEXT, "description": "The template to show; without it, all are listed"}, cursor=CURSOR)
def templates(agent, name=None, cursor=None):
    """Lists the templates, or the entities that one creates. An edit with op spawn creates its
    tree."""
    world, offset = agent.world, offset_of(cursor)
    if name is None:
        found = list(world.templates().items())
        rows = ({"template": each, "entities": nodes} for each, nodes in found[offset:])
        return page({"sequence": world.sequence}, "templates", rows, len(found), offset)
    template = world.ask("GetTemplate", name=name)
    words = {**world.core.words, **{hash64(each): each for each in template.texts}}
    rows = (_node(world.types, node, words) for node in template.nodes[offset:])
    return page({"sequence": world.sequence}, "nodes", rows, len(template.nodes), offset)


def _node(types, node, words):
    """Returns a row of a template, with the values of its components and of the messages that it is
    sent."""
    row = {"name": node.name, "parent": node.parent}
    for name, values in (("components", node.components), ("messages", node.messages)):
        for each in values:
            type_ = types.of_id(each.type)
            if type_ is None:
                continue
            value = codec_of(type_).read(each.value, 0, words) if type_.is_struct else codec_of(type_).read(each.value, words)
            row.setdefault(name, {})[type_.name] = plain(value)
    return row
