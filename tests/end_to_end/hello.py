#!/usr/bin/env python3
"""Runs the examples that README shows and compares what they print. `hello.py HELLO_REGISTRY HELLO`: HELLO is run twice
in one folder, first making its world, then recovering it. The last line is `N passed, N failed`."""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from deadline import deadline  # noqa: E402

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


def serve(program, folder):
    """Starts a program that serves until it is stopped, and kills it once it told its URL: the lines it printed."""
    process = subprocess.Popen([program, "127.0.0.1:0"], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        lines = []
        while not lines or not lines[-1].startswith("http"):
            line = process.stdout.readline()
            if not line:
                break
            lines.append(re.sub(r":\d+/#token=\w{20,}$", ":PORT/#token=TOKEN", line.rstrip("\n")))
        return lines
    finally:
        process.kill()
        process.wait()


def main(hello_registry, hello):
    with tempfile.TemporaryDirectory() as folder:
        expect("a registry alone", run(hello_registry, folder), "exit code 0\n/orc has 23 health\nthe orc is dead\n")
        expect("files a registry alone leaves", [p.name for p in pathlib.Path(folder).iterdir()], [])
    with tempfile.TemporaryDirectory() as folder:
        url = "http://127.0.0.1:PORT/#token=TOKEN"
        expect("a new world", serve(hello, folder), ["a new world", "/orc has 23 health", url])
        expect("the same world, recovered", serve(hello, folder), ["/orc has 23 health", url])
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    with deadline(100, "the examples that README shows"):
        code = main(*[pathlib.Path(argument).resolve() for argument in sys.argv[1:]])
    sys.exit(code)
