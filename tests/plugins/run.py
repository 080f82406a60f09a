#!/usr/bin/env python3
"""Plugins in a running server: what keeps it from starting, and `muster reload`.

`run.py MUSTER SERVER FOLDER`; FOLDER has the builds. The last line is `N passed, N failed`."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

MUSTER, SERVER, BUILDS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}


class Folder:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.plugin = self.path / "counter.so"
        self.process = None

    def put(self, build):
        shutil.copyfile(BUILDS / f"lib{build}.so", self.plugin)  # into the very file

    def muster(self, *arguments, exit=0):
        ran = subprocess.run([MUSTER, *arguments], cwd=self.path, env=ENVIRONMENT, capture_output=True, text=True,
                             timeout=60, check=False)
        assert ran.returncode == exit, f"muster {arguments}: exit {ran.returncode}\n{ran.stdout}{ran.stderr}"
        if "--json" in arguments:
            return json.loads(ran.stdout if exit == 0 else ran.stderr)
        return ran.stdout if exit == 0 else ran.stderr

    def server(self, *arguments, **environment):
        return subprocess.Popen([SERVER, "w.muster", "--listen", "127.0.0.1:0", "--quiet", *map(str, arguments)],
                                cwd=self.path, env=ENVIRONMENT | environment, stderr=subprocess.PIPE, text=True)

    def serve(self, *arguments):
        self.process = self.server("--plugin", self.plugin, *arguments)
        until = time.monotonic() + 20
        while not (self.path / "w.muster-server.json").exists():
            assert self.process.poll() is None, self.process.stderr.read()
            assert time.monotonic() < until, "the server does not start"
            time.sleep(0.01)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 0, self.process.stderr.read()

    def count(self):
        return self.muster("show", "/counter", "--json")["components"]["counter.Count"]["value"]

    def step(self):
        self.muster("push", "/counter", "Step")
        return self.count()


def equal(found, expected):
    assert found == expected, f"found    {found!r}\nexpected {expected!r}"


def a_server_says_what_is_wrong_with_its_plugin(folder):
    """Exit code 4, and no world is made."""
    def says(what, *arguments, **environment):
        process = folder.server("--plugin", folder.plugin, *arguments, **environment)
        said = process.communicate(timeout=20)[1]
        equal(process.returncode, 4)
        assert what in said, said
        assert not (folder.path / "w.muster").exists(), "a world was made"

    says(f"{folder.plugin}: cannot be read: No such file or directory")
    for build, what in {"no_entry": "is no plugin: it has no function muster_plugin",
                        "old_interface": "was built for plugin interface 1, this server has 2: build it again",
                        "other_headers": "was built with other muster headers than this server: build it again",
                        "missing_symbol": "cannot be loaded: undefined symbol: game::nobody_has_this(int)"}.items():
        folder.put(build)
        says(f"{folder.plugin}: {what}")
    folder.put("counter_first")
    says("cannot be installed: no sound device", MUSTER_TEST_PLUGIN="throw")
    says("cannot fill the new world: no map", MUSTER_TEST_PLUGIN="fail to begin")
    says('is called "counter", and so is', "--plugin", BUILDS / "libcounter_second.so")


def muster_reload_changes_what_a_running_world_does_and_keeps_its_state(folder):
    folder.put("counter_first")
    folder.serve()
    equal(folder.step(), 1)
    equal(folder.muster("info", "--json")["plugins"], ["counter: build 1"])
    before = folder.muster("info", "--hash", "--json")
    folder.put("counter_second")
    equal(folder.step(), 2)  # writing over the file alone changes nothing
    equal(folder.muster("reload"), "counter  build 2, was build 1\n")
    equal(folder.step(), 4)
    equal(folder.muster("info", "--json")["plugins"], ["counter: build 2"])
    equal(folder.muster("reload", "counter"), "counter  build 2; the file is the same as before\n")
    equal(folder.muster("info", "--json")["entities"], before["entities"])
    # A runtime component is seen as a tag, whatever its values are.
    equal(folder.muster("show", "/counter", "--json")["components"]["counter.Voice"], {})
    folder.muster("watch", "/counter", "--values", "--for", "0.2")
    told = folder.muster("reload", "--json")
    equal(told["plugins"], [{"name": "counter", "build": "build 2", "before": "build 2", "changed": False}])
    folder.stop()
    folder.serve()
    equal(folder.count(), 4)


def a_world_that_ticks_is_reloaded_between_two_ticks(folder):
    folder.put("counter_first")
    folder.serve("--hz", "200")
    for build in ("counter_second", "counter_second", "counter_second"):
        folder.put(build)
        folder.muster("reload")
        folder.step()
    equal(folder.count(), 6)
    folder.stop()


def a_reload_that_fails_leaves_the_running_build(folder):
    folder.put("counter_first")
    folder.serve()
    equal(folder.step(), 1)
    before = folder.muster("info", "--hash", "--json")["hash"]
    for build, what in {"missing_symbol": "cannot be loaded: undefined symbol: game::nobody_has_this(int)",
                        "old_interface": "was built for plugin interface 1, this server has 2: build it again",
                        "no_entry": "is no plugin: it has no function muster_plugin",
                        "other": 'is called "other" now; "counter" runs',
                        "counter_changed": "counter.Ask",
                        "refuses_sums": 'manager "counter.sums" refuses its saved state: sums of version 1'}.items():
        folder.put(build)
        said = folder.muster("reload", exit=1)
        assert said.startswith(f"muster: {folder.plugin}: ") and what in said, said
        equal(folder.muster("info", "--hash", "--json")["hash"], before)
    whole = (BUILDS / "libcounter_second.so").read_bytes()
    folder.plugin.write_bytes(whole[:len(whole) // 2])
    told = folder.muster("reload", "--json", exit=1)
    equal(told, {"error": f"{folder.plugin}: is cut off: it has {len(whole) // 2} bytes, and its headers speak of more",
                 "exit": 1})
    folder.plugin.unlink()
    equal(folder.muster("reload", exit=1), f"muster: {folder.plugin}: cannot be read: No such file or directory\n")
    equal(folder.muster("reload", "nobody", exit=1),
          'muster: there is no plugin called "nobody"; the server has counter\n')
    equal(folder.muster("info", "--hash", "--json")["hash"], before)
    equal(folder.step(), 2)
    folder.put("counter_second")
    folder.muster("reload")
    equal(folder.step(), 4)
    folder.stop()


def a_server_without_plugins_says_so(folder):
    folder.muster("new", "w.muster")
    folder.process = folder.server()
    while not (folder.path / "w.muster-server.json").exists():
        assert folder.process.poll() is None
        time.sleep(0.01)
    equal(folder.muster("reload", exit=1), "muster: this server has no plugins\n")


TESTS = [a_server_says_what_is_wrong_with_its_plugin,
         muster_reload_changes_what_a_running_world_does_and_keeps_its_state,
         a_world_that_ticks_is_reloaded_between_two_ticks, a_reload_that_fails_leaves_the_running_build,
         a_server_without_plugins_says_so]


def main():
    failed = 0
    for test in TESTS:
        with tempfile.TemporaryDirectory() as path:
            folder = Folder(path)
            try:
                test(folder)
            except Exception:
                failed += 1
                print(f"FAILED: {test.__name__}\n{traceback.format_exc()}", flush=True)
            finally:
                if folder.process and folder.process.poll() is None:
                    folder.process.kill()
                if folder.process:
                    folder.process.wait()
    print(f"{len(TESTS) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
