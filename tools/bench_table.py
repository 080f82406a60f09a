#!/usr/bin/env python3
"""Prints what Google Benchmark measured as one table with ratios: `bench_table.py RESULT.json...`.

A benchmark is named WORK/VARIANT. The variant `limit` is the hand-written loop that the others of the same work are
divided by. Where a benchmark sets items processed, its time is per item. A counter `goal` on a variant is the ratio it
must reach; one that misses it is marked. Of several repetitions the fastest counts.
"""
import json
import sys


def nanoseconds(run):
    """Per item where the benchmark counts items, else per iteration."""
    if "items_per_second" in run:
        return 1e9 / run["items_per_second"]
    return run["cpu_time"] * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[run["time_unit"]]


def fastest(results):
    """work -> variant -> (ns, goal or None), in the order measured."""
    works = {}
    for result in results:
        for run in result["benchmarks"]:
            if run.get("run_type") == "aggregate" or run.get("error_occurred"):
                continue
            work, _, variant = run.get("run_name", run["name"]).partition("/")
            variants = works.setdefault(work, {})
            ns = nanoseconds(run)
            known = variants.get(variant)
            variants[variant] = (min(ns, known[0]) if known else ns, run.get("goal"))
    return works


def limit_of(variants, variant):
    """The limit that fits best: of the same arguments ("limit/1000" for "muster/1000"), else the only one."""
    arguments = variant.partition("/")[2]
    for name in (f"limit/{arguments}" if arguments else "limit", "limit"):
        if name in variants:
            return variants[name][0]
    return None


def main(names):
    results = []
    for name in names:
        with open(name, encoding="utf-8") as file:
            results.append(json.load(file))
    works = fastest(results)
    width = max((len(work) for work in works), default=4)
    print(f"{'work':{width}}  {'variant':20} {'ns':>12} {'ratio':>8} {'goal':>8}")
    for work, variants in works.items():
        for variant, (ns, goal) in variants.items():
            limit = None if variant.partition("/")[0] == "limit" else limit_of(variants, variant)
            ratio = ns / limit if limit else None
            print(f"{work:{width}}  {variant:20} {ns:12.2f} {f'{ratio:.2f}' if ratio else '':>8}"
                  f" {f'{goal:g}' if goal else '':>8}{'  missed' if goal and ratio and ratio > goal else ''}")
    return not works


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
