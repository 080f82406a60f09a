#!/usr/bin/env python3
"""Runs the examples that README shows and compares what they print. `hello.py HELLO_REGISTRY [HELLO]`: HELLO is run twice
in an empty folder, first making its world, then recovering it. The last line is `N passed, N failed`."""
import pathlib
import subprocess
import sys
import tempfile

passed = failed = 0


def expect(what, got, wanted):
    global passed, failed
    if got == wanted:
        passed += 1
    else:
        failed += 1
        print(f"{what}: expected\n{wanted}\nbut got\n{got}")


def run(program, folder):
    ran = subprocess.run([program], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                         timeout=60)
    return f"exit code {ran.returncode}\n{ran.stdout}{ran.stderr if ran.returncode else ''}"


def main(hello_registry):
    with tempfile.TemporaryDirectory() as folder:
        expect("a registry alone", run(hello_registry, folder), "exit code 0\n/orc has 23 health\nthe orc is dead\n")
        expect("files a registry alone leaves", [p.name for p in pathlib.Path(folder).iterdir()], [])
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
