#!/usr/bin/env python3
"""Runs what docs/guide.md has people type, in its order, and compares what it says they will see; then the guide's client.

`run.py MUSTER SERVER CLIENT FIRST_PLUGIN SECOND_PLUGIN ROOT`. The compiler of the guide is a script here: the builds are
Meson's, one after the other. The last line is `N passed, N failed`."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

MUSTER, SERVER, CLIENT, FIRST, SECOND, ROOT = (pathlib.Path(argument).resolve() for argument in sys.argv[1:7])
BLOCK = re.compile(r"^<!-- (run|output) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(folder):
    """A PATH with what the guide's reader has installed."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    builds = folder / "builds"
    builds.write_text(f"{FIRST}\n{SECOND}\n")
    for name, text in {
            "muster": f'exec "{MUSTER}" "$@"',
            "muster-server": f'exec "{SERVER}" --listen 127.0.0.1:0 "$@"',
            "pkg-config": "true",
            "c++": f'cp "$(head -n1 {builds})" "${{@: -1}}" && sed -i 1d {builds}'}.items():
        (bin_folder / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
        (bin_folder / name).chmod(0o755)
    return f"{bin_folder}:{os.environ['PATH']}"


def main():
    failed, passed = [], 0
    blocks = BLOCK.findall((ROOT / "docs/guide.md").read_text(encoding="utf-8"))
    assert len(blocks) >= 4, "the guide has lost its commands"
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")} | {"PATH": programs(folder)}
        said = ""
        try:
            for kind, text in blocks:
                if kind == "output":
                    if said == text:
                        passed += 1
                    else:
                        failed.append(f"the guide says\n{text}\nand it is\n{said}")
                    continue
                # A server needs a moment before others find it.
                text = re.sub(r"&$", "> server.log 2>&1 & echo $! > server\nuntil muster info > /dev/null 2>&1; do sleep 0.05; done", text,
                              flags=re.MULTILINE)
                ran = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env=environment,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
                said = ran.stdout
                if ran.returncode == 0:
                    passed += 1
                else:
                    failed.append(f"{text}ends with {ran.returncode}\n{said}")
            ran = subprocess.run([CLIENT, "orcs.muster"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 timeout=60, check=False)
            if ran.returncode == 0 and "the orc's health changed" in ran.stdout:
                passed += 1
            else:
                failed.append(f"the client ends with {ran.returncode}\n{ran.stdout}")
        finally:
            server = folder / "server"
            if server.exists():
                process = int(server.read_text())
                os.kill(process, signal.SIGTERM)
                until = time.monotonic() + 20
                while pathlib.Path(f"/proc/{process}").exists() and time.monotonic() < until:
                    time.sleep(0.05)
    print("\n".join(failed))
    print(f"{passed} passed, {len(failed)} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
