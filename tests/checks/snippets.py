#!/usr/bin/env python3
"""The snippets of the documents are those of files that are compiled and run.

A fenced block of a document follows a comment that says where it is from,

    <!-- examples/guide/handlers.cc: a handler -->

and has the lines between `guide: a handler` and `guide: end` of that file, without their common indentation. A comment with a path
alone, `<!-- examples/hello/hello.cc -->`, names a file that the block repeats in full. Blocks that follow `<!-- run -->` and
`<!-- output -->` are run by tests/guide/run.py. README.md may have blocks
of other languages than C++ and FlatBuffers too.

`snippets.py [ROOT]` checks (without a root the tree that it lies in), the last line is `N passed, N failed`; `snippets.py ROOT --write` fills the blocks in;
`snippets.py --self-test` shows that a difference is found."""
import pathlib
import re
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FROM = re.compile(r"<!-- ([\w./]+)(?:: ([^>]+))? -->\n$")
RUN = re.compile(r"<!-- (run|output) -->\n$")


def documents(root):
    """The pages with at least one block that says where it is from: in such a page every block must."""
    pages = sorted(page.relative_to(root).as_posix() for page in (root / "docs").glob("*.md"))
    found = [page for page in pages if re.search(r"<!-- [\w./]+: [^>]+ -->", (root / page).read_text(encoding="utf-8"))]
    return [*found, "README.md"]


def regions(text):
    """{name: lines without their common indentation} of a file."""
    found, name, lines = {}, None, []
    for line in text.split("\n"):
        marked = re.match(r"\s*(?://|#)\s*guide: (.*)$", line)
        if marked and marked[1] == "end":
            indents = [len(each) - len(each.lstrip()) for each in lines if each.strip()]
            found[name] = "".join(each[min(indents):].rstrip() + "\n" for each in lines)
            name = None
        elif marked:
            name, lines = marked[1], []
        elif name is not None:
            lines.append(line)
    return found


def check(root, document, write=False):
    """(blocks that are right, what is wrong with the others)."""
    text = (root / document).read_text(encoding="utf-8")
    good, wrong, out, end = 0, [], [], 0
    for block in FENCE.finditer(text):
        before = text[:block.start()]
        line = before.count("\n") + 1
        if RUN.search(before):
            good += 1
            continue
        source = FROM.search(before)
        if not source and document == "README.md" and block[1] not in ("cpp", "fbs"):
            out.append(text[end:block.end()])
            end = block.end()
            continue
        if not source:
            wrong.append(f"{document}:{line}: nothing says where this block is from")
            continue
        file = root / source[1]
        there = file.read_text(encoding="utf-8") if file.is_file() else None
        if there is not None and source[2]:
            there = regions(there).get(source[2])
        if there is None:
            missing = f"region '{source[2]}' in {source[1]}" if source[2] else f"file {source[1]}"
            wrong.append(f"{document}:{line}: there is no {missing}")
        elif block[2] != there and not write:
            wrong.append(f"{document}:{line}: is not what {source[1]} has" + (f" as '{source[2]}'" if source[2] else ""))
        else:
            good += 1
            out += [text[end:block.start(2)], there]
            end = block.end(2)
    if write:
        (root / document).write_text("".join(out) + text[end:], encoding="utf-8")
    return good, wrong


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "a.cc").write_text("// guide: one\n  int a;\n\n    int b;\n  // guide: end\n")
        good = "<!-- a.cc: one -->\n```cpp\nint a;\n\n  int b;\n```\n"
        cases = {good: (1, 0), good.replace("int b", "int c"): (0, 1), good.replace("one", "two"): (0, 1),
                 good.replace("a.cc", "b.cc"): (0, 1), good.split("\n", 1)[1]: (0, 1),
                 "<!-- run -->\n```sh\ntrue\n```\n" + good: (2, 0)}
        whole = "<!-- whole.cc -->\n```cpp\nint c;\n```\n"
        (root / "whole.cc").write_text("int c;\n")
        cases |= {whole: (1, 0), whole.replace("int c", "int d"): (0, 1), whole.replace("whole.cc", "no.cc"): (0, 1)}
        failed = 0
        for text, (right, wrong) in cases.items():
            (root / "doc.md").write_text(text)
            found = check(root, "doc.md")
            if (found[0], len(found[1])) != (right, wrong):
                failed += 1
                print(f"{text}\ngives {found}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return failed > 0


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        return self_test()
    roots = [each for each in arguments if each != "--write"]
    root = pathlib.Path(roots[0]) if roots else pathlib.Path(__file__).resolve().parents[2]
    passed, failed = 0, []
    for document in documents(root):
        good, wrong = check(root, document, "--write" in arguments)
        passed += good
        failed += wrong
    print("\n".join(failed))
    print(f"{passed} passed, {len(failed)} failed")
    return bool(failed) or passed == 0


if __name__ == "__main__":
    sys.exit(main())
