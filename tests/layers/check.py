#!/usr/bin/env python3
"""Installs the libraries into a folder of their own and uses them as a stranger does: each program here is compiled with
nothing but what pkg-config says of one library, run, and its symbols are looked at for layers that it must not hold. The
same is done from the build folder, with the -uninstalled files that Meson writes there.

`check.py MESON BUILD "COMPILER ARGUMENT..." PACKAGE...`; PACKAGE.cc is the program. The last line is `N passed, N failed`.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ASIO, SQLITE, REGISTRY = re.compile(r"\basio::"), re.compile(r"\bsqlite3_\w+"), re.compile(r"\bEntityRegistry::")
WRITTEN = re.compile(r" T .*\bEntityRegistry::")  # functions that no header defines: a plugin finds them in the server
# package -> (what its programs must not hold, what they must: the proof that looking finds it)
LAYERS = {
    "muster": ([ASIO, SQLITE], [REGISTRY]),
    "muster-world": ([ASIO], [SQLITE, REGISTRY]),
    "muster-server": ([], [ASIO, SQLITE, REGISTRY]),
    "muster-client": ([ASIO, SQLITE, REGISTRY], []),
    "muster-plugin": ([ASIO, SQLITE, WRITTEN], [REGISTRY]),
}


class Failure(Exception):
    pass


def run(command, **more):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=200, **more)
    if ran.returncode:
        raise Failure(f"{shlex.join(map(str, command))}: exit code {ran.returncode}\n{ran.stdout}")
    return ran.stdout


def check(package, folder, environment, compiler):
    """Raises Failure where the package is not usable, or holds what it must not. All is made in `folder`."""

    def answer(*question):
        return run(["pkg-config", *question], env=environment).strip()

    schemac = answer("--variable=schemac", "muster")
    if not schemac:
        raise Failure("muster.pc does not say `schemac`")
    flags = shlex.split(answer("--cflags", "--libs", package))
    if package == "muster-plugin":
        flags += ["-fPIC", "-shared"]
    program = folder / package
    # Away from the source tree, so that no header and no schema is found but those that pkg-config names.
    run([schemac, HERE / "game.fbs", "-o", folder / "game.h"], cwd=folder)
    flags.append(f"-I{folder}")
    run([*compiler, HERE / f"{package}.cc", "-o", program, *flags], cwd=folder)
    if package != "muster-plugin":
        run([program], cwd=folder)
    symbols = run(["nm", "-C", program])
    without, within = LAYERS[package]
    for pattern in without:
        if match := pattern.search(symbols):
            raise Failure(f"a program linked with {package} holds {match.group(0)}")
    for pattern in within:
        if not pattern.search(symbols):
            raise Failure(f"a program linked with {package} holds no {pattern.pattern}: this check finds nothing any more")


def main(meson, build, compiler, packages):
    failed = 0
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        installed = pathlib.Path(folder)
        run([*shlex.split(meson), "install", "-C", build, "--no-rebuild", "--tags", "devel", "--destdir", folder])
        ways = {
            "installed": (installed, {"PKG_CONFIG_PATH": str(next(installed.rglob("pkgconfig")))}),
            "uninstalled": (pathlib.Path(other), {"PKG_CONFIG_PATH": str(pathlib.Path(build) / "meson-uninstalled")}),
        }
        for way, (place, environment) in ways.items():
            for package in packages:
                try:
                    check(package, place, os.environ | environment, shlex.split(compiler))
                except Failure as failure:
                    failed += 1
                    print(f"{package}, {way}: {failure}")
    count = len(packages) * len(ways)
    print(f"{count - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
