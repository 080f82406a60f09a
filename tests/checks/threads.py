#!/usr/bin/env python3
"""What only one thread may use cannot be used by code of another thread.

    threads.py COMPILER ARGUMENT...
"""

import subprocess
import sys

BEGIN = '#include "server/session/requests.h"\n#include "system/thread_role.h"\nusing namespace muster;\n'
# Code, and the thread that the compiler must miss; None if it must compile.
CASES = [
    ("void on_flush(Requests& of) { of.pop(); }", "world_thread"),
    ("void on_flush(Requests& of) MUSTER_REQUIRES(listener_thread) { of.pop(); }", "world_thread"),
    ("void on_read(Requests& of) MUSTER_REQUIRES(world_thread) { (void)of.pass_on(); }", "listener_thread"),
    ("void on_flush(Requests& of) MUSTER_REQUIRES(world_thread) { of.pop(); }", None),
    ("void on_flush(Requests& of) { world_thread.is_here(); of.pop(); }", None),
]

wrong = 0
for code, missed in CASES:
    run = subprocess.run(sys.argv[1:] + ["-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety", "-x", "c++", "-"],
                         input=BEGIN + code, text=True, capture_output=True, timeout=100)
    ok = run.returncode == 0 if missed is None else f"requires holding thread '{missed}'" in run.stderr
    if not ok:
        wrong += 1
        print(f"{code}\n  must {'compile' if missed is None else 'be refused for ' + missed}, but:\n{run.stderr}")
print(f"{len(CASES) - wrong} passed, {wrong} failed")
sys.exit(1 if wrong else 0)
