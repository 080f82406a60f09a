#!/usr/bin/env python3
"""The public headers: the faces in include/muster, and every header of the tree that can be reached from them.

`public_headers.py SOURCE BUILD` prints their paths as they are included. As an install script of Meson (with MESON_* set
and the generated headers' folder as SOURCE and BUILD) it copies them to PREFIX/include/muster, the faces to
PREFIX/include/muster itself, so that -IPREFIX/include and -IPREFIX/include/muster find <muster/registry.h> and
"registry/receipt.h".
"""
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/checks"))
from source_tree import includes  # noqa: E402


def public_headers(source, build):
    """{path as included: file}. A header that is neither written nor generated is an error."""
    found, waiting = {}, [(f"muster/{face.name}", face) for face in sorted((source / "include/muster").glob("*.h"))]
    while waiting:
        name, file = waiting.pop()
        if name in found:
            continue
        found[name] = file
        for line, quote, include in includes(file.read_text(encoding="utf-8")):
            if quote != '"':
                continue
            candidates = [folder / include for folder in (source, build) if (folder / include).is_file()]
            if not candidates:
                sys.exit(f"{file}:{line}: {include} is in neither tree")
            waiting.append((include, candidates[0]))
    return dict(sorted(found.items()))


def install(headers, include_folder):
    for name, file in headers.items():
        target = include_folder / (name if name.startswith("muster/") else f"muster/{name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


if __name__ == "__main__":
    headers = public_headers(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    if "MESON_INSTALL_DESTDIR_PREFIX" in os.environ:
        install(headers, pathlib.Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"]) / sys.argv[3])
    else:
        print("\n".join(headers))
