#!/usr/bin/env python3
"""Reads what a world file contains, with SQL, as docs/file-format.md describes it.

`world_rows.py WORLD` prints the hashes of the state and of the history that are saved in a world
file, as JSON. The sequence is left out of the hash of the state, because it goes on when a run
ends."""
import contextlib
import hashlib
import json
import sqlite3
import sys

REGISTRY, SEQUENCE_AT = 1, 8  # the section of the row with the sequence, and where it is there


def saved(path, of_level=False):
    """Returns the rows of the state that was saved last, {(section, key, column): bytes}, without
    the sequence, and the steps of its history without those of a run, {number: bytes}.

    `of_level`: those of the level of the run that is on."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60, isolation_level=None)) as file:
        file.execute("BEGIN")
        meta = dict(file.execute("SELECT name, value FROM meta"))
        checkpoint = int(meta["level" if of_level else "checkpoint"])
        rows = {}
        for section, key, column, data in file.execute(
                "SELECT section, key, column_, bytes FROM state WHERE checkpoint <= ? ORDER BY checkpoint", (checkpoint,)):
            if section == REGISTRY:
                data = data[:SEQUENCE_AT] + bytes(8) + data[SEQUENCE_AT + 8:]
            rows[section, key, column] = data
        first, last = int(meta.get("run_first", 0)), int(meta.get("run_last", 0)) or 1 << 62
        steps = {number: data for number, data in file.execute("SELECT number, bytes FROM history")
                 if not first or not first <= number <= last}
    return {key: data for key, data in rows.items() if data is not None}, steps


def differing(one, other):
    """The keys of two of these dicts whose values differ."""
    return sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))


def hash_of(rows):
    return hashlib.sha256(repr(sorted(rows.items())).encode()).hexdigest()


if __name__ == "__main__":
    print(json.dumps(dict(zip(("state", "history"), map(hash_of, saved(sys.argv[1]))))))
