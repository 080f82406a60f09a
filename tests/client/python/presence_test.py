"""The presence of users, as others see it."""
import asyncio

import muster
from support import WorldTest


class Presence(WorldTest):
    def test_each_sees_what_others_select_drag_and_lock(self):
        path = self.serve()
        ann, bob = self.connect(path, name="Ann"), self.connect(path, name="Bob")
        orc, elf = ann.create("orc"), ann.create("elf")
        before = ann.info().entities, ann.sequence
        with bob.people() as people:
            self.assertEqual([each.name for each in people.here.values()], ["Ann", "Bob"])
            self.assertEqual(ann.set_presence(["orc", elf], dragged=[orc], locks=[orc], camera=((0, 2, 5), (1, 0, 0))), {})
            [seen] = people.next(10)
            self.assertEqual((seen.name, seen.kind, seen.selection, seen.dragged, seen.locks, seen.camera),
                             ("Ann", "python", [orc, elf], [orc], [orc], ((0, 2, 5), (1, 0, 0))))
            self.assertEqual([people.locked(each).name for each in (orc, str(orc), ann.show(orc))], ["Ann"] * 3)
            self.assertRaisesRegex(muster.Mistaken, "'orc' is not the id of an entity", people.locked, "orc")
            self.assertEqual(bob.set_presence(locks=[orc, elf]), {orc: ann.welcome.session})
            self.assertIsNone(people.next(0))  # a session is not told what it does itself
            ann.set_presence()
            self.assertEqual(people.next(10)[0].selection, [])
            self.assertIsNone(people.locked(orc))
            self.assertEqual(bob.set_presence(locks=[orc, elf]), {})
            carl = self.connect(path, name="Carl")
            self.assertEqual([each.name for each in people.next(10)], ["Carl"])
            self.assertEqual(carl.presence()[1].locks, [orc, elf])
            carl.close()
            [left] = people.next(10)
            self.assertEqual((left.session, left.gone), (carl.welcome.session, True))
            self.assertEqual(len(people.here), 2)
        self.assertEqual((ann.info().entities, ann.sequence), before, "presence is no input of the world")
        bob.close()
        while len(ann.presence()) > 1:
            pass
        self.assertEqual(ann.set_presence(locks=[orc]), {}, "locks end with their session")

    def test_many_changes_are_told_as_the_newest_state(self):
        path = self.serve()
        ann, bob = self.connect(path), self.connect(path)
        with bob.people() as people:
            for i in range(300):
                ann.set_presence([muster.Entity(i + 1, 1)])
            while people.here[ann.welcome.session].selection != [(300, 1)]:
                self.assertIsNotNone(people.next(10))

    def test_an_invalid_presence_is_refused_and_replaces_nothing(self):
        world = self.world()
        one = muster.Entity(1, 1)
        world.set_presence([one])
        for fields, reason in [({"selection": [one] * 257}, "too_many"), ({"locks": [one] * 257}, "too_many"),
                               ({"camera": ((0, 0, 0), (0, 0))}, "out_of_range"),
                               ({"camera": ((0, 0, 0), (0, 0, float("nan")))}, "not_finite")]:
            with self.assertRaises(muster.Refused) as caught:
                world.set_presence(**fields)
            self.assertEqual((caught.exception.code, caught.exception.reason), ("bad_question", reason))
        self.assertEqual(world.presence()[0].selection, [one])

    def test_the_command_shows_who_has_selected_what(self):
        world = self.world()
        camp = world.create("camp")
        world.create("orc", under=camp)
        world.set_presence(["orc", camp], locks=["orc"])
        [row] = [each for each in self.folder.json("who") if not each["own"]]
        self.assertEqual((row["selection"], row["dragged"], row["locks"]), (["2:1", "1:1"], [], ["2:1"]))
        said = self.folder.run("who")
        self.assertRegex(said.splitlines()[0], "SELECTED +LOCKED")
        self.assertIn("/camp/orc and 1 more", said)

    def test_the_asyncio_client_iterates_people_too(self):
        path = self.serve()
        ann = self.connect(path)

        async def script():
            async with await muster.connect_async(path) as world, await world.people() as people:
                await asyncio.to_thread(ann.set_presence, [muster.Entity(5, 1)])
                async for changed in people:
                    self.assertEqual(changed[0].selection, [(5, 1)])
                    break
        asyncio.run(asyncio.wait_for(script(), 60))
