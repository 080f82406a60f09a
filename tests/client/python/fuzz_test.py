"""Bytes of others: whatever they are, the client takes them or raises its own errors, and does not
hang."""
import os
import random
import struct
import time
import unittest

from support import Programs, WorldTest

import muster
from muster.batch import Batch, Frames
from muster.core import Core
from muster.errors import MusterError
from muster.schema import read_schema
from muster.values import as_dict

ROUNDS = int(os.environ.get("MUSTER_PYTHON_FUZZ", "300"))


def spoiled(data, pick):
    """Some bytes with a few changes: other bytes, words that lead elsewhere, missing and doubled
    parts."""
    data = bytearray(data)
    for _ in range(pick.choice([1, 1, 2, 5])):
        what, at = pick.randrange(5), pick.randrange(len(data))
        if what == 0:
            data[at] ^= 1 << pick.randrange(8)
        elif what < 3 and len(data) >= 4:
            at = min(at & ~3, len(data) - 4) if what == 1 else min(at, len(data) - 4)
            word = pick.choice([0, 1, 4, 8, 0x7fffffff, 0x80000000, 0xffffffff, len(data), pick.randrange(1 << 32), at,
                                -at & 0xffffffff])
            struct.pack_into("<I", data, at, word)
        elif what == 3:
            del data[at:at + pick.choice([1, 4, 16, len(data)])]
        else:
            data[at:at] = data[at:at + pick.choice([1, 4, 64])]
        if not data:
            data = bytearray(1)
    return bytes(data)


class Recorded(Core):
    """A core that keeps what it receives."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.taken = []

    def receive(self, data):
        self.taken.append(bytes(data))
        super().receive(data)


class Fuzz(WorldTest):
    def setUp(self):
        super().setUp()
        self.pick = random.Random(5)

    def within_seconds(self, seconds, call):
        begun = time.monotonic()
        try:
            call()
        except MusterError:
            pass
        self.assertLess(time.monotonic() - begun, seconds)

    def test_schemas(self):
        for file in (Programs.game, Programs.words):
            data = file.read_bytes()
            read_schema(data)
            for _ in range(ROUNDS // 3):
                self.within_seconds(20, lambda: read_schema(spoiled(data, self.pick)))

    def test_a_schema_that_describes_more_than_its_bytes_is_refused_at_once(self):
        # Each of these structs contains the next one twice, and the last contains the first.
        from muster.errors import ProtocolError
        from muster.schema import OBJECT, Field, Type, check_struct
        types = [Type(f"a.T{i}") for i in range(40)]
        for i, made in enumerate(types):
            made.size = 60000
            for name, at in (("x", 0), ("y", 30000)):
                field = Field()
                field.name, field.base, field.offset, field.of = name, OBJECT, at, types[(i + 1) % 40]
                made.fields.append(field)
        with self.assertRaises(ProtocolError):
            check_struct(types[0])

    def test_a_session_of_a_server(self):
        import muster.link
        whole = muster.link.Core
        muster.link.Core = Recorded
        try:
            world = self.world()
        finally:
            muster.link.Core = whole
        with world.transaction() as edit:
            orc = edit.create("orc", world.types.Health(), world.types.Unit(title="x"), world.types.Frozen())
            for i in range(20):
                edit.create(f"e{i}", world.types.game.Path(), under=orc)
        with world.watch() as watch, world.events() as events:
            world.push(orc, "Say", text="hello", numbers=[1, 2, 3])
            world.rename(orc, "ork")
            world.destroy(world.children(orc)[0])
            world.show(orc)
            world.find("e")
            world.history()
            watch.catch_up()
            events.next(10)
        core = world._link.core
        stream = b"".join(core.taken)
        frames = list(Frames(1 << 26).take(stream, core.types))
        self.assertGreater(len(frames), 20)
        types = core.types
        for _ in range(ROUNDS):
            self.within_seconds(10, lambda: read_all(spoiled(stream, self.pick), types))
        cut = [bytes(frame.batch._data) for frame in frames if frame.bytes < 10000]
        for _ in range(ROUNDS * 10):
            data = spoiled(self.pick.choice(cut), self.pick)
            self.within_seconds(10, lambda: read_batch(data + bytes(-len(data) % 16), types))
        for _ in range(ROUNDS // 4):
            def replay():
                fresh, data, at = Core(), spoiled(stream, self.pick), 0
                told = []
                for _ in range(40):
                    fresh.ask(b"", told.append)
                while at < len(data):
                    size = self.pick.choice([1, 7, 1000, 60000])
                    fresh.receive(data[at:at + size])
                    at += size
                fresh.end(MusterError("over"))
            self.within_seconds(20, replay)


def read_batch(data, types):
    if len(data) >= 4:
        data = struct.pack("<I", len(data)) + data[4:]
    batch = Batch(data, types)
    batch = batch.inner or batch
    for i in range(min(batch.count, 50)):
        batch.target(i)
        as_dict(batch.message(i, {}))
        batch.rows(i)


def read_all(stream, types):
    for frame in Frames(1 << 26).take(stream, types):
        batch = frame.batch.inner or frame.batch
        for i in range(min(batch.count, 50)):
            batch.target(i)
            as_dict(batch.message(i, {}))
            batch.rows(i)


if __name__ == "__main__":
    unittest.main()
