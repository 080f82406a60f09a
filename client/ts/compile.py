#!/usr/bin/env python3
"""Compiles TypeScript: every FILE becomes OUT/FILE.js and .d.ts. Modules that lie in OUT already are found as if they lay
beside the files. With --package, which may be given several times, the compiler
and a program that is run in OUT find that package in that folder."""
import argparse
import json
import os
import pathlib
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node", required=True)
    parser.add_argument("--settings", required=True, type=pathlib.Path, help="the tsconfig.json whose options hold")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--package", nargs=2, metavar=("NAME", "FOLDER"), action="append", default=[])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    given = parser.parse_args()
    settings, out = given.settings.resolve(), given.out.resolve()
    installed = settings.parent / "node_modules"
    files = [file.resolve() for file in given.files]
    folder = files[0].parent
    options = {"outDir": str(out), "rootDir": str(folder), "rootDirs": [str(folder), str(out)],
               "typeRoots": [str(installed / "@types")]}
    for name, package in ((name, os.path.abspath(package)) for name, package in given.package):
        options.setdefault("paths", {}).update({name: [f"{package}/index.d.ts"], f"{name}/*": [f"{package}/*.d.ts"]})
        link = out / "node_modules" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink() or os.readlink(link) != package:
            link.unlink(missing_ok=True)
            link.symlink_to(package)
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "package.json").exists():
        (out / "package.json").write_text('{ "type": "module" }\n')
    made = out / f"tsconfig.{files[0].stem}.json"
    made.write_text(json.dumps({"extends": str(settings), "compilerOptions": options, "files": [str(file) for file in files]},
                               indent=1))
    return subprocess.run([given.node, installed / "typescript/bin/tsc", "-p", made], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
