"""The examples of examples/python, run as their readers run them."""
import importlib.util
import re
import subprocess
import sys
import unittest

from support import PACKAGE, ROOT, Programs, WorldTest

EXAMPLES = ROOT / "examples" / "python"


class Examples(WorldTest):
    def example(self, *arguments):
        ran = subprocess.run([sys.executable, *map(str, arguments)], cwd=self.path, capture_output=True, text=True,
                             timeout=100, env={**self.folder.environment, "PYTHONPATH": str(PACKAGE)}, check=False)
        servers = [(each.poll(), each.stderr.read()) for each in self.folder.started if each.poll() is not None]
        self.assertEqual(ran.returncode, 0, f"{ran.stdout}{ran.stderr}servers that have ended: {servers}")
        return ran.stdout

    def test_a_thousand_props_are_placed_from_a_csv_as_one_step(self):
        world = self.connect(self.serve("--schema", ROOT / "schema/scene.fbs", "-I", ROOT))
        said = self.example(EXAMPLES / "place_props.py", EXAMPLES / "props.csv", "w.muster")
        self.assertIn("placed 1000 props below", said)
        props = world.find(having=["Transform", "Shape"], under="props")
        self.assertEqual(len(props), 1000)
        shown = world.show(props[0].entity)
        self.assertNotEqual(shown["Transform"].position.x, 0)
        self.assertIn(str(shown["Shape"].kind), ("cone", "sphere", "cylinder"))
        self.assertEqual([(step.parts, step.is_redo) for step in world.history()], [(1001, False)])
        self.folder.run("undo")
        self.assertEqual(world.info().entities, 0)

        broken = self.path / "broken.csv"
        broken.write_text("name,x,y,z,shape\na,1,2,3,box\nb,1,2,3,bax\n")
        with self.assertRaisesRegex(AssertionError, "no value 'bax'"):
            self.example(EXAMPLES / "place_props.py", broken, "w.muster")
        self.assertEqual(world.info().entities, 0)

    def test_a_paused_world_is_stepped_and_the_health_of_a_unit_drawn(self):
        path = self.path / "battle.muster"
        self.folder.environment["SKIRMISH_ENTITIES"] = "400"
        self.folder.serve("battle.muster", "--plugin", Programs.skirmish, "--hz", "60", "--paused")
        world = self.connect(path)
        one = world.find("unit-0", under="/red", having="Unit")[0]
        for _ in range(3):
            world.push(one.entity, "skirmish.Damage", amount=1)
        said = self.example(EXAMPLES / "plot_health.py", one.path, 60, "health.svg", path)
        self.assertIn("7 values, the last one", said)
        drawn = (self.path / "health.svg").read_text()
        self.assertEqual(len(re.search('points="(.*?)"', drawn)[1].split()), 7)
        self.assertEqual((world.clock().paused, world.clock().tick), (1, 60))

    @unittest.skipUnless(importlib.util.find_spec("pytest"), "python3-pytest is not installed")
    def test_a_game_s_rules_are_tested_with_pytest(self):
        self.folder.environment.update(MUSTER_SERVER=str(Programs.server), SKIRMISH=str(Programs.skirmish))
        said = self.example("-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLES / "test_rules.py")
        self.assertRegex(said, "6 passed")


if __name__ == "__main__":
    sys.exit("run.py runs the tests")
