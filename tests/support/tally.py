#!/usr/bin/env python3
"""Adds up what `meson test` ran: testlog.json and, if tests were run again, again.json.

  tally.py LOG...             prints `PASSED FAILED`
  tally.py --failed START LOG prints the names of the failed tests that begin with START
  tally.py --told LOG...      prints a line for each test that failed, also if it then passed alone

A test that ends its output with `N passed, N failed` counts as that many. One that does not (a
plain script) counts as one. A test that crashed, hung or exited with an error counts as failed even
if its own line says otherwise. A test that was run again counts as it ended then. No log, an unreadable
one, or one without tests is one failure: nothing was built, or nothing ran.
"""
import json
import os
import re
import sys

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)
GOOD, SKIPPED = {"OK", "EXPECTEDFAIL"}, {"SKIP"}


def counts(test):
    """(passed, failed) of one entry of a testlog.json."""
    if test["result"] in SKIPPED:
        return 0, 0
    lines = CLOSING.findall(test.get("stdout") or "")
    passed, failed = map(int, lines[-1]) if lines else (0, 0)
    if test["result"] in GOOD:
        return (passed, failed) if lines else (1, 0)
    return passed, max(failed, 1)


def short(test):
    """The test's name without the project and suites that Meson writes before it."""
    return test["name"].split(" / ")[-1].split(":")[-1].strip()


def read(log):
    with open(log, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def runs(logs):
    """Each test's first and last run, in the order of the logs."""
    again = {}
    for log in logs:
        if os.path.basename(log) == "again.json":
            again.update((short(test), test) for test in read(log))
    first = [test for log in logs if os.path.basename(log) != "again.json" for test in read(log)]
    return [(test, again.get(short(test), test)) for test in first]


def tally(logs):
    ended = [counts(last) for _, last in runs(logs)]
    return (sum(p for p, _ in ended), sum(f for _, f in ended)) if ended else (0, 1)


def told(logs):
    for first, last in runs(logs):
        if counts(last)[1]:
            yield f"failed: {short(last)} ({last['result']})"
        elif counts(first)[1]:
            yield f"failed beside others, passed alone: {short(first)}"


def main(arguments):
    if arguments[:1] == ["--failed"]:
        for test in read(arguments[2]):
            if counts(test)[1] and short(test).startswith(arguments[1]):
                print(short(test))
    elif arguments[:1] == ["--told"]:
        for line in told(arguments[1:]):
            print(line)
    else:
        print(*tally(arguments))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, ValueError, KeyError) as error:
        print(f"tally: {error}", file=sys.stderr)
        if not sys.argv[1:] or not sys.argv[1].startswith("--"):
            print("0 1")
