#!/usr/bin/env python3
"""Says which header of the libraries does not stand by itself.

`headers.py ROOT BUILD COMPILER ARGUMENT...`; the last line counts headers: `N passed, N failed`. If the first include of
door.cc is door.h, then the build itself proves that door.h stands alone. Every other header is compiled alone, and again
only when it, or a header that it includes, has changed: BUILD/headers/ keeps the hashes of those that were good.
`headers.py --self-test COMPILER ARGUMENT...` shows what is found.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from source_tree import cpp_files, fingerprint

LIBRARIES = ("system/", "schema/", "messages/", "registry/", "server/", "client/", "include/")


def is_proven(root, header):
    """Whether the source file of the header's name includes it before anything else."""
    source = (root / header).with_suffix(".cc")
    if not source.is_file():
        return False
    first = re.search(r'^\s*#\s*include\s*[<"]([^>"]+)', source.read_text(encoding="utf-8"), re.MULTILINE)
    return first is not None and first[1] == header


def failure(root, build, command, header):
    """What the compiler says of a translation unit that is this header alone, or an empty string."""
    try:
        stamp = build / "headers" / fingerprint([root, build], root / header, *command)
    except LookupError as error:
        return str(error)
    if stamp.exists():
        return ""
    ran = subprocess.run([*command, "-fsyntax-only", "-x", "c++", "-"], cwd=root, capture_output=True, text=True,
                         input=f'#include "{header.removeprefix("include/")}"\n', check=False, timeout=200)
    if ran.returncode:
        return f"{header}:\n{ran.stderr}"
    stamp.touch()
    return ""


def check(root, build, command, headers):
    (build / "headers").mkdir(exist_ok=True)
    alone = [name for name in headers if not is_proven(root, name)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [text for text in pool.map(lambda name: failure(root, build, command, name), alone) if text]


SELF_TEST = {
    "schema/good.h": "#pragma once\n#include <string>\nstd::string good();\n",
    "schema/lacking.h": "#pragma once\nstd::string lacking();\n",
    "schema/hidden.h": "#pragma once\nstd::string hidden();\n",  # its source file includes <string> before it
    "schema/hidden.cc": "#include <string>\n#include \"schema/hidden.h\"\n",
    "schema/own.h": "#pragma once\nint own();\n",
    "schema/own.cc": "#include \"schema/own.h\"\n",
}


def self_test(command):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "schema").mkdir()
        for name, text in SELF_TEST.items():
            (root / name).write_text(text, encoding="utf-8")
        found = check(root, root, [*command, "-I", folder], [name for name in SELF_TEST if name.endswith(".h")])
        good = ([text.split(":")[0] for text in found] == ["schema/lacking.h", "schema/hidden.h"]
                and is_proven(root, "schema/own.h") and not is_proven(root, "schema/hidden.h"))
    print("" if good else found)
    print("1 passed, 0 failed" if good else "0 passed, 1 failed")
    return not good


def main(root, build, command):
    headers = [name for name in cpp_files(root) if name.endswith(".h") and name.startswith(LIBRARIES)]
    failures = check(root, build, command, headers)
    print("\n".join(failures))
    print(f"{len(headers) - len(failures)} passed, {len(failures)} failed")
    return bool(failures) or not headers


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(self_test(sys.argv[2:]))
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]))
