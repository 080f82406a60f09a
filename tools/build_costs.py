#!/usr/bin/env python3
"""Measures the processor time that compiling takes, by target, without the compiler cache.

    tools/build_costs.py BUILD [--store | --check [PERCENT]] [--jobs N]

BUILD is a build directory in which everything is built. The script compiles each source once more,
and bench/build/fixed.cc, which never changes, once for every 20 of them. It prints the sum as a
multiple of the fixed file, since times belong to one machine.

  --store    writes the table into bench/README.md and the sum into bench/build/sum.txt
  --check    fails if the sum is more than PERCENT (5 unless told) above bench/build/sum.txt
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shlex
import statistics
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXED, SUM, PAGE = ROOT / "bench/build/fixed.cc", ROOT / "bench/build/sum.txt", ROOT / "bench/README.md"
BEGIN, END = "<!-- build costs -->\n", "<!-- end of build costs -->\n"
BETWEEN = 20  # sources for each compilation of the fixed file
WITHOUT_VALUE, WITH_VALUE = {"-MD", "-c"}, {"-MQ", "-MF", "-o"}


def arguments_of(command):
    """Returns the compiler's words without the cache, the output and the dependency file."""
    words = shlex.split(command)
    while "ccache" in os.path.basename(words[0]):
        words = words[1:]
    kept, skip = [], False
    for word in words:
        if skip or word in WITHOUT_VALUE:
            skip = False
        elif word in WITH_VALUE:
            skip = True
        else:
            kept.append(word)
    return kept


def processor_seconds(arguments, folder, environment):
    """Returns the processor time of one compilation. Exits if it fails."""
    out = os.path.join(folder, f"{threading.get_ident()}.o")
    pid = os.posix_spawnp(arguments[0], [*arguments, "-c", "-o", out], environment)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit("build_costs: cannot compile: " + " ".join(arguments))
    return usage.ru_utime + usage.ru_stime


def measure(build, jobs):
    """Returns {target: [seconds, sources]} and the seconds of the fixed file."""
    os.chdir(build)
    entries = json.loads(pathlib.Path("compile_commands.json").read_text())
    # tools/test builds these; others lack headers.
    entries = [entry for entry in entries if os.path.exists(entry["output"])]
    environment = dict(os.environ, CCACHE_DISABLE="1")
    fixed_command = [*arguments_of(entries[0]["command"])[:1], "-std=c++23", "-O2", "-g1", str(FIXED)]
    work = []
    for at, entry in enumerate(entries):
        if at % BETWEEN == 0:
            work.append((None, fixed_command))
        target = entry["output"].split(".p/")[0].replace(".a", "")
        work.append((target, arguments_of(entry["command"])))
    costs, fixed = collections.defaultdict(lambda: [0.0, 0]), []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        seconds = pool.map(lambda one: processor_seconds(one[1], folder, environment), work)
        for number, ((target, _), took) in enumerate(zip(work, seconds)):
            if target is None:
                fixed.append(took)
            else:
                costs[target][0] += took
                costs[target][1] += 1
            if sys.stderr.isatty():
                print(f"\r{number + 1} of {len(work)}", end="", file=sys.stderr)
    return costs, statistics.median(fixed)


def table(costs, unit):
    total = sum(seconds for seconds, _ in costs.values())
    ordered = sorted(costs.items(), key=lambda item: -item[1][0])
    shown = [item for item in ordered if item[1][0] >= total / 100]
    rest = [item[1] for item in ordered[len(shown):]]
    lines = ["| target | sources | processor time | to the fixed file |", "|---|--:|--:|--:|"]
    for target, (seconds, sources) in shown:
        lines.append(f"| `{target}` | {sources} | {seconds:.0f} s | {seconds / unit:.0f} |")
    if rest:
        seconds, sources = sum(one[0] for one in rest), sum(one[1] for one in rest)
        lines.append(f"| {len(rest)} others | {sources} | {seconds:.0f} s | {seconds / unit:.0f} |")
    sources = sum(one[1] for one in costs.values())
    lines.append(f"| **all** | {sources} | {total:.0f} s | {total / unit:.0f} |")
    return "\n".join(lines) + "\n", total / unit


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--check", type=float, nargs="?", const=5.0)
    options = parser.parse_args()
    costs, unit = measure(options.build, options.jobs)
    text, ratio = table(costs, unit)
    print(f"the fixed file: {unit:.2f} s\n{text}", end="")
    if options.store:
        page = PAGE.read_text()
        begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        PAGE.write_text(page[:begin] + text + page[end:])
        SUM.write_text(f"{ratio:.0f}\n")
    if options.check is not None:
        stored = float(SUM.read_text())
        grown = 100 * (ratio / stored - 1)
        print(f"the sum is {ratio:.0f} times the fixed file, {grown:+.1f} % from the stored {stored:.0f}")
        if grown > options.check:
            sys.exit(f"build_costs: compiling costs more than {options.check:g} % above {SUM.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
