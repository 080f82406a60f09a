"""Edits, transactions and questions against a served world."""
import asyncio
import threading
import traceback

import muster
from support import WorldTest
from watch_test import all_of


class Edits(WorldTest):
    def test_edits_reach_the_world_and_are_read_back(self):
        world = self.world()
        Health, Unit, Frozen = world.types.game.Health, world.types.game.Unit, world.types.Frozen
        camp = world.create("camp")
        orc = world.create("orc", Health(value=50), Frozen(), Unit(team="red", speed=1.5, target=camp, title="the first"),
                           under=camp)
        elf = world.create("elf", under="camp", before=orc)
        self.assertEqual([child.name for child in world.children(camp)], ["elf", "orc"])
        shown = world.show("/camp/orc")
        self.assertEqual((shown[Health].value, shown["Unit"].title, shown["Unit"].team, shown["Unit"].target),
                         (50, "the first", world.types.Team.red, camp))
        self.assertIn(Frozen, shown)
        ack = world.set(orc, Health(value=60))
        self.assertEqual((ack.handled, ack.epoch), (1, world.epoch))
        world.set_field("orc", "Health.value", 70)
        world.set_field("orc", "game.Health.value", 80, expect=70)
        with self.assertRaises(muster.Refused) as caught:
            world.set_field("orc", "Health.value", 90, expect=70)
        self.assertEqual((caught.exception.reason, caught.exception.value), ("value_mismatch", 80))
        world.remove(orc, "Frozen")
        world.move(elf, under=orc)
        world.rename(elf, "a/elf")
        self.assertEqual(world.show(elf).path, "/camp/orc/a\\/elf")
        self.assertNotIn("Frozen", world.show(orc))
        self.assertEqual(world.find(having=Health), [(orc, "/camp/orc")])
        self.assertEqual([found.entity for found in world.find("ELF", under=camp)], [elf])
        world.destroy(orc)
        self.assertEqual(world.info().entities, 1)
        with self.assertRaises(muster.Refused) as caught:
            world.show(elf)
        self.assertEqual(caught.exception.code, "dead_entity")

    def test_an_error_names_what_is_wrong_and_the_session_goes_on(self):
        world = self.world()
        orc = world.create("orc", world.types.Health())
        for call, said in [(lambda: world.entity("nobody"), "no entity is named 'nobody'"),
                           (lambda: world.set_field(orc, "Health.valeu", 1), "no field 'valeu'; it has value"),
                           (lambda: world.set_field(orc, "Healht.value", 1), "did you mean Health"),
                           (lambda: world.set_field(orc, "Health", 1), "does not name a component and its field"),
                           (lambda: world.set_field(orc, "Path.points", [0.0] * 32), "at most 64 can be set at once"),
                           (lambda: world.set(orc), "at least one component"),
                           (lambda: world.set(orc, "Damage"), "game.Damage is not a component"),
                           (lambda: world.set(orc, "Health"), r"game.Health is given without a value. Give one, such as Health\(value="),
                           (lambda: world.set(orc, world.types.Unit), r"\('Unit', {}\) to give all its fields their defaults"),
                           (lambda: world.set(orc, ("Unit", ("red", 1))), "4 values are expected .team, speed, target, title., and 2"),
                           (lambda: world.push(orc, "Health"), "not a message"),
                           (lambda: world.push(orc, "Update"), "may not be sent"),
                           (lambda: world.push(orc, "Damage", amount="5"), "game.Damage.amount: the text '5'"),
                           (lambda: world.push([], "Damage"), "nothing to send"),
                           (lambda: world.push(orc, "Say", text=5), "not a text"),
                           (lambda: world.wait_durable(orc), "an Ack, which edits return, or its sequence is expected, not 1:1"),
                           (lambda: world.wait_durable(None), "an Ack, .* is expected, not None"),
                           (lambda: world.create(5), "text"), (lambda: world.create("x", under=5), "not an entity"),
                           (lambda: world.ask("Nothing"), "no type"), (lambda: world.ask("Ack"), "not a question")]:
            with self.assertRaisesRegex(muster.Mistaken, said):
                call()
        for call, reason in [(lambda: world.set_field(orc, "Health.value", 101), "out_of_range"),
                             (lambda: world.set_field(orc, "Health.value", float("nan")), "not_finite"),
                             (lambda: world.create("orc"), "name_taken"), (lambda: world.spawn("nothing"), ""),
                             (lambda: world.stop(), "no_run"), (lambda: world.redo(), "nothing_to_redo")]:
            with self.assertRaises(muster.Refused) as caught:
                call()
            self.assertEqual(caught.exception.reason, reason or caught.exception.reason)
        with self.assertRaisesRegex(TypeError, "under"):
            world.move(orc)
        world.set(orc, "Frozen", ("Unit", {}))
        world.create("orc", under=orc)
        with self.assertRaisesRegex(muster.Mistaken, r"may be any of /orc \(.*, /orc/orc"):
            world.show("orc")
        self.assertEqual(world.show(orc)["Health"].value, 100)

    def test_a_transaction_is_applied_as_a_whole_and_undone_as_one_step(self):
        world = self.world()
        Health = world.types.Health
        with world.transaction("Place a camp") as edit:
            camp = edit.create("camp")
            for i in range(300):
                edit.create(f"tent {i}", Health(value=i % 100), under=camp)
            edit.push("@world", "Damage")
            self.assertEqual(world.info().entities, 0, "nothing is sent before the end")
        self.assertEqual((edit.ack.handled, world.info().entities), (301, 301))
        step = world.history()[0]
        self.assertEqual((step.label, step.parts, step.is_redo), ("Place a camp", 301, False))
        self.assertEqual(world.undo(dry=True).label, "Place a camp")
        self.assertRaises(TypeError, world.undo, 2)  # is not a number of steps
        world.undo()
        self.assertEqual(world.info().entities, 0)
        world.redo()
        self.assertEqual(world.info().entities, 301)

        with self.assertRaises(muster.Refused) as caught:
            with world.transaction() as edit:
                edit.create("other")
                edit.set_field("tent 5", "Health.value", 1000)
        self.assertEqual(caught.exception.reason, "out_of_range")
        with self.assertRaises(ZeroDivisionError):
            with world.transaction() as edit:
                edit.create("other")
                1 / 0
        self.assertEqual(world.info().entities, 301)
        with world.transaction() as edit:
            pass
        self.assertIsNone(edit.ack)

    def test_the_traceback_of_a_refusal_is_that_of_the_program_which_made_the_call(self):
        world = self.world()

        async def script():
            async with await muster.connect_async(world.where.file) as other, other.transaction() as edit:
                await edit.rename("9:9", "x")

        def wait():
            with world.transaction() as edit:
                edit.rename("9:9", "x")
        for call in (wait, lambda: asyncio.run(script())):
            try:
                call()
            except muster.Refused as error:
                told = traceback.TracebackException.from_exception(error)
            inside = [frame.name for frame in told.stack if "/muster/" in frame.filename]
            self.assertLessEqual(len(inside), 3, inside)
            self.assertNotIn("direct cause", "".join(told.format()))

    def test_a_transaction_larger_than_a_frame_is_one_step_of_the_history(self):
        world = self.world("--limit", "frame_bytes_max=20000")
        with world.transaction("many") as edit:
            for i in range(1000):
                edit.create(f"prop {i}", world.types.Unit(title=f"number {i}"))
        self.assertEqual(world.info().entities, 1000)
        self.assertEqual([(step.label, step.parts) for step in world.history()], [("many", 1000)])
        world.undo()
        self.assertEqual(world.info().entities, 0)

    def test_a_dry_run_says_what_the_world_would_say_and_changes_nothing(self):
        world = self.world()
        orc = world.create("orc", world.types.Health(value=50))
        before = all_of(world)
        edit = world.transaction("a camp")
        camp = edit.create("camp", world.types.Unit(speed=5))
        edit.move(orc, under=camp)
        edit.set_field(orc, "Health.value", 70)
        edit.destroy(orc)
        would = edit.dry_run()
        self.assertEqual((would.created, would.destroyed, would.changed), (1, 1, 0))
        self.assertEqual(list(zip(would.entities, would.names)), [(camp, "camp"), (orc, "orc")])
        self.assertEqual(edit.dry_run(), would)
        self.assertEqual(all_of(world), before)
        self.assertEqual([step.what for step in world.history()], ["create orc"])
        edit.commit()
        self.assertEqual([(found.entity, found.path) for found in world.find()], [(camp, "/camp")])
        for spoil, reason in [(lambda edit: edit.rename("camp", "tent"), None),
                              (lambda edit: edit.create("camp"), "name_taken"),
                              (lambda edit: edit.set_field("camp", "Health.value", 1), "missing_component"),
                              (lambda edit: edit.destroy(orc), "dead_entity")]:
            edit = world.transaction()
            spoil(edit)
            if reason is None:
                edit.dry_run()
                continue
            with self.assertRaises(muster.Refused) as caught:
                edit.dry_run()
            self.assertEqual(caught.exception.reason, reason)
        edit = world.transaction()
        edit.push("camp", "Damage")
        with self.assertRaisesRegex(muster.Mistaken, "game.Damage cannot be tried"):
            edit.dry_run()
        world.transaction().dry_run()
        self.assertEqual(world.show("camp").name, "camp")

    def test_a_transaction_is_applied_only_if_the_world_is_as_expected(self):
        world = self.world()
        camp = world.create("camp")
        orc = world.create("orc", world.types.Health(value=50), under=camp)
        for wrong, reason in [(dict(field="Health.value", value=51), "value_mismatch"), (dict(has="Unit"), "missing_component"),
                              (dict(lacks=["Health"]), "component_there"), (dict(under="/"), "parent_mismatch"),
                              (dict(name="elf"), "name_mismatch"), (dict(descendants=1), "descendants_mismatch")]:
            edit = world.transaction()
            edit.expect(orc, **wrong)
            edit.destroy(orc)
            for send in (edit.dry_run, edit.commit):
                with self.assertRaises(muster.Refused) as caught:
                    send()
                self.assertEqual((caught.exception.reason, caught.exception.fault.entity), (reason, orc))
                self.assertEqual(caught.exception.value, {"value_mismatch": 50, "parent_mismatch": camp}.get(reason))
        with self.assertRaisesRegex(muster.Mistaken, "needs something to expect"):
            world.transaction().expect(orc)
        with world.transaction("as seen") as edit:
            edit.expect(orc, "Health.value", 50, has="Health", lacks="Unit", under=camp, name="orc", descendants=0)
            edit.expect(camp, under="/", descendants=1)
            edit.destroy(orc)
        self.assertEqual(world.info().entities, 1)
        self.assertEqual(world.history()[0].label, "as seen")

    def test_threads_may_share_a_session(self):
        world, wrong = self.world(), []

        def create(begin):
            try:
                for i in range(40):
                    world.create(f"e{begin + i}", world.types.Unit(title=f"t{i}"))
            except Exception as error:
                wrong.append(error)
        threads = [threading.Thread(target=create, args=(100 * i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(wrong, [])
        self.assertEqual(world.info().entities, 160)

    def test_a_pushed_message_arrives_as_an_event_and_a_timed_one_later(self):
        world = self.world()
        orc = world.create("orc", world.types.Health())
        with world.events("Damage", "Say") as events:
            ack = world.push("orc", world.types.Damage(amount=5, from_=orc))
            event = events.next(10)
            self.assertEqual((event.name, event.target, event.value.amount, event.sequence, event.session),
                             ("game.Damage", orc, 5, ack.sequence, world.welcome.session))
            world.push([orc, orc], "Damage", amount=6)
            self.assertEqual([events.next(10).value.amount for _ in range(2)], [6, 6])
            world.push(muster.nil, "Say", text="hello", numbers=[1, 2])
            self.assertEqual(events.next(10).value.numbers, [1, 2])
            world.push_at(world.clock().clock_ns + 1, orc, "Damage", amount=7)
            event = events.next(10)
            self.assertEqual((event.value.amount, event.due_ns > 0), (7, True))
            self.assertIsNone(events.next(0))

    def test_templates_are_listed_defined_and_spawned(self):
        world = self.world()
        text = '{ templates: [ { name: "tower", components: { Health: { value: 30 } }, children: [ { name: "flag" } ] } ] }'
        self.assertEqual(world.define_templates(text, "towers.json"), ["tower"])
        self.assertEqual(world.templates(), {"tower": 2})
        made = world.spawn("tower", "north", world.types.Frozen())
        self.assertEqual((world.show(made)["Health"].value, world.show(made).path), (30, "/north"))
        self.assertIn("Frozen", world.show("north"))
        with world.transaction("two") as edit:
            edit.spawn("tower", "east")
            edit.spawn("tower", "west")
        self.assertEqual(world.entity("west/flag"), world.children("west")[0].entity)
        with self.assertRaisesRegex(muster.Refused, "towers.json"):
            world.define_templates("{ templates: [ { name: 5 } ] }", "towers.json")
