#!/usr/bin/env python3
"""Counts constructions that make comments and documents hard to read, and lines that are too long.

english_budgets.txt has the most hits and long lines that a file may have. A file that is not listed
may have one hit per 100 sentences (or part of 100) and no long line. `english.py [ROOT]` checks.
`--lower` lowers budgets to what files have; run it after a merge, so that branches do not conflict.
`--totals` prints figures, and `--show FILE...` the hits and long lines of files. `--self-test`
shows that planted sentences are found."""
import math
import pathlib
import re
import sys

from source_tree import own_root, read, self_tested, tracked

COLUMNS_MAX, BUDGETS = 100, "tests/checks/english_budgets.txt"
PATTERNS = {
    "a clause with 'what' as the subject": r"(?:^|[.;:] |, and |, but )What (?!is\b.*\?)[a-z]",
    "'who' for a thing or a caller": r"(?:^|[.;:] )Who(?:ever)? (?!.*\?)[a-z]",
    "'where' for 'if'": r"\b[Ww]here (?:it|there|that|one|they|no|none|nothing|(?:some|no)body|some|something|he|who) ",
    "a fragment with 'Of'": r"^Of (?:a|an|the|what|those|these|all|one|it|each|its|that|this|such)\b",
    "'nobody'": r"\b(?:nobody|nobody's|no one)\b",
    "'so many'": r"\b(?:so many|so much|as many|as much) (?!as)",
    "a set phrase": r"\ball the same\b|\bby now\b|\bof one's own\b|\bby itself\b",
    "'likewise'": r"^(?:Likewise|The same)\b"}
PARAGRAPH = re.compile(r"^.+$(?:\n(?!(?:[-*]|\d+\.) ).+$)*", re.MULTILINE)
SENTENCE = re.compile(r"[^\s>*-].*?(?:[.!?]\)?(?=\s)|\Z)", re.DOTALL)
DRAWN = re.compile(r"^ {4,}\S|\S {3,}\S|^ *[|+]|[─-╿]|--+>")
MARKER = re.compile(r'^\s*(?://[/!]?<?|/\*+|\*+/|\* ?|#:?|""")|\s*(?:\*/|""")$')
SLASHES = re.compile(r'(?P<c>//[^\n]*|/\*.*?\*/)|R"(\w*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"'
                     r"|(?<!\w)'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`", re.DOTALL)
HASHES = re.compile(r'(?P<c>(?<!\S)#(?!!)[^\n]*|^[ \t]*"""(?:.*?)""")|"""(?:.*?)"""|\'\'\'(?:.*?)\'\'\''
                    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL | re.MULTILINE)


def language(name):
    """The pattern that finds comments, "prose" for Markdown, or None if the file is not read."""
    kinds = {r"\.md$": "prose", r"\.(?:h|cc|fbs|tsx?|css)$": SLASHES,
             r"\.(?:py|sh|cmake)$|meson\.build$|meson_options\.txt$|CMakeLists\.txt$|^tools/\w+$": HASHES}
    return next((kind for ends, kind in kinds.items() if re.search(ends, name)), None)


