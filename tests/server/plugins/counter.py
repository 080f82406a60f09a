"""What the tests of plugins in a running server share: a folder with a plugin that counts."""
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "support"))
import programs  # noqa: E402
from programs import equal, run_tests  # noqa: E402, F401

MUSTER, SERVER, BUILDS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])


class CounterFolder(programs.Folder):
    """With counter.so, and at most one server that has it."""

    def __init__(self, path):
        super().__init__(path, MUSTER, SERVER)
        self.plugin = self.path / "counter.so"
        self.process = None

    def put(self, build):
        """Writes a build over the plugin, into the very file."""
        shutil.copyfile(BUILDS / f"lib{build}.so", self.plugin)

    def count(self):
        return self.json("show", "/counter")["components"]["counter.Count"]["value"]
