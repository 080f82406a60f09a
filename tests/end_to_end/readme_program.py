#!/usr/bin/env python3
"""`readme_program.py README OUT` writes README's program, unchanged except for its port: any free
one."""
import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
programs = re.findall("```cpp\n(.*?)```", text, re.DOTALL)
assert len(programs) == 1, f"{sys.argv[1]} has {len(programs)} programs, not one"
program, ports = re.subn(r"127\.0\.0\.1:7717", "127.0.0.1:0", programs[0])
assert ports == 1, f"the program of {sys.argv[1]} names its port {ports} times, not once"
pathlib.Path(sys.argv[2]).write_text(program, encoding="utf-8")
