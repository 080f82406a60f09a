"""Batches and frames, as docs/batches.md and docs/protocol.md describe them."""
import struct

from .errors import Mistaken, ProtocolError
from .ids import Entity, nil
from .values import codec_of

EACH, SHARED, TABLE, WORLD, SUBTREE, TIMED = range(1, 7)
WITH_CAUSE, WITH_ROWS = 1, 2
ENVELOPE, MORE, EVENT, PUSHED = 1, 2, 4, 8
ROWS_MAX = 505

_HEADER = struct.Struct("<IIBBBBIIIQ")
_FRAME = struct.Struct("<IIQ")
_ENVELOPE = struct.Struct("<QQQQ")
_TARGET = struct.Struct("<II")


def padded(at, align):
    return (at + align - 1) // align * align


class Layout:
    """The places of a message and of the components of a row set in a payload."""

    def __init__(self, type_, components):
        self.type, self.components = type_, sorted(components, key=lambda each: each.id)
        end, self.align, self.places = type_.size, type_.align, []
        for each in self.components:
            end, self.align = padded(end, each.align), max(self.align, each.align)
            self.places.append(end)
            end += each.size
        self.payload_bytes = end
        self.rows = b""
        if self.components:
            pairs = b"".join(struct.pack("<II", each.id, at) for each, at in zip(self.components, self.places))
            self.rows = struct.pack("<II", len(self.components), 0) + pairs
            self.rows += bytes(-len(self.rows) % 16)
        self.units = (32 + len(self.rows)) // 16

    def payload(self, value, rows, texts):
        """Returns the bytes of one message. `rows` has a value, or its bytes, for each
        component."""
        out = bytearray(self.payload_bytes)
        own = _bytes_of(self.type, value, texts)
        out[:len(own)] = own
        for each, at in zip(self.components, self.places):
            data = _bytes_of(each, rows[each.name], texts)
            out[at:at + len(data)] = data
        return out


def _bytes_of(type_, value, texts):
    return value if isinstance(value, bytes) else codec_of(type_).write(value, texts)


def _batch(type_id, kind, flags, units, payload_offset, count, payload_bytes, item_bytes, argument, body):
    size = padded(32 + len(body), 16)
    head = _HEADER.pack(size, type_id, kind, flags, units, payload_offset, count, payload_bytes, item_bytes, argument)
    return head + bytes(body) + bytes(size - 32 - len(body))


def struct_batch(type_, items, components, texts, kind=EACH):
    """Returns a batch of kind each or world. An item is (target, value, {component's full name:
    value})."""
    if len(components) > ROWS_MAX:
        raise Mistaken(f"an entity cannot receive more than {ROWS_MAX} components at once")
    layout = Layout(type_, components)
    offset = 0 if kind == WORLD else padded(8, layout.align)
    item_bytes = padded(offset + layout.payload_bytes, max(8, layout.align))
    body = bytearray(layout.rows)
    for target, value, rows in items:
        item = bytearray(item_bytes)
        if kind != WORLD:
            _TARGET.pack_into(item, 0, *target)
        item[offset:offset + layout.payload_bytes] = layout.payload(value, rows, texts)
        body += item
    return _batch(type_.id, kind, WITH_ROWS if layout.rows else 0, layout.units, offset, len(items),
                  layout.payload_bytes, item_bytes, 0, body)


def shared_batch(type_, targets, value, rows, components, texts):
    """Returns a batch with one payload for many targets."""
    layout = Layout(type_, components)
    body = bytearray(layout.rows)
    body += layout.payload(value, rows, texts)
    body += bytes(-len(body) % 16)
    for target in targets:
        body += _TARGET.pack(*target)
    return _batch(type_.id, SHARED, WITH_ROWS if layout.rows else 0, layout.units, 0, len(targets),
                  layout.payload_bytes, 8, 0, body)


def table_batch(type_, items, texts):
    """Returns a batch of tables. An item is (target, value)."""
    body = bytearray()
    for target, value in items:
        data = _bytes_of(type_, value, texts)
        body += struct.pack("<IIII", *target, len(data), 0) + data
        body += bytes(-len(body) % 16)
    return _batch(type_.id, TABLE, 0, 2, 16, len(items), 0, 0, 0, body)


def timed_batch(batch, due_ns):
    """Returns a batch that is delivered when the world's clock reaches `due_ns`."""
    type_id = struct.unpack_from("<I", batch, 4)[0]
    return _batch(type_id, TIMED, 0, 2, 16, 1, 0, 0, due_ns, struct.pack("<QQ", 0, 0) + batch)


def frame_of(batch, request):
    return _FRAME.pack(16 + len(batch), 0, request) + batch


