#!/usr/bin/env python3
"""Checks that what waits for ever is ended: `deadline_check.py FAILING`, FAILING being the executable of failing.cc."""
import os
import socket
import subprocess
import sys
import time

from deadline import Overdue, deadline
from programs import run_tests


def reads_a_pipe():
    with subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
        finally:
            process.kill()


def waits_for_a_process():
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            process.wait()
        finally:
            process.kill()


def reads_a_socket():
    near, far = socket.socketpair()
    with near, far:
        near.recv(1)


def catches_too_much():
    for _ in range(2):
        try:
            time.sleep(60)
        except Exception:  # pylint: disable=broad-except
            pass


def ended(test):
    began = time.monotonic()
    try:
        with deadline(0.2, test.__name__):
            test()
    except Overdue as overdue:
        return test.__name__ in str(overdue) and time.monotonic() - began < 10
    return False


def told_again():
    """The second of its sleeps is ended as well; seconds it took."""
    began = time.monotonic()
    with deadline(0.2):
        catches_too_much()
    return 9 < time.monotonic() - began < 30


class NoFolder:
    def end(self):
        pass


def hangs(_folder):
    time.sleep(60)


def passes(_folder):
    pass


def hung_program(program):
    """Exit code, last counts and whether the test case and its place are named."""
    ran = subprocess.run([program, "passes,hangs*"], capture_output=True, text=True, check=False, timeout=30,
                         env=os.environ | {"MUSTER_TEST_SECONDS": "1"})
    said = ran.stdout + ran.stderr
    return (ran.returncode != 0, ran.stdout.rstrip().endswith("1 passed, 1 failed"),
            'the test case "hangs, and is ended" took longer than 1 s' in said)


def main(program):
    checks = [(test.__name__, ended(test), True) for test in (reads_a_pipe, waits_for_a_process, reads_a_socket)]
    checks += [
        ("one that catches too much is told again", told_again(), True),
        ("a test of several that hangs fails alone", run_tests([hangs, passes], lambda path: NoFolder(), seconds=0.2), 1),
        ("a program's test case that hangs", hung_program(program), (True, True, True)),
        ("one in time", subprocess.run([program, "passes"], env=os.environ | {"MUSTER_TEST_SECONDS": "60"}, check=False,
                                       timeout=30, stdout=subprocess.DEVNULL).returncode, 0),
    ]
    with deadline(60):
        pass
    wrong = [f"{name}: {found}, expected {expected}" for name, found, expected in checks if found != expected]
    print("\n".join(wrong))
    print(f"{len(checks) - len(wrong)} passed, {len(wrong)} failed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
