"""Makes a C++ header of a text file: `text_header.py FILE HEADER NAMESPACE NAME`."""
import pathlib
import sys

source, header, namespace, name = sys.argv[1:]
text = pathlib.Path(source).read_text(encoding="utf-8")
assert ')text"' not in text
pathlib.Path(header).write_text(
    f"// Written from {pathlib.Path(source).name}.\n#pragma once\n\n#include <string_view>\n\n"
    f'namespace {namespace} {{\ninline constexpr std::string_view {name} = R"text({text})text";\n}}\n', encoding="utf-8")
