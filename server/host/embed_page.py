#!/usr/bin/env python3
"""Writes the files of the start page as a C++ header: embed_page.py OUT FILE..."""
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


def main():
    out, files = sys.argv[1], sys.argv[2:]
    text = ["// Made by server/host/embed_page.py.", "#pragma once", "", "namespace muster::hosting {", "",
            "struct StartPageFile {", "  const char *name, *type, *text;", "};",
            "inline constexpr StartPageFile start_page_files[] = {"]
    for path in files:
        with open(path, encoding="utf-8") as file:
            content = file.read()
        # A string literal may have 65,536 characters only; pieces are joined by the compiler.
        pieces = [content[i:i + 8000] for i in range(0, len(content), 8000)]
        assert ')page"' not in content
        text.append('    {"%s", "%s",' % (os.path.basename(path), TYPES[os.path.splitext(path)[1]]))
        text += ['R"page(%s)page"' % piece for piece in pieces]
        text.append("    },")
    text += ["};", "", "}  // namespace muster::hosting", ""]
    with open(out, "w", encoding="utf-8") as file:
        file.write("\n".join(text))


main()
