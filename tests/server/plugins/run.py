#!/usr/bin/env python3
"""Plugins in a running server: what keeps it from starting, `muster reload`, and the trace of what their handlers did.

`run.py MUSTER SERVER FOLDER`; FOLDER has the builds. The last line is `N passed, N failed`."""
import json
import signal
import subprocess
import sys
import time

from counter import BUILDS, MUSTER, CounterFolder, equal, run_tests


class Folder(CounterFolder):
    def serve_counter(self, *arguments):
        self.process = self.serve("w.muster", "--plugin", self.plugin, *arguments)

    def stop_counter(self):
        self.stop(self.process)

    def step(self):
        self.run("push", "/counter", "Step")
        return self.count()


def a_server_says_what_is_wrong_with_its_plugin(folder):
    """Exit code 4, and no world is made."""
    def says(what, *arguments, **environment):
        process = folder.start_server("w.muster", "--plugin", folder.plugin, *arguments, **environment)
        said = process.communicate(timeout=20)[1]
        equal(process.returncode, 4)
        assert what in said, said
        assert not (folder.path / "w.muster").exists(), "a world was made"

    says(f"{folder.plugin}: cannot be read: No such file or directory")
    for build, what in {"no_entry": "is not a plugin: it has no function muster_plugin",
                        "old_interface": "was built for plugin interface 1, this server has 3: build it again",
                        "other_headers": "was built with other muster headers (digest 0123456789abcdef) than this server (",
                        "missing_symbol": "cannot be loaded: undefined symbol: game::nobody_has_this(int)"}.items():
        folder.put(build)
        says(f"{folder.plugin}: {what}")
    folder.put("counter_first")
    says("cannot be installed: no sound device", MUSTER_TEST_PLUGIN="throw")
    says("cannot fill the new world: no map", MUSTER_TEST_PLUGIN="fail to begin")
    says('is called "counter", and so is', "--plugin", BUILDS / "libcounter_second.so")


def muster_handlers_says_what_the_handlers_of_a_plugin_write_and_read(folder):
    folder.put("counter_first")
    folder.serve_counter()
    rows = folder.json("handlers")
    named = {row["name"]: row for row in rows if row["name"]}
    equal(named["counter.step"], {"name": "counter.step", "message": "counter.Step", "enabled": True,
                                  "writes": ["counter.Count"], "reads": []})
    equal((named["counter.sum"]["writes"], named["counter.sum"]["reads"]), ([], ["counter.Count"]))
    equal([row["writes"] for row in rows if not row["name"]], [["counter.Trace"]] * 2)
    text = folder.run("handlers").splitlines()
    equal(text[0].split(), ["HANDLER", "MESSAGE", "WRITES", "READS"])
    equal([line.split() for line in text if "counter.step" in line], [["counter.step", "counter.Step", "counter.Count"]])
    equal(sum("(no name)" in line for line in text), 2)


def muster_reload_changes_what_a_running_world_does_and_keeps_its_state(folder):
    folder.put("counter_first")
    folder.serve_counter()
    equal(folder.step(), 1)
    equal(folder.json("info")["plugins"], ["counter: build 1"])
    before = folder.json("info", "--hash")
    folder.put("counter_second")
    equal(folder.step(), 2)  # writing over the file alone changes nothing
    equal(folder.run("reload"), "counter  build 2, was build 1\n")
    equal(folder.step(), 4)
    equal(folder.json("info")["plugins"], ["counter: build 2"])
    equal(folder.run("reload", "counter"), "counter  build 2; the file is the same as before\n")
    equal(folder.json("info")["entities"], before["entities"])
    # A runtime component is seen as a tag, whatever its values are.
    equal(folder.json("show", "/counter")["components"]["counter.Voice"], {})
    folder.run("watch", "/counter", "--values", "--for", "0.2")
    told = folder.json("reload")
    equal(told["plugins"], [{"name": "counter", "build": "build 2", "before": "build 2", "changed": False}])
    folder.stop_counter()
    folder.serve_counter()
    equal(folder.count(), 4)


