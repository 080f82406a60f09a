#!/usr/bin/env python3
"""Compiles each file here twice: as it stands it must compile; with -DVIOLATION it must not, and the compiler must say
what the file's first line, `// expect: REGEX`, expects. So a failure comes from the lines between #ifdef VIOLATION and
#endif and from nothing else. The compiler must report one error, say the expected sentence within its first 12 lines, and
print at most 30 lines: whoever made the mistake reads no further. What the files include is compiled once, as a
precompiled header.

A second line `// at most N lines: WHY` allows a longer text. A second line `// in code: WHY`
compiles the violation to the end, because the compiler says the sentence when it makes code.

`run.py ROOT COMPILER ARGUMENT...`; the last line counts files: `N passed, N failed`. `run.py --second ROOT COMPILER
ARGUMENT...` compiles the violations alone, for another compiler than the one that the first run used. `run.py --self-test
COMPILER ARGUMENT...` feeds it files that must not pass.
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

MARK = "// expect: "
IN_CODE = "// in code: "
LONGER = re.compile("// at most ([0-9]+) lines: .")
SENTENCE_LINE_MAX = 12
LINES_MAX = 30


def compile_it(root, command, path, *more, in_code=False):
    how = ["-S", "-o", os.devnull] if in_code else ["-fsyntax-only"]
    return subprocess.run([*command, *more, *how, path], cwd=root, capture_output=True, text=True, check=False,
                          timeout=200, env=os.environ | {"LC_ALL": "C"})  # plain quotation marks in messages


def with_precompiled(root, command, folder, header):
    """The command, with `header` compiled beforehand; both compilers take the result because of its name."""
    name = os.path.join(folder, "precompiled.h")
    with open(name, "w", encoding="utf-8") as file:
        file.write(f"#include {header}\n")
    subprocess.run([*command, "-x", "c++-header", name, "-o", name + ".gch"], cwd=root, check=True, timeout=200)
    return [*command, "-include", name]


def failure(root, command, path, with_control=True):
    """Why this file does not pass, or an empty string."""
    with open(path, encoding="utf-8") as file:
        first, second = file.readline().rstrip("\n"), file.readline()
    if not first.startswith(MARK):
        return f"{path}: the first line is not `{MARK}REGEX`"
    if with_control:
        control = compile_it(root, command, path)
        if control.returncode:
            return f"{path}: does not compile even without the violation:\n{control.stderr}"
    violation = compile_it(root, command, path, "-DVIOLATION", in_code=second.startswith(IN_CODE))
    if violation.returncode == 0:
        return f"{path}: the violation compiles"
    longer = LONGER.match(second)
    return fault_of(path, first.removeprefix(MARK), violation.stderr, int(longer[1]) if longer else LINES_MAX)


def fault_of(path, expected, said, lines_max):
    """What is wrong with what the compiler said, or an empty string."""
    lines = said.splitlines()
    at = next((i for i, line in enumerate(lines, 1) if re.search(expected, line)), 0)
    errors = len(re.findall(r"^[^ ].*?: (?:fatal )?error: ", said, re.M))
    if not at:
        fault = f"the compiler does not say {expected!r}"
    elif at > SENTENCE_LINE_MAX:
        fault = f"the compiler says {expected!r} in line {at}, after line {SENTENCE_LINE_MAX}"
    elif len(lines) > lines_max:
        fault = f"the compiler prints {len(lines)} lines, more than {lines_max}"
    elif errors != 1:
        fault = f"the compiler reports {errors} errors, not one"
    else:
        return ""
    return f"{path}: {fault}:\n" + "\n".join(lines[:60])


def run(root, command, folder, with_control=True):
    files = sorted(glob.glob(os.path.join(folder, "**", "*.cc"), recursive=True))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for text in pool.map(lambda path: failure(root, command, path, with_control), files) if text]
    return files, failures


SELF_TEST = {
    "good": ("// expect: counts\nstatic_assert(true);\n#ifdef VIOLATION\nstatic_assert(false, \"counts\");\n#endif\n", ""),
    "no_mark": ("int x;\n", "the first line"),
    "broken": ("// expect: x\nint x\n", "without the violation"),
    "harmless": ("// expect: x\n#ifdef VIOLATION\nint x;\n#endif\n", "the violation compiles"),
    "other_error": ("// expect: counts\n#ifdef VIOLATION\nint x\n#endif\n", "does not say"),
    "two_errors": ("// expect: counts\n#ifdef VIOLATION\nstatic_assert(false, \"counts\");\nint x = y;\n#endif\n",
                   "reports 2 errors"),
    "late": ("// expect: counts\n#ifdef VIOLATION\n" + "#warning first\n" * 13 +
             "static_assert(false, \"counts\");\n#endif\n", "after line 12"),
    "long": ("// expect: counts\n#ifdef VIOLATION\nstatic_assert(false, \"counts\");\n" +
             "".join(f"char more_{i} = 1000;\n" for i in range(10)) + "#endif\n", "more than 30"),
    "longer": ("// expect: counts\n// at most 60 lines: x\n#ifdef VIOLATION\nstatic_assert(false, \"counts\");\n" +
               "".join(f"char more_{i} = 1000;\n" for i in range(10)) + "#endif\n", ""),
    "in_code": ("// expect: counts\n// in code: x\n[[gnu::error(\"counts\")]] void f();\nvoid g() {\n#ifdef VIOLATION\n"
                "f();\n#endif\n}\n", ""),
    "not_in_code": ("// expect: counts\n[[gnu::error(\"counts\")]] void f();\nvoid g() {\n#ifdef VIOLATION\nf();\n#endif\n}\n",
                    "the violation compiles"),
}


def self_test(command):
    wrong = []
    for name, (text, reason) in SELF_TEST.items():
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, name + ".cc"), "w", encoding="utf-8") as file:
                file.write(text)
            _, failures = run(folder, command, folder)
        if bool(failures) != bool(reason) or (reason and reason not in failures[0]):
            wrong.append(f"{name}: expected {reason!r}, found {failures}")
    print("\n".join(wrong))
    print(f"{len(SELF_TEST) - len(wrong)} passed, {len(wrong)} failed")
    return bool(wrong)


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test(sys.argv[2:]))
    is_second = sys.argv[1] == "--second"
    source_root, *compiler = sys.argv[2 if is_second else 1:]
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as precompiled:
        compiler = with_precompiled(source_root, compiler, precompiled, "<muster/registry.h>")
        paths, found = run(source_root, compiler, here, not is_second)
    print("\n".join(found))
    print(f"{len(paths) - len(found)} passed, {len(found)} failed")
    sys.exit(bool(found) or not paths)
