#!/usr/bin/env python3
"""Tests the client in Python. `run.py MUSTER SERVER GAME_BFBS SESSION_BFBS WORDS_BFBS
SKIRMISH_PLUGIN [NAME...]`; NAMEs are test modules, classes or methods. The last line is `N passed,
N failed`."""
import os
import pathlib
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]
import support
import bytes_test
import connect_test
import edits_test
import examples_test
import fuzz_test
import mcp_find_test
import mcp_play_test
import mcp_test
import page_test
import presence_test
import resume_test
import run_test
import types_test
import watch_test
from deadline import deadline

MODULES = (bytes_test, connect_test, edits_test, examples_test, fuzz_test, mcp_find_test, mcp_play_test, mcp_test, page_test, presence_test, resume_test, run_test, types_test, watch_test)
SECONDS_MAX = int(os.environ.get("MUSTER_PYTHON_SECONDS", "120"))


def all_tests(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from all_tests(each)
        else:
            yield each


class Suite(unittest.TestSuite):
    """Runs each test under a deadline."""

    def run(self, result, debug=False):
        for test in self:
            with deadline(SECONDS_MAX, test.id()):
                test(result)
        return result


def main(muster, server, game, session, words, skirmish, *names):
    programs = support.Programs
    programs.muster, programs.server, programs.game, programs.session, programs.words, programs.skirmish = (
        pathlib.Path(each).resolve() for each in (muster, server, game, session, words, skirmish))
    load = unittest.defaultTestLoader
    found = load.loadTestsFromNames(names) if names else [load.loadTestsFromModule(each) for each in MODULES]
    result = unittest.TextTestRunner(verbosity=1).run(Suite(all_tests(found)))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed")
    return int(failed > 0 or result.testsRun == 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
