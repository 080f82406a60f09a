#!/usr/bin/env python3
"""Adds up what `meson test` ran: prints `PASSED FAILED` for the testlog.json files given.

A test that ends its output with `N passed, N failed` counts as that many; one that does not (a plain script) counts as
one. A test that crashed, hung or exited with an error counts as failed even where its own line says otherwise. No log, an
unreadable one, or one without tests is one failure: nothing was built, or nothing ran.
"""
import json
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


def tally(logs):
    passed = failed = ran = 0
    for log in logs:
        with open(log, encoding="utf-8") as lines:
            for line in lines:
                p, f = counts(json.loads(line))
                passed, failed, ran = passed + p, failed + f, ran + 1
                if f:
                    print(f"   failed: {json.loads(line)['name']} ({json.loads(line)['result']})", file=sys.stderr)
    return (passed, failed) if ran else (0, 1)


if __name__ == "__main__":
    try:
        print(*tally(sys.argv[1:]))
    except (OSError, ValueError, KeyError) as error:
        print(f"tally: {error}", file=sys.stderr)
        print("0 1")
