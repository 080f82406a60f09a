"""Watches: a copy of the world, or of a part of it, that follows every change; and messages as they
arrive."""
import collections
import time
from typing import NamedTuple

from .batch import TIMED
from .core import SESSION, Wait
from .errors import Late, ProtocolError
from .ids import Entity, nil
from .values import codec_of, entity_value

#: Entities whose changes are remembered for changes_since().
REMEMBERED_MAX = 200_000
_KEPT_ELSEWHERE = ("muster.Name", "muster.ChildOf")


class Node:
    """An entity in the copy: node[types.Health].value, or node["Health"].value. It always has the
    newest values."""

    __slots__ = ("entity", "name", "parent", "_values", "_watch")

    def __init__(self, entity, watch):
        self.entity, self.name, self.parent, self._values, self._watch = entity, "", nil, {}, watch

    @property
    def components(self):
        """The full names of the components that are watched and that the entity has."""
        return sorted(type_.name for type_ in self._values)

    def __getitem__(self, component):
        core = self._watch._core
        type_ = core.types.component(component)
        data = self._values.get(type_)
        if data is None:
            raise KeyError(f"{self.name or self.entity} has no {type_.name}, or it is not watched")
        return codec_of(type_).read(data, 0, core.words)

    def __contains__(self, component):
        return self._watch._core.types.component(component) in self._values

    def bytes_of(self, component):
        """Returns a component as the server sent it, or None if the entity has none or it is not
        watched."""
        return self._values.get(self._watch._core.types.component(component))

    @property
    def path(self):
        """The path in the copy, such as "/town/tower"."""
        return self._watch._path(self)

    def __repr__(self):
        return f"<{self.path} {self.entity}: {', '.join(self.components)}>"


class Changes(NamedTuple):
    """The differences between two consistent states. An entity that is new is only in `created`.

    `sequence` is the input as of which the copy is current. `set` and `removed` are pairs of a node
    and the full name of a component."""

    sequence: int
    clock_ns: int
    created: list
    destroyed: list
    left: list
    moved: list
    renamed: list
    set: list
    removed: list

    def __bool__(self):
        return any((self.created, self.destroyed, self.left, self.moved, self.renamed, self.set, self.removed))


class Since(NamedTuple):
    """The changes after a sequence. If `complete` is false, older ones were forgotten: look at the
    world again.

    `entities` are those that exist, each with the names of its components that were set or removed
    and with the words "created", "moved" and "renamed" as they apply. `gone` are entities that were
    destroyed or left the watch."""

    sequence: int
    complete: bool
    entities: dict
    gone: list


class _Watched:
    """The base of both kinds of watches: a stream of frames."""

    def __init__(self, session):
        self._session, self._core = session, session.core
        self._stream = None

    async def _follow(self, **fields):
        self._stream = self._core.stream(self._core.control("Follow", **fields), fields)

    async def _frame(self, seconds=None):
        """Returns the next frame, or None if none arrives in time."""
        while True:
            frame = self._stream.take()
            if frame is not None:
                return frame
            if not await Wait((self._stream,), seconds):
                return None

    async def close(self):
        """Ends the watch. Waits for nothing."""
        if self._stream is not None:
            self._core.close_stream(self._stream)

    def _ids(self, types):
        types = [types] if isinstance(types, (str, type)) else types
        return [self._core.types.component(each).id for each in types]


