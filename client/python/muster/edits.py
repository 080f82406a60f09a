"""Edits before they are sent: messages that become batches, alone or as one step for undo."""
from .batch import EACH, SHARED, TABLE, WORLD, shared_batch, struct_batch, table_batch
from .errors import Mistaken
from .ids import Entity, entity_of, hash32, nil
from .schema import Type
from .values import Place, Value, codec_of, entity_value

#: A part of a batch has at most this many messages, and roughly at most this many bytes.
ITEMS_MAX, PART_BYTES_MAX = 4096, 1 << 20
#: The cost of a step, as estimated here. The server accepts 100,000.
STEPS_MAX = 60_000
FIELD_BYTES_MAX = 64

UNSET = object()


class _Run:
    """Messages that go into one batch, because they have the same type and the same components."""

    def __init__(self, kind, type_, components):
        self.kind, self.type, self.components = kind, type_, components
        self.items = []
        self.size = type_.size + sum(each.size for each in components) + 16 if type_.is_struct else 256

    def batches(self, bytes_max):
        """Yields the number of messages of each batch, and the batch."""
        if self.kind == SHARED:
            for targets, value, rows in self.items:
                yield len(targets), shared_batch(self.type, targets, value, rows, self.components, set())
            return
        at_once = max(1, min(ITEMS_MAX, min(PART_BYTES_MAX, bytes_max) // self.size))
        for i in range(0, len(self.items), at_once):
            items = self.items[i:i + at_once]
            if self.kind == TABLE:
                yield len(items), table_batch(self.type, [(target, value) for target, value, _ in items], set())
            else:
                yield len(items), struct_batch(self.type, items, self.components, set(), self.kind)


class Edits:
    """Collects edits. Every method checks its values at once, so a mistake is reported where it is
    made.

    An entity may be given by its id, by a path ("/town/tower"), or by a name that only one entity
    has."""

    def __init__(self, session):
        self._session, self._core = session, session.core
        self.epoch = self._core.epoch
        self._runs, self._nodes, self._known = [], {}, {}
        self._texts = set()  # those that the bytes of the edits refer to
        self.expected = []
        self.count = 0

    def __len__(self):
        return self.count

    # ---- edits

    async def create(self, name="", *components, under=nil, before=nil, clash="refuse"):
        """Creates an entity as the last child of `under`, or before a sibling, and returns its id.

        If a sibling has the name, the edit is refused; with clash="suffix", the name becomes
        "orc~2"."""
        parent, before = await self._entity(under, True), await self._entity(before)
        rows = self._rows(components)
        made = await self._session._next_id()
        self._add("muster.Create", made, dict(parent=parent, before=before, name=name, clash=clash), rows)
        return made

    async def spawn(self, template, name="", *components, under=nil, before=nil, clash="suffix"):
        """Creates the tree of a template and returns the id of its root, which also gets the given
        components."""
        parent, before = await self._entity(under, True), await self._entity(before)
        rows = self._rows(components)
        if template not in self._nodes:
            self._nodes[template] = len((await self._session.ask("GetTemplate", name=template)).nodes)
        ids = [await self._session._next_id() for _ in range(self._nodes[template])]
        type_ = self._core.types.find("muster.Spawn")
        value = self._check(type_, dict(what=template, parent=parent, before=before, name=name, clash=clash))
        run = _Run(SHARED, type_, [each for each, _ in rows.values()])
        run.items.append((ids, value, {full: value for full, (_, value) in rows.items()}))
        self._runs.append(run)
        self.count += 1
        return ids[0]

    async def set(self, entity, *components):
        """Adds components to an entity, or replaces them. Fields that a value was not given have
        their defaults."""
        if not components:
            raise Mistaken("set() needs at least one component")
        for each in components:
            if isinstance(each, (str, type, Type)) and not self._core.types.component(each).is_tag:
                type_ = self._core.types.component(each)
                raise Mistaken(f"set(): {type_.name} is given without a value. Give one, such as "
                               f"{type_.short}({type_.fields[0].name}=...), or ('{type_.short}', {{}}) to give all its "
                               "fields their defaults")
        self._add("muster.Set", await self._entity(entity), {}, self._rows(components))

    async def set_field(self, entity, path, value, expect=UNSET):
        """Writes one field, such as "Health.value" or "Transform.position.x".

        With `expect`, the edit is refused unless the field has that value."""
        target = await self._entity(entity)
        type_, place = self._place(path)
        data = place.write(value, self._texts)
        field = dict(component=type_.id, field=hash32(place.path), bytes=place.size, value=_padded(data))
        if expect is UNSET:
            self._add("muster.SetField", target, field, {})
        else:
            expected = _padded(place.write(expect, self._texts))
            self._add("muster.SetFieldIf", target, dict(set=field, expected=expected), {})

    async def remove(self, entity, component):
        """Removes a component from an entity."""
        target = await self._entity(entity)
        self._add("muster.Remove", target, dict(component=self._core.types.component(component).id), {})

    async def destroy(self, entity):
        """Destroys an entity and everything below it."""
        self._add("muster.Destroy", await self._entity(entity), {}, {})

    async def move(self, entity, under, before=nil):
        """Moves an entity under another parent ("/" makes it a root), as its last child or before a
        sibling."""
        target, parent = await self._entity(entity), await self._entity(under, True)
        self._add("muster.Reparent", target, dict(parent=parent, before=await self._entity(before)), {})

    async def rename(self, entity, name, clash="refuse"):
        """Renames an entity. An empty name removes the name."""
        self._add("muster.Rename", await self._entity(entity), dict(name=name, clash=clash), {})

    async def push(self, target, message, /, **fields):
        """Sends a message to an entity, to each of several, or to "@world": every entity.

        The message is a value, or a type and its fields: push("tower", "Damage", amount=5)."""
        type_ = self._core.types.message(message)
        value = self._check(type_, message if isinstance(message, Value) and not fields else fields)
        if isinstance(target, str) and target == "@world":
            self._add(type_.name, nil, value, {}, world=type_.is_struct)
        elif isinstance(target, (list, tuple)) and not isinstance(target, Entity):
            targets = [await self._entity(each) for each in target]
            if type_.is_struct and targets:
                run = _Run(SHARED, type_, [])
                run.items.append((targets, value, {}))
                self._runs.append(run)
                self.count += 1
            for each in () if type_.is_struct else targets:
                self._add(type_.name, each, value, {})
        else:
            self._add(type_.name, await self._entity(target), value, {})

    # ---- expectations

    async def expect(self, entity, field=None, value=UNSET, *, has=(), lacks=(), under=UNSET, name=None,
                     descendants=None):
        """Says what the world must be like. Otherwise, all edits are refused, and the error says
        what is different.

        expect("orc", "Health.value", 50) expects the value of a field. `has` and `lacks` name one
        component or several, `under` is the parent ("/" for a root), `name` is "" if the entity has
        none, and `descendants` is the number of entities below."""
        target, said = await self._entity(entity), len(self.expected)
        if field is not None:
            type_, place = self._place(field)
            if value is UNSET:
                raise Mistaken(f"expect(): {field} needs a value")
            self.expected.append(dict(what="value", entity=target, component=type_.id, field=hash32(place.path),
                                      value=place.write(value, self._texts)))
        for what, names in (("present", has), ("absent", lacks)):
            for each in [names] if not isinstance(names, (list, tuple)) else names:
                self.expected.append(dict(what=what, entity=target, component=self._core.types.component(each).id))
        if under is not UNSET:
            self.expected.append(dict(what="parent", entity=target, parent=await self._entity(under, True)))
        if name is not None:
            self.expected.append(dict(what="name", entity=target, name=name))
        if descendants is not None:
            self.expected.append(dict(what="descendants", entity=target, count=descendants))
        if len(self.expected) == said:
            raise Mistaken("expect() needs something to expect")

    # ---- checking

    async def _entity(self, which, or_root=False):
        if isinstance(which, Entity):
            return which
        if which is None or (or_root and which == "/"):
            return nil
        if isinstance(which, str) and entity_of(which) is None:
            if which not in self._known:
                self._known[which] = await self._session.entity(which)
            return self._known[which]
        return entity_value(which, "entity")

    def _rows(self, components):
        """Returns {full name: (type, value)}."""
        rows = {}
        for each in components:
            if isinstance(each, (tuple, list)) and len(each) == 2:
                which, value = each
            else:
                which, value = each, (each if isinstance(each, Value) else {})
            type_ = self._core.types.component(which)
            if type_.name in rows:
                raise Mistaken(f"{type_.name} is given twice")
            if type_.right == "none":
                raise Mistaken(f"{type_.name} cannot be written from outside")
            rows[type_.name] = (type_, self._check(type_, value))
        return rows

    def _check(self, type_, value):
        """Returns the bytes of a value, which may be given as a dict. Raises Mistaken."""
        if isinstance(value, bytes):
            return value
        codec = codec_of(type_)
        if isinstance(value, dict):
            value = codec.cls(**{str(name): each for name, each in value.items()})
        return codec.write(value, self._texts)

    def _place(self, path):
        """Returns the component and the place of a path. The component's name may contain points
        itself."""
        words = path.split(".") if isinstance(path, str) else []
        for i in range(len(words) - 1, 0, -1):
            name = ".".join(words[:i])
            if name in self._core.types:
                type_ = self._core.types.component(name)
                place = Place(type_, ".".join(words[i:]))
                if place.size > FIELD_BYTES_MAX:
                    raise Mistaken(f"{path} has {place.size} bytes; at most {FIELD_BYTES_MAX} can be set at once: "
                                   "name a part of it")
                return type_, place
        if len(words) > 1:
            self._core.types.component(words[0] if len(words) == 2 else ".".join(words[:-1]))
        raise Mistaken(f"'{path}' does not name a component and its field, such as 'Health.value'")

    def _add(self, name, target, value, rows, world=False):
        type_ = self._core.types.find(name)
        kind = TABLE if not type_.is_struct else WORLD if world else EACH
        components = [each for each, _ in rows.values()]
        data = self._check(type_, value)
        last = self._runs[-1] if self._runs else None
        if last is None or last.kind != kind or last.type is not type_ \
                or {each.id for each in last.components} != {each.id for each in components}:
            last = _Run(kind, type_, components)
            self._runs.append(last)
        last.items.append((target, data, {full: each for full, (_, each) in rows.items()}))
        self.count += 1

    # ---- bytes

    def batches(self, bytes_max):
        """Returns the batches with the estimated cost of each, and the texts that they refer to."""
        found = []
        for run in self._runs:
            for count, batch in run.batches(bytes_max):
                found.append((2 * count + len(batch) // 64, batch))
        return found, set(self._texts)

    def steps(self, bytes_max):
        """Returns the batches in groups, each of which fits into one step, and the texts that they
        refer to."""
        found, texts = self.batches(bytes_max)
        groups, size, cost = [], 0, 0
        for each, batch in found:
            if not groups or size + len(batch) > bytes_max or cost + each > STEPS_MAX:
                groups.append([])
                size = cost = 0
            groups[-1].append(batch)
            size, cost = size + len(batch), cost + each
        return [b"".join(group) for group in groups], texts


def _padded(data):
    return data + bytes(FIELD_BYTES_MAX - len(data))


class Transaction(Edits):
    """Edits that are sent together when the `with` block ends, and are one step for undo.

    If the block raises an exception, nothing is sent. `ack` is the answer of the world
    afterward."""

    def __init__(self, session, label):
        super().__init__(session)
        self.label, self.ack = label, None

    async def dry_run(self):
        """Asks what the edits would do now. Returns a WouldChange, or None if there are no edits,
        and raises Refused as commit() would.

        Nothing changes, and no handler is called. Messages of the game would call handlers, so a
        transaction that pushes some cannot be tried."""
        for run in self._runs:
            if not run.type.name.startswith("muster."):
                raise Mistaken(f"{run.type.name} cannot be tried, because handlers would be called")
        return await self._session._try_step(self) if self.count else None

    async def commit(self):
        """Sends the edits, unless there are none. If the world refuses one, none of them is
        applied."""
        if self.count:
            self.ack = await self._session._push_step(self, self.label)
            self._runs, self.expected, self.count = [], [], 0
        return self.ack
