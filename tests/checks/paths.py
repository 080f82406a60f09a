#!/usr/bin/env python3
"""Fails where a file of the tree names a place of one machine: what is written here is for strangers.

`paths.py ROOT` checks a tree; `paths.py --self-test` checks the check.
"""
import re
import sys

from source_tree import read, tracked

# Written in pieces, so that this file passes its own check.
PLACES = re.compile(r"(?<![\w.}$])/(?:wor" r"k|ho" r"me|roo" r"t)/|\.\./shar" r"ed\b")


def places(text):
    return [(text.count("\n", 0, match.start()) + 1, match.group(0)) for match in PLACES.finditer(text)]


def self_test():
    home, here = "/ho" "me/", "/wor" "k/"
    cases = [(f"see {home}anna/x", 1), (f'"{here}x"', 1), ("../shar" "ed/design.md", 1), (f"a{here}b", 0), ("homework/ roots", 0)]
    failures = [text for text, count in cases if len(places(text)) != count]
    print("\n".join(failures), end="\n" if failures else "")
    print(f"{len(cases) - len(failures)} passed, {len(failures)} failed")
    return bool(failures)


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    found = [f"{name}:{line}: names {place!r}" for name in tracked(sys.argv[1])
             for line, place in places(read(sys.argv[1], name))]
    print("\n".join(found))
    sys.exit(bool(found))
