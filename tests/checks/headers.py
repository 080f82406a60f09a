#!/usr/bin/env python3
"""Compiles every header of the libraries alone, and says which does not stand by itself.

`headers.py ROOT BUILD COMPILER ARGUMENT...`; the last line counts headers: `N passed, N failed`. One that stood by itself is
compiled again only when it, or a header that it includes, has changed: BUILD/headers/ keeps the hashes of what was good.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

from source_tree import cpp_files, fingerprint

LIBRARIES = ("schema/", "messages/", "registry/", "server/", "client/", "include/")


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


def main(root, build, command):
    headers = [name for name in cpp_files(root) if name.endswith(".h") and name.startswith(LIBRARIES)]
    (build / "headers").mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for text in pool.map(lambda name: failure(root, build, command, name), headers) if text]
    print("\n".join(failures))
    print(f"{len(headers) - len(failures)} passed, {len(failures)} failed")
    return bool(failures) or not headers


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]))
