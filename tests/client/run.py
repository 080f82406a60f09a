#!/usr/bin/env python3
"""What goes wrong between programs: another layout, a second server, a server that is gone, or goes in the middle.

`run.py MUSTER SERVER PROBE GAME_BFBS OLDER_BFBS NEWER_BFBS`. The last line is `N passed, N failed`."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from programs import Folder, equal, run_tests  # noqa: E402

MUSTER, SERVER, PROBE, GAME, OLDER, NEWER = (pathlib.Path(argument).resolve() for argument in sys.argv[1:7])


def a_client_with_another_layout_is_told_type_and_field(folder):
    folder.serve("w.muster", "--schema", GAME)
    folder.run("spawn", "orc", "Health.value=50")
    probe = folder.start(PROBE, "w.muster", "strike", stdout=subprocess.PIPE)
    said = probe.communicate(timeout=20)[0]
    equal(probe.returncode, 1)
    equal(said, "error: game.Damage has a different layout in the world than in this program: "
                "game.Damage.amount: has a different type in this program\n")
    # The session was fine otherwise, and nothing of the message was sent.
    assert '"value": 7' in folder.run("show", "orc", "--json")


def a_watch_of_a_world_that_has_changed_shows_no_wrong_value(folder):
    server = folder.serve("w.muster", "--schema", OLDER)
    folder.run("spawn", "creep", "Creep.hp=7", "Creep.way=2")
    folder.run("save")
    probe = folder.start(PROBE, "w.muster", "watch", stdout=subprocess.PIPE)
    equal(probe.stdout.readline(), "creep: hp 7, way 2\n")
    server.send_signal(signal.SIGTERM)
    equal(server.wait(20), 0)
    said = probe.communicate(timeout=20)[0]
    assert said.startswith("lost: "), said
    # The same world with fields in front of these.
    folder.serve("w.muster", "--schema", NEWER)
    folder.run("set", "creep", "Creep.armor", "1")
    folder.run("set", "creep", "Creep.speed", "2")
    probe = folder.start(PROBE, "w.muster", "watch", stdout=subprocess.PIPE)
    equal(probe.communicate(timeout=20)[0],
          "error: td.Creep has a different layout in the world than in this program: td.Creep.armor: is called hp in this program\n")
    assert '"hp": 7' in folder.run("show", "creep", "--json")


def a_second_server_of_a_world_is_told_who_has_it(folder):
    first = folder.serve("w.muster", "--schema", GAME)
    before = (folder.path / "w.muster-server.json").read_text()
    second = folder.start_server("w.muster")
    said = second.communicate(timeout=20)[1]
    equal(second.returncode, 5)
    assert f"w.muster: in use by process {first.pid}" in said, said
    # The first one goes on, and is found as before.
    equal((folder.path / "w.muster-server.json").read_text(), before)
    folder.run("info")


def an_address_file_of_a_server_that_is_gone_is_not_believed(folder):
    server = folder.serve("w.muster", "--schema", GAME)
    server.kill()
    server.communicate()
    beside = folder.path / "w.muster-server.json"
    assert beside.exists()
    said = folder.run("info", "--world", "w.muster", exit=3)
    assert "w.muster" in said and "has ended" in said, said
    # Nor is one whose number another process has by now: nobody answers there, or not with this world.
    left = json.loads(beside.read_text())
    left["pid"] = os.getpid()
    beside.write_text(json.dumps(left))
    said = folder.run("info", "--world", "w.muster", "--timeout", "5", exit=3)
    assert "no server is running for w.muster" in said, said
    folder.serve("w.muster")
    folder.run("info")


def an_address_file_that_others_may_use_is_refused(folder):
    folder.serve("w.muster", "--schema", GAME)
    beside = folder.path / "w.muster-server.json"
    for bit in (0o040, 0o020, 0o010, 0o004, 0o002, 0o001):
        beside.chmod(0o600 | bit)
        said = folder.run("info", "--world", "w.muster", exit=3)
        assert "w.muster-server.json can be read by others" in said, (oct(bit), said)
    beside.chmod(0o600)
    folder.run("info", "--world", "w.muster")
    beside.chmod(0o400)
    folder.run("info", "--world", "w.muster")


def a_request_whose_server_goes_meanwhile_is_lost_and_says_so(folder):
    server = folder.serve("w.muster", "--schema", GAME)
    probe = folder.start(PROBE, "w.muster", "ask", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    equal(probe.stdout.readline(), "connected\n")
    probe.stdin.write("\n")
    probe.stdin.flush()
    equal(probe.stdout.readline(), "answered\n")
    server.send_signal(signal.SIGSTOP)
    probe.stdin.write("\n")
    probe.stdin.flush()
    time.sleep(0.2)
    assert probe.poll() is None, "it did not wait for the answer"
    server.kill()
    said = probe.stdout.readline()
    assert said.startswith("lost: "), said
    equal(probe.wait(20), 1)


def a_server_that_stops_in_good_order_says_so_to_who_waits(folder):
    server = folder.serve("w.muster", "--schema", GAME, "--limit", "resume_ns_max=200000000")
    watch = folder.start(MUSTER, "watch", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert watch.stderr.readline().startswith("watching")
    server.send_signal(signal.SIGTERM)
    equal(server.wait(20), 0)
    said = watch.communicate(timeout=20)[1]
    equal(watch.returncode, 3)
    assert "stop" in said, said


TESTS = [a_client_with_another_layout_is_told_type_and_field, a_watch_of_a_world_that_has_changed_shows_no_wrong_value,
         a_second_server_of_a_world_is_told_who_has_it,
         an_address_file_of_a_server_that_is_gone_is_not_believed, an_address_file_that_others_may_use_is_refused,
         a_request_whose_server_goes_meanwhile_is_lost_and_says_so,
         a_server_that_stops_in_good_order_says_so_to_who_waits]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, lambda path: Folder(path, MUSTER, SERVER)))
