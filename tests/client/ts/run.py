#!/usr/bin/env python3
"""Runs one file of tests with Node's own runner: `run.py NODE FILE.js`. It may take MUSTER_SECONDS,
580 if not given. The last line is `N passed, N failed`."""
import os
import re
import subprocess
import sys


def main(node, file):
    try:
        ran = subprocess.run([node, "--test-reporter=tap", file], capture_output=True, text=True, check=False,
                             timeout=int(os.environ.get("MUSTER_SECONDS", "580")))
    except subprocess.TimeoutExpired as over:
        print((over.stdout or b"").decode(errors="replace"), "\nit does not come to an end\n0 passed, 1 failed")
        return 1
    print(ran.stdout, ran.stderr, sep="")
    count = {what: int((re.findall(rf"^# {what} (\d+)$", ran.stdout, re.MULTILINE) or ["0"])[-1])
             for what in ("pass", "fail", "cancelled")}
    failed = count["fail"] + count["cancelled"]
    if ran.returncode != 0 or not count["pass"]:
        failed = max(failed, 1)
    print(f"{count['pass']} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
