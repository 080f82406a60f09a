#!/usr/bin/env python3
"""Measures how many small edits a second one Python client makes, in transactions of 250.

`python_edits.py BUILD [SECONDS]`. Each edit sets one field of another entity."""
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "client" / "python"), str(ROOT / "tests" / "support")]

import muster
from programs import Folder

AT_ONCE = 250


def main(build, seconds="5"):
    build = pathlib.Path(build).resolve()
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path, build / "client/cli/muster", build / "server/muster-server")
        try:
            folder.serve("w.muster", "--schema", build / "tests/cli/game.bfbs")
            with muster.connect(folder.path / "w.muster") as world:
                measure(world, float(seconds))
        finally:
            folder.end()


def measure(world, seconds):
    with world.transaction() as edit:
        entities = [edit.create(f"e{i}", world.types.Health()) for i in range(1000)]
    made, begun, used = 0, time.monotonic(), time.process_time()
    while time.monotonic() - begun < seconds:
        with world.transaction() as edit:
            for i in range(AT_ONCE):
                edit.set_field(entities[(made + i) % 1000], "Health.value", (made + i) % 101)
        made += AT_ONCE
    elapsed = time.monotonic() - begun
    used = time.process_time() - used
    print(f"{made} edits in {elapsed:.2f} s: {made / elapsed:.0f} edits a second, {AT_ONCE} in each transaction; "
          f"{used / made * 1e6:.0f} us of the client's processor time for each")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except subprocess.SubprocessError as error:
        sys.exit(str(error))
