"""Reads FlatBuffers, whose offsets come from a connection and may lead anywhere.

Reading a wrong offset raises ProtocolError. A buffer also limits the work of reading it, because
tables that share their parts could otherwise describe far more than their bytes."""
import struct

from .errors import ProtocolError

DEPTH_MAX = 64


class Buffer:
    """The bytes of one FlatBuffer, and how many more parts of it may be read."""

    __slots__ = ("data", "left")

    def __init__(self, data):
        self.data = data
        self.left = 4 * len(data) + 1024

    def spend(self, parts):
        self.left -= parts
        if self.left < 0:
            raise ProtocolError("a FlatBuffer refers to the same parts too often")

    def scalar(self, form, at):
        """Reads one number. `at` is never negative, because only tables look backward."""
        try:
            return struct.unpack_from(form, self.data, at)[0]
        except struct.error:
            raise ProtocolError(f"a FlatBuffer of {len(self.data)} bytes refers to byte {at}") from None

    def follow(self, at):
        return at + self.scalar("<I", at)

    def vector(self, at, step):
        """Returns where the elements of a vector begin, and their number."""
        begin = self.follow(at)
        count = self.scalar("<I", begin)
        begin += 4
        if begin + count * step > len(self.data):
            raise ProtocolError(f"a vector of {count} elements exceeds a FlatBuffer of {len(self.data)} bytes")
        self.spend(count)
        return begin, count

    def string(self, at):
        begin, count = self.vector(at, 1)
        try:
            return bytes(self.data[begin:begin + count]).decode("utf-8")
        except UnicodeDecodeError:
            raise ProtocolError("a string of a FlatBuffer is not UTF-8") from None

    def root(self):
        return Table(self, self.follow(0), 0)


class Table:
    """One table of a buffer. Fields are found by their slots."""

    __slots__ = ("buffer", "at", "depth", "vtable", "end")

    def __init__(self, buffer, at, depth):
        if depth > DEPTH_MAX:
            raise ProtocolError("the tables of a FlatBuffer are nested too deeply")
        buffer.spend(4)
        self.buffer, self.at, self.depth = buffer, at, depth
        self.vtable = at - buffer.scalar("<i", at)
        if self.vtable < 0:
            raise ProtocolError("a table of a FlatBuffer begins before its bytes")
        self.end = buffer.scalar("<H", self.vtable)

    def place(self, slot):
        """Returns where a field lies, or None if it is absent."""
        entry = 4 + 2 * slot
        if entry + 2 > self.end:
            return None
        offset = self.buffer.scalar("<H", self.vtable + entry)
        return self.at + offset if offset else None

    def scalar(self, slot, form, default=0):
        at = self.place(slot)
        return default if at is None else self.buffer.scalar("<" + form, at)

    def table(self, slot):
        at = self.place(slot)
        return None if at is None else self.below(at)

    def below(self, at):
        return Table(self.buffer, self.buffer.follow(at), self.depth + 1)

    def string(self, slot):
        at = self.place(slot)
        return "" if at is None else self.buffer.string(at)

    def tables(self, slot):
        at = self.place(slot)
        if at is None:
            return []
        begin, count = self.buffer.vector(at, 4)
        return [self.below(begin + 4 * i) for i in range(count)]

    def strings(self, slot):
        at = self.place(slot)
        if at is None:
            return []
        begin, count = self.buffer.vector(at, 4)
        return [self.buffer.string(begin + 4 * i) for i in range(count)]
