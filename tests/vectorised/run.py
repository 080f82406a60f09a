#!/usr/bin/env python3
"""Looks at the machine code of handlers.cc: where the plain loop is done for several rows at once, so must the registry's
loop around the handler be that is written one row at a time. `run.py ARCHITECTURE OBJDUMP LIBRARY`; the last line counts:
`N passed, N failed`. Exit code 77 where this machine's code is not known here.
"""
import re
import subprocess
import sys

PACKED = {
    "x86_64": re.compile(r"\tv?(add|mul)ps\b|\tv?padd[dq]\b"),
    "aarch64": re.compile(r"\t(fadd|fmul|fmla|add)\tv\d+\."),
}
# The handler, the plain loop beside it, and how the registry's loop is found.
CASES = [
    ("one_column", "one_column", r"cases::one_column\b"),
    ("two_columns", "two_columns", r"cases::two_columns\b"),
    ("unequal_rows", "unequal_rows", r"cases::unequal_rows\b"),
    ("two_written", "two_written", r"cases::two_written\b"),
    ("optional", "optional", r"cases::optional\b"),
    ("entity", "entity", r"cases::entity\b"),
    ("filtered", "two_columns", r"cases::filtered\b"),
    ("spans", "two_columns", r"cases::spans\b"),
    ("a lambda", "two_columns", r"Invoker<cases::Callable\b"),
    ("a lambda that captures", "capturing", r"Invoker<cases::Capturing\b"),
]
# Called through a pointer: the plain loop is vectorised and these are not. They show that this test can tell.
ONE_BY_ONE = [
    ("a function pointer", "two_columns", r"Invoker<void \(\*\)\("),
    ("a subsystem's member", "two_columns", r"cases::Facade\b"),
]
LOOP = re.compile(r"muster::detail::Invoker<.*>::(rows|run|run_each|each_row|loop)\b")


def functions(objdump, library):
    """The instructions of each function, by its name."""
    text = subprocess.run([objdump, "-d", "-C", "--no-show-raw-insn", library], capture_output=True, text=True,
                          check=True, timeout=60).stdout
    found, code = {}, []
    for line in text.splitlines():
        if begin := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            code = found.setdefault(begin[1], [])
        else:
            code.append(line)
    return found


def packed_in(code, packed, wanted):
    """How many packed instructions there are in the functions that `wanted` picks; None where there is no such function."""
    bodies = [lines for name, lines in code.items() if wanted(name)]
    return sum(bool(packed.search(line)) for lines in bodies for line in lines) if bodies else None


def main(architecture, objdump, library):
    packed = PACKED.get(architecture)
    if not packed:
        print(f"skipped: what packed instructions look like on {architecture} is not written down here")
        return 77
    code = functions(objdump, library)

    def limit_of(name):
        return packed_in(code, packed, lambda function: function == f"limit_{name}")

    def loop_of(mark):
        return packed_in(code, packed, lambda function: LOOP.match(function.removeprefix("bool ")) is not None
                         and re.search(mark, function) is not None)

    passed, failures = 0, []

    def expect(good, text):
        nonlocal passed
        passed += bool(good)
        if not good:
            failures.append(text)

    if limit_of("one_column") == 0:
        print("skipped: this compiler vectorises not even the plain loop")
        return 77
    for name, limit, mark in CASES:
        plain, loop = limit_of(limit), loop_of(mark)
        print(f"{name}: packed instructions in the plain loop {plain}, in the registry's {loop}")
        expect(plain is not None and loop is not None, f"{name}: its code is not there")
        expect(not plain or loop, f"{name}: the plain loop is vectorised, the registry's is not")
    for name, limit, mark in ONE_BY_ONE:
        expect(limit_of(limit) and loop_of(mark) == 0, f"{name}: called for several rows at once?")
    expect(limit_of("calls_elsewhere") == 0 and loop_of(r"cases::calls_elsewhere\b") == 0,
           "a function that the compiler cannot see is called for several rows at once: this test sees what is not there")
    print("\n".join(failures))
    print(f"{passed} passed, {len(failures)} failed")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
