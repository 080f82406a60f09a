#!/usr/bin/env python3
"""Runs `muster` and `muster-server` as people do, in folders of their own: every command, its JSON, its errors and exit codes.

`run.py MUSTER SERVER GAME_BFBS SOURCE_ROOT SESSION_BFBS [NAME...]`; NAMEs pick tests. Each test may take MUSTER_SECONDS, 180 if
not given. The last line is `N passed, N failed`.
"""
import os
import sys

import answers
import changing
import clock
import command
import descriptors
import displaced
import ending
import expecting
import files
import gamelog
import importing
import looking
import moving
import operating
import serving
import sessions
import template
import tls
import told
import tokens
import playing
import rules
import undoing
import watching
import worlds
from shared import MUSTER, SERVER, Folder
from programs import run_tests

MODULES = (worlds, importing, files, moving, displaced, serving, looking, changing, expecting, clock, sessions, template, tokens, tls, watching, command, answers,
           told, descriptors, undoing, playing, ending, operating, rules, gamelog)


def main():
    tests = [test for module in MODULES for test in vars(module).values()
             if getattr(test, "__module__", None) == module.__name__ and not hasattr(test, "__wrapped__")
             and test.__code__.co_varnames[:test.__code__.co_argcount] == ("folder",)]
    return run_tests([test for test in tests if not sys.argv[6:] or test.__name__ in sys.argv[6:]],
                     lambda path: Folder(path, MUSTER, SERVER), seconds=int(os.environ.get("MUSTER_SECONDS", "180")))


if __name__ == "__main__":
    sys.exit(main())