class Watch(_Watched):
    """A copy of the world that a watch keeps. Iterating it yields Changes, as long as the session
    lasts.

    `entities` has the nodes by their ids. The copy changes only in next(), catch_up() and while
    iterating."""

    def __init__(self, session):
        super().__init__(session)
        self.entities, self.sequence, self.clock_ns = {}, 0, 0
        self._begin()
        self._log = None
        self._floor = 0
        self._anew = None  # what was told since a resumed session began to tell everything anew

    async def _open(self, entities, below, having, without, components, rate_max):
        await self._follow(world=not entities, entities=entities, subtree=below, structure=True, values=True,
                           components=[] if components is None else self._ids(components), rate_max=rate_max,
                           **{"with": self._ids(having), "without": self._ids(without)})
        await self._next_state(None)
        self._begin()
        self._log, self._floor = collections.OrderedDict(), self.sequence

    def get(self, entity):
        """Returns the node of an Entity or an id, or None if the copy does not have it."""
        return self.entities.get(entity if type(entity) is Entity else entity_value(entity, "a watch"))

    def __getitem__(self, entity):
        node = self.get(entity)
        if node is None:
            raise KeyError(f"the watch has no entity {getattr(entity, 'entity', entity)}: it does not exist, or it is not "
                           "watched")
        return node

    def __len__(self):
        return len(self.entities)

    def _path(self, node):
        """Returns the path of a node as far as the copy has its ancestors."""
        words, seen = [], set()
        while node is not None and node.entity not in seen:
            seen.add(node.entity)
            name = node.name.replace("\\", "\\\\").replace("/", "\\/")
            words.append(name or f"#{node.entity}")
            node = self.entities.get(node.parent)
        return "/" + "/".join(reversed(words))

    async def next(self, timeout=None):
        """Waits for the next change, for `timeout` seconds at most. Returns Changes, or None if
        there was none."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            if not await self._next_state(until):
                return None
            changes = self._take()
            if changes:
                return changes

    async def catch_up(self, timeout=10):
        """Brings the copy up to date with everything that this session has done, and returns the
        Changes."""
        until, is_reached = time.monotonic() + timeout, False
        request, begun = None, 0
        try:
            while True:
                if request is None or begun != self._core.resumed:  # the change is asked for again
                    if request is not None:
                        self._core.drop_stream(request)
                    begun, is_reached = self._core.resumed, False
                    request = self._core.stream(self._core.control("FollowMore", watch=self._stream.request))
                frame = self._stream.take()
                if frame is None:
                    if request.error is not None:
                        raise request.error
                    left = until - time.monotonic()
                    if left <= 0 or not await Wait((self._stream, request), left):
                        raise Late(f"the watch was not up to date within {timeout:g} s")
                    if not self._stream.frames and request.frames:
                        request.take()  # Followed, which comes after the last difference
                    continue
                if frame.batch.type.name == SESSION + "Following" \
                        and frame.batch.message(0, self._core.words).change == request.request:
                    is_reached = True
                is_whole = self._apply(frame)
                if is_reached and is_whole:
                    return self._take()
        finally:
            if request is not None:
                self._core.drop_stream(request)

    def changes_since(self, sequence):
        """Returns what has changed in the copy after a sequence. Call catch_up() before, to include
        the newest."""
        entities, gone = {}, []
        for entity, marks in reversed(self._log.items()):
            newer = sorted(mark for mark, at in marks.items() if at > sequence)
            if max(marks.values()) <= sequence:
                break
            if "destroyed" in marks:
                gone.append(entity)
            elif entity in self.entities:
                entities[entity] = newer
        return Since(self.sequence, sequence >= self._floor, entities, gone)

    async def _next_state(self, until):
        """Applies frames up to the next consistent state. Returns False if none comes before
        `until`."""
        while True:
            left = None if until is None else max(0, until - time.monotonic())
            frame = await self._frame(left)
            if frame is None:
                return False
            if self._apply(frame):
                return True

    def _begin(self):
        self._created, self._destroyed, self._left, self._moved, self._renamed = {}, [], [], {}, {}
        self._set, self._removed = {}, {}

    def _take(self):
        changes = Changes(self.sequence, self.clock_ns, list(self._created.values()), self._destroyed, self._left,
                          list(self._moved.values()), list(self._renamed.values()),
                          [(node, type_.name) for node, type_ in self._set.values()],
                          [(node, type_.name) for node, type_ in self._removed.values()])
        self._begin()
        return changes

    # ---- applying frames

    def _apply(self, frame):
        """Applies one frame. Returns True if the copy then equals the world at the frame's
        sequence."""
        batch, words = frame.batch, self._core.words
        name = batch.type.name
        self._at = frame.sequence
        if name == SESSION + "Resuming":
            # What the earlier connection told in part is told again.
            self._anew = {} if batch.message(0, words).anew else None
        elif name == SESSION + "Values":
            for i in range(batch.count):
                self._put_values(batch.message(i, words))
        elif name == "muster.Set":
            for i in range(batch.count):
                for type_, data in batch.rows(i):
                    self._put(self._have(batch.target(i)), type_, data)
        elif name in ("muster.Create", "muster.Reparent", "muster.Rename"):
            for i in range(batch.count):
                self._restructure(name, batch.target(i), batch.message(i, words))
        elif name == "muster.Remove":
            for i in range(batch.count):
                self._take_off(batch.target(i), self._core.types.of_id(batch.message(i, words).component))
        elif name in ("muster.Destroy", SESSION + "Left"):
            for i in range(batch.count):
                self._take_out(batch.target(i), name != "muster.Destroy")
        if frame.more or frame.is_event:
            return False
        if self._anew is not None:
            self._end_anew(frame.sequence)
        if frame.sequence:
            self.sequence, self.clock_ns = frame.sequence, frame.clock_ns
        return True

    def _end_anew(self, sequence):
        """Takes out what was not told anew."""
        anew, self._anew = self._anew, None
        for entity in [each for each in self.entities if each not in anew]:
            self._take_out(entity, False)
        for entity, types in anew.items():
            node = self.entities.get(entity)
            for type_ in [each for each in node._values if each not in types] if node is not None else ():
                self._take_off(entity, type_)
        if self._log is not None:
            # Another start of the server gives the sequences of inputs that were lost to others.
            self._log.clear()
            self._floor = max(sequence, self._floor, self._core.sequence_before + 1)

    def _mark(self, entity, *marks):
        if self._log is None:
            return
        known = self._log.setdefault(entity, {})
        if "destroyed" in marks or "created" in marks:
            known.clear()  # an undo brings destroyed entities back
        for mark in marks:
            known[mark] = self._at
        self._log.move_to_end(entity)
        while len(self._log) > REMEMBERED_MAX:
            self._floor = max(self._log.popitem(last=False)[1].values())

    def _have(self, entity):
        if self._anew is not None:
            self._anew.setdefault(entity, set())
        node = self.entities.get(entity)
        if node is None:
            node = self.entities[entity] = self._created[entity] = Node(entity, self)
            self._mark(entity, "created")
        return node

    def _restructure(self, name, entity, message):
        node = self._have(entity)
        is_new = entity in self._created
        if name != "muster.Rename" and node.parent != message.parent:
            node.parent = message.parent
            if not is_new:
                self._moved[entity] = node
                self._mark(entity, "moved")
        if name != "muster.Reparent":
            text = message.name if isinstance(message.name, str) else f"#{message.name:016x}"
            if node.name != text:
                node.name = text
                if not is_new:
                    self._renamed[entity] = node
                    self._mark(entity, "renamed")

    def _put_values(self, values):
        type_ = self._core.types.of_id(values.component)
        size = values.value_bytes
        if type_ is None or not type_.is_component or size != (0 if type_.is_tag else type_.size) \
                or len(values.values) != size * len(values.entities):
            raise ProtocolError("a watch sent values that do not match the type of their component")
        data = values.values
        if type_.is_tag:
            size, data = 0, b""
        for i, entity in enumerate(values.entities):
            self._put(self._have(entity), type_, data[i * size:(i + 1) * size] if size else bytes(type_.size))

    def _put(self, node, type_, data):
        if type_.name in _KEPT_ELSEWHERE:
            return
        if self._anew is not None:
            self._anew[node.entity].add(type_)
        if node._values.get(type_) == data:
            return
        node._values[type_] = data
        if node.entity not in self._created:
            self._set[node.entity, type_.id] = (node, type_)
            self._removed.pop((node.entity, type_.id), None)
            self._mark(node.entity, type_.name)

    def _take_off(self, entity, type_):
        node = self.entities.get(entity)
        if node is None or type_ is None or node._values.pop(type_, None) is None:
            return
        if entity not in self._created:
            self._removed[entity, type_.id] = (node, type_)
            self._set.pop((entity, type_.id), None)
            self._mark(entity, type_.name)

    def _take_out(self, entity, left):
        node = self.entities.pop(entity, None)
        if node is None:
            return
        for changes in (self._moved, self._renamed):
            changes.pop(entity, None)
        for changes in (self._set, self._removed):
            for key in [key for key in changes if key[0] == entity]:
                del changes[key]
        self._mark(entity, "destroyed")
        if self._created.pop(entity, None) is None:
            (self._left if left else self._destroyed).append(node)


class Event(NamedTuple):
    """A message as it arrived. `pushed` is true if a handler posted it or a timer delivered it.

    `session` is the session that sent it, as in its Welcome; 0 is the world itself. `due_ns` is set
    if the message was sent to be delivered at that time of the world's clock."""

    sequence: int
    session: int
    request: int
    clock_ns: int
    target: Entity
    value: object
    pushed: bool
    due_ns: int

    @property
    def name(self):
        """The full name of the message's type."""
        return self.value._type.name


