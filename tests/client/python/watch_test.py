"""A watch keeps a copy that equals the world."""
import asyncio
import concurrent.futures
import os
import random
import unittest

import muster
from muster import core
from support import WorldTest


def fields_of(shown):
    return {name: muster.as_dict(value) for name, value in shown.components.items()
            if name not in ("muster.Name", "muster.ChildOf")}


def all_of(world, entity=muster.nil):
    """Every entity of the world: its parent, name and components, asked for one by one."""
    found = {}
    for child in world.children(entity):
        found[child.entity] = (entity, child.name, fields_of(world.show(child.entity)))
        found.update(all_of(world, child.entity))
    return found


def copy_of(watch):
    return {node.entity: (node.parent, node.name, {name: muster.as_dict(node[name]) for name in node.components})
            for node in watch.entities.values()}


class RandomEdits:
    """Edits that are valid more often than not."""

    def __init__(self, world, seed):
        self.world, self.drawn, self.entities = world, random.Random(seed), []

    def edit(self, to):
        pick, types = self.drawn, self.world.types
        one = pick.choice(self.entities) if self.entities else muster.nil
        what = pick.randrange(10) if len(self.entities) > 5 else 0
        values = [types.Health(value=pick.randrange(101)), types.Frozen(),
                  types.Unit(title=f"title {pick.randrange(50)}", target=one, team=pick.randrange(3)),
                  types.game.Path(points=[float(pick.randrange(9))] * 32)]
        if what < 2:
            self.entities.append(to.create(f"e{pick.randrange(1 << 40)}", *pick.sample(values, pick.randrange(4)),
                                           under=pick.choice([one, muster.nil])))
        elif what < 5:
            to.set(one, *pick.sample(values, 1 + pick.randrange(3)))
        elif what < 7:
            to.set_field(one, "Unit.title", f"other {pick.randrange(50)}")
        elif what == 7:
            to.remove(one, pick.choice(["Health", "Frozen", "Unit"]))
        elif what == 8:
            to.rename(one, f"r{pick.randrange(1 << 40)}")
        elif pick.randrange(4):
            to.move(one, under=pick.choice([muster.nil, *self.entities[:3]]))
        elif len(self.entities) > 20:
            self.entities.remove(one)
            to.destroy(one)


def closed(watch):
    watch.close()
    return watch


def mirror_random_edits(test, count, seed):
    path = test.serve()
    writer, reader = test.connect(path), test.connect(path)
    edits, done, since = RandomEdits(writer, seed), 0, None
    with reader.watch() as watch:
        before = copy_of(watch)
        since = watch.sequence
        while done < count:
            size = edits.drawn.choice([1, 1, 1, 5, 40])
            try:
                if size == 1:
                    edits.edit(writer)
                else:
                    with writer.transaction() as to:
                        for _ in range(size):
                            edits.edit(to)
            except muster.Refused:
                alive = {each.entity for each in writer.find()}
                edits.entities = [each for each in edits.entities if each in alive]
            done += size
            if edits.drawn.randrange(60) == 0:
                writer.undo()
            if edits.drawn.randrange(40) == 0:
                watch.next(0)
        watch.catch_up(60)
        copy = copy_of(watch)
        test.assertEqual(copy, all_of(writer))
        changes = watch.changes_since(since)
        test.assertTrue(changes.complete)
        test.assertEqual(before, {})
        test.assertEqual(set(changes.entities), set(copy))
    return len(copy)


