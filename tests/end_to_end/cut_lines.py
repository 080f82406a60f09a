#!/usr/bin/env python3
"""Two users edit over TLS while their line is cut, reset, delayed and crossed at the boundary of
every TLS record, and while the server is killed: each edit that was acknowledged as durable is
there once, none is there twice, and each user can undo exactly the own steps.

`cut_lines.py MUSTER SERVER GAME_BFBS [ROUNDS]`: 1 round over chosen boundaries if not given, else
ROUNDS rounds over all of them. If the system permits it, everything runs in a network namespace, in
which the server has an address that is not of the loopback interface, and the line is also dead for
a while without an end of its connections. The last line is `N passed, N failed`."""
import itertools
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parents[1] / "client" / "python")]
import muster  # noqa: E402
from programs import Folder, equal, run_tests  # noqa: E402

MUSTER, SERVER, GAME = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
ROUNDS = int(sys.argv[4]) if sys.argv[4:] else 0
WORLD = "w.muster"
IN_NAMESPACE = "MUSTER_TEST_NAMESPACE"
HOST = "10.77.0.1" if os.environ.get(IN_NAMESPACE) else "127.0.0.1"


def close(line, pair):
    line.end(pair)


def reset(line, pair):
    for each in pair:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.end(pair)


def delay(line, pair):
    time.sleep(0.1)


def cross(line, pair):
    """Connects each client with the other one's connection to the server."""
    line.cross()


def kill(line, pair):
    line.kill()


def go_dead(line, pair):
    """The network is gone for a moment, and no connection ends."""
    subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
    time.sleep(0.1)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


KINDS = [close, reset, delay, cross, kill] + ([go_dead] if os.environ.get(IN_NAMESPACE) else [])


class TlsLine:
    """Forwards TLS records, and does something to a connection before one of them."""

    def __init__(self, kill_server):
        self.kill = kill_server
        self.records, self.left, self.kind, self.done = 0, None, None, 0
        self._lock = threading.Lock()
        self._pairs = []  # of open connections: [to the client, to the server]
        self._listener = socket.create_server((HOST, 0))
        self.port = self._listener.getsockname()[1]
        self.to = None
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def end(self, pair):
        for each in pair:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def cross(self):
        with self._lock:
            if len(self._pairs) >= 2:
                one, other = self._pairs[-2:]
                one[1], other[1] = other[1], one[1]

    def plan(self, left, kind):
        """`kind` happens before the record after the next `left`."""
        with self._lock:
            self.left, self.kind = left, kind

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection((HOST, self.to), timeout=20)
                far.settimeout(None)
            except OSError:
                near.close()
                continue
            for each in (near, far):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair = [near, far]
            with self._lock:
                self._pairs.append(pair)
            for side in (0, 1):
                threading.Thread(target=self._forward, args=(pair, side), daemon=True).start()

    def _next(self):
        """Counts a record, and returns what happens before it."""
        with self._lock:
            self.records += 1
            if self.left is None:
                return None
            self.left -= 1
            if self.left >= 0:
                return None
            self.left, self.done = None, self.done + 1
            return self.kind

    def _forward(self, pair, side):
        kept, source = b"", pair[side]
        try:
            while True:
                data = source.recv(1 << 16)
                if not data:
                    break
                kept += data
                while len(kept) >= 5 and len(kept) >= 5 + struct.unpack_from(">H", kept, 3)[0]:
                    size = 5 + struct.unpack_from(">H", kept, 3)[0]
                    act = self._next()
                    if act is not None:
                        act(self, pair)
                    self._target(pair, side, source).sendall(kept[:size])
                    kept = kept[size:]
        except OSError:
            pass
        finally:
            with self._lock:
                if pair in self._pairs:
                    self._pairs.remove(pair)
            self.end(pair)

    def _target(self, pair, side, source):
        with self._lock:
            # After a crossing, another pair has this connection to the server.
            now = pair if side == 0 else next((each for each in self._pairs if each[1] is source), pair)
            return now[1 - side]


class Person:
    """A user, and what this user's edits have made of the user's own entity."""

    def __init__(self, name, line, token, fingerprint):
        self.name, self.number, self.steps = name, 0, 0
        self.world = muster.connect(f"tls:{HOST}:{line.port}", token=token, fingerprint=fingerprint, resumes=True, timeout=60)
        self.entity = self.world.create(name, ("Unit", {"speed": 0}))
        self.value = 0
        self.settle(lambda: any(child.name == name for child in self.world.children()))
        self.watch = self.world.watch(self.entity)

    def settle(self, is_there):
        """Counts an edit once it is known whether it is in the world, and makes that durable."""
        until = time.monotonic() + 60
        epoch = None
        while True:
            if self.world.epoch != epoch:  # the edit may be lost with the server
                epoch, made, sequence = self.world.epoch, is_there(), self.world.info().sequence
            durable = self.world.ask("FollowDurable").sequence
            if self.world.epoch == epoch and durable >= sequence:
                break
            assert time.monotonic() < until, (durable, sequence)
        self.steps += 1 if made else 0
        return made

    def edit(self):
        self.number += 1
        number = self.number
        self.world.set_field(self.entity, "Unit.speed", number)
        # An edit that was acknowledged, but not durable, goes with a server that is killed.
        if self.settle(lambda: self.world.show(self.entity)["Unit"].speed == number):
            self.value = number
        self.watch.catch_up()
        equal(self.watch[self.entity]["Unit"].speed, self.value)

    def check(self):
        equal(self.world.show(self.entity)["Unit"].speed, self.value)
        equal(self.world.ask("GetHistory", limit=1).undo_steps, self.steps)