class Gap(NamedTuple):
    """Events were lost, because this program was too slow."""

    after: int
    through: int
    lost: int


class Events(_Watched):
    """Messages as they arrive. Iterating it yields Event, and Gap if some were lost."""

    def __init__(self, session):
        super().__init__(session)
        self._ready = collections.deque()

    async def _open(self, entities, below, messages, pushed):
        types = self._core.types
        ticks = [types.find(name).id for name in ("muster.Update", "muster.Advance")]
        await self._follow(world=not entities, entities=entities, subtree=below, inputs=bool(messages) or not pushed,
                           input_types=[types.find(each).id for each in messages],
                           inputs_except=[] if messages else ticks, pushed=[types.find(each).id for each in pushed])
        await self._frame()  # Watching

    async def next(self, timeout=None):
        """Waits for the next event, for `timeout` seconds at most. Returns None if there was
        none."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self._ready:
            frame = await self._frame(None if until is None else max(0, until - time.monotonic()))
            if frame is None:
                return None
            self._read(frame)
        return self._ready.popleft()

    def _read(self, frame):
        batch, words = frame.batch, self._core.words
        if batch.type.name == SESSION + "Gap":
            gap = batch.message(0, words)
            self._ready.append(Gap(gap.after, gap.through, gap.lost))
        if not frame.is_event:
            return
        due_ns = 0
        if batch.kind == TIMED:
            due_ns, batch = batch.argument, batch.inner
        for i in range(batch.count):
            self._ready.append(Event(frame.sequence, frame.session, frame.sender_request, frame.clock_ns, batch.target(i),
                                     batch.message(i, words), frame.is_pushed, due_ns))