def a_world_that_ticks_is_reloaded_between_two_ticks(folder):
    folder.put("counter_first")
    folder.serve_counter("--hz", "200")
    for build in ("counter_second", "counter_second", "counter_second"):
        folder.put(build)
        folder.run("reload")
        folder.step()
    equal(folder.count(), 6)
    folder.stop_counter()


def a_reload_that_fails_leaves_the_running_build(folder):
    folder.put("counter_first")
    folder.serve_counter()
    equal(folder.step(), 1)
    before = folder.json("info", "--hash")["hash"]
    for build, what in {"missing_symbol": "cannot be loaded: undefined symbol: game::nobody_has_this(int)",
                        "old_interface": "was built for plugin interface 1, this server has 3: build it again",
                        "no_entry": "is not a plugin: it has no function muster_plugin",
                        "other": 'is called "other" now; "counter" runs',
                        "counter_narrower": "and cannot be converted: archetypes 0: component counter.Heard.build: was int and is now "
                                            "short, which cannot be converted",
                        "refuses_sums": 'manager "counter.sums" rejected its saved state: sums of version 1'}.items():
        folder.put(build)
        said = folder.run("reload", exit=1)
        assert said.startswith(f"muster: {folder.plugin}: ") and what in said, said
        equal(folder.json("info", "--hash")["hash"], before)
    whole = (BUILDS / "libcounter_second.so").read_bytes()
    folder.plugin.write_bytes(whole[:len(whole) // 2])
    told = folder.json("reload", exit=1)
    equal(told, {"error": f"{folder.plugin}: is cut off: it has {len(whole) // 2} bytes, fewer than its headers say",
                 "exit": 1})
    folder.plugin.unlink()
    equal(folder.run("reload", exit=1), f"muster: {folder.plugin}: cannot be read: No such file or directory\n")
    equal(folder.run("reload", "nobody", exit=1),
          'muster: there is no plugin called "nobody"; the server has counter\n')
    equal(folder.json("info", "--hash")["hash"], before)
    equal(folder.step(), 2)
    folder.put("counter_second")
    folder.run("reload")
    equal(folder.step(), 4)
    folder.stop_counter()


def a_reload_whose_types_have_other_layouts_opens_the_world_again_and_converts_it(folder):
    folder.put("counter_first")
    folder.serve_counter("--durability", "each_flush")
    for _ in range(3):
        folder.step()
    token = json.loads((folder.path / "w.muster-server.json").read_text())
    folder.put("counter_wider")
    equal(folder.run("reload"), "counter  build 2, was build 1\n")

    def opened():
        """The server is where it was, once it is there again."""
        until = time.monotonic() + 20
        while True:
            ran = subprocess.run([MUSTER, "show", "/counter", "--json"], cwd=folder.path, check=False, env=folder.environment,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20)
            if ran.returncode == 0:
                return json.loads(ran.stdout)["components"]["counter.Count"]
            assert time.monotonic() < until
            time.sleep(0.05)

    equal(opened(), {"bonus": 7, "value": 3})
    equal(json.loads((folder.path / "w.muster-server.json").read_text()), token)
    equal(folder.json("info")["plugins"], ["counter: build 2"])
    equal(folder.step(), 5)
    folder.run("push", "/counter", "Ask")
    equal(folder.json("show", "/counter")["components"]["counter.Heard"], {"voice": 2003, "sum": 5, "total": 1, "build": 2})
    folder.process.kill()
    folder.process.wait()
    folder.serve_counter()
    equal(opened(), {"bonus": 7, "value": 5})
    # There is a way back where every value has one: this build has fewer fields, and its numbers are narrower.
    folder.put("counter_second")
    said = folder.run("reload", exit=1)
    assert "component counter.Heard.sum: was long and is now int, which cannot be converted" in said, said
    equal(folder.step(), 7)
    folder.stop_counter()


def a_server_without_plugins_says_so(folder):
    folder.run("new", "w.muster")
    folder.serve("w.muster")
    equal(folder.run("reload", exit=1), "muster: this server has no plugins\n")


def slices(file):
    """(category, name, begin, end, args) of a trace, in the order of their beginnings; times in ns."""
    found = [(event["cat"], event["name"], round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000),
              event["args"]) for event in json.loads(file.read_text())["traceEvents"] if event["ph"] == "X"]
    return sorted(found, key=lambda slice: slice[2])


def within(inner, outer):
    return outer[2] <= inner[2] and inner[3] <= outer[3]


def recording(folder, file, *arguments):
    """A `muster trace` that records."""
    process = folder.start(MUSTER, "trace", file, "--seconds", "60", *arguments, stdout=subprocess.PIPE)
    until = time.monotonic() + 20
    while not file.exists():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    return process


def recorded(process):
    """Ends the recording. Returns what was said of it."""
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=20)[0]
    equal(process.returncode, 0)
    return said


