"""Sessions that go on after their connection was lost."""
import asyncio
import concurrent.futures
import json
import signal
import socket
import struct
import threading
import time
import unittest.mock

import muster
from muster.where import Where
from support import Programs, WorldTest

TOKEN = "the token of these tests, long enough"


class Line:
    """Forwards frames to a server, and ends a connection before the frame after the next `left`."""

    def __init__(self, address):
        self._to = address.rsplit(":", 1)
        self.left, self.frames, self.cuts = None, 0, 0
        self._silent = threading.Event()  # of the connections that exist now
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection((self._to[0], int(self._to[1])))
            except OSError:
                return
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._forward, args=(one, other, self._silent), daemon=True).start()

    def fall_silent(self):
        """Forwards nothing any more on the present connections, and does not end them."""
        self._silent.set()
        self._silent = threading.Event()

    def _is_cut(self):
        with self._lock:
            self.frames += 1
            if self.left is None:
                return False
            self.left -= 1
            if self.left >= 0:
                return False
            self.left, self.cuts = None, self.cuts + 1
            return True

    def _forward(self, one, other, silent):
        kept = b""
        try:
            while True:
                data = one.recv(1 << 16)
                if not data:
                    break
                if silent.is_set():
                    continue
                kept += data
                while len(kept) >= 4 and len(kept) >= struct.unpack_from("<I", kept)[0]:
                    size = struct.unpack_from("<I", kept)[0]
                    if self._is_cut():
                        return
                    other.sendall(kept[:size])
                    kept = kept[size:]
        except OSError:
            pass
        finally:
            for each in (one, other):
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


