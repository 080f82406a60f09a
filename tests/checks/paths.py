#!/usr/bin/env python3
"""Fails where a file of the tree names a place of one machine: what is written here is for strangers.

`paths.py ROOT` checks a tree; `paths.py --self-test` checks the check.
"""
import re

from source_tree import read, run_check, self_tested, tracked

# Written in pieces, so that this file passes its own check.
PLACES = re.compile(r"(?<![\w.}$])/(?:wor" r"k|ho" r"me|roo" r"t)/|\.\./shar" r"ed\b")


def places(text):
    return [(text.count("\n", 0, match.start()) + 1, match.group(0)) for match in PLACES.finditer(text)]


def check(root):
    return [f"{name}:{line}: names {place!r}" for name in tracked(root) for line, place in places(read(root, name))]


def self_test():
    home, here = "/ho" "me/", "/wor" "k/"
    cases = [(f"see {home}anna/x", 1), (f'"{here}x"', 1), ("../shar" "ed/design.md", 1), (f"a{here}b", 0), ("homework/ roots", 0)]
    failures = [text for text, count in cases if len(places(text)) != count]
    return self_tested(len(cases), failures)


if __name__ == "__main__":
    run_check(check, self_test)
