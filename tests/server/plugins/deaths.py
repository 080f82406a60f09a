#!/usr/bin/env python3
"""A plugin that dies of one message, in a server that is killed and started again: what was durable stays, and the world opens.

`deaths.py MUSTER SERVER FOLDER`; FOLDER has the builds. The last line is `N passed, N failed`."""
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from counter import CounterFolder, equal, run_tests

DEADLY = {"MUSTER_TEST_PLUGIN": "die of Ask"}
HANGING = {"MUSTER_TEST_PLUGIN": "hang in Ask"}
EXITING = {"MUSTER_TEST_PLUGIN": "exit in Ask"}


class Folder(CounterFolder):
    def begin(self, *arguments, **environment):
        """A server; nobody waits until it serves."""
        self.process = self.start_server("w.muster", "--plugin", self.plugin, "--autosave", "0", *arguments, **environment)
        return self.process

    def serves(self, *arguments, **environment):
        process = self.begin(*arguments, **environment)
        beside = self.path / "w.muster-server.json"
        until = time.monotonic() + 60
        while not beside.exists() or json.loads(beside.read_text())["pid"] != process.pid:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < until, "the server does not start"
            time.sleep(0.01)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def dies(self, *arguments, **environment):
        """A server ends of itself, by a signal, before it serves."""
        process = self.begin(*arguments, **environment)
        assert process.wait(timeout=60) == -signal.SIGABRT, process.stderr.read()

    def stops(self, code):
        self.process.send_signal(signal.SIGTERM)
        equal(self.process.wait(timeout=60), code)
        return self.process.stderr.read()

    def health(self, address):
        try:
            with urllib.request.urlopen(f"http://{address}/health", timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def names(self):
        return sorted(entity["name"] for entity in self.json("ls"))


def edited(folder):
    """A world with a journal: two steps, an Ask that nobody died of, an entity; all durable, and its server killed."""
    folder.put("counter_first")
    folder.serves()
    for what in ("Step", "Step", "Ask"):
        folder.run("push", "/counter", what, "--durable")
    folder.run("spawn", "made", "--durable")
    equal((folder.count(), folder.names()), (2, ["counter", "made"]))
    folder.kill()


def a_handler_that_calls_exit_is_named_and_does_not_look_like_a_save(folder):
    folder.put("counter_first")
    folder.serves(**EXITING)
    folder.run("push", "/counter", "Step", "--durable")
    subprocess.run([folder.commands[0], "push", "/counter", "Ask"], cwd=folder.path, env=folder.environment,
                   capture_output=True, timeout=60, check=False)
    equal(folder.process.wait(timeout=60), 9)
    said = folder.process.stderr.read()
    assert "called exit; the world was not saved" in said, said
    folder.serves()
    equal(folder.count(), 1)
    folder.stops(0)


def a_world_whose_plugin_dies_of_a_message_in_its_journal_opens_stopped_before_it_and_goes_on_without_it(folder):
    edited(folder)
    folder.dies(**DEADLY)
    folder.dies(**DEADLY)
    for _ in range(2):
        folder.serves(**DEADLY)
        info = folder.json("info")
        stands = info["error"]
        assert "it stands before input " in stands and " (counter.Ask to #" in stands, stands
        assert "its process died 2 times while it was handled" in stands, stands
        sequence = int(stands.split("start with --skip ")[1].split(";")[0])
        equal(folder.names(), ["counter"])  # what is behind it is not there yet
        assert stands in folder.error(1, "spawn", "another"), stands
        assert stands in folder.error(1, "save"), stands
        assert "the clock stays paused" in folder.error(1, "clock", "play")
        said = folder.stops(8)
        assert said.count(f"w.muster: stopped: {stands}") == 2, said
    for other in (sequence - 1, sequence + 1):
        process = folder.begin("--skip", other, **DEADLY)
        equal(process.wait(timeout=60), 2)
        said = process.stderr.read()
        assert f"input {other} cannot be left out: the world does not stand before it, but before input {sequence}" in said, said
    folder.serves("--skip", sequence, **DEADLY)
    equal((folder.count(), folder.names()), (2, ["counter", "made"]))
    equal(folder.json("info")["error"], "")
    before = folder.json("info", "--hash")
    folder.kill()
    folder.serves(**DEADLY)
    after = folder.json("info", "--hash")
    equal((after["hash"], after["sequence"]), (before["hash"], before["sequence"]))
    folder.stops(0)


def a_message_that_kills_the_server_takes_nothing_with_it_that_was_durable(folder):
    """It was not on the disk itself, so the next start does not hear of it."""
    folder.put("counter_first")
    for times in range(3):
        folder.serves("--durability", "each_flush", **DEADLY)
        equal(folder.json("info")["error"], "")
        if times > 0:
            equal((folder.count(), folder.names()), (times, ["counter", *[f"made{i}" for i in range(times)]]))
        folder.run("push", "/counter", "Step", "--durable")
        folder.run("spawn", f"made{times}", "--durable")
        folder.run("push", "/counter", "Ask", exit=3)
        equal(folder.process.wait(timeout=60), -signal.SIGABRT)


def a_plugin_that_was_built_again_after_a_crash_gets_the_edits_and_says_what_is_lost(folder):
    folder.put("counter_first")
    folder.serves("--hz", "100")
    for _ in range(3):
        folder.run("push", "/counter", "Step", "--durable")
    folder.run("spawn", "made", "--durable")
    folder.kill()
    folder.put("counter_second")
    folder.serves("--hz", "100")
    equal((folder.count(), folder.names()), (6, ["counter", "made"]))  # by steps of the new build
    said = folder.stops(0)
    assert "of the journal the edits alone were applied, because other code wrote it" in said, said
    assert " left out" in said and "tick" in said, said
    folder.serves()
    equal((folder.count(), folder.names()), (6, ["counter", "made"]))
    equal(folder.stops(0), "")


def another_build_is_given_the_message_that_the_one_before_died_of(folder):
    edited(folder)
    folder.dies(**DEADLY)
    folder.dies(**DEADLY)
    folder.put("counter_second")
    folder.serves()
    equal((folder.count(), folder.names()), (4, ["counter", "made"]))
    equal(folder.json("info")["error"], "")
    folder.stops(0)


def a_handler_that_does_not_return_is_named_while_the_world_hangs(folder):
    folder.put("counter_first")
    folder.serves("--watchdog", "0.2", **HANGING)
    folder.run("push", "/counter", "Step", "--durable")
    address = json.loads((folder.path / "w.muster-server.json").read_text())["address"]
    equal(folder.health(address), (200, "ok\n"))
    identity = folder.json("show", "/counter")["id"]
    folder.start(folder.commands[0], "push", "/counter", "Ask", stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while "does not answer: input" not in (said := folder.health(address))[1]:
        assert time.monotonic() < until, said
    where = f' s: in handler "counter.ask" of counter.Ask, for #{identity}'
    equal(said[0], 503)
    assert said[1].endswith(where + "\n"), said
    told = folder.error(1, "info")
    assert "the world does not answer: input " in told and where in told, told
    folder.kill()
    log = folder.process.stderr.read()
    equal(log.count(where), 1)
    # It was not on the disk, so the next start does not hear of it.
    folder.serves(**DEADLY)
    equal((folder.count(), folder.json("info")["error"]), (1, ""))
    folder.stops(0)


def a_server_that_is_killed_while_a_handler_does_not_return_from_its_journal_opens_stopped_before_it(folder):
    edited(folder)
    process = folder.begin("--watchdog", "0.2", **HANGING)
    said = ""
    while 'in handler "counter.ask" of counter.Ask, for #' not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    folder.kill()
    folder.serves(**HANGING)
    stands = folder.json("info")["error"]
    assert "it stands before input " in stands and " (counter.Ask to #" in stands, stands
    assert "a handler did not return from it" in stands, stands
    sequence = stands.split("start with --skip ")[1].split(";")[0]
    folder.stops(8)
    folder.serves("--skip", sequence, **HANGING)
    equal((folder.count(), folder.names()), (2, ["counter", "made"]))
    folder.stops(0)


TESTS = [a_handler_that_does_not_return_is_named_while_the_world_hangs,
         a_server_that_is_killed_while_a_handler_does_not_return_from_its_journal_opens_stopped_before_it,
         a_world_whose_plugin_dies_of_a_message_in_its_journal_opens_stopped_before_it_and_goes_on_without_it,
         a_message_that_kills_the_server_takes_nothing_with_it_that_was_durable,
         a_plugin_that_was_built_again_after_a_crash_gets_the_edits_and_says_what_is_lost,
         another_build_is_given_the_message_that_the_one_before_died_of]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, Folder))
