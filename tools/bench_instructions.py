#!/usr/bin/env python3
"""Instructions per item that callgrind counted: a table, and the stored one that a later run is compared with.

    bench_instructions.py CALLGRIND_FILE...                       prints the table
    bench_instructions.py --store TABLE [HEAD] CALLGRIND_FILE...  also writes the rows into TABLE, where others keep theirs
    bench_instructions.py --check TABLE [--percent P] [--rows REGEX] [HEAD] CALLGRIND_FILE...
                                                                  compares with TABLE: fails where a row is worse by more than P %

HEAD says what was counted: --compile-commands FILE (compiler and flags), --libc TEXT, --valgrind TEXT. A row is named
WORK/VARIANT; variants whose names begin with `limit` are loops by hand, which the comparison prints and does not judge.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys

import bench_report
import units

TITLE = "# Instructions per item under callgrind, written by tools/bench --instructions --store."
HEAD_KEYS = ("compiler", "libc", "valgrind", "flags")
PRINTED = 1.0  # percent: what differs by less is left out


def is_limit(name):
    return name.partition("/")[2].startswith("limit")


def counted(files):
    """{WORK/VARIANT: instructions per item}, in the order counted; parts are numbered per program, so programs are kept apart."""
    parts = []
    for file in files:
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
        mark = re.search(r"^desc: Trigger: Client Request: (\S+) (\d+)$", text, re.M)
        total = re.search(r"^totals: (\d+)", text, re.M)
        if mark and total:
            part = int(re.search(r"^part: (\d+)$", text, re.M)[1])
            program = os.path.basename(file).partition(".")[0]
            parts.append((program, part, mark[1], int(total[1]) / int(mark[2])))
    rows = {}
    for _, _, name, count in sorted(parts):
        if name in rows:
            raise ValueError(f"two rows are named {name}")
        rows[name] = count
    return rows


def table_of(rows):
    limits = bench_report.limits_of({tuple(name.split("/", 1)): count for name, count in rows.items()})
    table = [["work", "variant", "instructions", "to the limit"]]
    for name, count in rows.items():
        work, _, variant = name.partition("/")
        table.append([work, variant, f"{count:.1f}",
                      f"{count / limits[work]:.2f} x" if work in limits and variant != "limit" else ""])
    return bench_report.text_table(table)


def flags_of(command):
    """Returns the flags that affect the code: optimisation, language, -f, -m and -D; not paths, warnings and colours."""
    words = [word for word in shlex.split(command) if re.match(r"-(O|std=|f|m|D|pthread)", word)]
    return " ".join(word for word in words if not word.startswith(("-fdiagnostics", "-fmacro-prefix-map")) and word != "-fcolor-diagnostics")


def head_of(compile_commands, libc, valgrind):
    entry = next(entry for entry in units.compile_commands(compile_commands)
                 if entry["file"].endswith("registry/delivery/delivery.cc"))
    words = shlex.split(entry["command"])
    compiler = next(word for word in words if not word.endswith("ccache"))
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return {"compiler": version, "libc": libc, "valgrind": valgrind, "flags": flags_of(entry["command"])}


def read_table(path):
    """(head, rows) of a stored table."""
    head, rows = {}, {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if match := re.fullmatch(r"# (\w+): (.*)\n", line):
                head[match[1]] = match[2]
            elif match := re.fullmatch(r"(\S+/\S+) +(\d+\.\d+)\n", line):
                rows[match[1]] = float(match[2])
            elif line.strip() and not line.startswith("#"):
                raise ValueError(f"{path}:{number}: neither a header nor a row: {line.strip()}")
    return head, rows


def write_table(path, head, rows, title=TITLE):
    width = max(map(len, rows))
    lines = [title, *(f"# {key}: {head[key]}" for key in HEAD_KEYS), ""]
    lines += [f"{name:<{width}} {count:>10.1f}" for name, count in rows.items()]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def heads_differ(stored, now):
    """A line per key of the head that is another."""
    return [f"{key} differs: stored {stored.get(key, 'none')}, now {now.get(key, 'none')}"
            for key in HEAD_KEYS if stored.get(key) != now.get(key)]


def store(path, head, rows):
    """Writes the rows among those of the table, unless those were counted with something else. Returns the errors, or nothing."""
    old = {}
    if os.path.exists(path):
        old_head, old = read_table(path)
        if set(old) - set(rows) and (differs := heads_differ(old_head, head)):
            return "\n".join([*differs, "so all rows have to be stored together: tools/bench --instructions --store"])
    new = {name: rows.get(name, count) for name, count in old.items()}
    new |= {name: count for name, count in rows.items() if name not in new}
    if set(old) <= set(rows):  # a whole run: in its order
        new = rows
    write_table(path, head, new)
    return None


def compare(stored, rows, percent, wanted="."):
    """(table of what differs by more than 1 %, sentences of what fails)."""
    table = [["work", "variant", "stored", "now", "change", ""]]
    failures = []
    for name, now in rows.items():
        work, _, variant = name.partition("/")
        if name not in stored:
            table.append([work, variant, "none", f"{now:.1f}", "", "not stored"])
            continue
        # Counts are stored with one digit behind the point, so a row of few instructions may be off by half of it.
        change = round((now / stored[name] - 1) * 100, 6) if abs(now - stored[name]) > 0.05 else 0.0
        worse = change > percent and not is_limit(name)
        if abs(change) > PRINTED:
            table.append([work, variant, f"{stored[name]:.1f}", f"{now:.1f}", f"{change:+.1f} %", "worse" if worse else ""])
        if worse:
            failures.append(f"{name} is worse by {change:.1f} %: {stored[name]:.1f} instructions, now {now:.1f}")
    failures += [f"{name} is stored but was not counted" for name in stored if name not in rows and re.search(wanted, name)]
    return table, failures


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", metavar="TABLE")
    parser.add_argument("--check", metavar="TABLE")
    parser.add_argument("--percent", type=float, default=3.0)
    parser.add_argument("--rows", default=".")
    parser.add_argument("--compile-commands")
    parser.add_argument("--libc", default="")
    parser.add_argument("--valgrind", default="")
    parser.add_argument("files", nargs="+")
    asked = parser.parse_args(words)
    rows = counted(asked.files)
    if not rows:
        return "tools/bench: nothing was counted"
    if not asked.check:
        print(table_of(rows))
    if not asked.store and not asked.check:
        return None
    head = head_of(asked.compile_commands, asked.libc, asked.valgrind)
    if asked.store:
        return store(asked.store, head, rows)
    old_head, stored = read_table(asked.check)
    for line in heads_differ(old_head, head):
        print(line)
    table, failures = compare(stored, rows, asked.percent, asked.rows)
    if len(table) > 1:
        print(bench_report.text_table(table))
    print(f"{len(rows)} rows counted, {len(table) - 1} differ by more than {PRINTED:g} %, {len(failures)} fail.")
    return "\n".join(failures) or None


if __name__ == "__main__":
    sys.exit(main())
