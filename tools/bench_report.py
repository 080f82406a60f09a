#!/usr/bin/env python3
"""Makes one table of what the benchmarks measured.

    bench_report.py [--out FILE.json] [--doc FILE.md] RESULT.json...     of Google Benchmark's results
    bench_report.py --compare A.json B.json                              of two files written by --out

A benchmark is named WORK/VARIANT. The variant `limit` is the hand-written loop that the others of the same work are
divided by; one that ran in turns with the limit says its ratio itself. Times are of processor time per item, the median of
the repetitions. A variant's goal is a ratio to the limit, or to the limit that keeps what Muster promises (the variant `as_promised`, or
`VARIANT_as_promised`), or a size.
A work whose variants are sizes (100, 4k, 1m) has the smallest as its limit: the ratio is how the cost per item grows.
"""
import argparse
import json
import re
import statistics
import sys
import textwrap

import bench_plot

UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
BEGIN, END = "<!-- written by tools/bench --doc -->", "<!-- end of what tools/bench wrote -->"


def size_of(variant):
    """100 of '100', 4000 of '4k'; None of what is no size."""
    match = re.fullmatch(r"(\d+)([km]?)", variant)
    return int(match[1]) * {"": 1, "k": 1000, "m": 1_000_000}[match[2]] if match else None


def limits_of(counts):
    """{work: count of its limit, or of its smallest size} from {(work, variant): count}."""
    limits = {work: count for (work, variant), count in counts.items() if variant == "limit"}
    sizes = {}
    for (work, variant), count in counts.items():
        if work not in limits and size_of(variant) is not None:
            sizes.setdefault(work, []).append((size_of(variant), count))
    return limits | {work: min(found)[1] for work, found in sizes.items() if len(found) > 1}


def rows_of(names):
    """One dictionary per variant: work, variant, ns, spread, goals, ratio to its limit."""
    runs = {}
    machine = {}
    for name in names:
        with open(name, encoding="utf-8") as file:
            text = file.read()
        if not text:  # of a program none of whose rows were asked for
            continue
        result = json.loads(text)
        context = result["context"]
        machine = {"date": context["date"][:10], "cores": context["num_cpus"], "mhz": context["mhz_per_cpu"]}
        for run in result["benchmarks"]:
            if run.get("run_type") == "aggregate" or run.get("error_occurred"):
                continue
            key = (run["family_index"], run.get("run_name", run["name"]))
            runs.setdefault((name, *key), []).append(run)
    rows = []
    for (_, _, full), repeated in sorted(runs.items(), key=lambda item: item[0][:2]):
        work, _, variant = full.removesuffix("/manual_time").partition("/")
        row = {"work": work, "variant": variant}
        if "bytes" in repeated[0]:
            row["bytes"] = statistics.median(run["bytes"] for run in repeated)
        else:
            times = [1e9 / run["items_per_second"] if "items_per_second" in run
                     else run["cpu_time"] * UNITS[run["time_unit"]] for run in repeated]
            row["ns"] = statistics.median(times)
            row["spread"] = (max(times) - min(times)) / row["ns"]
        if "ratio" in repeated[0]:  # to a limit that ran in turns with it
            row["ratio"] = statistics.median(run["ratio"] for run in repeated)
        for goal in ("goal", "goal_promised", "goal_bytes"):
            if goal in repeated[0]:
                row[goal] = repeated[0][goal]
        rows.append(row)
    limits = limits_of({(row["work"], row["variant"]): row["ns"] for row in rows if "ns" in row})
    for row in rows:
        if "ns" in row and "ratio" not in row and row["variant"] != "limit" and row["work"] in limits:
            row["ratio"] = row["ns"] / limits[row["work"]]
    times = {(row["work"], row["variant"]): row["ns"] for row in rows if "ns" in row}
    for row in rows:
        if "goal_promised" in row:
            of = next((times[row["work"], name] for name in (f"{row['variant']}_as_promised", "as_promised") if (row["work"], name) in times), None)
            if of is not None:
                row["promised"] = row["ns"] / of
    return rows, machine


