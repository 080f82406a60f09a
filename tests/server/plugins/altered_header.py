#!/usr/bin/env python3
"""`altered_header.py OUT.h DEPFILE SOURCE BUILD FOLDER`: puts into FOLDER one header of the tree with two declarations in the other order, and
the digest of the headers as a plugin finds them that looks there first. OUT.h is empty: depending on it brings both into being."""
import pathlib
import subprocess
import sys

out, depfile, source, build, folder = map(pathlib.Path, sys.argv[1:])
ALTERED, FIRST, SECOND = "registry/apply/receipt.h", "  std::uint32_t handled = 0;", "  std::uint32_t unhandled = 0;"

text = (source / ALTERED).read_text()
changed = text.replace(FIRST, "@").replace(SECOND, FIRST).replace("@", SECOND)
assert changed != text and sorted(changed) == sorted(text), f"{ALTERED} has no longer what is changed here"
(folder / ALTERED).parent.mkdir(parents=True, exist_ok=True)
(folder / ALTERED).write_text(changed)
digest = folder / "server/plugins/plugin_digest.h"
digest.parent.mkdir(parents=True, exist_ok=True)
subprocess.run([sys.executable, source / "tools/header_digest.py", digest, f"{out}.made.d", source, build, folder],
               check=True, timeout=60)
made = pathlib.Path(f"{out}.made.d").read_text().partition(": ")[2].strip()
depfile.write_text(f"{out}: {source / ALTERED} {made}\n")
out.write_text("#pragma once\n")