class Watches(WorldTest):
    def test_a_mirror_of_random_edits_equals_the_world(self):
        count = int(os.environ.get("MUSTER_PYTHON_EDITS", "2000"))
        self.assertGreater(mirror_random_edits(self, count, 1), 10)

    def test_iterating_a_watch_yields_what_changed(self):
        path = self.serve()
        writer, reader = self.connect(path), self.connect(path)
        camp = writer.create("camp")
        orc = writer.create("orc", writer.types.Health(value=5), under=camp)
        with reader.watch() as watch:
            self.assertEqual((len(watch), watch[orc].path, watch[orc]["Health"].value), (2, "/camp/orc", 5))
            self.assertIsNone(watch.next(0))
            for each in (str(orc), reader.show(orc), watch[orc], tuple(orc)):
                self.assertEqual(watch[each].entity, orc)
            self.assertIsNone(watch.get("99:1"))
            self.assertRaisesRegex(KeyError, "no entity 99:1: it does not exist, or it is not watched", lambda: watch["99:1"])
            self.assertRaisesRegex(muster.Mistaken, "'orc' is not the id of an entity", lambda: watch["orc"])
            begun = watch.sequence
            writer.set_field(orc, "Health.value", 6)
            changes = next(watch)
            self.assertEqual([(node.name, name) for node, name in changes.set], [("orc", "game.Health")])
            with writer.transaction() as edit:
                elf = edit.create("elf", writer.types.Frozen(), under=camp)
                edit.remove(orc, "Health")
                edit.rename(orc, "ork")
                edit.move(orc, "/")
            changes = next(watch)
            self.assertEqual([node.entity for node in changes.created], [elf])
            self.assertEqual([name for _, name in changes.removed], ["game.Health"])
            self.assertEqual(([node.name for node in changes.renamed], [node.path for node in changes.moved]),
                             (["ork"], ["/ork"]))
            writer.destroy(camp)
            self.assertEqual({node.entity for node in next(watch).destroyed}, {camp, elf})
            since = watch.changes_since(begun)
            self.assertEqual(since.entities, {orc: ["game.Health", "moved", "renamed"]})
            self.assertEqual(set(since.gone), {camp, elf})
            self.assertFalse(watch.changes_since(begun - 1).complete)
            self.assertEqual(watch.changes_since(watch.sequence).entities, {})

    def test_an_entity_that_comes_back_is_not_gone_since_then(self):
        world = self.world()
        orc = world.create("orc", world.types.Health(value=5))
        with world.watch() as watch:
            begun = watch.sequence
            world.destroy(orc)
            watch.catch_up()
            self.assertEqual(watch.changes_since(begun).gone, [orc])
            world.undo()
            watch.catch_up()
            since = watch.changes_since(begun)
            self.assertEqual((since.gone, since.entities), ([], {orc: ["created"]}))

    def test_a_watch_may_be_of_a_part_of_the_world(self):
        path = self.serve()
        world = self.connect(path)
        camp, other = world.create("camp"), world.create("other", world.types.Health())
        orc = world.create("orc", world.types.Health(), world.types.Frozen(), under=camp)
        with world.watch("camp", having="Health", components=["Health"]) as watch:
            self.assertEqual((set(watch.entities), watch[orc].components), ({orc}, ["game.Health"]))
            world.move(other, under=camp)
            watch.catch_up()
            self.assertEqual(set(watch.entities), {orc, other})
            world.move(orc, under="/")
            changes = watch.catch_up()
            self.assertEqual([node.entity for node in changes.left], [orc])

    def test_a_watch_that_was_closed_says_so_to_whoever_waits_for_it(self):
        world = self.world()
        for open_one in (world.watch, world.events, world.people):
            one = open_one()
            with concurrent.futures.ThreadPoolExecutor() as pool:
                waiting = pool.submit(one.next, 60)
                with self.assertRaises(concurrent.futures.TimeoutError):
                    waiting.result(0.2)
                one.close()
                self.assertRaisesRegex(muster.Mistaken, "was closed", waiting.result, 50)
            self.assertRaisesRegex(muster.Mistaken, "was closed", one.next)
            one.close()
        self.assertRaisesRegex(muster.Mistaken, "was closed", closed(world.watch()).catch_up)

    def test_a_watch_follows_a_run_and_its_end(self):
        world = self.world("--level")
        orc = world.create("orc", world.types.Health(value=50))
        with world.watch() as watch:
            begun = world.epoch
            world.play()
            self.assertTrue(world.playing)
            self.assertNotEqual(world.epoch, begun)
            world.set_field(orc, "Health.value", 1)
            world.create("made in the run")
            watch.catch_up()
            self.assertEqual((len(watch), watch[orc]["Health"].value), (2, 1))
            world.stop()
            watch.catch_up()
            self.assertEqual((len(watch), watch[orc]["Health"].value), (1, 50))

    def test_the_end_of_the_server_ends_a_watch_with_an_error(self):
        world = self.world()
        with self.assertRaises(muster.Lost):
            with world.watch() as watch:
                self.folder.stop(self.server)
                for _ in watch:
                    pass
        with self.assertRaises(muster.Lost):
            world.info()

    def test_a_program_that_does_not_take_its_changes_is_not_sent_more_than_it_has_room_for(self):
        path = self.serve()
        writer, reader = self.connect(path), self.connect(path)
        Path = writer.types.game.Path
        with writer.transaction() as edit:
            entities = [edit.create("", Path()) for _ in range(2000)]
        with reader.watch() as watch:
            for i in range(40):
                with writer.transaction() as edit:
                    for each in entities:
                        edit.set(each, Path(points=[float(i)] * 32))
            held = sum(frame.bytes for frame in watch._inner._stream.frames)
            self.assertLess(held, 1 << 20)
            watch.catch_up(60)
            self.assertEqual({tuple(node["Path"].points) for node in watch.entities.values()}, {(39.0,) * 32})

    def test_a_watch_that_is_read_goes_on_although_another_one_is_not_read(self):
        path = self.serve()
        writer, reader = self.connect(path), self.connect(path)
        Path = writer.types.game.Path
        with writer.transaction() as edit:
            entities = [edit.create("", Path()) for _ in range(2000)]

        def fill(value):
            with writer.transaction() as edit:
                for each in entities:
                    edit.set(each, Path(points=[value] * 32))
        with reader.watch() as unread:
            with reader.watch() as watch:
                for i in range(8):
                    fill(float(i))
                    watch.catch_up(60)
            for i in range(8):
                fill(100.0 + i)
                with reader.watch(having=[Path]) as short:
                    self.assertEqual(len(short), 2000)
            unread.catch_up(60)
            self.assertEqual({tuple(node["Path"].points) for node in unread.entities.values()}, {(107.0,) * 32})

    def test_a_watch_that_nobody_reads_ends_before_it_needs_all_memory(self):
        core.UNREAD_BYTES_MAX, before = 2 << 20, core.UNREAD_BYTES_MAX
        self.addCleanup(setattr, core, "UNREAD_BYTES_MAX", before)
        path = self.serve()
        writer, reader = self.connect(path), self.connect(path)
        Path = writer.types.game.Path
        with writer.transaction() as edit:
            entities = [edit.create("", Path()) for _ in range(2000)]
        with reader.watch() as unread, reader.watch() as watch:
            for i in range(30):
                with writer.transaction() as edit:
                    for each in entities:
                        edit.set(each, Path(points=[float(i)] * 32))
                watch.catch_up(60)
                if unread._inner._stream.error:
                    break
            with self.assertRaisesRegex(muster.Late, "nobody has read this watch"):
                unread.next(10)
            watch.catch_up(60)
        self.assertEqual(reader.info().sessions, 2)

    def test_the_asyncio_client_does_the_same(self):
        path = self.serve()

        async def script():
            async with await muster.connect_async(path) as world:
                Health = world.types.Health
                async with await world.watch() as watch:
                    async with world.transaction("two") as edit:
                        orc = await edit.create("orc", Health(value=5))
                        await edit.create("elf", under=orc)
                    async for changes in watch:
                        break
                    self.assertEqual({node.path for node in changes.created}, {"/orc", "/orc/elf"})
                    found = await asyncio.gather(*[world.show(orc) for _ in range(50)])
                    self.assertEqual({shown["Health"].value for shown in found}, {5})
                async with await world.events("Damage") as events:
                    await world.push(orc, "Damage", amount=2)
                    self.assertEqual((await events.next(10)).value.amount, 2)
                with self.assertRaises(muster.Refused):
                    await world.create("orc")
        asyncio.run(asyncio.wait_for(script(), 60))


if __name__ == "__main__":
    unittest.main()
