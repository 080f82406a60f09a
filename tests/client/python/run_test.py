"""The clock, runs, and what is durable."""
import muster
from support import WorldTest


class Runs(WorldTest):
    def test_a_paused_world_is_stepped(self):
        world = self.world("--hz", "50")
        world.pause()
        before = world.clock().tick
        state = world.step(3)
        self.assertEqual((state.tick, state.paused, state.steps), (before + 3, 1, 0))
        self.assertEqual(world.step(200).tick, before + 203)
        world.resume(2)
        self.assertEqual((world.clock().paused, world.clock().speed), (0, 2))
        with self.assertRaises(muster.Refused) as caught:
            world.step()
        self.assertEqual(caught.exception.reason, "not_paused")

    def test_a_world_without_ticks_says_so(self):
        world = self.world()
        world.pause()
        with self.assertRaises(muster.Refused) as caught:
            world.step()
        self.assertEqual(caught.exception.reason, "no_ticks")

    def test_an_edit_that_was_made_for_another_epoch_is_not_sent(self):
        world = self.world("--level")
        orc = world.create("orc", world.types.Health(value=50))
        edit = world.transaction("late")
        edit.set_field(orc, "Health.value", 1)
        world.play()
        with self.assertRaises(muster.Refused) as caught:
            edit.commit()
        self.assertEqual(caught.exception.reason, "epoch_over")
        world.create("spawned in the run", world.types.Unit(title="a new text"))
        world.set_field(orc, "Health.value", 2)
        world.stop()
        self.assertEqual(world.show(orc)["Health"].value, 50)
        world.create("after the run", world.types.Unit(title="a new text"))

    def test_edits_of_a_run_are_kept(self):
        world = self.world("--level")
        orc = world.create("orc", world.types.Health(value=50))
        world.play()
        world.set_field(orc, "Health.value", 60)
        world.set_field(orc, "Health.value", 70)
        edits = world.run_edits()
        self.assertEqual([edit.is_marked for edit in edits], [False, False])
        self.assertTrue(world.keep(edits[0].step).marked)
        self.assertTrue(world.run_edits()[0].is_marked)
        world.stop()
        self.assertEqual(world.show(orc)["Health"].value, 70)
        world.undo()
        self.assertEqual(world.show(orc)["Health"].value, 50)

    def test_an_edit_becomes_durable(self):
        world = self.world("--autosave", "0")
        ack = world.push("@world", "Damage")
        self.assertGreaterEqual(world.wait_durable(ack).sequence, ack.sequence)
        self.assertGreaterEqual(world.save().sequence, ack.sequence)
        with self.assertRaises(muster.Mistaken):
            world.wait_durable(ack._replace(epoch=1))