def goal_of(row):
    """As text, and whether it is met (None without a goal)."""
    if "goal" in row and "ratio" in row:
        return f"{row['goal']:.3g} x", row["ratio"] <= row["goal"]
    if "promised" in row:
        return f"{row['promised']:.2f}, at most {row['goal_promised']:.3g} x as promised", row["promised"] <= row["goal_promised"]
    if "goal_bytes" in row:
        return f"{row['goal_bytes']:.3g} B", row["bytes"] <= row["goal_bytes"]
    return "", None


def cells(row):
    goal, met = goal_of(row)
    return [row["work"], row["variant"],
            f"{row['bytes']:.1f} B" if "bytes" in row else f"{row['ns']:.2f} ns",
            f"{row['spread'] * 100:.0f} %" if "spread" in row else "",
            f"{row['ratio']:.2f} x" if "ratio" in row else "", goal, {None: "", True: "met", False: "missed"}[met]]


HEAD = ["work", "variant", "each", "spread", "to the limit", "goal", ""]


def text_table(table):
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    return "\n".join("  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in table)


def evenness(rows):
    """How much the ratio of a pass to its limit differs between sizes."""
    ratios = [row["ratio"] for row in rows if re.fullmatch(r"pass_\d+[km]", row["work"]) and row["variant"] == "muster"
              and "ratio" in row]
    if len(ratios) < 2:
        return None
    return max(ratios) / min(ratios) - 1


def summary(rows):
    judged = [met for _, met in map(goal_of, rows) if met is not None]
    line = f"{sum(judged)} of {len(judged)} goals met."
    if (differs := evenness(rows)) is not None:
        line += f" The ratio of a pass differs by {differs * 100:.0f} % between sizes (goal: 15 %)."
    return line


def write_doc(path, rows, machine):
    lines = [BEGIN, "",
             *textwrap.wrap(f"Measured on {machine['date']}, {machine['cores']} cores. {summary(rows)}", 100), "",
             "| " + " | ".join(HEAD) + " |", "|---|---|--:|--:|--:|--:|---|"]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows if not row["work"].startswith(("queue_", "append_"))]
    lines += ["", END]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin, end = text.index(BEGIN), text.index(END) + len(END)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:begin] + "\n".join(lines) + text[end:])
    with open(re.sub(r"\.md$", ".svg", path), "w", encoding="utf-8") as file:
        file.write(bench_plot.svg([(f"{row['work']} {row['variant']}".removesuffix(" muster"), row["ratio"], row["goal"])
                                   for row in rows if "ratio" in row and "goal" in row]))


def compare(before, after):
    def read(name):
        with open(name, encoding="utf-8") as file:
            return {(row["work"], row["variant"]): row for row in json.load(file)["rows"]}

    old, new = read(before), read(after)
    table = [["work", "variant", "before", "after", "ratio before", "ratio after", "change"]]
    for key in [key for key in old if key in new]:
        a, b = old[key], new[key]
        # Ratios to the limit of the same run cancel what the machine did meanwhile.
        measure = "ratio" if "ratio" in a and "ratio" in b else "ns" if "ns" in a else "bytes"
        if measure not in a or measure not in b:
            continue
        table.append([*key, cells(a)[2], cells(b)[2], cells(a)[4], cells(b)[4],
                      f"{(b[measure] / a[measure] - 1) * 100:+.0f} %"])
    print(text_table(table))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--doc")
    parser.add_argument("files", nargs="+")
    asked = parser.parse_args()
    if asked.compare:
        if len(asked.files) != 2:
            parser.error("--compare takes two files")
        return compare(*asked.files)
    rows, machine = rows_of(asked.files)
    if not rows:
        return "tools/bench: nothing was measured"
    print(text_table([HEAD] + [cells(row) for row in rows]))
    print(summary(rows))
    if asked.out:
        with open(asked.out, "w", encoding="utf-8") as file:
            json.dump({"machine": machine, "rows": rows}, file, indent=1)
    if asked.doc:
        write_doc(asked.doc, rows, machine)
    return None


if __name__ == "__main__":
    sys.exit(main())
