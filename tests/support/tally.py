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
import tempfile

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
    """The first and the last run of each test, by name."""
    first, last = {}, {}
    for log in sorted(logs, key=lambda path: os.path.basename(path) == "again.json"):
        for test in read(log):
            first.setdefault(short(test), test)
            last[short(test)] = test
    return first, last


def tally(logs):
    ended = [counts(test) for test in runs(logs)[1].values()]
    return (sum(p for p, _ in ended), sum(f for _, f in ended)) if ended else (0, 1)


def told(logs):
    first, last = runs(logs)
    for name, test in first.items():
        if counts(last[name])[1]:
            yield f"failed: {name} ({last[name]['result']})"
        elif counts(test)[1]:
            yield f"failed beside others, passed alone: {name}"


def self_test():
    def entry(name, result, stdout=""):
        return {"name": f"muster:page / {name}", "result": result, "stdout": stdout}

    with tempfile.TemporaryDirectory() as folder:
        def log(name, *entries):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as out:
                out.writelines(json.dumps(e) + "\n" for e in entries)
            return path

        first = log("testlog.json", entry("sums", "OK", "3 passed, 0 failed\n"), entry("script", "OK"),
                    entry("page_a", "FAIL", "2 passed, 1 failed\n"), entry("page_b", "TIMEOUT"), entry("none", "SKIP"))
        again = log("again.json", entry("page_a", "OK", "3 passed, 0 failed\n"), entry("page_b", "FAIL"))
        assert tally([first]) == (6, 2)
        assert tally([again, first]) == (7, 1)
        assert tally([]) == (0, 1)
        assert list(told([again, first])) == ["failed beside others, passed alone: page_a", "failed: page_b (FAIL)"]


def main(arguments):
    if arguments[:1] == ["--self-test"]:
        self_test()
    elif arguments[:1] == ["--failed"]:
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
