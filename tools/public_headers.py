#!/usr/bin/env python3
"""The public headers: the faces in include/muster, the headers of Muster's own schemas, and all that these include.

`public_headers.py SOURCE BUILD` prints their paths below `muster/`. `public_headers.py SOURCE BUILD FOLDER STAMP DEPFILE` writes
them to FOLDER/muster. There each includes the others as <muster/registry/apply/receipt.h>, so that -IFOLDER is all
that a compiler needs, and no header of a user's own is taken for one of these or the other way round. A header whose
text would stay the same is left alone; one that is no longer public is removed.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/checks"))
from source_tree import INCLUDE, included_file, reached  # noqa: E402

SCHEMAS = ("muster", "session", "scene")


def public_headers(source, build):
    """{path below muster/: file}. A header that is neither written nor generated raises LookupError."""
    roots = [source, build]
    faces = {face.name: face for face in sorted((source / "include/muster").glob("*.h"))}
    schemas = {f"schema/{name}.h": build / f"schema/{name}.h" for name in SCHEMAS}
    found = reached(roots, [*faces.values(), *schemas.values()])
    return faces | schemas | {name.removeprefix("muster/"): file for name, file in found.items()}


def public_text(roots, file):
    """The text of a header, with every include of the tree as <muster/...>."""
    def rewritten(match):
        there = included_file(roots, file, match.group(2), match.group(3))
        return f'{match.group(1)}<muster/{there[0].removeprefix("muster/")}>' if there else match.group(0)
    return INCLUDE.sub(rewritten, file.read_text(encoding="utf-8"))


def write(headers, roots, folder):
    folder = folder / "muster"
    for name, file in headers.items():
        target, text = folder / name, public_text(roots, file)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    for old in folder.rglob("*.h"):
        if str(old.relative_to(folder)) not in headers:
            old.unlink()


def main(source, build, folder=None, stamp=None, depfile=None):
    roots = [pathlib.Path(source), pathlib.Path(build)]
    headers = public_headers(*roots)
    if folder is None:
        print("\n".join(sorted(headers)))
        return
    write(headers, roots, pathlib.Path(folder))
    pathlib.Path(stamp).touch()
    files = " ".join(str(file).replace(" ", "\\ ") for file in headers.values())
    pathlib.Path(depfile).write_text(f"{stamp}: {files}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
