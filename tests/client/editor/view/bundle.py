#!/usr/bin/env python3
"""Bundles tests in TypeScript with what they test: `bundle.py --node NODE --packages FOLDER --out FOLDER FILE...` makes OUT/NAME.mjs of
each NAME.ts. PACKAGES is the folder of what npm installed, esbuild among it."""
import argparse
import os
import pathlib
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node", required=True)
    parser.add_argument("--packages", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    script = ("require('esbuild').build({entryPoints: process.argv.slice(3), outdir: process.argv[1], nodePaths: [process.argv[2]], bundle: true, platform: 'node', "
              "format: 'esm', target: 'node18', outExtension: {'.js': '.mjs'}, logLevel: 'warning'}).catch(() => process.exit(1))")
    return subprocess.run([given.node, "-e", script, given.out, given.packages, *given.files], check=False, timeout=300,
                          env={**os.environ, "NODE_PATH": str(given.packages)}).returncode


if __name__ == "__main__":
    sys.exit(main())
