#!/usr/bin/env python3
"""Fails where a test, benchmark or example draws its random numbers from anything but a fixed seed: a run of tools/test must
not fail by luck. New seeds come from tests/support/seeds.h, which makes them for tools/soak alone.

`seeds.py ROOT` checks a tree; `seeds.py --self-test` checks the check.
"""
import re

from source_tree import read, run_check, self_tested, tracked, without_comments

FOLDERS = ("tests/", "bench/", "examples/")
MAKES_THEM = "tests/support/seeds.h"
# Here luck is the fault that a detector must find.
PLANTED = ("tests/server/world/replay/planted_test.cc", "tests/server/planted/planted_plugin.cc", "tests/server/planted/planted_test.cc",
           "tests/registry/moments/naming_test.cc", "tests/registry/moments/synctest_test.cc")
LUCK = {
    ".cc": re.compile(r"random_device|system_clock|\btime\s*\(\s*(?:NULL|nullptr|0|&\w+)?\s*\)|\bs?rand\s*\(|default_random_engine|getrandom|/dev/u?random"),
    ".py": re.compile(r"\brandom\.(?:seed\(\s*\)|Random\(\s*\)|SystemRandom|(?:random|rand\w+|choices?|shuffle|sample|uniform|gauss)\()|"
                      r"\b(?:urandom|secrets\.\w+)|\buuid[14]\("),
}
LUCK[".h"] = LUCK[".cc"]


def lucks(name, text):
    ending = name[name.rfind("."):] if "." in name else ""
    if ending not in LUCK or name in (MAKES_THEM, *PLANTED):
        return []
    if ending != ".py":
        text = without_comments(text)
    return [(text.count("\n", 0, match.start()) + 1, match.group(0)) for match in LUCK[ending].finditer(text)]


def check(root):
    me = "tests/checks/seeds.py"
    return [f"{name}:{line}: {what!r} gives another number in each run; take the seeds from {MAKES_THEM}"
            for name in tracked(root) if name.startswith(FOLDERS) and name != me for line, what in lucks(name, read(root, name))]


def self_test():
    cases = [("tests/a.cc", "std::random_device{}()", 1), ("tests/a.h", "mt19937 random(3);", 0), (MAKES_THEM, "system_clock::now()", 0),
             ("tests/a.cc", "// std::random_device", 0), ("bench/a.cc", "mt19937 r(time(nullptr))", 1), ("tests/a.cc", "srand(3)", 1),
             ("tests/a.cc", "run_time(0); times(); next_time(x);", 0), ("tests/a.py", "random.Random(3).choice(x)", 0),
             ("tests/a.py", "random.choice(x)\nrandom.Random()", 2), ("tests/a.py", "os.urandom(4)", 1), ("tests/a.md", "random_device", 0),
             ("tests/a.cc", "std::default_random_engine e;", 1)]
    failures = [f"{name}: {text!r}: found {lucks(name, text)}" for name, text, expected in cases if len(lucks(name, text)) != expected]
    return self_tested(len(cases), failures)


if __name__ == "__main__":
    run_check(check, self_test)
