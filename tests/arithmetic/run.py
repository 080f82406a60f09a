#!/usr/bin/env python3
"""The same inputs give the same bits in a program that a user compiles for another processor, and in one with -ffast-math a warning.

`run.py HASH BUILD COMPILER SCHEMAC SOURCE`. A user's flags are what pkg-config says and nothing else. The last line is
`N passed, N failed`."""
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(command, **more):
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300,
                          check=False, **more)


def main(golden, build, compiler, schemac, source):
    failed = passed = 0

    def check(what, good, said):
        nonlocal failed, passed
        passed, failed = passed + bool(good), failed + (not good)
        if not good:
            print(f"{what}: {said}")

    environment = os.environ | {"PKG_CONFIG_PATH": str(pathlib.Path(build) / "meson-uninstalled")}
    flags = shlex.split(run(["pkg-config", "--cflags", "--libs", "muster"], env=environment).stdout)
    for package in ("muster", "muster-world", "muster-server", "muster-client", "muster-plugin"):
        said = run(["pkg-config", "--cflags", package], env=environment).stdout
        check(f"pkg-config --cflags {package}", "-ffp-contract=off" in shlex.split(said), said)

    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        made = run([schemac, HERE / "bodies.fbs", "-I", source, "-o", folder / "bodies.h"])
        check("schemac", made.returncode == 0, made.stderr)
        machine = platform.machine()
        other = ["-march=x86-64-v3"] if machine == "x86_64" else ["-mcpu=native"]
        runs_here = machine != "x86_64" or " fma " in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
        for name, more in (("strict", ["-O2", *other]), ("fast", ["-O1", "-ffast-math"])):
            built = run([*shlex.split(compiler), "-std=c++23", *more, HERE / "same_bits.cc", f"-I{folder}", "-o", folder / name, *flags])
            check(f"compiled with {shlex.join(more)}", built.returncode == 0, built.stderr)
            if built.returncode or (name == "strict" and not runs_here):
                continue
            said = run([folder / name])
            if name == "strict":
                check("a user's build for another processor", said.stdout == golden + "\n" and said.stderr == "",
                      said.stdout + said.stderr)
            else:
                check("a user's build with -ffast-math is told so, once",
                      said.stderr.startswith("muster: this thread flushes denormal floats to zero") and
                      "linking a program or library with -ffast-math" in said.stderr and
                      said.stderr.count("muster: ") == 1, said.stderr)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
