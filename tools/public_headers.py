#!/usr/bin/env python3
"""The public headers: the faces in include/muster, and every header of the tree that can be reached from them.

`public_headers.py SOURCE BUILD` prints their paths as they are included. As an install script of Meson (with MESON_* set
and the generated headers' folder as SOURCE and BUILD) it copies them to PREFIX/include/muster, the faces to
PREFIX/include/muster itself, so that -IPREFIX/include and -IPREFIX/include/muster find <muster/registry.h> and
"registry/apply/receipt.h".
"""
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/checks"))
from source_tree import reached  # noqa: E402


def public_headers(source, build):
    """{path as included: file}. A header that is neither written nor generated raises LookupError."""
    faces = {f"muster/{face.name}": face for face in sorted((source / "include/muster").glob("*.h"))}
    return faces | reached([source, build], faces.values())


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
