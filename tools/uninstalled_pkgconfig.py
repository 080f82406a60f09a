#!/usr/bin/env python3
"""Gives the pkg-config files of a build that is not installed one include folder, that of the public headers:
`uninstalled_pkgconfig.py FOLDER NAME...`. Meson, which wrote them, names the source folder of each library as well, where files have
names such as world.h. It runs this after it has configured."""
import os
import pathlib
import re
import sys

folder = sys.argv[1]
for name in sys.argv[2:]:
    file = pathlib.Path(os.environ["MESON_BUILD_ROOT"]) / "meson-uninstalled" / f"{name}-uninstalled.pc"
    lines = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("Cflags:"):
            line = " ".join(["Cflags:", f"-I{folder}", *re.findall(r"(?<= )(?!-I)\S+", line)])
        lines.append(line)
    if not any(line.startswith("Cflags:") for line in lines):
        lines.append(f"Cflags: -I{folder}")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
