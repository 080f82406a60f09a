#!/usr/bin/env python3
"""Compiles every header of the libraries alone, and says which does not stand by itself.

`headers.py ROOT COMPILER ARGUMENT...`; the last line counts headers: `N passed, N failed`.
"""
import concurrent.futures
import os
import subprocess
import sys

from source_tree import cpp_files

LIBRARIES = ("schema/", "messages/", "registry/", "server/", "client/", "include/")


def failure(root, command, header):
    """What the compiler says of a translation unit that is this header alone, or an empty string."""
    ran = subprocess.run([*command, "-fsyntax-only", "-x", "c++", "-"], cwd=root, capture_output=True, text=True,
                         input=f'#include "{header.removeprefix("include/")}"\n', check=False)
    return f"{header}:\n{ran.stderr}" if ran.returncode else ""


def main(root, command):
    headers = [name for name in cpp_files(root) if name.endswith(".h") and name.startswith(LIBRARIES)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for text in pool.map(lambda name: failure(root, command, name), headers) if text]
    print("\n".join(failures))
    print(f"{len(headers) - len(failures)} passed, {len(failures)} failed")
    return bool(failures) or not headers


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
