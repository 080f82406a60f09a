#!/usr/bin/env python3
"""The digest of what a plugin compiles against: server/plugins/plugin.h and every header of the tree that it reaches.

`header_digest.py OUT.h DEPFILE SOURCE BUILD [FOLDER...]` writes a header that says it, and the files that it was made of. An include in
quotes is looked for in the folders first, then in SOURCE and BUILD. Comments,
empty lines and how many blanks there are do not count.
"""
import hashlib
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/checks"))
from source_tree import reached, self_tested, without_comments  # noqa: E402

ENTRY, OWN = "server/plugins/plugin.h", "server/plugins/plugin_digest.h"


def digest(headers):
    hashed = hashlib.sha256()
    for name, file in sorted(headers.items()):
        hashed.update(name.encode() + b"\0")
        for line in without_comments(file.read_text(encoding="utf-8")).split("\n"):
            if words := " ".join(line.split()):
                hashed.update(words.encode() + b"\n")
    return hashed.hexdigest()[:16]


def header(number):
    return f"""// Made by tools/header_digest.py.
#pragma once

#include <cstdint>

/// Of all headers that a plugin compiles against, comments left out. It changes when a declaration does, and so does what
/// compiled code makes of a class of the same size.
constexpr std::uint64_t muster_plugin_headers = 0x{number};
"""


def main(out, depfile, *folders):
    out = pathlib.Path(out)
    # The source and the build root come first in the arguments, and last where headers are looked for.
    roots = [pathlib.Path(folder) for folder in folders[2:] + folders[:2]]
    if not out.exists():
        out.write_text(header("0" * 16))  # the entry includes it
    entry = next(root / ENTRY for root in roots if (root / ENTRY).is_file())
    headers = {ENTRY: entry} | reached(roots, [entry])
    headers = {name: file for name, file in headers.items() if not name.endswith(pathlib.Path(OWN).name)}
    text = header(digest(headers))
    if out.read_text() != text:
        out.write_text(text)
    files = " ".join(str(file).replace(" ", "\\ ") for file in headers.values())
    pathlib.Path(depfile).write_text(f"{out}: {files}\n")


def self_test():
    """Which changes of a header count."""
    with tempfile.TemporaryDirectory() as path:
        root, other = pathlib.Path(path, "tree"), pathlib.Path(path, "other")
        entry, part = root / ENTRY, root / "registry/part.h"
        part.parent.mkdir(parents=True)
        entry.parent.mkdir(parents=True)
        (other / "registry").mkdir(parents=True)
        entry.write_text(f'#include "registry/part.h"\n#include "{OWN}"\n')

        def made(text, folder=root, *more):
            (folder / "registry/part.h").write_text(text)
            main(root / OWN, pathlib.Path(path, "d"), root, root, *more)
            return (root / OWN).read_text()
        first = made("struct Part { int a, b; };\n")
        failures = [] if "registry/part.h" in pathlib.Path(path, "d").read_text() else ["the depfile does not name the part"]
        for text, counts in (("// A part.\nstruct  Part {\n\n  int a, b; };\n", True), ("struct Part { int b, a; };\n", True),
                             ("struct Part { int a, b; };  // A part.\n\n", False)):
            if (made(text) != first) != counts:
                failures.append(f"{'does not count' if counts else 'counts'}: {text}")
        made("struct Part { int a, b; };\n")
        if made("struct Part { int b, a; };\n", other, other) == first:
            failures.append("a folder that is looked through first does not count")
    return self_tested(5, failures)


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    main(*sys.argv[1:])