class Batch:
    """A batch that was received. Its messages are read when they are needed."""

    __slots__ = ("type", "kind", "count", "argument", "layout", "inner", "_data", "_body", "_offset", "_item", "_cause")

    def __init__(self, data, types, depth=0):
        self._data = data = memoryview(data)
        if len(data) < 32:
            raise ProtocolError(f"a batch of {len(data)} bytes is too short")
        size, type_id, self.kind, flags, units, self._offset, self.count, payload_bytes, self._item, self.argument = \
            _HEADER.unpack_from(data)
        self.type, self.inner, self.layout = types.of_id(type_id), None, None
        if self.type is None:
            raise ProtocolError(f"a batch has messages of an unknown type ({type_id:#010x})")
        if size != len(data) or size % 16 or flags & ~(WITH_CAUSE | WITH_ROWS):
            raise ProtocolError(f"a batch of {self.type.name} has an impossible header")
        self._body, has_cause = 16 * units, bool(flags & WITH_CAUSE)
        self._cause = has_cause
        if self.kind == TIMED:
            self._read_timed(types, depth)
            return
        if (self.kind == TABLE) == self.type.is_struct or not EACH <= self.kind <= SUBTREE:
            raise ProtocolError(f"a batch of {self.type.name} has the wrong kind {self.kind}")
        components = self._read_rows(types) if flags & WITH_ROWS else []
        if self.kind == TABLE:
            self._expect(units == 2 and not components and payload_bytes == 0 and self._item == 0
                         and self._offset == (32 if has_cause else 16))
            self._item = self._table_places()
            return
        self.layout = layout = Layout(self.type, [each for each, _ in components])
        aligned = layout.align == 16
        offset = {EACH: (16 if has_cause or aligned else 8), WORLD: ((16 if aligned else 8) if has_cause else 0),
                  SHARED: 16 if has_cause else 0}[EACH if self.kind == SUBTREE else self.kind]
        item = 8 if self.kind == SHARED else padded(offset + layout.payload_bytes, max(8, layout.align))
        self._expect(units == layout.units and self._offset == offset and payload_bytes == layout.payload_bytes
                     and self._item == item and [at for _, at in components] == layout.places
                     and [each for each, _ in components] == layout.components)
        begin = self._targets() if self.kind == SHARED else self._body
        self._expect(self.count > 0 and begin + self.count * item <= size)

    def _expect(self, is_so):
        if not is_so:
            raise ProtocolError(f"the header of a batch of {self.type.name} does not match its type or its size")

    def _read_timed(self, types, depth):
        self._expect(depth == 0 and len(self._data) >= self._body + 48 and self._body == 32)
        size = struct.unpack_from("<I", self._data, self._body + 16)[0]
        self._expect(self._body + 16 + size == len(self._data))
        self.inner = Batch(self._data[self._body + 16:], types, 1)

    def _read_rows(self, types):
        self._expect(self.kind in (EACH, SHARED) and 40 <= self._body <= len(self._data))
        count = struct.unpack_from("<I", self._data, 32)[0]
        self._expect(0 < count <= ROWS_MAX and self._body == 32 + padded(8 + 8 * count, 16))
        found = []
        for i in range(count):
            type_id, at = struct.unpack_from("<II", self._data, 40 + 8 * i)
            component = types.of_id(type_id)
            if component is None or not component.is_component:
                raise ProtocolError(f"a batch has a component of an unknown type ({type_id:#010x})")
            found.append((component, at))
        return found

    def _table_places(self):
        places, at = [], self._body
        self._expect(0 < self.count <= len(self._data) // 16)
        for _ in range(self.count):
            self._expect(at + self._offset <= len(self._data))
            length = struct.unpack_from("<I", self._data, at + 8)[0]
            begin = at + self._offset
            self._expect(begin + length <= len(self._data))
            places.append((at, begin, length))
            at = begin + padded(length, 16)
        return places

    def _targets(self):
        return self._body + self._offset + padded(self.layout.payload_bytes, 16)

    def target(self, i):
        """Returns the target of message i; nil is the world."""
        if self.kind == WORLD:
            return nil
        if self.kind == SHARED:
            at = self._targets() + 8 * i
        else:
            at = self._item[i][0] if self.kind == TABLE else self._body + i * self._item
        return Entity(*_TARGET.unpack_from(self._data, at))

    def _payload(self, i):
        return self._body + self._offset + (0 if self.kind == SHARED else i * self._item)

    def message(self, i, words):
        """Returns message i as a value of its class."""
        if self.kind == TABLE:
            _, begin, length = self._item[i]
            return codec_of(self.type).read(self._data[begin:begin + length], words)
        return codec_of(self.type).read(self._data, self._payload(i), words)

    def rows(self, i):
        """Returns the components of message i, as pairs of their types and their bytes."""
        if self.layout is None:
            return []
        at = self._payload(i)
        return [(each, bytes(self._data[at + place:at + place + each.size]))
                for each, place in zip(self.layout.components, self.layout.places)]


class Frame:
    """One frame from the server."""

    __slots__ = ("flags", "request", "sequence", "session", "sender_request", "clock_ns", "batch", "bytes", "epoch")

    @property
    def more(self):
        return bool(self.flags & MORE)

    @property
    def is_last(self):
        return not self.flags & (MORE | EVENT)

    @property
    def is_event(self):
        return bool(self.flags & EVENT)

    @property
    def is_pushed(self):
        return bool(self.flags & PUSHED)


class Frames:
    """Cuts a stream into frames."""

    def __init__(self, bytes_max):
        self.bytes_max = bytes_max
        self._kept = bytearray()

    @property
    def is_inside(self):
        return bool(self._kept)

    def take(self, data, types):
        """Yields the frames that `data` completes. Raises ProtocolError."""
        kept, at = self._kept, 0
        kept += data
        try:
            while len(kept) - at >= 16:
                size, flags, request = _FRAME.unpack_from(kept, at)
                head = 48 if flags & ENVELOPE else 16
                if size % 16 or size < head + 32 or size > self.bytes_max or flags & ~15:
                    raise ProtocolError(f"a frame has an impossible header ({size} bytes, flags {flags})")
                if len(kept) - at < size:
                    break
                whole = bytes(kept[at:at + size])
                at += size
                frame = Frame()
                frame.flags, frame.request, frame.bytes, frame.epoch = flags, request, size, 0
                frame.sequence, frame.session, frame.sender_request, frame.clock_ns = \
                    _ENVELOPE.unpack_from(whole, 16) if flags & ENVELOPE else (0, 0, 0, 0)
                frame.batch = Batch(memoryview(whole)[head:], types)
                yield frame
        finally:
            del kept[:at]