class Resume(WorldTest):
    def serve_with_token(self, *options):
        (self.path / "token").write_text(TOKEN + "\n")
        (self.path / "token").chmod(0o600)
        return self.serve("--token-file", "token", "--unix", "w.sock", *options)

    def restart(self):
        self.server.kill()
        self.server.wait()
        return self.serve_with_token()

    def play(self, world, name):
        """Does what would be seen if it were done twice or not at all."""
        steps = world.ask("GetHistory", limit=1).undo_steps
        with world.watch() as watch, world.people() as people:
            with world.transaction("make") as edits:
                made = edits.create(name)
                edits.set(made, ("Health", {"value": 1}))
            for value in (2, 3):
                world.set_field(made, "Health.value", value)
            watch.catch_up()
            self.assertEqual((watch[made].name, watch[made]["Health"].value), (name, 3))
            self.assertIn(world.welcome.session, people.here)
        self.assertEqual(world.ask("GetHistory", limit=1).undo_steps, steps + 3)

    def test_a_session_that_is_cut_at_any_message_boundary_does_each_step_once_and_its_watch_misses_nothing(self):
        self.serve_with_token()
        line = Line(json.loads((self.path / "w.muster-server.json").read_text())["address"])
        self.addCleanup(line.close)
        whole = self.connect(line.address, token=TOKEN, resumes=True)
        before = line.frames
        self.play(whole, "whole")
        frames, resumed = line.frames - before, 0
        self.assertGreater(frames, 15)
        for left in range(frames):
            with muster.connect(line.address, token=TOKEN, resumes=True) as world:
                line.left = left
                self.play(world, f"cut {left}")
                line.left = None
                resumed += world.resumed
        self.assertGreater(resumed, frames // 2)
        self.assertEqual(line.cuts, resumed)

    def test_a_session_goes_on_with_a_server_that_was_killed_and_started_again(self):
        path = self.serve_with_token()
        world = self.connect(path, resumes=True)
        orc = world.create("orc", ("Health", {"value": 1}))
        world.wait_durable(world.rename(orc, "kept"))
        world.set_presence(selection=[orc])
        number = world.welcome.session
        with world.watch() as watch, world.people() as people:
            for i in range(3):
                epoch = world.epoch
                renamer = threading.Timer(0.05, self.restart)
                self.server.kill()
                self.server.wait()
                renamer.start()
                ack = world.rename(orc, f"again {i}")
                renamer.join()
                self.assertNotEqual((world.epoch, ack.epoch), (epoch, epoch))
                while watch[orc].name != f"again {i}":
                    self.assertIsNotNone(watch.next(30))
                world.wait_durable(world.rename(world.create("new"), f"made {i}"))
                watch.catch_up()
                self.assertEqual(len(watch), 2 + i)
            self.assertEqual(world.resumed, 3)
            self.assertIn(number, list(world.ask("ListSessions").sessions))
            bob = self.connect(path, name="Bob")
            while "Bob" not in [each.name for each in people.here.values()]:
                self.assertIsNotNone(people.next(30))
            self.assertEqual([each.selection for each in bob.presence() if each.session == number], [[orc]])

    def test_a_session_goes_to_the_address_that_a_server_names_before_it_stops(self):
        path = self.serve_with_token()
        address = json.loads((self.path / "w.muster-server.json").read_text())["address"]
        with socket.create_server(("127.0.0.1", 0)) as taken:
            elsewhere = f"127.0.0.1:{taken.getsockname()[1]}"
        world = self.connect(address, token=TOKEN, resumes=True)
        with world.watch() as watch:
            orc = world.create("orc", ("Health", {"value": 1}))
            world.wait_durable(world.rename(orc, "kept"))
            self.connect(path).ask("Drain", time_ns=0, resume_at=elsewhere)
            self.assertEqual(self.server.wait(timeout=20), 0)
            self.server = self.folder.start(Programs.server, "w.muster", "--token-file", "token", "--listen", elsewhere, "--quiet")
            world.set_field(orc, "Health.value", 2)
            watch.catch_up()
            self.assertEqual((world.resumed, watch[orc].name, watch[orc]["Health"].value), (1, "kept", 2))
            self.assertEqual(json.loads((self.path / "w.muster-server.json").read_text())["address"], elsewhere)

    def test_what_the_world_lost_with_its_server_leaves_the_watch(self):
        path = self.serve_with_token("--durability", "checkpoint", "--autosave", "0")
        world = self.connect(path, resumes=True)
        kept = world.create("kept", ("Health", {"value": 1}))
        world.save()
        with world.watch() as watch:
            world.set_field(kept, "Health.value", 2)
            lost = world.create("lost")
            watch.catch_up()
            seen = watch.sequence
            self.restart()
            while lost in watch.entities:
                changes = watch.next(30)
                self.assertIsNotNone(changes)
            self.assertFalse(watch.changes_since(seen).complete)
            world.set_field(kept, "Health.value", 3)  # has the sequence of an edit that was lost
            watch.catch_up()
            self.assertFalse(watch.changes_since(seen).complete)
            world.set_field(kept, "Health.value", 1)
            watch.catch_up()
            self.assertEqual([each.entity for each in changes.destroyed], [lost])
            self.assertEqual(watch[kept]["Health"].value, 1)
            self.assertEqual(list(watch.entities), [kept])

    def test_a_session_that_cannot_be_resumed_ends_with_the_reason(self):
        path = self.serve_with_token("--limit", "resume_ns_max=100000000")
        world = self.connect(path, resumes=True)
        self.server.kill()
        with self.assertRaisesRegex(muster.Lost, r"^the session could not be resumed within 0\.1 s \(the .*(closed|failed)"):
            world.create("orc")
        self.assertIsInstance(world.ended, muster.Lost)
        plain = self.connect(self.restart())
        self.server.kill()
        with self.assertRaises(muster.Lost):
            while True:
                plain.info()
        self.assertEqual(plain.resumed, 0)

    def test_a_session_follows_its_server_to_another_address_and_another_token(self):
        path = self.serve()
        world = self.connect(path, resumes=True)
        address, token = world.where.address, world.where.token
        orc = world.create("orc")
        world.wait_durable(world.rename(orc, "kept"))
        self.server.kill()
        self.server.wait()
        self.serve()
        beside = json.loads((self.path / "w.muster-server.json").read_text())
        self.assertNotEqual((beside["address"], beside["token"]), (address, token))
        self.assertEqual(world.show("kept").entity, orc)
        self.assertEqual(world.resumed, 1)

    def test_a_session_goes_on_after_its_server_was_drained(self):
        path = self.serve("--drain-time", "1")
        world = self.connect(path, resumes=True)
        orc = world.create("orc")
        self.server.send_signal(signal.SIGUSR2)
        world.rename(orc, "kept")
        self.assertEqual(self.server.wait(20), 0)
        self.serve()
        self.assertEqual((world.show(orc).name, world.resumed), ("kept", 1))

    def away(self, world):
        """Ends the server, and returns once the client knows."""
        self.server.kill()
        self.server.wait()
        until = time.monotonic() + 20
        while world.core.line != "down":
            self.assertLess(time.monotonic(), until)
            time.sleep(0.005)

    def test_a_request_that_was_made_without_a_connection_is_sent_on_the_next_one(self):
        path = self.serve_with_token()
        world = self.connect(path, resumes=True)
        orc = world.create("orc", ("Health", {"value": 1}))
        world.wait_durable(world.set_field(orc, "Health.value", 2))
        self.away(world)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            undone = pool.submit(world.undo)  # would be wrong if it were done twice
            edit = world.transaction("made without a connection")
            with self.assertRaises(concurrent.futures.TimeoutError):
                undone.result(0.2)
            self.serve_with_token()
            self.assertEqual(undone.result(60).done, 1)
            edit.expect(orc, "Health.value", 1)
            edit.rename(orc, "ork")
            edit.commit()
        self.assertEqual((world.show(orc).name, world.resumed), ("ork", 1))

    def test_a_conditional_step_without_an_answer_is_sent_again(self):
        path = self.serve_with_token()
        line = Line(json.loads((self.path / "w.muster-server.json").read_text())["address"])
        self.addCleanup(line.close)
        world = self.connect(line.address, token=TOKEN, resumes=True)
        orc = world.create("orc", ("Health", {"value": 1}))
        for left in (0, 1):
            with world.transaction() as edit:
                edit.expect(orc, "Health.value", 1 + left)
                edit.set_field(orc, "Health.value", 2 + left)
                line.left = left
        self.assertEqual((world.show(orc)["Health"].value, world.resumed), (3, 2))

    def test_a_call_that_waits_no_longer_for_a_connection_is_withdrawn(self):
        path = self.serve_with_token()
        world = self.connect(path, resumes=True, away_max=0.3)
        world.wait_durable(world.rename(world.create("orc"), "kept"))
        self.away(world)
        with self.assertRaisesRegex(muster.Late, "away for 0.3 s .*; nothing was sent"):
            world.rename("kept", "never")
        self.serve_with_token()
        until = time.monotonic() + 20
        while world.core.line != "up":
            self.assertLess(time.monotonic(), until)
            time.sleep(0.005)
        self.assertEqual([each.path for each in world.find()], ["/kept"])

    def test_an_id_that_must_be_asked_for_is_not_waited_for_longer_than_other_answers(self):
        path = self.serve_with_token()
        world = self.connect(path, resumes=True, away_max=0.3)
        self.away(world)
        with self.assertRaisesRegex(muster.Late, "away for 0.3 s .*; nothing was sent"):
            with world.transaction() as edit:
                for _ in range(100):
                    edit.create()

    def test_a_program_that_ends_while_the_server_is_away_does_not_wait_for_it(self):
        path = self.serve_with_token()
        world = self.connect(path, resumes=True)
        with self.assertRaises(SystemExit):
            with world, world.watch() as watch, world.events() as events, world.people() as people:
                self.away(world)
                raise SystemExit(1)
        self.assertRegex(str(world.ended), "the session was closed")
        for each in (watch, events, people):
            each.close()

    def test_a_watch_that_is_closed_while_the_server_is_away_is_not_resumed(self):
        path = self.serve_with_token("--page", "none")
        line = Line(json.loads((self.path / "w.muster-server.json").read_text())["address"])
        self.addCleanup(line.close)
        world = self.connect(line.address, token=TOKEN, resumes=True)
        watch = world.watch()
        other = world.watch()
        line.left = 0
        world.core.beat(always=True)  # is not forwarded
        until = time.monotonic() + 20
        while world.core.line == "up" and not line.cuts:
            self.assertLess(time.monotonic(), until)
        watch.close()
        orc = world.create("orc")
        other.catch_up()
        self.assertEqual((orc in other.entities, world.resumed), (True, 1))
        self.assertEqual(world.core.watches.keys(), {other._inner._stream.request})
        other.close()
        self.assertEqual(world.info().entities, 1)

    def test_a_connection_that_falls_silent_is_replaced(self):
        path = self.serve_with_token()
        line = Line(json.loads((self.path / "w.muster-server.json").read_text())["address"])
        self.addCleanup(line.close)
        with unittest.mock.patch("muster.link.SILENCE_MAX_S", 0.6):
            world = self.connect(line.address, token=TOKEN, resumes=True)
            plain = self.connect(line.address, token=TOKEN)
            person = self.connect(path)
            with world.watch() as watch:
                line.fall_silent()
                orc = person.create("orc")
                while orc not in watch.entities:
                    self.assertIsNotNone(watch.next(30))
            self.assertEqual(world.resumed, 1)
            with self.assertRaisesRegex(muster.Lost, "nothing has come from the server for 0.6 s"):
                with plain.watch() as watch:
                    watch.next(30)
            time.sleep(1.5)  # a quiet server answers heartbeats
            self.assertEqual((world.resumed, world.info().entities), (1, 1))

    def test_the_asyncio_client_resumes_too(self):
        path = self.serve_with_token()

        async def script():
            async with await muster.connect_async(path, resumes=True) as world:
                orc = await world.create("orc")
                await world.wait_durable(await world.rename(orc, "kept"))
                self.server.kill()
                self.server.wait()
                renames = asyncio.gather(*(world.rename(orc, f"again {i}") for i in range(3)))
                await asyncio.to_thread(self.serve_with_token)
                await renames
                self.assertEqual((await world.show(orc)).name, "again 2")
                self.assertEqual(world.resumed, 1)
        asyncio.run(asyncio.wait_for(script(), 60))


class WorldNames(WorldTest):
    def test_an_address_names_a_world_of_a_host(self):
        for text, address, world, page in [("h:7717/town", "h:7717", "town", "h:7717/w/town"),
                                           ("tls:h:7717/a%b", "tls:h:7717", "a%b", ""), ("h:7717", "h:7717", "", "h:7717"),
                                           ("unix:/run/a/b.sock", "unix:/run/a/b.sock", "", "")]:
            found = Where(text, "token")
            self.assertEqual((found.address, found.world, found.page), (address, world, page))

    def test_the_name_reaches_the_server_which_ignores_it_if_it_has_one_world(self):
        self.serve()
        beside = json.loads((self.path / "w.muster-server.json").read_text())
        world = self.connect(beside["address"] + "/town", token=beside["token"])
        self.assertEqual(world.info().entities, 0)
