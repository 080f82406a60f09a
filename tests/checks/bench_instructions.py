#!/usr/bin/env python3
"""tools/bench_instructions.py reads counts, stores them and judges a later run: `bench_instructions.py ROOT`."""
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".").resolve()
sys.path.insert(0, str(ROOT / "tools"))
import bench_instructions as report  # noqa: E402

HEAD = {"compiler": "clang 19", "libc": "glibc 2.36", "valgrind": "valgrind-3.19.0", "flags": "-O3"}


class Instructions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.table = str(self.folder / "instructions.txt")

    def part(self, program, part, name, items, total):
        path = self.folder / f"{program}.callgrind.{part}"
        path.write_text(f"part: {part}\n\ndesc: Trigger: Client Request: {name} {items}\n\ntotals: {total}\n", encoding="utf-8")
        return str(path)

    def run_main(self, *words):
        """(what was printed, what was wrong)"""
        commands = self.folder / "compile_commands.json"
        compiler = self.folder / "compiler"
        compiler.write_text("#!/bin/sh\necho clang 19\necho more\n", encoding="utf-8")
        compiler.chmod(0o755)
        commands.write_text(json.dumps([{"file": "../registry/delivery/delivery.cc",
                                         "command": f"ccache {compiler} -Iregistry -Wall -O3 -g1 -c a.cc -o a.o"}]), encoding="utf-8")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            wrong = report.main(["--compile-commands", str(commands), "--libc", "glibc 2.36", "--valgrind", "valgrind-3.19.0", *words])
        return out.getvalue(), wrong

    def test_parts_of_two_programs_with_equal_numbers_are_all_rows(self):
        files = [self.part("bench_state", 1, "snapshot/limit", 10, 40), self.part("bench_registry", 2, "create/muster", 10, 895),
                 self.part("bench_registry", 1, "create/limit", 10, 50), self.part("bench_registry", 10, "tree/limit", 1, 11)]
        self.assertEqual(list(report.counted(files).items()),
                         [("create/limit", 5.0), ("create/muster", 89.5), ("tree/limit", 11.0), ("snapshot/limit", 4.0)])

    def test_the_head_is_found_where_the_file_is_compiled_with_others(self):
        unit = self.folder / "registry-unity1.cpp"
        unit.write_text("#include</a/registry/delivery/delivery.cc>\n#include</a/registry/delivery/inputs.cc>\n", encoding="utf-8")
        commands = self.folder / "compile_commands.json"
        commands.write_text(json.dumps([{"directory": str(self.folder), "file": unit.name,
                                         "command": f"true -O2 -fmacro-prefix-map=/a= -o a.o -c {unit.name}"}]), encoding="utf-8")
        sources = report.units.compile_commands(commands)
        self.assertEqual([entry["file"] for entry in sources], ["/a/registry/delivery/delivery.cc", "/a/registry/delivery/inputs.cc"])
        self.assertEqual(sources[1]["command"], f"true -O2 -fmacro-prefix-map=/a= -o a.o -c /a/registry/delivery/inputs.cc")
        commands.write_text(commands.read_text(encoding="utf-8").replace("true", "echo"), encoding="utf-8")
        self.assertEqual(report.head_of(commands, "l", "v")["flags"], "-O2")

    def test_two_rows_of_one_name_are_an_error(self):
        with self.assertRaisesRegex(ValueError, "two rows are named a/b"):
            report.counted([self.part("x", 1, "a/b", 1, 1), self.part("x", 2, "a/b", 1, 1)])

    def test_what_was_stored_is_read_again_with_its_head(self):
        rows = {"create/limit": 5.0, "observed_posted/causes": 321.6}
        report.write_table(self.table, HEAD, rows)
        self.assertEqual(report.read_table(self.table), (HEAD, rows))

    def test_a_damaged_line_of_the_table_is_named(self):
        pathlib.Path(self.table).write_text("create/limit  5.0\ncreate/muster\n", encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "instructions.txt:2: neither a header nor a row: create/muster"):
            report.read_table(self.table)

    def test_the_head_names_compiler_libc_and_the_flags_that_decide_the_code(self):
        _, wrong = self.run_main("--store", self.table, self.part("b", 1, "a/muster", 1, 100))
        self.assertIsNone(wrong)
        self.assertEqual(report.read_table(self.table), (HEAD, {"a/muster": 100.0}))

    def test_storing_some_rows_leaves_the_others_in_their_places(self):
        report.write_table(self.table, HEAD, {"a/muster": 1.0, "b/muster": 2.0, "c/muster": 3.0})
        self.assertIsNone(report.store(self.table, HEAD, {"b/muster": 5.0, "d/muster": 4.0}))
        self.assertEqual(list(report.read_table(self.table)[1].items()),
                         [("a/muster", 1.0), ("b/muster", 5.0), ("c/muster", 3.0), ("d/muster", 4.0)])

    def test_storing_all_rows_drops_rows_that_are_no_more_and_may_have_another_head(self):
        report.write_table(self.table, HEAD, {"a/muster": 1.0})
        self.assertIsNone(report.store(self.table, HEAD | {"libc": "glibc 3"}, {"a/muster": 5.0, "b/muster": 6.0}))
        self.assertEqual(report.read_table(self.table), (HEAD | {"libc": "glibc 3"}, {"a/muster": 5.0, "b/muster": 6.0}))

    def test_rows_of_another_compiler_are_not_stored_among_the_others(self):
        report.write_table(self.table, HEAD, {"a/muster": 1.0, "b/muster": 2.0})
        wrong = report.store(self.table, HEAD | {"compiler": "clang 20"}, {"a/muster": 5.0})
        self.assertIn("compiler differs: stored clang 19, now clang 20", wrong)
        self.assertEqual(report.read_table(self.table), (HEAD, {"a/muster": 1.0, "b/muster": 2.0}))

    def check(self, stored, now, percent=3.0, wanted="."):
        table, failures = report.compare(stored, now, percent, wanted)
        return [f"{line[0]}/{line[1]}" for line in table[1:]], failures

    def test_sizes_of_a_work_without_a_limit_are_compared_with_the_smallest(self):
        rows = {"subscribe/1k": 30.0, "subscribe/100": 20.0, "pass_1m/32_archetypes": 9.0, "create/limit": 5.0, "create/2": 10.0}
        self.assertEqual([line.split()[2:] for line in report.table_of(rows).splitlines()[1:]],
                         [["30.0", "1.50", "x"], ["20.0", "1.00", "x"], ["9.0"], ["5.0"], ["10.0", "2.00", "x"]])

    def test_what_differs_by_more_than_one_percent_is_printed(self):
        stored = {"a/muster": 100.0, "b/muster": 100.0, "c/muster": 100.0}
        self.assertEqual(self.check(stored, {"a/muster": 101.0, "b/muster": 101.1, "c/muster": 98.0}), (["b/muster", "c/muster"], []))

    def test_a_row_of_muster_that_is_worse_by_more_than_the_percentage_fails_and_a_limit_does_not(self):
        stored = {"a/limit": 100.0, "a/limit_shuffled": 100.0, "a/muster": 100.0, "a/other": 100.0}
        now = {"a/limit": 200.0, "a/limit_shuffled": 200.0, "a/muster": 103.0, "a/other": 103.1}
        self.assertEqual(self.check(stored, now),
                         (list(stored), ["a/other is worse by 3.1 %: 100.0 instructions, now 103.1"]))
        self.assertEqual(self.check(stored, now, percent=10.0)[1], [])
        self.assertEqual(len(self.check(stored, now, percent=1.0)[1]), 2)

    def test_what_the_stored_digits_do_not_tell_is_no_difference(self):
        self.assertEqual(self.check({"a/muster": 0.4}, {"a/muster": 0.44}), ([], []))

    def test_a_stored_row_that_is_not_counted_any_more_fails_where_it_was_asked_for(self):
        stored = {"a/muster": 1.0, "b/muster": 1.0}
        self.assertEqual(self.check(stored, {"a/muster": 1.0}), ([], ["b/muster is stored but was not counted"]))
        self.assertEqual(self.check(stored, {"a/muster": 1.0}, wanted="^a/"), ([], []))

    def test_a_row_that_is_not_stored_is_printed(self):
        self.assertEqual(self.check({}, {"a/muster": 1.0}), (["a/muster"], []))

    def test_a_check_says_where_compiler_or_libc_differ_and_judges_all_the_same(self):
        report.write_table(self.table, HEAD | {"compiler": "clang 18", "libc": "glibc 2.35"}, {"a/muster": 100.0, "b/muster": 1.0})
        printed, wrong = self.run_main("--check", self.table, "--rows", "a/", self.part("b", 1, "a/muster", 1, 104))
        self.assertIn("compiler differs: stored clang 18, now clang 19\nlibc differs: stored glibc 2.35, now glibc 2.36\n", printed)
        self.assertIn("1 rows counted, 1 differ by more than 1 %, 1 fail.", printed)
        self.assertEqual(wrong, "a/muster is worse by 4.0 %: 100.0 instructions, now 104.0")
        _, wrong = self.run_main("--check", self.table, "--percent", "5", "--rows", "a/", self.part("b", 1, "a/muster", 1, 104))
        self.assertIsNone(wrong)

    def test_the_stored_table_is_one_that_can_be_read(self):
        head, rows = report.read_table(ROOT / "bench" / "instructions.txt")
        self.assertEqual(set(head), set(report.HEAD_KEYS))
        self.assertIn("push_in_order/muster", rows)


if __name__ == "__main__":
    os.chdir(ROOT)
    unittest.main()
