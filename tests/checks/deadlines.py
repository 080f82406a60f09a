#!/usr/bin/env python3
"""Fails where a test could wait for ever: each `test(` of a meson.build says its timeout (0 for those of suite 'soak' alone), test
executables are made with test_main_dep, whose main gives each test case a deadline, and a Python file that waits for others does so
under a deadline or with a timeout of its own.

`deadlines.py ROOT` checks a tree; `deadlines.py --self-test` checks the check.
"""
import os
import re

from source_tree import read, run_check, self_tested, tracked

WAITS = re.compile(r"subprocess\.(?:run|call|check_call|check_output)\(|\.(?:communicate|wait|wait_for|accept|recv\w*|readline|join)\(")
# What a str, a path or a dict has, too; and what is ended by who ends the process before.
NO_WAIT = re.compile(r"\bfile\.readline\($|(?:\"[^\"]*\"|'[^']*'|path|shlex|os\.path|sep)\.join\($")
# Of a socket the timeout is set beforehand.
OF_A_SOCKET = re.compile(r"\.(?:accept|recv\w*)\($")
SET_BEFOREHAND = re.compile(r"\.settimeout\((?!None)")
UNDER_DEADLINE = re.compile(r"\bwith deadline\(|\brun_tests\(")


def call_at(text, opening):
    """The text of a call's arguments; `opening` is where its parenthesis is."""
    depth = 0
    for at in range(opening, len(text)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[opening + 1:at]
    return text[opening + 1:]


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def meson_wrongs(text):
    text = re.sub(r"#[^\n]*", "", text)
    wrong = []
    for match in re.finditer(r"(?<![\w.])test\(", text):
        call = call_at(text, match.end() - 1)
        timeout = re.search(r"\btimeout:\s*(\d+)", call)
        soak = "'soak'" in call
        if not timeout:
            wrong.append((line_of(text, match.start()), "a test without `timeout:`"))
        elif (timeout.group(1) == "0") != soak:
            wrong.append((line_of(text, match.start()), "a test of timeout 0 is one of suite 'soak', and the other way round"))
    for match in re.finditer(r"(?<![\w.])executable\(\s*'(test_\w+)'", text):
        if "test_main_dep" not in call_at(text, text.index("(", match.start())):
            wrong.append((line_of(text, match.start()), f"{match.group(1)} has a main of its own, without deadlines: use test_main_dep"))
    return wrong


def runs(runner, module):
    """Whether `runner`, the text of a run.py, runs the tests of `module`, a file beside it, each under a deadline."""
    return bool(UNDER_DEADLINE.search(runner) and re.search(rf"^import {module}$", runner, re.MULTILINE))


def python_wrongs(text):
    if UNDER_DEADLINE.search(text):
        return []
    wrong = []
    for match in WAITS.finditer(text):
        if NO_WAIT.search(text[:match.end()]):
            continue
        if OF_A_SOCKET.search(match.group(0)) and SET_BEFOREHAND.search(text):
            continue
        call = call_at(text, match.end() - 1)
        by_position = match.group(0) == ".wait(" and call.strip()
        if "timeout=" not in call and not by_position:
            wrong.append((line_of(text, match.start()), f"{match.group(0)}...) waits for ever: give it a timeout, or the test a deadline"))
    return wrong


def check(root):
    found = []
    for name in tracked(root):
        if not name.startswith("tests/"):
            continue
        if name.endswith("meson.build"):
            wrong = meson_wrongs(read(root, name))
        elif name.endswith(".py") and name not in ("tests/checks/deadlines.py", "tests/support/programs.py"):
            runner = os.path.join(os.path.dirname(name), "run.py")
            beside = read(root, runner) if os.path.isfile(os.path.join(root, runner)) else ""
            wrong = [] if runs(beside, os.path.basename(name).removesuffix(".py")) else python_wrongs(read(root, name))
        else:
            continue
        found += [f"{name}:{line}: {what}" for line, what in wrong]
    return found


def self_test():
    meson = [("test('a', x, timeout: 30)", 0), ("test('a', x)", 1), ("test('a', executable('b', args: [y]),\n  args: z, timeout: 20)", 0),
             ("test('a', x, suite: 'soak', timeout: 0)", 0), ("test('a', x, suite: 'soak', timeout: 3)", 1), ("test('a', x, timeout: 0)", 1),
             ("# test('a', x)", 0), ("latest('a')", 0), ("executable('test_a', 'a.cc', dependencies: [b, test_main_dep])", 0),
             ("executable('test_a', 'a.cc', dependencies: [catch2_dep])", 1), ("executable('probe', 'a.cc')", 0)]
    python = [("subprocess.run(['a'], timeout=3)", 0), ("subprocess.run(['a', f(b)], check=True)", 1), ("process.communicate()", 1),
              ("process.wait(20)", 0), ("process.wait()", 1), ("process.wait()\nwith deadline(3):\n  pass", 0), ("server.recv(3)", 1), ("server.settimeout(9)\nserver.recv(3)", 0), ("server.settimeout(None)\nserver.recv(3)", 1),
              ("server.settimeout(9)\npipe.readline()", 1),
              ("pipe.readline()", 1), ("file.readline()", 0), ('", ".join(x)', 0), ("thread.join()", 1), ("thread.join(timeout=3)", 0), ("run_tests(TESTS, f)\np.wait()", 0),
              ("os.path.join(a, b)", 0), ("shlex.join(a)", 0)]
    failures = [f"{text!r}: found {meson_wrongs(text)}" for text, expected in meson if len(meson_wrongs(text)) != expected]
    failures += [f"{text!r}: found {python_wrongs(text)}" for text, expected in python if len(python_wrongs(text)) != expected]
    together = [("import looking\nimport worlds\nrun_tests(all)", "worlds", True), ("import worlds\nmain()", "worlds", False),
                ("import worldly\nrun_tests(all)", "world", False), ("", "worlds", False)]
    failures += [f"{runner!r} and {module}" for runner, module, expected in together if runs(runner, module) != expected]
    return self_tested(len(meson) + len(python) + len(together), failures)


if __name__ == "__main__":
    run_check(check, self_test)
