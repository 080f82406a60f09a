"""Shared by the tests of the client in Python: servers in folders of their own."""
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "client" / "python"
sys.path[:0] = [str(PACKAGE), str(ROOT / "tests" / "support")]

import muster
from programs import Folder


class Programs:
    """The programs and schemas that run.py was given."""

    muster = server = game = session = words = skirmish = None


class WorldTest(unittest.TestCase):
    """A test with a folder, in which worlds are served."""

    def setUp(self):
        path = tempfile.mkdtemp(prefix="muster-python-")
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        self.folder = Folder(path, Programs.muster, Programs.server)
        self.addCleanup(self.folder.end)
        self.path = self.folder.path

    def serve(self, *options, world="w.muster"):
        """Serves a world with the types of tests/cli/game.fbs, and returns its path."""
        self.server = self.folder.serve(world, "--schema", Programs.game, *options)
        return self.path / world

    def connect(self, world, **options):
        client = muster.connect(world, **options)
        self.addCleanup(client.close)
        return client

    def world(self, *options):
        return self.connect(self.serve(*options))
