#!/usr/bin/env python3
"""Runs the embedding example, and beside it `muster`, as a person at an engine would. `run.py MUSTER SERVER EMBEDDING SNIPPETS`. The last
line is `N passed, N failed`."""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from deadline import deadline  # noqa: E402
from programs import Folder  # noqa: E402

MUSTER, SERVER, EMBEDDING, SNIPPETS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
DRAWN = re.compile(r"/hero at (-?[\d.]+), health (-?[\d.]+)")


class Engine:
    """The program, and what it draws."""

    def __init__(self, folder):
        self.process = folder.start(EMBEDDING, "127.0.0.1:0", stdout=subprocess.PIPE)
        self.place = self.health = None
        self.pictures = 0
        self.drawn = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()
        beside = folder.path / "embedding.muster-server.json"
        until = time.monotonic() + 20
        while not beside.exists() or json.loads(beside.read_text())["pid"] != self.process.pid:
            assert self.process.poll() is None and time.monotonic() < until, "the example does not serve"
            time.sleep(0.01)

    def read(self):
        for line in self.process.stdout:
            found = DRAWN.match(line)
            assert found, line
            with self.drawn:
                self.place, self.health = map(float, found.groups())
                self.pictures += 1
                self.drawn.notify_all()

    def until(self, holds, what):
        with self.drawn:
            assert self.drawn.wait_for(lambda: self.pictures > 0 and holds(), timeout=20), what

    def more_pictures(self):
        before = self.pictures
        self.until(lambda: self.pictures > before + 5, "the renderer stands")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=20) == 0


def an_edit_from_outside_is_drawn_by_an_engines_own_loop(folder, engine):
    folder.run("set", "/hero", "Health.value", "50")
    engine.until(lambda: engine.health == 50, "the edit is not drawn")
    folder.run("push", "/hero", "Damage", "amount=8")
    engine.until(lambda: engine.health == 42, "the hit is not drawn")


def a_watch_from_outside_is_told_what_the_engine_moves(folder, engine):
    said = folder.run("watch", "/hero", "--lines", "3", "--component", "Position")
    assert len(re.findall(r"Position", said)) == 3, said


def a_paused_engine_goes_on_drawing_and_makes_single_frames(folder, engine):
    folder.run("clock", "pause")
    engine.more_pictures()
    place, tick = engine.place, folder.json("clock")["tick"]
    engine.more_pictures()
    assert engine.place == place
    folder.run("set", "/hero", "Health.value", "7")
    engine.until(lambda: engine.health == 7, "an edit waits for the clock")
    assert folder.json("clock", "step", "3")["tick"] == tick + 3
    said = folder.run("clock")
    assert "clock  paused" in said and "ticks  as its program makes them" in said, said
    folder.run("clock", "play")
    engine.until(lambda: engine.place > place + 0.2, "it does not go on")


def a_clock_that_is_faster_moves_the_world_faster(folder, engine):
    folder.run("clock", "speed", "100")
    begin = engine.place
    engine.until(lambda: engine.place > begin + 50, "it is not faster")
    folder.run("clock", "speed", "1")


def what_the_engine_saved_is_there_when_it_starts_again(folder, engine):
    before = folder.json("clock")
    engine.stop()
    assert not (folder.path / "embedding.muster-server.json").exists()
    again = Engine(folder)
    again.more_pictures()
    after = folder.json("clock")
    assert after["tick"] > before["tick"] and after["clock_ns"] > before["clock_ns"], (before, after)
    assert again.health == 7
    again.stop()


def the_snippets_of_the_page_do_what_they_say():
    said = subprocess.run([SNIPPETS], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout
    assert said == "every snippet of the embedding page works\n", said


def main():
    the_snippets_of_the_page_do_what_they_say()
    passed = 1
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path, MUSTER, SERVER)
        try:
            engine = Engine(folder)
            for test in (an_edit_from_outside_is_drawn_by_an_engines_own_loop,
                         a_watch_from_outside_is_told_what_the_engine_moves,
                         a_paused_engine_goes_on_drawing_and_makes_single_frames,
                         a_clock_that_is_faster_moves_the_world_faster,
                         what_the_engine_saved_is_there_when_it_starts_again):
                test(folder, engine)
                passed += 1
        finally:
            for process in folder.started:
                process.kill()
                process.wait()
    print(f"{passed} passed, 0 failed")


if __name__ == "__main__":
    with deadline(100, "the embedding example"):
        main()
