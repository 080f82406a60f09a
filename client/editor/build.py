#!/usr/bin/env python3
"""Checks the types of the page and builds it: OUT/page gets what muster-server serves. A depfile names every file that it was made
of."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node", default="node")
    parser.add_argument("--client", required=True, type=pathlib.Path, help="the folder of the package muster-client")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--depfile", type=pathlib.Path)
    parser.add_argument("--stamp", type=pathlib.Path, help="the file that the depfile is of; written last")
    parser.add_argument("--no-check", action="store_true", help="leave the types unchecked")
    given = parser.parse_args()
    client, out = given.client.resolve(), given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    settings = out / "tsconfig.page.json"
    paths = {"muster-client": [f"{client}/index.d.ts"]}
    settings.write_text(json.dumps({"extends": str(HERE / "tsconfig.json"), "compilerOptions": {"paths": paths},
                                    "include": [str(HERE / "src")]}, indent=1))
    tools = HERE / "node_modules"
    if not given.no_check:
        checked = subprocess.run([given.node, tools / "typescript/bin/tsc", "-p", settings], cwd=HERE, check=False)
        if checked.returncode != 0:
            return checked.returncode
    # The folder gets its final name when it is complete, so that no incomplete page is served.
    coming = out / "page.coming"
    built = subprocess.run([given.node, tools / "vite/bin/vite.js", "build", "--outDir", coming, "--logLevel", "warn"], cwd=HERE,
                           env={**os.environ, "MUSTER_CLIENT_TS": str(client)}, check=False)
    if built.returncode != 0:
        return built.returncode
    page = out / "page"
    shutil.rmtree(page, ignore_errors=True)
    coming.rename(page)
    if given.depfile:
        made_of = sorted(path for pattern in ("src/**/*", "public/**/*", "*.html", "*.json", "*.js") for path in HERE.glob(pattern)
                         if path.is_file())
        names = " ".join(str(path).replace(" ", "\\ ") for path in made_of)
        given.depfile.write_text(f"{given.stamp}: {names}\n")
    if given.stamp:
        given.stamp.write_text("")
    return 0


if __name__ == "__main__":
    sys.exit(main())
