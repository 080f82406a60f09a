#!/usr/bin/env python3
"""Copies the built page to where it is installed: `install.py FOLDER PLACE`. Meson runs it."""
import os
import pathlib
import shutil
import sys

folder, place = sys.argv[1:]
to = pathlib.Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"]) / place
shutil.rmtree(to, ignore_errors=True)
shutil.copytree(folder, to)
