#!/usr/bin/env python3
"""flatc_classes.py FLATC OUT.h MAIN.fbs FOLDER...: the classes that flatc itself writes for a schema and what it includes,
in namespaces led by flat_, so that a test can hold them beside ours."""
import pathlib
import re
import subprocess
import sys
import tempfile

flatc, out, main, *folders = sys.argv[1:]
main = pathlib.Path(main)
with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    done = set()

    def carry(name, source):
        if name in done:
            return
        done.add(name)
        text = source.read_text()
        for included in re.findall(r'^include "([^"]+)";', text, re.M):
            carry(included, next(p for p in (pathlib.Path(f) / included for f in [source.parent, *folders]) if p.exists()))
        text = text.replace("\\\n", "\n")  # flatc lets a comment that ends so swallow the next line
        text = re.sub(r"^namespace (\w)", r"namespace flat_\1", text, flags=re.M)
        text = re.sub(r"\bmuster\.Entity", "flat_muster.Entity", text)
        target = scratch / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    carry(main.name, main)
    subprocess.run([flatc, "--cpp", "--gen-all", "--scoped-enums", "-I", scratch, "-o", scratch, scratch / main.name],
                   check=True, timeout=60)
    pathlib.Path(out).write_text((scratch / (main.stem + "_generated.h")).read_text())
