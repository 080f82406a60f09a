#!/usr/bin/env python3
"""Counts the instructions of hot_rows.cc under callgrind and compares them with instructions.txt beside this file: fails where a row is
worse by more than 5 %. Counts of one compiler, libc, valgrind and set of flags say nothing of another's, so with others it says so and is
skipped, as it is where valgrind is not installed.

    run.py ROOT COMPILE_COMMANDS PROGRAM [--store]    --store writes what was counted into instructions.txt
    run.py ROOT --self-test                           the comparison, with counts made up
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "instructions.txt"
PERCENT = 5.0
SKIPPED = 77
TITLE = "# Instructions per entity under callgrind, written by tests/hot_rows/run.py --store."
AGAIN = "how counts are stored anew: tests/hot_rows/run.py; a change that makes a row worse on purpose says why"


def count(program, folder):
    """The files that callgrind wrote."""
    bare = folder / "hot_rows"
    # The valgrind of Debian 12 cannot read clang's line tables.
    subprocess.run(["strip", "-g", "-o", bare, program], check=True, timeout=60)
    subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/hot_rows.callgrind", bare],
                   check=True, timeout=300, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return [str(file) for file in sorted(folder.glob("hot_rows.callgrind.*"))]


def judge(report, stored_head, stored, head, rows):
    """(exit code, what to print)"""
    if differs := report.heads_differ(stored_head, head):
        return SKIPPED, "\n".join([*differs, "so these counts are not compared"])
    table, failures = report.compare(stored, rows, PERCENT)
    text = report.bench_report.text_table(table) + "\n" if len(table) > 1 else ""
    text += f"{len(rows)} rows counted, {len(failures)} fail."
    return (1, "\n".join([text, *failures, AGAIN])) if failures else (0, text)


def main(root, words):
    sys.path.insert(0, str(pathlib.Path(root) / "tools"))
    import bench_instructions as report
    if words[0] == "--self-test":
        return self_test(report)
    commands, program, *rest = words
    if not shutil.which("valgrind") or not shutil.which("strip"):
        print("valgrind or strip is not installed, so nothing is counted")
        return SKIPPED
    def said(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()[0]
    head = report.head_of(commands, said("ldd", "--version").removeprefix("ldd "), said("valgrind", "--version"))
    stored_head, stored = report.read_table(TABLE) if TABLE.exists() else ({}, {})
    if rest != ["--store"] and report.heads_differ(stored_head, head):
        code, text = judge(report, stored_head, stored, head, {})
    else:
        with tempfile.TemporaryDirectory() as folder:
            rows = report.counted(count(program, pathlib.Path(folder)))
        if rest == ["--store"]:
            print(report.table_of(rows))
            report.write_table(TABLE, head, rows, TITLE)
            return 0
        code, text = judge(report, stored_head, stored, head, rows)
    print(text)
    return code


def self_test(report):
    head = {"compiler": "clang 19", "libc": "2.36", "valgrind": "3.19", "flags": "-O2"}
    stored = {"rows/add": 100.0, "rows/remove": 50.0}

    class Judged(unittest.TestCase):
        def test_a_row_that_grew_by_more_than_5_percent_fails_and_is_named(self):
            code, text = judge(report, head, stored, head, {"rows/add": 105.2, "rows/remove": 50.0})
            self.assertEqual(code, 1)
            self.assertIn("rows/add is worse by 5.2 %", text)

        def test_less_growth_and_fewer_instructions_pass(self):
            self.assertEqual(judge(report, head, stored, head, {"rows/add": 104.9, "rows/remove": 20.0})[0], 0)

        def test_a_row_that_was_not_counted_fails(self):
            self.assertEqual(judge(report, head, stored, head, {"rows/add": 100.0})[0], 1)

        def test_another_compiler_libc_valgrind_or_flags_skip_and_say_so(self):
            for key in head:
                code, text = judge(report, head, stored, head | {key: "other"}, {"rows/add": 900.0})
                self.assertEqual(code, SKIPPED)
                self.assertIn(f"{key} differs", text)

    result = unittest.TextTestRunner(stream=sys.stdout).run(unittest.defaultTestLoader.loadTestsFromTestCase(Judged))
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
