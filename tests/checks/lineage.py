#!/usr/bin/env python3
"""Fails if tests/lineage/README.md and the tests disagree: each promise needs a test, each test
named "system 12: ..." needs a promise 12, and tests and files in the second column must exist.

`lineage.py ROOT` checks a tree; `lineage.py --self-test` checks the check.
"""
import os
import re

from source_tree import read, run_check, self_tested, tracked

PAGE = "tests/lineage/README.md"
SYSTEMS = {"nebula": 24, "bubel": 19, "usagi": 31, "bitsquid": 27}  # how many promises each has
WAITS = "Waits for"

_CASE = re.compile(r'TEST_CASE(?:_METHOD)?\(\s*(?:\w+,\s*)?((?:"(?:\\.|[^"\\])*"\s*)+)')
_STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
_NUMBERED = re.compile(r"(%s) (\d+): " % "|".join(SYSTEMS))
_FILE = re.compile(r"[\w./-]+\.\w+")
_PROMISE = re.compile(r"(%s) \d+" % "|".join(SYSTEMS))


def test_names(texts):
    """Names of all test cases in these C++ texts."""
    return {"".join(re.sub(r"\\(.)", r"\1", part) for part in _STRING.findall(match.group(1)))
            for text in texts for match in _CASE.finditer(text)}


def rows(page):
    """(line, section in lower case, cells) of each table row but headings."""
    found, section = [], ""
    for number, line in enumerate(page.split("\n"), 1):
        if line.startswith("## "):
            section = line[3:].strip().lower()
        elif line.startswith("|") and not re.match(r"\|[\s:|-]*$", line):
            found.append((number, section, [cell.strip() for cell in line.strip()[1:-1].split("|")]))
    return [row for row in found if row[2][0] not in ("promise", "weakness")]


def wrongs(page, tests, exists):
    wrong, numbers = [], {system: [] for system in SYSTEMS}
    numbered = {(match.group(1), int(match.group(2))) for match in map(_NUMBERED.match, tests) if match}

    def is_there(name):
        if _PROMISE.fullmatch(name):
            system, number = name.split()
            return (system, int(number)) in numbered
        return exists(name) if _FILE.fullmatch(name) else name in tests

    for line, section, cells in rows(page):
        if len(cells) != 2:
            wrong.append(f"{PAGE}:{line}: expected two cells, found {len(cells)}")
            continue
        named = re.findall(r"`([^`]+)`", cells[1])
        wrong += [f"{PAGE}:{line}: there is no test or file {name!r}" for name in named if not is_there(name)]
        if section not in SYSTEMS:
            continue
        if not (match := re.match(r"(\d+)\. \S", cells[0])):
            wrong.append(f"{PAGE}:{line}: expected a number and a promise")
            continue
        number = int(match.group(1))
        numbers[section].append(number)
        if (section, number) not in numbered and not named and WAITS not in cells[1]:
            wrong.append(f"{PAGE}:{line}: {section} {number} has no test and does not say what it waits for")
    for system, count in SYSTEMS.items():
        if numbers[system] != list(range(1, count + 1)):
            wrong.append(f"{PAGE}: the numbers of {system} are not 1 to {count}, each once and in order: {numbers[system]}")
    wrong += [f"{PAGE}: tests are named for {system} {number}, which is no promise"
              for system, number in sorted(numbered) if number not in numbers[system]]
    return wrong


def check(root):
    files = tracked(root)
    tests = test_names(read(root, name) for name in files if name.startswith("tests/") and name.endswith(".cc"))
    return wrongs(read(root, PAGE), tests, lambda name: os.path.isfile(os.path.join(root, name)))


def self_test():
    tests = test_names(['TEST_CASE("nebula 1: a \\"b\\"", "[x]") {', 'TEST_CASE(\n    "plain "\n    "words") {',
                        'TEST_CASE_METHOD(Fixture, "with a fixture") {'])
    assert tests == {'nebula 1: a "b"', "plain words", "with a fixture"}, tests
    good = "".join(f"## {system.capitalize()}\n| promise | besides |\n|---|---|\n" +
                   "".join(f"| {i}. x | `plain words` |\n" for i in range(1, count + 1))
                   for system, count in SYSTEMS.items())
    good = good.replace("| 1. x | `plain words` |", "| 1. x | |", 1)
    good += "## Weak\n| weakness | here |\n|---|---|\n| y | `nebula 1` `tests/a.cc` |\n"
    cases = [(good, tests, ""),
             (good.replace("`plain words`", "`plain word`", 1), tests, "no test or file 'plain word'"),
             (good.replace("tests/a.cc", "tests/b.cc"), tests, "no test or file 'tests/b.cc'"),
             (good.replace("`nebula 1`", "`nebula 2`"), tests, "no test or file 'nebula 2'"),
             (good.replace("| 2. x | `plain words` |\n", "", 1), tests, "not 1 to 24"),
             (good, tests - {'nebula 1: a "b"'}, "nebula 1 has no test"),
             (good, tests | {"usagi 32: c"}, "usagi 32, which is no promise"),
             (good.replace("| 2. x | `plain words` |", f"| 2. x | {WAITS} it. |", 1), tests, ""),
             (good.replace("| 2. x | `plain words` |", "| 2. x | Instead: z. |", 1), tests, "nebula 2 has no test"),
             (good.replace("| 2. x |", "| x |", 1), tests, "a number and a promise"),
             (good.replace("| 2. x | `plain words` |", "| 2 | x | `plain words` |", 1), tests, "found 3")]
    failures = []
    for page, names, expected in cases:
        found = wrongs(page, names, lambda name: name == "tests/a.cc")
        if (expected not in "".join(found)) if expected else found:
            failures.append(f"expected {expected!r}, found {found}")
    return self_tested(len(cases), failures)


if __name__ == "__main__":
    run_check(check, self_test)
