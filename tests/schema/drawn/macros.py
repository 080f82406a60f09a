#!/usr/bin/env python3
"""Checks that schemac's lists of names (schema/schemac/reserved.cc) have all macros that the
headers of Muster, C++ and C define with the given compilers, and all functions that GCC knows
without a header."""
import argparse
import os
import pathlib
import re
import subprocess
import sys

HEADERS = """algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes
climits clocale cmath compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint
cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception expected filesystem format forward_list fstream
functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore
set shared_mutex source_location span spanstream sstream stack stdexcept stop_token streambuf string string_view
syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant
vector version muster/registry.h muster/world.h muster/server.h muster/client.h muster/plugin.h""".split()


def built_in_functions(compiler):
    """Returns the names that GCC knows as functions, and which no namespace can have."""
    path = subprocess.run([*compiler, "-print-prog-name=cc1plus"], capture_output=True, text=True, timeout=60,
                          check=True).stdout.strip()
    if not os.path.isabs(path):
        return set()  # another compiler
    names = re.findall(rb"\0__builtin_([a-z]\w+)(?=\0)", pathlib.Path(path).read_bytes())
    source = "".join(f"namespace {name.decode()} {{}}\n" for name in sorted(set(names)))
    done = subprocess.run([*compiler, "-std=c++23", "-fsyntax-only", "-Wall", "-fno-diagnostics-show-caret", "-x", "c++", "-"],
                          input=source, capture_output=True, text=True, timeout=250, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    found = set(re.findall(r"built-in function '(?:\w+ )*(\w+)", done.stderr))
    if len(found) < 100:
        sys.exit(f"{compiler} knows only {len(found)} functions: {done.stderr[:1000]}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", required=True, type=pathlib.Path, help="reserved.cc")
    parser.add_argument("--include", required=True, help="the folder of <muster/registry.h>")
    parser.add_argument("--compiler", action="append", default=[])
    given = parser.parse_args()
    listed = set(re.findall(r"\w+", " ".join(re.findall(r'"([^"]*)"', given.list.read_text()))))
    source = "".join(f"#if __has_include(<{each}>)\n#include <{each}>\n#endif\n" for each in HEADERS)
    wrong = 0
    for compiler in given.compiler:
        done = subprocess.run([*compiler.split(), "-std=c++23", "-I", given.include, "-dM", "-E", "-x", "c++", "-"],
                              input=source, capture_output=True, text=True, timeout=250, check=True)
        macros = {line.split()[1].split("(")[0] for line in done.stdout.splitlines()}
        # Names that begin with an underscore, or with SYS_, follow rules.
        unlisted = {each for each in macros if not re.match(r"_[_A-Z]|SYS_", each)} - listed
        functions = built_in_functions(compiler.split()) - listed
        wrong += len(unlisted) + len(functions)
        for kind, missing in (("macros", unlisted), ("functions", functions)):
            if missing:
                print(f"{compiler} has {kind} that schemac does not know: {' '.join(sorted(missing))}")
        if len(macros) < 1000:
            sys.exit(f"{compiler} defines only {len(macros)} macros")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