class Town:
    """A server that can be killed, the line to it, and two people."""

    def __init__(self, folder):
        self.folder, self.kills = folder, 0
        (folder.path / "token").write_text("the token of these tests\n")
        self.line = TlsLine(self.kill)
        self.port = 0
        self.start()
        entry = json.loads((folder.path / f"{WORLD}-server.json").read_text())
        with muster.connect(folder.path / WORLD) as owner:
            tokens = [owner.ask("CreateToken", name=name, role=2).token for name in ("anna", "ben")]
        self.people = [Person(name, self.line, token, entry["tls"]) for name, token in zip(("anna", "ben"), tokens)]

    def start(self):
        self.server = self.folder.start(
            SERVER, WORLD, "--schema", GAME, "--listen", f"{HOST}:{self.port}", "--self-signed", "--token-file", "token",
            "--durability", "each_flush", "--quiet")
        self.port = self.line.to = int(self.folder.served_by(WORLD, self.server)["address"].rsplit(":", 1)[1])

    def kill(self):
        self.kills += 1
        self.server.kill()
        self.server.wait()
        self.start()

    def play(self):
        """One scene: each of the two edits twice, at the same time."""
        failed = []

        def act(person):
            try:
                for _ in range(2):
                    person.edit()
            except Exception as error:
                failed.append((person.name, error))

        threads = [threading.Thread(target=act, args=(person,)) for person in self.people]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert not failed, failed
        for person in self.people:
            person.check()


def boundaries(count):
    """The boundary and what happens there, for each scene."""
    if ROUNDS > 0:
        return [(left, kind) for _ in range(ROUNDS) for left in range(count) for kind in KINDS]
    chosen = itertools.cycle(KINDS)
    return [(left, next(chosen)) for left in range(0, count, max(1, count // 12))]


def each_durable_edit_is_there_once_however_the_line_is_cut(folder):
    town = Town(folder)
    before = town.line.records
    town.play()
    count = town.line.records - before
    assert count > 30, count
    scenes = boundaries(count)
    for left, kind in scenes:
        town.line.plan(left, kind)
        try:
            town.play()
        except Exception as error:
            raise AssertionError(f"after {kind.__name__} at boundary {left} of {count}") from error
    resumed = sum(person.world.resumed for person in town.people)
    print(f"{len(scenes)} scenes, {town.line.done} cuts, {town.kills} kills, {resumed} resumed, {count} boundaries", flush=True)
    assert town.line.done >= len(scenes) * 0.8 and resumed >= len(scenes) // 4, (town.line.done, resumed)
    town.line.plan(None, None)
    anna, ben = town.people
    for person in town.people:
        person.world.wait_durable(person.world.info().sequence)
    # Each undoes all of the own steps, and nothing of the other's.
    for _ in range(anna.steps):
        equal(anna.world.undo().done, 1)
    equal(ben.world.show(ben.entity)["Unit"].speed, ben.value)
    equal(anna.world.ask("GetHistory", limit=1).undo_steps, 0)
    equal([child.name for child in ben.world.children()], ["ben"])
    for _ in range(ben.steps):
        equal(ben.world.undo().done, 1)
    equal(ben.world.children(), [])
    town.line.close()


def in_namespace():
    """Runs this program again in a network namespace. Returns if that is not permitted."""
    if os.environ.get(IN_NAMESPACE) is not None:
        return
    network = "ip addr add 10.77.0.1/32 dev lo && ip link set lo up"
    ways = [["unshare", "-n"], ["unshare", "-rn"]]
    for way in ways:
        try:
            tried = subprocess.run([*way, "sh", "-c", network], capture_output=True, timeout=20, check=False)
        except OSError:
            continue
        if tried.returncode == 0:
            os.environ[IN_NAMESPACE] = "1"
            os.execvp(way[0], [*way, "sh", "-c", f'{network} && exec "$0" "$@"', sys.executable, *sys.argv])
    print("no network namespace: the server has an address of the loopback interface", flush=True)


if __name__ == "__main__":
    in_namespace()
    sys.exit(run_tests([each_durable_edit_is_there_once_however_the_line_is_cut],
                       lambda path: Folder(path, MUSTER, SERVER), seconds=240 if ROUNDS == 0 else 24 * 3600))
