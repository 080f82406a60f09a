"""How a server ends, and what it does when its log is not read."""
import json
import os
import pathlib
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request

from shared import GAME, SERVER, SESSION, equal, game, holds

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
from session import NIL, TABLE, Batch, Message, Types, batch_bytes  # noqa: E402


def a_sighup_saves_and_ends_a_server_unless_it_is_ignored(folder):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
    folder.run("new", "game.muster", "--schema", GAME)
    server = folder.serve("game.muster", "--autosave", "0", "--durability", "checkpoint")
    folder.run("spawn", "/orc")
    server.send_signal(signal.SIGHUP)
    equal(server.wait(timeout=20), 0)
    server = folder.start("nohup", SERVER, "game.muster", "--listen", "127.0.0.1:0", stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    folder.served_by("game.muster", server)
    server.send_signal(signal.SIGHUP)
    equal([entity["name"] for entity in folder.json("ls")], ["orc"])
    server.send_signal(signal.SIGTERM)
    equal(server.wait(timeout=20), 0)


def a_file_that_may_not_grow_refuses_edits_and_the_server_goes_on(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    size = (folder.path / "game.muster").stat().st_size
    server = folder.start(SERVER, "game.muster", "--listen", "127.0.0.1:0", "--quiet", stderr=subprocess.PIPE,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40_000, resource.RLIM_INFINITY)))
    folder.served_by("game.muster", server)
    until = time.monotonic() + 20
    number = 0
    while not folder.json("info")["error"]:
        assert time.monotonic() < until and server.poll() is None, server.poll()
        ran = subprocess.run([folder.commands[0], "push", "@world", "game.Damage", "amount=1"], cwd=folder.path, env=folder.environment,
                             capture_output=True, timeout=60, check=False)
        assert ran.returncode in (0, 1), ran.stderr
        subprocess.run([folder.commands[0], "spawn", f"/e{number}" + "x" * 200], cwd=folder.path, env=folder.environment, capture_output=True,
                       timeout=60, check=False)
        number += 1
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    folder.run("save")
    equal(folder.json("info")["error"], "")
    server.send_signal(signal.SIGTERM)
    equal(server.wait(timeout=20), 0)


def a_bus_error_is_named(folder):
    server = folder.serve("w.muster")
    server.send_signal(signal.SIGBUS)
    equal(server.wait(timeout=20), -signal.SIGBUS)
    holds(server.stderr.read(), "SIGBUS: a file that is mapped into memory was truncated")


def full_log(folder, *arguments):
    """A server whose stderr is a pipe that is not read."""
    folder.run("new", "game.muster", "--schema", GAME)
    read, write = os.pipe()
    server = folder.start(SERVER, "game.muster", "--listen", "127.0.0.1:0", "--unix", "s", *arguments, stderr=write)
    os.close(write)
    served = folder.served_by("game.muster", server)
    types = Types()
    types.add(SESSION.read_bytes())
    value = {"protocol": 1, "protocol_oldest": 1, "token": served["token"], "name": "n" * 60, "kind": "k" * 60}
    batch = batch_bytes(types, Batch("muster.session.Hello", TABLE, [Message(NIL, value, {})]))
    hello = struct.pack("<IIQ", 16 + len(batch), 0, 1) + batch
    host, port = served["address"].split(":")

    def come_and_go(times):
        for _ in range(times):
            with socket.create_connection((host, int(port)), timeout=20) as client:
                client.sendall(hello)
                assert client.recv(16), "no welcome"

    return server, served, read, come_and_go


