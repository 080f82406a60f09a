#!/usr/bin/env python3
"""Places props from a CSV file below one entity, as one step for undo.

`place_props.py CSV [WORLD]`. The file has the columns name, x, y, z, and shape: box, sphere, ..."""
import csv
import sys

import muster


def place(world, path):
    """Returns the entity that the props are below. Either all of them are placed or none."""
    Transform, Shape = world.types.scene.Transform, world.types.scene.Shape
    with open(path, newline="", encoding="utf-8") as file, world.transaction(f"Place {path}") as edit:
        props = edit.create("props")
        for row in csv.DictReader(file):
            at = dict(x=float(row["x"]), y=float(row["y"]), z=float(row["z"]))
            edit.create(row["name"], Transform(position=at), Shape(kind=row["shape"]), under=props, clash="suffix")
    return props


if __name__ == "__main__":
    with muster.connect(sys.argv[2] if len(sys.argv) > 2 else None) as connected:
        made = place(connected, sys.argv[1])
        print(f"placed {len(connected.children(made))} props below {made}; `muster undo` removes them")
