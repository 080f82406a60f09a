#!/usr/bin/env python3
"""Steps a paused world, and draws the health of a unit as an SVG.

`plot_health.py ENTITY TICKS SVG [WORLD]`, as in `plot_health.py /red/squad-0/unit-0 600 health.svg`
while tools/demo is running."""
import pathlib
import sys

import muster

WIDTH, HEIGHT, MARGIN = 800, 300, 40


def health_by_tick(world, entity, ticks, step=10):
    """Returns pairs of a tick and the unit's health. The last one is 0 if the unit dies."""
    world.pause()
    entity = world.entity(entity)
    points = [(world.clock().tick, world.show(entity)["Health"].value)]
    with world.watch(entity, below=False, components=["Health"]) as watch:
        for _ in range(0, ticks, step):
            tick = world.step(step).tick
            watch.catch_up()
            node = watch.get(entity)
            points.append((tick, node["Health"].value if node else 0.0))
            if node is None:
                break
    return points


def svg(points):
    """Returns the text of an SVG with the points as a line."""
    first, last = points[0][0], max(points[-1][0], points[0][0] + 1)
    top = max(max(value for _, value in points), 1)
    line = " ".join(f"{MARGIN + (tick - first) / (last - first) * (WIDTH - 2 * MARGIN):.1f},"
                    f"{HEIGHT - MARGIN - value / top * (HEIGHT - 2 * MARGIN):.1f}" for tick, value in points)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">\n'
            f'<text x="4" y="{MARGIN}">{top:g}</text><text x="4" y="{HEIGHT - MARGIN}">0</text>\n'
            f'<text x="{MARGIN}" y="{HEIGHT - 8}">tick {first}</text>'
            f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - 8}" text-anchor="end">{last}</text>\n'
            f'<polyline points="{line}" fill="none" stroke="crimson" stroke-width="2"/>\n</svg>\n')


if __name__ == "__main__":
    with muster.connect(sys.argv[4] if len(sys.argv) > 4 else None) as connected:
        found = health_by_tick(connected, sys.argv[1], int(sys.argv[2]))
    pathlib.Path(sys.argv[3]).write_text(svg(found), encoding="utf-8")
    print(f"{len(found)} values, the last one {found[-1][1]:g}")
