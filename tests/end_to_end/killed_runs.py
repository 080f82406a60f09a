#!/usr/bin/env python3
"""Kills a server with SIGKILL while a level is played, edited and stopped: the file gives back the
level or the run, as asked, and never a mixture.

`killed_runs.py MUSTER SERVER GAME_BFBS [ROUNDS]`: 4 rounds if not given. The last line is
`N passed, N failed`."""
import pathlib
import os
import random
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parents[1] / "client" / "python")]
import muster  # noqa: E402
from programs import Folder, equal, run_tests  # noqa: E402
from world_rows import differing, saved  # noqa: E402

MUSTER, SERVER, GAME = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
ROUNDS = int(sys.argv[4]) if sys.argv[4:] else 4
PILE_MAX = 4
WORLD = "w.muster"


def serve(folder, *options):
    folder.process = folder.serve(WORLD, "--schema", GAME, *options)
    return muster.connect(folder.path / WORLD, timeout=60)


def seen(world):
    """What the edits of a run change: the number of the run and that of the edit, once for each
    entity that has them, and the pile."""
    marks = {(unit.speed, world.show(name)["Health"].value) for name in ("/a", "/b") for unit in [world.show(name)["Unit"]]}
    return marks, [child.name for child in world.children("/pile")]


def after_edit(number, edit):
    """What `seen` returns after this edit of a run: each edit marks both entities, and adds one to
    the pile."""
    return {(number, edit % 100)}, [f"{number}.{each}" for each in range(max(1, edit - PILE_MAX + 1), edit + 1)]


class Player:
    """Plays, edits and stops until the server dies."""

    def __init__(self, world, draws):
        self.world, self.draws = world, draws
        # The numbers of the run, of its last edit, and of its last durable edit.
        self.number, self.last, self.durable = 0, 0, 0
        self.wrong = None
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        try:
            while True:
                self.play()
        except muster.Lost:
            pass
        except Exception as error:
            self.wrong = error

    def play(self):
        world, draws = self.world, self.draws
        self.number, self.last, self.durable = self.number + 1, 0, 0
        world.play()
        for edit in range(1, draws.choice((1, 5, 40))):
            self.last = edit
            ack = self.edit(edit)
            if draws.random() < 0.1:
                world.save()
            if draws.random() < 0.3:
                world.wait_durable(ack)
                self.durable = edit
        world.stop()
        time.sleep(draws.random() * 0.02)

    def edit(self, edit):
        change = self.world.transaction()
        for name in ("/a", "/b"):
            change.set_field(name, "Health.value", edit % 100)
            change.set_field(name, "Unit.speed", self.number)
        change.create(f"{self.number}.{edit}", under="/pile")
        if edit > PILE_MAX:
            change.destroy(f"/pile/{self.number}.{edit - PILE_MAX}")
        return change.commit()


def check_level(folder, world, level, of_level):
    world.save()
    equal(world.info().playing, 0)
    equal(differing(saved(folder.path / WORLD)[0], level), [])
    equal(seen(world), of_level)


def a_server_that_is_killed_in_runs_comes_back_with_the_level_or_the_run_as_asked(folder):
    seed = int(os.environ.get("MUSTER_SEED", "7"))
    print(f"seed {seed}")
    draws = random.Random(seed)
    folder.run("new", WORLD, "--schema", GAME)
    world = serve(folder, "--level")
    for name in ("a", "b", "pile"):
        world.create(name, world.types.Health(value=77), world.types.Unit(speed=0))
    world.play()
    world.stop()  # ids that were granted and not used are the world's again
    of_level, counts = seen(world), dict.fromkeys(("level asked", "run", "level"), 0)
    for number in range(ROUNDS):
        if number % 5 == 4:
            world.set_field("/pile", "Health.value", number % 100)
        world.save()
        level = saved(folder.path / WORLD)[0]
        player = Player(world, random.Random(draws.random()))
        if number < ROUNDS // 2:
            until = time.monotonic() + 60
            while not player.last and player.thread.is_alive():
                assert time.monotonic() < until, "no run begins"
                time.sleep(0.001)
        time.sleep(draws.random() * 0.25)
        folder.process.kill()
        folder.process.wait(20)
        player.thread.join(60)
        world.close()
        assert not player.wrong, repr(player.wrong)
        told = f"round {number}: run {player.number}, edit {player.last}, durable {player.durable}"
        folder.run("verify", WORLD)
        ask_for_level = draws.random() < 0.4
        world = serve(folder, *(["--level"] if ask_for_level else ["--paused"]))
        if ask_for_level or not world.info().playing:
            counts["level asked" if ask_for_level else "level"] += 1
            check_level(folder, world, level, of_level)
        else:
            counts["run"] += 1
            found = seen(world)
            allowed = [after_edit(player.number, edit) if edit else of_level for edit in range(player.durable, player.last + 1)]
            assert found in allowed, f"{told}: {found}"
            world.stop()
            check_level(folder, world, level, of_level)
        world.close()
        folder.stop(folder.process)
        options = ["--level", "--durability", draws.choice(("each_flush", "batched")), "--autosave", draws.choice(("0", "0.05", "2"))]
        world = serve(folder, *options)
        check_level(folder, world, level, of_level)
    world.close()
    print(", ".join(f"{name}: {count}" for name, count in counts.items()))
    assert ROUNDS < 50 or all(counts.values()), counts


if __name__ == "__main__":
    sys.exit(run_tests([a_server_that_is_killed_in_runs_comes_back_with_the_level_or_the_run_as_asked],
                       lambda path: Folder(path, MUSTER, SERVER), seconds=60 + 60 * ROUNDS))
