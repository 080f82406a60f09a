#!/usr/bin/env python3
"""Runs muster-host as people do: worlds that are made, visited, fall asleep, fail and are deleted.

`run.py MUSTER SERVER HOST GAME_BFBS SOURCE_ROOT [NAME...]`; NAMEs pick tests. The last line is
`N passed, N failed`.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

MUSTER, SERVER, HOST, GAME, ROOT = (pathlib.Path(argument).resolve() for argument in sys.argv[1:6])
sys.path.insert(0, str(ROOT / "tests/support"))
from programs import Folder, equal, run_tests  # noqa: E402

UNREACHABLE, REFUSED, USAGE = 3, 1, 2


class Served:
    """A muster-host over the folder `worlds`, and requests to it."""

    def __init__(self, folder, process):
        self.folder, self.process = folder, process
        self.token = (folder.path / "worlds/.token").read_text().strip()
        self.address = None
        for line in process.stderr:
            if found := re.search(r"listening on (\S+)", line):
                self.address = found[1]
                break
        assert self.address, process.wait()
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(process.stderr), daemon=True)
        self.reader.start()

    def ask(self, method, path, token=None, **fields):
        """(status, text) of one request."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, headers={"Authorization": f"Bearer {token or self.token}"} | fields)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")

    def worlds(self, token=None):
        status, text = self.ask("GET", "/worlds", token)
        assert status == 200, text
        return {world["name"]: world for world in json.loads(text)["worlds"]}

    def deleted(self):
        return json.loads(self.ask("GET", "/worlds")[1])["deleted"]

    def create(self, name):
        equal(self.ask("PUT", "/worlds/" + urllib.parse.quote(name, safe="")), (200, "created\n"))

    def muster(self, world, *arguments, exit=0, token=None):
        return self.folder.run("--connect", f"{self.address}/{world}", "--token", token or self.token, *arguments, exit=exit)

    def until(self, what, holds, seconds=30):
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, f"not within {seconds} s: {what}\n{''.join(self.log)}"
            time.sleep(0.02)

    def until_state(self, world, state):
        self.until(f"{world} is {state}", lambda: self.worlds()[world]["state"] == state)

    def children(self):
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        return [int(number) for number in found.stdout.split()]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        equal(self.process.wait(timeout=60), 0)


def host(folder, *arguments):
    process = folder.start(HOST, "worlds", "--listen", "127.0.0.1:0", "--page", "none", *arguments, stderr=subprocess.PIPE)
    until = time.monotonic() + 20
    while not (folder.path / "worlds/.token").exists():
        assert process.poll() is None and time.monotonic() < until, process.stderr.read()
        time.sleep(0.01)
    return Served(folder, process)


def with_game(folder, *arguments):
    return host(folder, f"--world-argument=--schema={GAME}", *arguments)


def a_world_wakes_for_a_visitor_and_sleeps_when_it_is_alone(folder):
    served = with_game(folder, "--sleep-after", "1")
    served.create("town")
    equal(served.worlds()["town"]["state"], "asleep")
    equal(served.children(), [])
    served.muster("town", "spawn", "/tower", "Health.value=80")
    equal(served.worlds()["town"]["state"], "awake")
    served.until_state("town", "asleep")
    equal(served.children(), [])
    assert "80" in served.muster("town", "show", "/tower")
    equal(served.worlds()["town"]["wakes"], 2)
    equal(served.worlds()["town"]["failures"], 0)
    served.stop()


