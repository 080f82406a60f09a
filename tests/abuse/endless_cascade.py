#!/usr/bin/env python3
"""A handler that posts every message twice, in a real server: memory and ticks stay bounded, a
command stops it, and a replay has the same result.

`endless_cascade.py MUSTER SERVER PLUGIN [large]`; `large`: with the server's own limits, and times
are measured. The last line is `N passed, N failed`."""
import pathlib
import signal
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from programs import Folder, equal, run_tests  # noqa: E402

MUSTER, SERVER, PLUGIN = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
LARGE = sys.argv[4:] == ["large"]
LIMITS = [] if LARGE else ["--carried-messages", "30000", "--carried-max", "1", "--cascade-time", "5"]
CARRIED_MESSAGES, CARRIED_BYTES = (10_000_000, 256 << 20) if LARGE else (30_000, 1 << 20)
CASCADE_SECONDS = 0.1 if LARGE else 0.005
MESSAGE_BYTES = 64  # what the queue needs at most for a message besides its payload


class World(Folder):
    def begin(self, *arguments):
        self.process = self.serve("w.muster", "--plugin", PLUGIN, "--hz", "60", "--autosave", "0",
                                  "--journal-max", "0", *LIMITS, *arguments)
        self.address = self.served_by("w.muster", self.process)["address"]

    def metrics(self):
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        return {words[0]: float(words[1]) for words in map(str.split, lines) if words[0] != "#"}

    def metrics_when(self, is_so, seconds=120):
        until = time.monotonic() + seconds
        while not is_so(now := self.metrics()):
            assert time.monotonic() < until, now
            time.sleep(0.02)
        return now

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def check_bounds(self, before):
        now = self.metrics()
        assert now["muster_carried_bytes"] < CARRIED_BYTES + CARRIED_MESSAGES * MESSAGE_BYTES, now
        if LARGE:
            more = now["muster_memory_bytes"] - before["muster_memory_bytes"]
            assert more < 1.25 * (CARRIED_BYTES + CARRIED_MESSAGES * MESSAGE_BYTES), more
            assert now["muster_tick_seconds_max"] < CASCADE_SECONDS + 0.15, now
            longest = now["muster_tick_seconds_max"] * 1000
            print(f"memory {more / 2**20:.0f} MiB more, longest tick {longest:.0f} ms", flush=True)

    def timed(self, *arguments):
        begun = time.monotonic()
        said = self.run(*arguments)
        took = time.monotonic() - begun
        if LARGE:
            print(f"{' '.join(arguments)}: {took * 1000:.0f} ms", flush=True)
            assert took < 1, took
        return said


def a_cascade_that_doubles_is_bounded_stopped_by_a_command_and_replayed_also_after_a_kill(folder):
    folder.begin()
    folder.run("spawn", "/pot", "doubling.Tally")
    before = folder.metrics()
    folder.run("push", "/pot", "doubling.Ping", "hops=1")
    now = folder.metrics_when(lambda m: m["muster_carried_dropped_total"] > 0)
    assert now["muster_cascades_cut_total"] > 1, now
    time.sleep(3 if LARGE else 0.2)
    folder.check_bounds(before)

    # In the middle of it: what is carried over is state, and is bounded as before.
    folder.kill()
    folder.begin()
    before = folder.metrics()
    dropped = before["muster_carried_dropped_total"]
    folder.metrics_when(lambda m: m["muster_carried_dropped_total"] > dropped)
    folder.check_bounds(before)
    equal(folder.error(1, "handler", "off", "doubling.twic"),
          "no handler is named 'doubling.twic'; did you mean 'doubling.twice'?")
    equal(folder.timed("handler", "off", "doubling.twice"), "doubling.twice is off\n")
    equal([row["enabled"] for row in folder.json("handlers")], [False])
    equal(folder.timed("drop-carried"), "no messages are carried over any more\n")
    equal(folder.metrics()["muster_carried_bytes"], 0)
    equal(folder.run("handler", "on", "doubling.twice"), "doubling.twice is on\n")
    folder.run("push", "/pot", "doubling.Ping", "hops=3")
    folder.metrics_when(lambda m: m["muster_carried_bytes"] > 1000)
    folder.run("clock", "pause")
    folder.run("drop-carried", "--durable")
    end = folder.json("info", "--hash")

    # All of it again, from the journal.
    folder.kill()
    folder.begin("--paused")
    again = folder.json("info", "--hash")
    equal((again["sequence"], again["hash"]), (end["sequence"], end["hash"]))
    equal(folder.metrics()["muster_carried_bytes"], 0)
    folder.run("handler", "off", "doubling.twice")
    folder.process.send_signal(signal.SIGTERM)
    said = folder.process.communicate(timeout=60)[1]
    equal(folder.process.returncode, 0)
    assert "cut short" not in said, said  # a replay repeats no warnings


def a_cut_cascade_and_dropped_messages_are_each_logged_once_for_a_burst(folder):
    folder.begin()
    folder.run("spawn", "/pot", "doubling.Tally")
    folder.run("push", "/pot", "doubling.Ping")
    folder.metrics_when(lambda m: m["muster_carried_dropped_total"] > 0)
    folder.run("handler", "off", "doubling.twice")
    folder.run("drop-carried")
    folder.process.send_signal(signal.SIGTERM)
    said = folder.process.communicate(timeout=60)[1]
    equal(said.count("a cascade was cut short"), 1)
    equal(said.count("messages or"), 1)
    assert '"doubling.twice" handles doubling.Ping and posts messages' in said, said


if __name__ == "__main__":
    TESTS = [a_cascade_that_doubles_is_bounded_stopped_by_a_command_and_replayed_also_after_a_kill,
             a_cut_cascade_and_dropped_messages_are_each_logged_once_for_a_burst]
    sys.exit(run_tests(TESTS, lambda path: World(path, MUSTER, SERVER), 600 if LARGE else 120))
