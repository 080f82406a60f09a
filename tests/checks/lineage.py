#!/usr/bin/env python3
"""Fails where docs/lineage.md and the tests disagree: a test or file that a table's last column names must exist, every test
named "system 12: ..." must stand in that system's row 12, and no number may be missing.

`lineage.py ROOT` checks a tree; `lineage.py --self-test` checks the check.
"""
import os
import re

from source_tree import read, run_check, self_tested, tracked

PAGE = "docs/lineage.md"
SYSTEMS = {"nebula": 24, "bubel": 19, "usagi": 31, "bitsquid": 27}  # how many promises each has
WAITS = "Waits for"

_CASE = re.compile(r'TEST_CASE(?:_METHOD)?\(\s*(?:\w+,\s*)?((?:"(?:\\.|[^"\\])*"\s*)+)')
_STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
_NUMBERED = re.compile(r"(%s) (\d+): " % "|".join(SYSTEMS))


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
            found.append((number, section, [cell.strip() for cell in line.strip().strip("|").split("|")]))
    return [row for row in found if row[2][0] != "no."]


def wrongs(page, tests, exists):
    wrong, listed, numbers = [], {}, {system: [] for system in SYSTEMS}
    for line, section, cells in rows(page):
        named = re.findall(r"`([^`]+)`", cells[-1])
        for name in named:
            if not (exists(name) if re.fullmatch(r"[\w./-]+\.\w+", name) else name in tests):
                wrong.append(f"{PAGE}:{line}: there is no test or file {name!r}")
        if section not in SYSTEMS:
            continue
        if len(cells) != 4 or not cells[0].isdigit():
            wrong.append(f"{PAGE}:{line}: expected number, marks, promise and test, found {len(cells)} cells")
            continue
        numbers[section].append(int(cells[0]))
        listed.setdefault((section, int(cells[0])), set()).update(named)
        if not named and WAITS not in cells[-1]:
            wrong.append(f"{PAGE}:{line}: {section} {cells[0]} names no test and does not say what it waits for")
    for system, count in SYSTEMS.items():
        if numbers[system] != list(range(1, count + 1)):
            wrong.append(f"{PAGE}: the numbers of {system} are not 1 to {count}, each once and in order: {numbers[system]}")
    for name in sorted(tests):
        match = _NUMBERED.match(name)
        if match and name not in listed.get((match.group(1), int(match.group(2))), ()):
            wrong.append(f"{PAGE}: {name!r} is not listed in its row")
    return wrong


def check(root):
    files = tracked(root)
    tests = test_names(read(root, name) for name in files if name.startswith("tests/") and name.endswith(".cc"))
    return wrongs(read(root, PAGE), tests, lambda name: os.path.isfile(os.path.join(root, name)))


def self_test():
    tests = test_names(['TEST_CASE("nebula 1: a \\"b\\"", "[x]") {', 'TEST_CASE(\n    "plain "\n    "words") {',
                        'TEST_CASE_METHOD(Fixture, "with a fixture") {'])
    assert tests == {'nebula 1: a "b"', "plain words", "with a fixture"}, tests
    good = "".join(f"## {system.capitalize()}\n| no. | | promise | shown by |\n|---|---|---|---|\n" +
                   "".join(f"| {i} | T | x | `plain words` |\n" for i in range(1, count + 1))
                   for system, count in SYSTEMS.items())
    good = good.replace("| 1 | T | x | `plain words` |", '| 1 | T | x | `nebula 1: a "b"` `tests/a.cc` |', 1)
    cases = [(good, ""), (good.replace("`plain words`", "`plain word`", 1), "no test or file 'plain word'"),
             (good.replace("tests/a.cc", "tests/b.cc"), "no test or file"), (good.replace("| 2 | T | x | `plain words` |\n", "", 1), "not 1 to 24"),
             (good.replace('`nebula 1: a "b"`', "`plain words`", 1), "is not listed"),
             (good.replace("`plain words`", "Ruled.", 1), "names no test"), (good.replace("`plain words`", f"{WAITS} it.", 1), ""),
             (good.replace("| T | x | `plain words`", "| T | `plain words`", 1), "3 cells")]
    failures = []
    for page, expected in cases:
        found = wrongs(page, tests, lambda name: name == "tests/a.cc")
        if (expected not in "".join(found)) if expected else found:
            failures.append(f"expected {expected!r}, found {found}")
    return self_tested(len(cases), failures)


if __name__ == "__main__":
    run_check(check, self_test)
