"""What the tests of the commands share: the programs, exit codes, a small served world."""
import contextlib
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from programs import Folder, equal  # noqa: E402, F401

MUSTER, SERVER, GAME, ROOT, SESSION = (pathlib.Path(argument).resolve() for argument in sys.argv[1:6])
TOWN = ROOT / "examples/levels/town/town_model.gltf"
DONE, REFUSED, USAGE, UNREACHABLE, BAD_FILE, UNWRITTEN = range(6)


@contextlib.contextmanager
def game(folder):
    """A served world of game.fbs types with a small town in it."""
    folder.run("new", "game.muster", "--schema", GAME)
    folder.serve("game.muster")
    folder.run("spawn", "/town")
    folder.run("spawn", "/town/tower", "Health.value=80", "Unit.team=red")
    folder.run("spawn", "/town/gate", "Health")
    yield folder


def wait_for(condition, what):
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.02)


def holds(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in\n{text}"
