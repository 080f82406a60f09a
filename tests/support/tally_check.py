#!/usr/bin/env python3
"""Checks that failures are counted: `tally_check.py FAILING`, FAILING being the executable of failing.cc."""
import json
import os
import subprocess
import sys
import tempfile

import tally


def entry(result, stdout):
    return {"name": "x", "result": result, "stdout": stdout}


CASES = [
    ("all pass", entry("OK", "...\n3 passed, 0 failed\n==="), (3, 0)),
    ("some fail", entry("FAIL", "3 passed, 2 failed\n"), (3, 2)),
    ("the last line counts", entry("OK", "9 passed, 9 failed\n1 passed, 0 failed\n"), (1, 0)),
    ("a script", entry("OK", "fine"), (1, 0)),
    ("a script that fails", entry("FAIL", ""), (0, 1)),
    ("a crash before the first test", entry("ERROR", None), (0, 1)),
    ("a report of a sanitizer after the last test", entry("FAIL", "3 passed, 0 failed\n"), (3, 1)),
    ("a test that hangs", entry("TIMEOUT", ""), (0, 1)),
    ("a test that was interrupted", entry("INTERRUPT", ""), (0, 1)),
    ("a skipped test", entry("SKIP", ""), (0, 0)),
    ("within a line", entry("OK", "see: 3 passed, 0 failed\n"), (1, 0)),
]


def in_file(*entries):
    """Returns what tally counts in a log of these entries."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        file.write("".join(json.dumps(one) + "\n" for one in entries))
    counted = tally.tally([file.name])
    os.unlink(file.name)
    return counted


def run_again():
    """Returns the counts and lines for two failed tests, of which one then passes alone."""
    def named(name, result, stdout):
        return {**entry(result, stdout), "name": f"muster:page / {name}"}

    with tempfile.TemporaryDirectory() as folder:
        logs = [os.path.join(folder, name) for name in ("again.json", "testlog.json")]
        first = [named("sums", "OK", "3 passed, 0 failed\n"), named("page_a", "FAIL", "2 passed, 1 failed\n"),
                 named("page_b", "TIMEOUT", "")]
        again = [named("page_a", "OK", "3 passed, 0 failed\n"), named("page_b", "FAIL", "")]
        for log, tests in zip(logs, (again, first)):
            with open(log, "w", encoding="utf-8") as file:
                file.write("".join(json.dumps(one) + "\n" for one in tests))
        return tally.tally(logs), list(tally.told(logs))


def last_counts(program, *arguments):
    ran = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=60)
    return tally.counts(entry("FAIL" if ran.returncode else "OK", ran.stdout))


def main(program):
    checks = [(name, tally.counts(one), expected) for name, one, expected in CASES]
    checks += [
        ("several tests add up", in_file(CASES[0][1], CASES[1][1]), (6, 2)),
        ("a test that passes alone, and one that does not", run_again(),
         ((6, 1), ["failed beside others, passed alone: page_a", "failed: page_b (FAIL)"])),
        ("no test ran", in_file(), (0, 1)),
        ("no log", tally.tally([]), (0, 1)),
        ("a program's passing test", last_counts(program, "passes"), (1, 0)),
        ("a program's failing test", last_counts(program, "passes,fails"), (1, 1)),
        ("a program's crash", last_counts(program, "crashes"), (0, 1)),
        ("a filter that fits nothing", last_counts(program, "-w", "NoTests", "nothing"), (0, 1)),
    ]
    wrong = [f"{name}: {found}, expected {expected}" for name, found, expected in checks if found != expected]
    print("\n".join(wrong))
    print(f"{len(checks) - len(wrong)} passed, {len(wrong)} failed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
