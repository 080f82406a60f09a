#!/usr/bin/env python3
"""Checks that what schemac accepts compiles, in C++ with each compiler and in TypeScript, and that
what it refuses is named by file, line and name. The number of a schema is its seed: `--draws 1
--first 7` repeats schema 7."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from draw import Drawer

GROUP = 100  # headers in a translation unit, since a small one mostly costs the common headers
CHUNK = 500  # schemas that are on disk at a time, and in one call of tsc
FLAGS = ["-std=c++23", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fno-color-diagnostics"]
REFUSAL = re.compile(r"(?:^|\n)[^\n]*?\.fbs:\d+:\d+: [\w./-]+: [^\n]+\n\Z")
COMMON = """#include <muster/messages.h>
#include <muster/registry.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <regex>
#include <thread>
"""


def bare(name):
    """Returns a full name without what schemac may append to its parts."""
    return re.sub(r"(_|View)+(\.|$)", r"\2", name)


class Project:
    """A drawn schema in a folder of its own."""

    def __init__(self, number, folder):
        self.number = number
        self.folder = folder / f"draw-{number}"
        drawer = Drawer(number)
        self.files = drawer.project()
        self.types = {bare(each) for each in drawer.taken}
        self.spaces = {bare(each).rsplit(".", depth)[0] for each in drawer.spaces for depth in range(each.count(".") + 1)}
        self.faults = []
        self.refused = False
        for path, text in self.files:
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)
        (self.folder / "out").mkdir()

    def generate(self, given):
        """Runs schemac on each file until one is refused."""
        for path, _ in self.files:
            stem = pathlib.Path(path).stem
            done = subprocess.run([given.schemac, "--flatc", given.flatc, path, "-o", f"out/{stem}.h", "--ts", f"out/{stem}.ts"],
                                  cwd=self.folder, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode == 0:
                continue
            self.refused = True
            if done.returncode != 1 or not REFUSAL.search(done.stderr):
                self.faults.append(f"schemac exited with {done.returncode} and said: {done.stderr}")
            return
        if not (self.folder / "out/muster.ts").exists():
            (self.folder / "out/muster.ts").symlink_to("../../muster.ts")

    def header(self):
        return self.folder / "out" / (pathlib.Path(self.files[-1][0]).stem + ".h")


def groups(projects):
    """Divides projects so that no two of a group declare the same name, because a group is compiled
    as one unit."""
    made = []
    for project in projects:
        for group, types, spaces in made:
            if len(group) < GROUP and not (project.types & (types | spaces) or project.spaces & types):
                break
        else:
            group, types, spaces = [], set(), set()
            made.append((group, types, spaces))
        group.append(project)
        types |= project.types
        spaces |= project.spaces
    return [group for group, _, _ in made]


def compile_group(compiler, prefix, group, folder):
    """Compiles the headers of a group as one unit, and halves the group as long as that fails.
    Only a header that does not compile alone is a fault."""
    name = re.sub(r"\W+", "-", " ".join(compiler))
    unit = folder / f"group-{group[0].number}-{len(group)}{name}.cc"
    unit.write_text("".join(f'#include "{each.header()}"\n' for each in group))
    done = subprocess.run([*compiler, *flags_of(compiler), "-fsyntax-only", *prefix, unit], capture_output=True, text=True,
                          timeout=3600, check=False)
    unit.unlink()
    if done.returncode == 0:
        return
    if len(group) == 1:
        group[0].faults.append(f"{' '.join(compiler)}: {done.stderr[:3000]}")
        return
    middle = len(group) // 2
    for half in (group[:middle], group[middle:]):
        compile_group(compiler, prefix, half, folder)


def flags_of(compiler):
    is_gcc = "g++" in os.path.basename(compiler[-1]) and "clang" not in compiler[-1]
    return [flag for flag in FLAGS if not (is_gcc and flag == "-fno-color-diagnostics")]


def precompile(compiler, include, folder):
    """Returns the options that include the precompiled headers of Muster and of C++."""
    name = re.sub(r"\W+", "-", " ".join(compiler))
    header = folder / name / "common.h"
    header.parent.mkdir()
    header.write_text(COMMON)
    is_gcc = "-fno-color-diagnostics" not in flags_of(compiler)
    out = header.with_suffix(".h.gch" if is_gcc else ".h.pch")
    subprocess.run([*compiler, *flags_of(compiler), "-I", include, "-x", "c++-header", header, "-o", out], check=True, timeout=600)
    return ["-I", include, *(["-include", str(header)] if is_gcc else ["-include-pch", str(out)])]


def check_typescript(given, projects, folder):
    made = folder / "tsconfig.json"
    files = sorted(str(each) for project in projects for each in (project.folder / "out").glob("*.ts"))
    if not files:
        return
    made.write_text(json.dumps({"extends": str(given.tsconfig.resolve()), "compilerOptions": {"noEmit": True, "types": []},
                                "files": files}))
    done = subprocess.run([*given.tsc, "-p", made, "--pretty", "false"], cwd=folder, capture_output=True, text=True,
                          timeout=1800, check=False)
    if done.returncode == 0:
        return
    for project in projects:
        lines = [line for line in done.stdout.splitlines() if re.match(rf"(.*/)?draw-{project.number}/", line)]
        if lines:
            project.faults.append("tsc: " + "\n".join(lines[:10]))
    if not any(project.faults for project in projects):
        sys.exit(f"tsc: {done.stdout}{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schemac", required=True, type=os.path.abspath)
    parser.add_argument("--flatc", default="flatc")
    parser.add_argument("--include", required=True, type=os.path.abspath, help="the folder of <muster/registry.h>")
    parser.add_argument("--muster", required=True, type=os.path.abspath, help="schema/muster.fbs")
    parser.add_argument("--compiler", action="append", default=[], help="a C++ compiler; may be given several times")
    parser.add_argument("--tsc", nargs="+", help="the TypeScript compiler")
    parser.add_argument("--tsconfig", type=pathlib.Path)
    parser.add_argument("--draws", type=int, required=True)
    parser.add_argument("--first", type=int, default=1, help="the seed of the first schema; others follow")
    parser.add_argument("--keep", type=pathlib.Path, help="leave everything in this folder")
    given = parser.parse_args()
    folder = given.keep or pathlib.Path(tempfile.mkdtemp(prefix="drawn-schemas-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    compilers = [compiler.split() for compiler in given.compiler]
    prefixes = [precompile(compiler, given.include, folder) for compiler in compilers]
    subprocess.run([given.schemac, "--flatc", given.flatc, given.muster, "--ts", folder / "muster.ts"], check=True,
                   timeout=60)
    print(f"schemas {given.first} to {given.first + given.draws - 1}", flush=True)
    refused, faulty = 0, 0
    for begin in range(given.first, given.first + given.draws, CHUNK):
        projects = [Project(number, folder) for number in range(begin, min(begin + CHUNK, given.first + given.draws))]
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda each: each.generate(given), projects))
            good = [each for each in projects if not each.refused]
            units = [(compiler, prefix, group) for group in groups(good) for compiler, prefix in zip(compilers, prefixes)]
            list(threads.map(lambda each: compile_group(*each, folder), units))
        if given.tsc:
            check_typescript(given, good, folder)
        refused += sum(each.refused for each in projects)
        for each in projects:
            for fault in each.faults:
                faulty += 1
                print(f"schema {each.number}: {fault}", flush=True)
                for path, text in each.files:
                    print(f"--- {path}\n{text}", flush=True)
            if not given.keep:
                shutil.rmtree(each.folder)
    if not given.keep:
        shutil.rmtree(folder)
    print(f"{given.draws} schemas: {refused} refused, {given.draws - refused} compiled, {faulty} faults")
    # A fuzzer whose schemas are all refused tests nothing.
    return 1 if faulty or refused > given.draws * 3 // 4 else 0


if __name__ == "__main__":
    sys.exit(main())
