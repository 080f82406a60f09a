#!/usr/bin/env python3
"""Bundles tests in TypeScript with what they test: `bundle.py --node NODE --packages FOLDER [--client FOLDER] --out FOLDER FILE...` makes
OUT/NAME.mjs of each NAME.ts. PACKAGES is the folder of what npm installed, esbuild among it; CLIENT is where the package muster-client is built."""
import argparse
import json
import os
import pathlib
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node", required=True)
    parser.add_argument("--packages", required=True, type=pathlib.Path)
    parser.add_argument("--client", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    modules = {}
    if given.client:
        modules = {"muster-client": str(given.client / "index.js"), "muster-client/node": str(given.client / "node.js")}
    options = {"entryPoints": given.files, "outdir": str(given.out), "nodePaths": [str(given.packages)], "bundle": True, "platform": "node",
               "format": "esm", "target": "node18", "outExtension": {".js": ".mjs"}, "logLevel": "warning", "alias": modules}
    script = "require('esbuild').build(JSON.parse(process.argv[1])).catch(() => process.exit(1))"
    return subprocess.run([given.node, "-e", script, json.dumps(options)], check=False, timeout=300,
                          env={**os.environ, "NODE_PATH": str(given.packages)}).returncode


if __name__ == "__main__":
    sys.exit(main())