def prose_lines(text):
    """(line number, its prose) of Markdown; it is empty for code, tables and headings."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.lstrip().startswith("```")
        drawn = fenced or re.match(r" {4}| *(?:[|#<]|```)", line)
        yield number, "" if drawn else re.sub(r"\]\([^)]*\)|[*]{2}", "", line).strip()


def comment_lines(text, pattern):
    """(line number, its comment) of a source file; it is empty for drawings and code."""
    end = 0
    for match in pattern.finditer(text):
        between, end = text[end:match.start()], match.end()
        if between.strip() or between.count("\n") > 1 or not match["c"]:
            yield 0, ""
        margin = " " * (match.start() - text.rfind("\n", 0, match.start()) - 1)
        for number, line in enumerate((match["c"] or "").split("\n"), text.count("\n", 0, match.start()) + 1):
            bare = MARKER.sub("", line.removeprefix(margin)).removeprefix(" ")
            yield number, "" if DRAWN.search(bare) else bare.strip()


def examine(text, pattern):
    """(number of sentences, [(line, what, sentence)], [number of a long line]) of one file."""
    found = list(prose_lines(text) if pattern == "prose" else comment_lines(text, pattern))
    lines, sentences, hits, joined = text.split("\n"), 0, [], "\n".join(part for _, part in found)
    for paragraph in PARAGRAPH.finditer(joined):
        for match in SENTENCE.finditer(joined, *paragraph.span()):
            sentence, at = " ".join(match[0].split()), joined.count("\n", 0, match.start())
            if len(re.findall(r"[\w'`-]+", sentence)) >= 4:
                sentences += 1
                hits += [(found[at][0], what, sentence) for what, bad in PATTERNS.items() if re.search(bad, sentence)]
    return sentences, hits, [number for number in sorted({number for number, part in found if part})
                             if len(lines[number - 1]) > COLUMNS_MAX and "://" not in lines[number - 1]]


def budgets(text):
    return {line[2]: (int(line[0]), int(line[1])) for line in re.findall(r"(?m)^(\d+) (\d+) (.+)$", text)}


def budget_of(name, listed, present, sentences):
    """A moved file takes the budget of the listed file of the same base name that is gone."""
    gone = [entry for entry in listed if entry not in present and pathlib.Path(entry).name == pathlib.Path(name).name]
    return listed.get(name) or (listed[gone[0]] if gone else (math.ceil(sentences / 100), 0))


def check(found, listed):
    wrong = []
    for name, (sentences, hits, long) in found.items():
        hits_max, long_max = budget_of(name, listed, found, sentences)
        if len(hits) > hits_max:
            wrong += [f"{name}: {len(hits)} hits in {sentences} sentences, the budget is {hits_max}:",
                      *(f"{name}:{line}: {what}: {sentence}" for line, what, sentence in hits)]
        if len(long) > long_max:
            wrong.append(f"{name}: {len(long)} lines above {COLUMNS_MAX} columns, the budget is {long_max}: {long}")
    return wrong


def lowered(found, listed):
    out = "# hits, long lines, file; written by english.py --lower\n"
    for name, (sentences, hits, long) in sorted(found.items()):
        most = budget_of(name, listed, found, sentences) if listed else (len(hits), len(long))
        least = min(most[0], len(hits)), min(most[1], len(long))
        out += f"{least[0]} {least[1]} {name}\n" if sum(least) else ""
    return out


def totals(found):
    out, not_product = [], ("tests/", "bench/", "examples/")
    for part, ends, aside in (("C++ product", (".h", ".cc"), not_product), ("documents", ".md", ()), ("all", "", ())):
        chosen = [each for name, each in found.items() if name.endswith(ends) and not name.startswith(aside)]
        sentences, hits, long = (sum(each) for each in zip((0, 0, 0), *((n, len(h), len(l)) for n, h, l in chosen)))
        rate = 100 * hits / max(sentences, 1)
        out.append(f"{part}: {hits} hits in {sentences} sentences, {rate:.1f} per 100; {long} long lines")
    return out


def self_test():
    bad, long = "Where nobody waits it is sent.", "word " * 20
    cases = [("a.cc", f"int a;  // {bad}", 2, 0), ("a.h", f"/// It is good to know.\n/// {bad}", 2, 0),
             ("meson.build", f"# {bad}", 2, 0), ("a.py", f'def f():\n    """{bad}"""', 2, 0), ("a.ts", f'"// {bad}"', 0, 0),
             ("a.md", f"A text.\n\n{bad}", 2, 0), ("a.md", f"```\n{bad}\n```\n| {bad} |", 0, 0), ("a.py", f'f("# {bad}")', 0, 0),
             ("a.cc", "// Returns it, if\n// there is any.", 0, 0), ("a.cc", f"// {long}", 0, 1), ("a.md", long + "is", 0, 1),
             ("a.fbs", "// Likewise for\n// a second one.", 1, 0), ("a.ts", f"/* {bad}\n */", 2, 0), ("a.cc", f"//      {bad}", 0, 0)]
    examined = [(*case, *map(len, examine(case[1], language(case[0]))[1:])) for case in cases]
    failures = [f"{each}" for each in examined if each[2:4] != each[4:]]
    one = {"b/a.cc": examine(f"// {bad}\n", SLASHES)}
    for listed, wrong, low in (({}, 1, (2, 0)), ({"b/a.cc": (2, 3)}, 0, (2, 0)), ({"b/a.cc": (1, 0)}, 1, (1, 0)),
                               ({"c/a.cc": (2, 0)}, 0, (2, 0))):
        if bool(check(one, listed)) != wrong or budgets(lowered(one, listed)) != {"b/a.cc": low}:
            failures.append(f"budget {listed}: {check(one, listed)}, {lowered(one, listed)}")
    return self_tested(len(cases) + 4, failures)


def main():
    words = [each for each in sys.argv[1:] if not each.startswith("--")]
    root = pathlib.Path(words.pop(0) if words and pathlib.Path(words[0]).is_dir() else own_root)
    found = {name: examine(read(root, name), language(name)) for name in words or tracked(root) if language(name)}
    listed = budgets(read(root, BUDGETS)) if (root / BUDGETS).is_file() else {}
    if "--lower" in sys.argv:
        return (root / BUDGETS).write_text(lowered(found, listed), encoding="utf-8") == 0
    wrong = [] if "--totals" in sys.argv else check(found, {name: (-1, -1) for name in words} or listed)
    print("\n".join(wrong or totals(found)))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(self_test() if "--self-test" in sys.argv else main())
