#!/usr/bin/env python3
"""Says which header of the libraries does not stand by itself: it names what none of its own includes declares.

`headers.py ROOT BUILD COMPILER ARGUMENT...`; the last line counts headers: `N passed, N failed`. All headers are compiled by one
run of clang, each as a part of one module: there a declaration is seen only by those that include its header, while each header
is read once. A header that stood by itself is compiled again only when it, or one that it includes, has changed:
BUILD/headers/ keeps the hashes of what was good. `headers.py --self-test COMPILER ARGUMENT...` shows what is found.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from source_tree import cpp_files, fingerprint, reached, self_tested

LIBRARIES = ("system/", "schema/", "messages/", "registry/", "server/", "client/", "include/")
ERROR = re.compile(r"^(?:In file included from )?(\S+?):\d+:(?:\d+:)? (?:fatal )?error: ", re.MULTILINE)


def compiled(root, build, command, headers):
    """({header that does not stand by itself}, what the compiler says) of these files."""
    files = sorted({file.resolve() for file in headers} | {file.resolve() for file in reached([root, build], headers).values()})
    with tempfile.TemporaryDirectory() as folder:
        modules = pathlib.Path(folder) / "module.modulemap"
        parts = [f'  module {re.sub("[^A-Za-z0-9]", "_", str(file))} {{ header "{file}" export * }}\n' for file in files]
        modules.write_text("module headers {\n" + "".join(parts) + "}\n", encoding="utf-8")
        ran = subprocess.run([*command, "-ferror-limit=0", "-fmodules", "-fno-implicit-module-maps", "-fmodule-name=headers",
                              "-Xclang", "-fmodules-local-submodule-visibility", "-Xclang", "-emit-module", "-x", "c++",
                              "-c", modules, "-o", modules.with_suffix(".pcm")],
                             cwd=root, capture_output=True, text=True, check=False, timeout=800)
    if not ran.returncode:
        return set(), ""
    wrong = {(root / name).resolve() for name in ERROR.findall(ran.stderr)}
    # After a fatal error the rest is not looked at.
    stopped = not wrong or "fatal error" in ran.stderr
    return {file for file in headers if stopped or file.resolve() in wrong}, ran.stderr


def main(root, build, command):
    headers = [root / name for name in cpp_files(root) if name.endswith(".h") and name.startswith(LIBRARIES)]
    (build / "headers").mkdir(exist_ok=True)
    stamps = {file: build / "headers" / fingerprint([root, build], file, *command) for file in headers}
    changed = [file for file in headers if not stamps[file].exists()]
    wrong, said = compiled(root, build, command, changed) if changed else (set(), "")
    for file in changed:
        if file not in wrong:
            stamps[file].touch()
    print(said)
    print(f"{len(headers) - len(wrong)} passed, {len(wrong)} failed")
    return bool(wrong) or not headers


def self_test(command):
    tree = {"a.h": "#include <vector>\ninline int a(const std::vector<int>& v) { return v.empty(); }\n",
            "b.h": "#include <string>\nstruct Made { std::string text; };\n",
            "good.h": '#include "a.h"\n#include "b.h"\ninline int c(const Made& m, const std::vector<int>& v) { return m.text.empty() + a(v); }\n',
            "lacks_own.h": "inline int d(const Made& m) { return sizeof m; }\n",
            "lacks_standard.h": '#include "a.h"\ninline bool e(const std::string& s) { return s.empty(); }\n'}
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in tree.items():
            (root / name).write_text("#pragma once\n" + text)
        wrong, said = compiled(root, root, [*command, "-I", folder], [root / name for name in tree])
    names = sorted(file.name for file in wrong)
    return self_tested(1, [] if names == ["lacks_own.h", "lacks_standard.h"] else [f"{names}\n{said}"])


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test(sys.argv[2:]))
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]))