def a_trace_shows_what_handlers_did_and_changes_nothing(folder):
    folder.put("counter_first")
    folder.serve_counter()
    folder.step()
    file = folder.path / "trace.json"
    process = recording(folder, file)
    equal(folder.step(), 2)
    folder.put("counter_second")
    folder.run("reload")
    equal(folder.step(), 4)
    hash = folder.json("info", "--hash")["hash"]
    recorded(process)
    folder.stop_counter()
    found = slices(file)
    batches = [slice for slice in found if slice[:2] == ("batch", "counter.Step")]
    equal(len(batches), 2)
    for batch in batches:
        equal(batch[4], {"messages": 1})
        called = [slice for slice in found if slice[0] == "handler" and within(slice, batch)]
        equal([slice[1] for slice in called if slice[1] != "(unnamed handler)"], ["counter.step", "counter.sum"])
        equal([slice[4] for slice in called], [{"rows": 1}] * len(called))
        assert [slice for slice in found if slice[:2] == ("input", "push_batch") and within(batch, slice)], found
    folder.serve_counter()
    equal(folder.json("info", "--hash")["hash"], hash)
    folder.stop_counter()


def muster_trace_records_a_running_world_for_a_while(folder):
    """One session at a time; its end, however it comes, ends the recording."""
    folder.put("counter_first")
    folder.serve_counter()
    file = folder.path / "trace.json"

    process = recording(folder, file, "--json")
    equal(folder.step(), 1)
    session = next(each for each in folder.json("who") if not each["own"])
    name = f' ({session["name"]})' if session["name"] else ""
    equal(folder.error(1, "trace", "other.json"), f"the world is already being recorded by session {session['session']}{name}")
    assert not (folder.path / "other.json").exists()
    told = json.loads(recorded(process))
    found = slices(file)
    equal(told, {"file": str(file), "slices": len(found), "left_out": 0})
    equal([slice[1] for slice in found if slice[0] == "handler"][:2], ["counter.step", "counter.sum"])

    before = file.read_bytes()
    equal(folder.error(4, "trace", "nowhere/trace.json"), "nowhere/trace.json: No such file or directory")
    folder.error(4, "trace", "/dev/full", "--seconds", "0")
    equal(file.read_bytes(), before)
    file.unlink()
    process = recording(folder, file)
    process.kill()
    process.wait()
    until = time.monotonic() + 20
    while True:  # the server notices in its own time
        ran = subprocess.run([MUSTER, "trace", "after.json", "--seconds", "0.1"], cwd=folder.path, check=False,
                             env=folder.environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        if ran.returncode == 0:
            break
        assert time.monotonic() < until
        time.sleep(0.05)
    slices(folder.path / "after.json")
    folder.stop_counter()


def a_world_that_ticks_can_be_traced(folder):
    """The passes are there, and one after another."""
    folder.put("counter_first")
    file = folder.path / "trace.json"
    folder.serve_counter("--hz", "500", "--workers", "2")
    folder.run("trace", file, "--seconds", "0.5")
    folder.stop_counter()
    ticks = [slice for slice in slices(file) if slice[:2] == ("batch", "muster.Update")]
    assert len(ticks) > 10, len(ticks)
    for before, after in zip(ticks, ticks[1:]):
        assert before[3] <= after[2], (before, after)


TESTS = [test for name, test in list(globals().items())
         if getattr(test, "__module__", "") == __name__ and getattr(test, "__code__", None)
         and test.__code__.co_varnames[:test.__code__.co_argcount] == ("folder",)]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, Folder))
