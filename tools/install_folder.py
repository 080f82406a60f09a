#!/usr/bin/env python3
"""Replaces the installed folder PLACE by a folder of the build: `install_folder.py FOLDER PLACE`. Meson runs it."""
import os
import pathlib
import shutil
import sys

folder, place = sys.argv[1:]
to = pathlib.Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"]) / place
shutil.rmtree(to, ignore_errors=True)
shutil.copytree(folder, to)
