#!/usr/bin/env python3
"""Runs programs of edits, undos and redos against a real server and compares it with the model.

    against_server.py MUSTER SERVER SESSION_BFBS LEVEL_BFBS [--seed N] [--count N] [--programs N]
                      [--restarts SHARE] [--program FILE] [--shrink] [--soak]

`--restarts` is the share of operations that restart the server or end a session. After each
operation, the server's answer, content and history must be those of the model. `--program` runs a
program from a file, and `--shrink` looks for a shorter program that fails. `--soak` runs a program
of 10,000 operations, and others for MUSTER_SOAK_MINUTES minutes. The last line is `N passed, N
failed`.
"""
import argparse
import difflib
import os
import pathlib
import shutil
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parent / "python")]
from deadline import deadline  # noqa: E402
from model import Model, USERS  # noqa: E402
from program import program, read, written  # noqa: E402
from programs import Folder  # noqa: E402
from served_world import ServedWorld  # noqa: E402


class Differs(Exception):
    pass


def different(what, expected, found):
    """The differences between two texts, or nothing."""
    if expected == found:
        return ""
    return f"{what}:\n" + "\n".join(difflib.unified_diff(expected.split("\n"), found.split("\n"), "model", "server", lineterm="",
                                                        n=2)) + "\n"


def compare(operations, programs, on_operation=lambda _number: None):
    """Runs operations against a fresh server; raises Differs at the first difference."""
    path = tempfile.mkdtemp(prefix="muster-history-")
    folder = Folder(path, programs.muster, programs.server)
    model, number, operation = Model(), 0, ("-", "serve", {})
    try:
        world = ServedWorld(folder, programs)
        for number, operation in enumerate(operations):
            on_operation(number)
            with deadline(60, f"operation {number}"):
                expected = model.apply(operation)
                found = world.apply(operation)
                differences = different("the answer", lines(world.expected(expected)), lines(found))
                differences += different("the content", model.content(), world.content())
                session = operation[0] if operation[0] in USERS else "ben"
                expected = model.history(session)
                found = world.history(session, expected[1])
                differences += different(f"the history of {session}", listed(expected), listed(found))
            if differences:
                raise Differs(differences)
    except Differs as differs:
        raise Differs(f"operation {number}: {written(operation)}\n{differs}") from None
    except Exception as error:
        raise Differs(f"operation {number}: {written(operation)}\n{traceback.format_exc()}") from error
    finally:
        folder.end()
        shutil.rmtree(path, ignore_errors=True)


def lines(answer):
    return "\n".join(f"{name}: {value}" for name, value in sorted(answer.items()))


def listed(history):
    return "\n".join(map(str, history))


def shrunk(operations, programs):
    """A shorter program that fails too."""
    def fails(candidate):
        try:
            compare(candidate, programs)
        except Differs:
            return True
        return False

    size = len(operations) // 2
    while size:
        at = 0
        while at < len(operations):
            candidate = operations[:at] + operations[at + size:]
            if candidate and fails(candidate):
                operations = candidate
            else:
                at += size
        size //= 2
    return operations


def run(operations, name, programs, shrink):
    """Whether a program passes. Says where it does not."""
    reached = [0]
    try:
        compare(operations, programs, lambda number: reached.__setitem__(0, number))
        return True
    except Differs as differs:
        print(f"FAILED: {name}: {differs}")
        operations = operations[:reached[0] + 1]
    if shrink:
        operations = shrunk(operations, programs)
        print("the shorter program:")
    print("\n".join(written(each) for each in operations), flush=True)
    if shrink:
        try:
            compare(operations, programs)
        except Differs as differs:
            print(differs)
    return False


def programs_of(arguments):
    """The programs to run, with their seeds."""
    if arguments.program:
        yield arguments.program, read(arguments.program.read_text())
    elif arguments.soak:
        until = time.monotonic() + 60 * float(os.environ.get("MUSTER_SOAK_MINUTES", "10"))
        yield 1, program(1, 10000, 0.01)
        seed = 2
        while time.monotonic() < until:
            yield seed, program(seed, 500, 0.02)
            seed += 1
    else:
        for seed in range(arguments.seed, arguments.seed + arguments.programs):
            yield seed, program(seed, arguments.count, arguments.restarts)


def main():
    parser = argparse.ArgumentParser()
    for name in ("muster", "server", "session", "level"):
        parser.add_argument(name, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--programs", type=int, default=1)
    parser.add_argument("--restarts", type=float, default=0.01)
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--soak", action="store_true")
    arguments = parser.parse_args()
    passed = failed = 0
    for seed, operations in programs_of(arguments):
        good = run(operations, f"seed {seed}", arguments, arguments.shrink)
        passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