def visitors_of_two_worlds_at_once_see_their_own_world(folder):
    served = with_game(folder)
    for world in ("north", "south"):
        served.create(world)
    failed = []

    def visit(world):
        try:
            for number in range(10):
                served.muster(world, "spawn", f"/{world}{number}")
        except AssertionError as error:
            failed.append(error)

    threads = [threading.Thread(target=visit, args=(world,)) for world in ("north", "south")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(failed, [])
    for world, other in (("north", "south"), ("south", "north")):
        listed = served.muster(world, "ls")
        assert f"{world}9" in listed and other not in listed, listed
    served.stop()


def many_visitors_who_wake_a_world_together_start_one_process(folder):
    served = host(folder)
    served.create("town")
    threads = [threading.Thread(target=served.muster, args=("town", "info")) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(served.worlds()["town"]["wakes"], 1)
    equal(len(served.children()), 1)


def visitors_are_answered_at_any_moment_of_falling_asleep(folder):
    served = host(folder, "--sleep-after", "1")
    served.create("town")
    until = time.monotonic() + 8
    pause = 0.9
    while time.monotonic() < until:
        served.muster("town", "info")
        time.sleep(pause)
        pause += 0.02
    assert served.worlds()["town"]["wakes"] > 1
    equal(served.worlds()["town"]["failures"], 0)


def a_killed_world_loses_nothing_durable_and_wakes_again(folder):
    served = with_game(folder)
    served.create("town")
    served.create("other")
    served.muster("other", "info")
    served.muster("town", "spawn", "/tower", "Health.value=80", "--durable")
    victim = next(pid for pid in served.children() if "/town.muster" in pathlib.Path(f"/proc/{pid}/cmdline").read_text())
    os.kill(victim, signal.SIGKILL)
    served.until_state("town", "asleep")
    assert "signal 9" in served.worlds()["town"]["error"]
    equal(served.worlds()["other"]["state"], "awake")
    served.until("the world rests a moment", lambda: time.sleep(0.3) or True)
    assert "80" in served.muster("town", "show", "/tower")


def a_killed_host_ends_its_worlds_and_the_next_one_serves_them(folder):
    served = with_game(folder)
    served.create("town")
    served.muster("town", "spawn", "/tower", "Health.value=80")
    children = served.children()
    served.process.kill()
    served.process.wait()
    again = with_game(folder)
    assert "80" in again.muster("town", "show", "/tower")
    again.until("the earlier processes have ended", lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children))
    again.stop()


def two_hosts_never_serve_one_folder(folder):
    host(folder)
    second = folder.start(HOST, "worlds", "--listen", "127.0.0.1:0", stderr=subprocess.PIPE)
    equal(second.wait(timeout=20), 6)
    assert "another muster-host serves the folder" in second.stderr.read()


def a_hanging_world_does_not_keep_others_from_answering(folder):
    served = host(folder)
    served.create("hangs")
    served.create("town")
    served.muster("hangs", "info")
    stopped = served.children()[0]
    os.kill(stopped, signal.SIGSTOP)
    try:
        said = served.muster("hangs", "--timeout", "0.5", "info", exit=UNREACHABLE)
        assert "did not answer" in said or "time" in said, said
        served.muster("town", "spawn", "/tower")
        equal(served.ask("GET", "/health")[0], 200)
    finally:
        os.kill(stopped, signal.SIGCONT)
    served.muster("hangs", "info")


def a_world_with_ticks_or_timers_does_not_sleep(folder):
    served = with_game(folder, "--sleep-after", "1", "--world-argument=--hz=20")
    served.create("ticks")
    served.muster("ticks", "info")
    time.sleep(2.5)
    equal(served.worlds()["ticks"]["state"], "awake")
    served.muster("ticks", "clock", "pause")
    served.until_state("ticks", "asleep")
    served.stop()


def a_wrong_token_wakes_nothing_and_learns_nothing(folder):
    served = host(folder)
    served.create("town")
    for world in ("town", "nowhere"):
        said = served.muster(world, "info", exit=UNREACHABLE, token="wrong")
        assert "the token is not valid here" in said, said
    equal(served.worlds()["town"]["wakes"], 0)
    for method, path in (("GET", "/worlds"), ("PUT", "/worlds/new"), ("DELETE", "/worlds/town"),
                         ("POST", "/worlds/town/wake"), ("POST", "/deleted/1-x/restore")):
        status, text = served.ask(method, path, token="wrong")
        equal((status, "town" in text), (401, False))
    equal(set(served.worlds()), {"town"})


def a_users_token_opens_its_own_world_only(folder):
    served = host(folder)
    served.create("town")
    served.create("city")
    token = re.search(r"\b[a-z0-9]{32}\b", served.muster("town", "token", "create", "ann", "--role", "edit"))[0]
    served.muster("town", "info", token=token)
    said = served.muster("city", "info", exit=UNREACHABLE, token=token)
    assert "the token is not valid here" in said, said
    equal(set(served.worlds(token)), {"town"})
    equal(served.ask("DELETE", "/worlds/town", token)[0], 401)
    equal(served.ask("GET", "/w/town/slice", token)[0], 403)  # needs the right to control
    equal(served.ask("GET", "/w/city/slice", token)[0], 401)
    status, slice = served.ask("GET", "/w/town/slice")
    equal((status, slice[:8]), (200, "MUSTERSL"))
    equal(served.ask("GET", "/w/none/slice")[0], 404)
    served.muster("town", "token", "revoke", "ann")
    served.muster("town", "info", exit=UNREACHABLE, token=token)


def bad_names_are_refused_with_a_sentence(folder):
    served = host(folder)
    names = {"": 404, "..": 400, ".hidden": 400, "a/b": 400, "-x": 400, " x": 400, "x" * 101: 400, "a\u200bb": 400}
    for name, expected in names.items():
        status, text = served.ask("PUT", "/worlds/" + urllib.parse.quote(name, safe=""))
        assert status in (expected, 400, 404, 405) and text.strip(), (name, status, text)
    equal(served.worlds(), {})
    served.create("Town")
    status, text = served.ask("PUT", "/worlds/town")
    equal((status, "only in the case of letters" in text), (409, True))
    equal(served.ask("PUT", "/worlds/Town")[0], 409)
    served.create("caf\u00e9 \U0001f3f0 %41")
    served.muster("caf\u00e9 \U0001f3f0 %41", "info")
    equal(sorted(served.worlds()), sorted(["Town", "caf\u00e9 \U0001f3f0 %41"]))
    assert "has several worlds" in served.folder.run("--connect", served.address, "--token", served.token, "info", exit=UNREACHABLE)


def a_copy_has_the_content_and_none_of_the_users(folder):
    served = with_game(folder)
    served.create("town")
    served.muster("town", "spawn", "/tower", "Health.value=80", "--durable")
    token = re.search(r"\b[a-z0-9]{32}\b", served.muster("town", "token", "create", "ann", "--role", "edit"))[0]
    equal(served.ask("POST", "/worlds/town/copy/copied"), (200, "copied\n"))
    assert "80" in served.muster("copied", "show", "/tower")
    served.muster("copied", "info", exit=UNREACHABLE, token=token)
    equal(served.ask("POST", "/worlds/town/copy/copied")[0], 409)
    equal(served.ask("POST", "/worlds/nowhere/copy/other")[0], 404)
    equal(sorted(served.worlds()), ["copied", "town"])


def a_world_is_deleted_while_it_is_open_and_comes_back(folder):
    served = with_game(folder)
    served.create("town")
    served.muster("town", "spawn", "/tower", "Health.value=80")
    watching = folder.start(MUSTER, "--connect", f"{served.address}/town", "--token", served.token, "watch", "/tower",
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    served.until("the visitor is there", lambda: served.worlds()["town"]["visitors"] == 1)
    equal(served.ask("DELETE", "/worlds/town"), (200, "deleted\n"))
    equal(served.worlds(), {})
    assert "no world" in served.muster("town", "info", exit=UNREACHABLE)
    watching.wait(timeout=30)
    [deleted] = served.deleted()
    equal(deleted["name"], "town")
    served.create("town")  # a new one may have the name
    equal(served.ask("POST", f"/deleted/{deleted['id']}/restore")[0], 409)
    equal(served.ask("DELETE", "/worlds/town")[0], 200)
    equal(served.ask("POST", f"/deleted/{deleted['id']}/restore"), (200, "restored\n"))
    assert "80" in served.muster("town", "show", "/tower")


def a_deletion_becomes_final(folder):
    served = host(folder, "--keep-deleted", "0")
    served.create("town")
    equal(served.ask("DELETE", "/worlds/town")[0], 200)
    equal(len(served.deleted()), 1)
    served.stop()
    time.sleep(1.1)  # deletions are known by the second
    again = host(folder, "--keep-deleted", "0")
    again.until("the deleted world is gone", lambda: again.deleted() == [])


def a_world_that_cannot_be_opened_says_why_and_is_not_tried_in_a_loop(folder):
    served = host(folder)
    served.create("town")
    (folder.path / "worlds/town/options").write_text("--plugin\n/nowhere.so\n")
    said = served.muster("town", "info", exit=UNREACHABLE)
    assert "/nowhere.so" in said, said
    for _ in range(20):
        served.muster("town", "info", exit=UNREACHABLE)
    assert served.worlds()["town"]["wakes"] < 10
    (folder.path / "worlds/town/options").write_text("--listen\n0.0.0.0:1\n")
    served.until("it may be tried again", lambda: "is set by muster-host" in served.muster("town", "info", exit=UNREACHABLE))
    (folder.path / "worlds/town/options").unlink()
    served.until("it is served again", lambda: subprocess.run(
        [MUSTER, "--connect", f"{served.address}/town", "--token", served.token, "info"], capture_output=True).returncode == 0)


def worlds_beyond_the_limit_make_room_or_are_refused(folder):
    served = host(folder, "--awake-max", "1")
    for world in ("first", "second"):
        served.create(world)
    served.muster("first", "info")
    served.muster("second", "info")  # nobody is in the first, so it has to sleep
    served.until_state("first", "asleep")
    watching = folder.start(MUSTER, "--connect", f"{served.address}/second", "--token", served.token, "watch",
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    served.until("the visitor is there", lambda: served.worlds()["second"]["visitors"] == 1)
    said = served.muster("first", "info", exit=UNREACHABLE)
    assert "as many as it may have" in said, said
    watching.kill()


def strangers_get_a_sentence_and_no_process(folder):
    served = host(folder)
    served.create("town")
    host_name, port = served.address.split(":")
    for sent in (b"\0" * 64, b"x" * 5000, (48).to_bytes(4, "little") + b"\0" * 44, b"\x16\x03\x01" + b"\0" * 100, b"GE"):
        with socket.create_connection((host_name, int(port)), timeout=20) as line:
            line.sendall(sent)
            line.shutdown(socket.SHUT_WR)
            while line.recv(4096):
                pass
    equal(served.ask("GET", "/w/town/session")[0], 426)
    equal(served.ask("GET", "/", Host="evil.example")[0], 421)
    equal(served.ask("GET", "/worlds", Origin="http://evil.example")[0], 403)
    equal(served.ask("POST", "/worlds/town")[0], 405)
    equal(served.ask("GET", "/w/town/../other")[0], 400)
    equal(served.worlds()["town"]["wakes"], 0)
    served.stop()


def files_next_to_a_world_are_served_to_its_visitors_only(folder):
    served = host(folder)
    served.create("town")
    served.create("city")
    (folder.path / "worlds/town/tower.glb").write_text("a tower")
    equal(served.ask("GET", "/w/town/world/tower.glb"), (200, "a tower"))
    equal(served.ask("GET", "/w/town/world/tower.glb", token="wrong")[0], 401)
    equal(served.ask("GET", "/w/city/world/tower.glb")[0], 404)
    equal(served.ask("GET", "/w/town/world/town.muster")[0], 403)
    equal(served.ask("GET", "/w/town/world/%2e%2e/city/city.muster")[0], 400)
    equal(served.worlds()["town"]["wakes"], 0)


def the_command_lists_makes_and_deletes_worlds(folder):
    served = host(folder)

    def worlds(*arguments, exit=0):
        return folder.run("worlds", *arguments, "--connect", served.address, "--token", served.token, exit=exit)

    equal(worlds(), "no worlds\n")
    equal(worlds("create", "the town"), "the town: created\n")
    worlds("copy", "the town", "city")
    listed = worlds("list")
    assert "the town" in listed and "city" in listed and "asleep" in listed, listed
    equal(worlds("wake", "city"), "city: awake\n")
    equal(worlds("sleep", "city"), "city: asleep\n")
    assert "there is already a world" in worlds("create", "city", exit=REFUSED)
    assert "there is no world" in worlds("wake", "nowhere", exit=REFUSED)
    worlds("delete", "city")
    [deleted] = json.loads(worlds("--json"))["deleted"]
    worlds("restore", deleted["id"])
    assert "city" in worlds()
    assert "needs the host's address" in folder.run("worlds", exit=USAGE)


def figures_name_each_world(folder):
    served = host(folder)
    served.create('a "town"')
    served.muster('a "town"', "info")
    status, text = served.ask("GET", "/metrics")
    equal(status, 200)
    assert 'muster_host_world_awake{world="a \\"town\\""} 1' in text, text
    assert re.search(r'muster_host_world_memory_bytes\{world="a \\"town\\""\} [1-9]', text), text


def a_stopping_host_saves_every_world(folder):
    served = with_game(folder)
    for number in range(5):
        served.create(f"w{number}")
        served.muster(f"w{number}", "spawn", "/tower", f"Health.value={number + 40}")
    served.stop()
    equal([path for path in (folder.path / "worlds").glob("*/*-server.json")], [])
    again = with_game(folder)
    for number in range(5):
        assert str(number + 40) in again.muster(f"w{number}", "show", "/tower")


def main():
    tests = [test for name, test in globals().items()
             if getattr(test, "__module__", None) == __name__ and callable(test) and not isinstance(test, type)
             and test.__code__.co_varnames[:test.__code__.co_argcount] == ("folder",)]
    return run_tests([test for test in tests if not sys.argv[6:] or test.__name__ in sys.argv[6:]],
                     lambda path: Folder(path, MUSTER, SERVER))


if __name__ == "__main__":
    sys.exit(main())
