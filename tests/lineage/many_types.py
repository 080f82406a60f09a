#!/usr/bin/env python3
"""Writes a schema of many component types, P000 and so on, each with its number as default: `many_types.py COUNT FILE`."""
import sys

if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write('include "schema/muster.fbs";\nnamespace lineage.many;\n')
        for n in range(int(sys.argv[1])):
            file.write(f'struct P{n:03} (component) {{ number:int (default: "{n}"); }}\n')
