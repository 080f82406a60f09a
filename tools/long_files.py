#!/usr/bin/env python3
"""Names source files of more than 450 lines: each is perhaps two subjects. Advice, never a failure."""
import subprocess

LINES_MAX = 450
files = subprocess.run(["git", "ls-files", "*.h", "*.cc", "*.py", "*.fbs", "*.ts"], capture_output=True, text=True, check=True)
for name in files.stdout.split():
    try:
        with open(name, encoding="utf-8") as file:
            lines = sum(1 for _ in file)
    except OSError:
        continue
    if lines > LINES_MAX:
        print(f"long file: {name} has {lines} lines")
