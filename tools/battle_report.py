#!/usr/bin/env python3
"""Puts the figures of tools/bench --battle into a page, and a picture of its traces beside it.

    battle_report.py FOLDER PAGE.md PICTURE.svg

FOLDER has, for N workers, `plain-N.json` (bench/skirmish_ticks --json), and of a battle that was observed `split-N.json` and `trace-N.json`.
"""
import datetime
import json
import os
import pathlib
import sys
import textwrap

import battle_plot

BEGIN, END = "<!-- written by tools/bench --battle -->", "<!-- end of what tools/bench --battle wrote -->"
WORKERS = [1, 2]


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def table(head, rows, texts=1):
    """In Markdown; the first `texts` columns are no numbers."""
    sides = "|".join("---" if i < texts else "--:" for i in range(len(head)))
    return ["| " + " | ".join(head) + " |", f"|{sides}|"] + ["| " + " | ".join(row) + " |" for row in rows]


def ms(value):
    return f"{value:.2f} ms"


def times(plain):
    """Times of a tick for one worker and for two: wall time, and each worker's processor time."""
    one, two = plain[1]["parts"], plain[2]["parts"]
    rows = []
    for when, part in (("lines apart", 0), ("lines in contact", 4)):
        for what, key in (("most ticks (median)", "median"), ("every 16th, which looks for contacts (median)", "looking"),
                          ("worst", "worst")):
            rows.append([f"{when}: {what}", ms(one[part]["wall"][key]), ms(one[part]["own"][key]),
                         ms(two[part]["wall"][key]), ms(two[part]["own"][key]), ms(two[part]["others"][key])])
    return table(["a tick", "1 worker: wall", "processor", "2 workers: wall", "worker 1", "worker 2"], rows)


def split(figures, battles, ticks):
    """The handlers by what they take, those below 1 % together."""
    by_name = {n: {h["name"]: h for h in figures[n]["handlers"]} for n in WORKERS}
    total = {n: sum(h["ns"] for h in by_name[n].values()) for n in WORKERS}
    second = {}  # of two workers: us on the second
    for e in battles[2].handlers:
        if e["tid"] >= 2:
            second[e["name"]] = second.get(e["name"], 0) + e["dur"]

    def cells(names):
        ns = {n: sum(by_name[n].get(name, {"ns": 0})["ns"] for name in names) for n in WORKERS}
        there = sum(second.get(name, 0) for name in names) * 1000
        per_tick = [value / ticks / 1e6 for value in (ns[1], max(ns[2] - there, 0), there)]
        return [f"{per_tick[0]:.3f} ms", f"{100 * ns[1] / total[1]:.1f} %", f"{per_tick[1]:.3f} ms", f"{per_tick[2]:.3f} ms",
                f"{100 * ns[2] / total[2]:.1f} %"]

    names = sorted(by_name[1], key=lambda name: by_name[1][name]["ns"], reverse=True)
    large = [name for name in names if by_name[1][name]["ns"] >= total[1] / 100]
    small = [name for name in names if name not in large]
    rows = []
    for name in large:
        handler = by_name[1][name]
        seldom = handler["calls"] * 4 < ticks
        rows.append([name, handler["message"],
                     f"every {round(ticks / handler['calls'])}th tick" if seldom else f"{handler['rows'] / ticks:,.0f}", *cells([name])])
    rows.append([f"{len(small)} others", "", "", *cells(small)])
    rows.append(["all", "", "", *cells(names)])
    return table(["handler", "message", "rows per tick", "1 worker", "share", "2 workers: worker 1", "worker 2", "share"], rows, 2)


def main():
    folder, page, picture = map(pathlib.Path, sys.argv[1:4])
    plain = {n: read(folder / f"plain-{n}.json") for n in WORKERS}
    figures = {n: read(folder / f"split-{n}.json") for n in WORKERS}
    battles = {n: battle_plot.Battle(read(folder / f"trace-{n}.json"), n) for n in WORKERS}
    ticks = plain[1]["parts"][-1]["last"] + 1
    last, two = plain[1]["parts"][-1], plain[2]
    passes = two["spread"] + two["alone"]
    lines = [BEGIN, "",
             *textwrap.wrap(
                 f"Measured on {datetime.date.today()}, {os.cpu_count()} cores: {plain[1]['units']:,} units, "
                 f"{plain[1]['entities']:,} entities, {ticks} ticks of 1/60 s. The lines meet in the last fifth of "
                 f"the ticks, with {last['messages']:.0f} messages per tick and {last['lost']} units lost. Of {passes} "
                 f"passes {two['spread']} were spread over two workers, in {two['tasks']} tasks.", 100), "",
             *times(plain), "",
             "Time per tick and handler, from the figures and the trace of an observed battle",
             "([observability.md](observability.md)):", "",
             *split(figures, battles, ticks), "",
             "The picture shows ticks from the last fifth of the battle, from the same traces. The light areas",
             "are the time that a worker spends outside of handlers.", "",
             f"![What the workers do in a tick]({picture.name})", "", END]
    text = page.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN), text.index(END) + len(END)
    page.write_text(text[:begin] + "\n".join(lines) + text[end:], encoding="utf-8")
    picture.write_text(battle_plot.svg([battles[n] for n in WORKERS]), encoding="utf-8")
    print("\n".join(lines[2:-4]))


if __name__ == "__main__":
    main()