def a_log_that_is_not_read_delays_no_answer_and_lost_lines_are_counted(folder):
    server, served, read, come_and_go = full_log(folder)

    def lost():
        with urllib.request.urlopen(f"http://{served['address']}/metrics", timeout=20) as metrics:
            lines = metrics.read().decode().splitlines()
        return int(next(line for line in lines if line.startswith("muster_log_lines_lost_total ")).split()[1])

    equal(lost(), 0)
    longest = 0
    until = time.monotonic() + 60
    while lost() == 0:
        assert time.monotonic() < until, "the log takes everything"
        threads = [threading.Thread(target=come_and_go, args=(200,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            begun = time.monotonic()
            folder.run("info")
            longest = max(longest, time.monotonic() - begun)
        for thread in threads:
            thread.join()
    assert longest < 5, f"info took {longest} s"
    folder.run("spawn", "/orc", "--durable")
    count = lost()
    log = b""
    while b"lines of the log were lost" not in log:
        log += os.read(read, 1 << 16)
    assert count > 0 and log.count(b"welcomed") > 100, count
    os.close(read)
    server.send_signal(signal.SIGTERM)
    equal(server.wait(timeout=20), 0)


def a_server_whose_log_is_not_read_saves_and_ends_when_it_is_asked_to(folder):
    server, _, read, come_and_go = full_log(folder, "--autosave", "0")
    come_and_go(1000)
    folder.run("spawn", "/orc")
    server.send_signal(signal.SIGTERM)
    equal(server.wait(timeout=10), 0)
    os.close(read)
    folder.serve("game.muster")
    equal([entity["name"] for entity in folder.json("ls")], ["orc"])


def who_was_kicked_is_told_so_and_may_come_again(folder):
    with game(folder):
        token = folder.json("token", "create", "ann", "--role", "view")["token"]
        watching = folder.start(folder.commands[0], "watch", "--token", token, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while len(folder.json("who")) < 2:
            time.sleep(0.01)
        equal(folder.json("kick", "ann"), {"name": "ann", "sessions": 1})
        watching.wait(timeout=20)
        holds(watching.stderr.read(), "an admin ended the sessions of user ann")
        equal(folder.run("kick", "ann"), "0 sessions ended\n")
        holds(folder.error(1, "kick", "bob"), 'there is no user "bob"')
        holds(folder.error(1, "kick", "ann", "--token", token), "admin")
        folder.run("ls", "--token", token)


def what_a_user_left_is_shown_removed_and_brought_back(folder):
    with game(folder):
        token = folder.json("token", "create", "ann", "--role", "control")["token"]
        by_ann = ("--token", token)
        folder.run("spawn", "/yard", *by_ann)
        folder.run("spawn", "/yard/dog", "Health.value=3", *by_ann)
        folder.run("spawn", "/yard/dog/flea")
        folder.run("token", "revoke", "ann")
        before = folder.run("tree")
        equal(folder.run("remove-of", "ann", "--dry"), "would remove 2 entities with 1 of others below them, 0 templates, 0 timers, 2 steps of the history\n")
        equal(folder.run("tree"), before)
        done = folder.json("remove-of", "ann")
        equal({key: done[key] for key in ("user", "dry", "timers", "templates", "entities", "others", "steps")},
              {"user": 1, "dry": False, "timers": 0, "templates": 0, "entities": 2, "others": 1, "steps": 2})
        equal([entity["name"] for entity in folder.json("ls")], ["town"])
        folder.run("undo")
        equal(folder.json("show", "/yard/dog")["components"]["game.Health"]["value"], 3)
        holds(folder.run("remove-of", "1", "--dry"), "would remove 2 entities")
        holds(folder.error(1, "remove-of", "bob"), 'there is no user "bob"')


def a_user_has_a_share_of_sessions_and_the_owner_always_gets_in(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = folder.serve("game.muster", "--limit", "sessions_max=4", "--limit", "user_sessions_max=3")
    token = folder.json("token", "create", "ann", "--role", "view")["token"]
    watches = [folder.start(folder.commands[0], "watch", "--token", token, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(4)]
    until = time.monotonic() + 20
    while sum(watch.poll() is not None for watch in watches) < 1 or folder.json("info")["sessions"] < 4:
        assert time.monotonic() < until
        time.sleep(0.01)
    holds(next(watch for watch in watches if watch.poll() is not None).stderr.read(),
          "all sessions of user 1 together would have 4 sessions; one user may have 3 (--limit user_sessions_max=3)")
    equal(folder.json("kick", "ann")["sessions"], 3)
    equal(json.loads(folder.run("token", "revoke", "ann", "--json"))["user"], 1)
    folder.stop(server)
