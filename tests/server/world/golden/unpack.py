#!/usr/bin/env python3
"""unpack.py WORLD.xz WORLD: a golden world as it was written."""

import lzma
import pathlib
import sys

pathlib.Path(sys.argv[2]).write_bytes(lzma.decompress(pathlib.Path(sys.argv[1]).read_bytes()))
