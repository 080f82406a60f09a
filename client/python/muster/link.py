"""Connects a core with a server, and drives operations: for asyncio, and for a program that waits.

Operations (session.py) are coroutines that await only Ask and Wait. `drive` and `drive_async` carry
out what they ask for, so each operation is written once. The connection of a program that waits is
served by one thread in the background, which also keeps idle sessions alive."""
import asyncio
import hashlib
import ipaddress
import os
import socket
import ssl
import struct
import threading

from .batch import frame_of
from .core import Ask, Core, late
from .errors import Late, Lost, Mistaken, MusterError
from .resuming import FIRST_PAUSE_S, PAUSE_MAX_S, NotResumed
from .where import split_world

OUTGOING_BYTES_MAX = 1 << 22
#: A connection on which nothing arrives for so long is lost. The server is asked for a sign of life
#: after a third of it.
SILENCE_MAX_S = 30


class Tls:
    """How a connection is encrypted and the server is recognised: by a certificate authority, or by
    its fingerprint."""

    def __init__(self, cafile=None, fingerprint=None):
        self.cafile = cafile
        self.fingerprint = None
        if fingerprint is not None:
            digits = fingerprint.replace(":", "").lower()
            if len(digits) != 64 or set(digits) - set("0123456789abcdef"):
                raise Mistaken("a fingerprint is the SHA-256 of the server's certificate, as 64 hexadecimal digits")
            self.fingerprint = digits

    def context(self):
        context = ssl.create_default_context(cafile=self.cafile)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        if self.fingerprint is not None and self.cafile is None:
            # check() compares the certificate instead.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context

    def check(self, certificate):
        """Raises Lost if the certificate is not the one whose fingerprint was given."""
        found = hashlib.sha256(certificate or b"").hexdigest()
        if self.fingerprint is not None and found != self.fingerprint:
            raise Lost(f"the server's certificate has the fingerprint {found}, and {self.fingerprint} is expected")


def tls_for(address, cafile=None, fingerprint=None):
    """Returns how a connection is encrypted, or None for one that stays on this machine."""
    if address.startswith("unix:"):
        return None
    if not (address.startswith("tls:") or cafile or fingerprint) and _is_here(address.rsplit(":", 1)[0].strip("[]")):
        return None
    return Tls(cafile, fingerprint)


def _is_here(host):
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_peer(writer, path):
    """Returns True if the process behind a Unix socket belongs to this user or to root. Raises
    Lost."""
    if not hasattr(socket, "SO_PEERCRED"):
        return False
    _, user, _ = struct.unpack("iII", writer.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    own = os.geteuid()
    if user not in (own, 0) and own != 0:
        raise Lost(f"cannot connect to {path}: the process that listens there belongs to another user")
    return user in (own, 0)


class Link:
    """The connection of a session and, if the session resumes, those after it. All coroutines
    run in one event loop."""

    def __init__(self, seconds_max, resumes=False, away_max=None):
        self.core, self.seconds_max, self.away_max = Core(resumes), seconds_max, away_max
        self.core.on_lost = self._lost
        self.address, self.tls = "", None
        # Returns the address, the encryption and the token as they are now, or raises MusterError.
        self.find_again = lambda: (self.address, self.tls, self.token)
        # What a new connection says again.
        self.session, self.token, self.hello = None, "", {}
        # The time without a connection until now, and since when there is none.
        self._away_s, self._lost_at, self._lost_why = 0.0, None, None
        self.loop = asyncio.get_running_loop()
        self.pid = os.getpid()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._reading = self._writing = self._beating = self._listening = self._resuming = self._writer = None
        self.is_trusted = False  # whether it is known that this is the server that was meant

    async def connect(self, address, tls=None):
        """Connects to "host:port", "tls:host:port" or "unix:path". Raises Lost."""
        self.address, self.tls = address, tls
        reader = await self._connect()
        self.core.on_outgoing = self._outgoing
        self._start(reader)

    async def _connect(self):
        address, tls, self.is_trusted = self.address, self.tls, False
        options = {"ssl": tls.context()} if tls is not None else {}
        try:
            if address.startswith("unix:"):
                opened = asyncio.open_unix_connection(address[len("unix:"):])
            else:
                host, port = (address[len("tls:"):] if address.startswith("tls:") else address).rsplit(":", 1)
                if tls is not None:
                    options["server_hostname"] = host.strip("[]")
                opened = asyncio.open_connection(host.strip("[]"), int(port), **options)
            reader, self._writer = await asyncio.wait_for(opened, self.seconds_max)
            if tls is not None:
                tls.check(self._writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
                self.is_trusted = True
            elif address.startswith("unix:"):
                self.is_trusted = _check_peer(self._writer, address)
        except asyncio.TimeoutError:
            raise Lost(f"cannot connect to {address}: no answer within {self.seconds_max:g} s") from None
        except Lost:
            self._writer.close()
            raise
        except (OSError, ssl.SSLError, ValueError) as error:
            raise Lost(f"cannot connect to {address}: {error}") from None
        return reader

    def _start(self, reader):
        self._reading = self.loop.create_task(self._read(reader))
        self._writing = self.loop.create_task(self._write(self._writer))

    # ---- resuming

    def _lost(self, error):
        if self._resuming is None or self._resuming.done():
            self._lost_at, self._lost_why = self.loop.time(), error
            self._room.set()
            self._resuming = self.loop.create_task(self._resume(error))

    async def _resume(self, error):
        """Connects again until the session goes on, or until the server's time for that is over."""
        pause, kept_s = FIRST_PAUSE_S, self.core.welcome.resume_ns_max / 1e9
        while self.core.error is None:
            self._stop()
            if self.loop.time() > self._lost_at + kept_s:
                self.core.end(Lost(f"the session could not be resumed within {kept_s:g} s ({error})", error.code, error.reason))
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, PAUSE_MAX_S)
            try:
                if self.core.moved_to:
                    self._move()
                else:  # a server that was started again has written another address file
                    self.address, self.tls, self.token = self.find_again()
                reader = await self._connect()
            except (Lost, Mistaken):
                continue
            self.core.connected_again()
            self._start(reader)
            try:
                await drive_async(self._greet_again(), self)
            except NotResumed as why:
                self.core.end(Lost(f"{error}; {why}", reason=why.reason))
            except MusterError as why:
                self.core.lose(Lost(str(why)))  # has no effect if the session has ended
            else:
                self._away_s += self.loop.time() - self._lost_at
                self._lost_at = None
                return
        self._stop()

    def _move(self):
        """Goes to the address that the server has named."""
        self.address, self.hello["world"] = split_world(self.core.moved_to)
        self.tls = tls_for(self.address, self.tls and self.tls.cafile, self.tls and self.tls.fingerprint)

    async def _greet_again(self):
        """Says hello on a new connection, and continues the session there."""
        core = self.core
        before, epoch, lineage = core.welcome, core.epoch, core.lineage
        hello = dict(self.hello, resume=before.resume, session=before.session, epoch=epoch, lineage=lineage,
                     secret=before.secret, last_sequence=core.sequence)
        try:
            # A program between client and server can name an address, too. A certificate for that
            # address does not show that it is the server that was meant.
            await self.session._greet(self.token, self.is_trusted and not core.moved_to, hello)
            if not core.welcome.resumed:
                self._writer.write(frame_of(core.control("Goodbye"), 0))  # to the new session
                raise NotResumed(core.welcome.not_resumed_text, reason=core.welcome.not_resumed)
            if core.welcome.schema_fingerprint != before.schema_fingerprint:
                for frame in (await Ask([core.control("GetSchema")], now=True))[0]:
                    core.types._learn(frame.batch.message(0, {}).bytes)
        except BaseException:
            core.welcome, core.epoch, core.lineage = before, epoch, lineage
            raise
        core.go_on(epoch, lineage)

    def _away(self):
        """Returns for how long there has been no connection."""
        return self._away_s + (0 if self._lost_at is None else self.loop.time() - self._lost_at)

    def _stop(self):
        """Ends the tasks of the earlier connection."""
        for task in (self._reading, self._writing):
            task.cancel()
        self._writer.close()

    def welcomed(self):
        """Begins to send heartbeats, which keep an idle session alive, and to mind those of the
        server."""
        self._listening = self.loop.create_task(self._listen(SILENCE_MAX_S))
        silence_s = self.core.welcome.silence_ns_max / 1e9
        if silence_s:
            self._beating = self.loop.create_task(self._beat(max(silence_s / 3, 0.001)))

    def _outgoing(self):
        # Called by any thread.
        if self.core.outgoing_bytes > OUTGOING_BYTES_MAX:
            self._room.clear()
        self._in_loop(self._wake.set)

    def _in_loop(self, call):
        """Calls a function in the thread of the event loop. Called by any thread."""
        try:
            if asyncio.get_running_loop() is self.loop:
                call()
                return
        except RuntimeError:
            pass
        try:
            self.loop.call_soon_threadsafe(call)
        except RuntimeError:
            pass  # the loop has ended, and with it the connection

    async def _read(self, reader):
        try:
            while self.core.error is None and self.core.line != "down":
                data = await reader.read(1 << 16)
                if not data:
                    self.core.lose(Lost("the server closed the connection"))
                else:
                    self.core.receive(data)
        except (OSError, ssl.SSLError) as error:
            self.core.lose(Lost(f"the connection failed: {error}"))

    async def _write(self, writer):
        try:
            while True:
                data = self.core.take_outgoing()
                if data:
                    writer.write(data)
                    await writer.drain()
                    continue
                self._room.set()
                if self.core.error is not None:
                    writer.close()
                    return
                self._wake.clear()
                if not self.core.outgoing_bytes and self.core.error is None:
                    await self._wake.wait()
        except (OSError, ssl.SSLError) as error:
            self._room.set()
            self.core.lose(Lost(f"the connection failed: {error}"))
            writer.close()

    async def _beat(self, every_s):
        while self.core.error is None:
            await asyncio.sleep(every_s)
            try:
                self.core.beat()
            except MusterError:
                return

    async def _listen(self, silence_max_s):
        """Notices if the other side is gone without a word, as after a machine lost its power.
        Counts turns rather than time, since this program may have been halted itself."""
        arrivals, quiet = None, 0
        while self.core.error is None:
            await asyncio.sleep(silence_max_s / 3)
            if self.core.line != "up" or self.core.arrivals != arrivals:
                arrivals, quiet = self.core.arrivals, 0
                continue
            quiet += 1
            if quiet < 3:
                self.core.beat(always=True)
                continue
            writer = self._writer
            self.core.lose(Lost(f"nothing has come from the server for {silence_max_s:g} s"))
            writer.transport.abort()  # what waits to be sent will not be

    def close(self):
        """Ends the session. Calls in progress fail with Lost."""
        self.core.close()
        if self._writer is not None and self._writing is None:
            self._writer.close()
        for task in (self._beating, self._listening, self._resuming):
            if task is not None:
                task.cancel()

    async def finish(self):
        """Waits until everything has been sent and the connection is closed."""
        self.close()
        tasks = [each for each in (self._reading, self._writing, self._beating, self._listening, self._resuming)
                 if each is not None]
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._writer is not None:
            self._writer.close()

    async def perform(self, wish):
        """Does what an operation waits for."""
        if isinstance(wish, Ask):
            return await self._ask(wish)
        return await self._wait(wish)

    async def _ask(self, wish):
        if not self._room.is_set() and not wish.now:
            await self._room.wait()
        self.core.check_epoch(wish.epoch)
        if not wish.answered:
            for batch in wish.batches:
                self.core.post(batch)
            return None
        answers = [self.loop.create_future() for _ in wish.batches]
        ask = self.core.ask_now if wish.now else self.core.ask
        requests = [ask(batch, _teller(answer)) for batch, answer in zip(wish.batches, answers)]
        try:
            done = await self._answered(answers)
        except _Away:
            withdrawn = [self.core.forget(request) for request in requests]
            raise Late(f"the server has been away for {self.away_max:g} s ({self._lost_why}); " + (
                "nothing was sent" if all(withdrawn) else "the request may have been carried out")) from None
        finally:
            for request, answer in zip(requests, answers):
                if not answer.done() or answer.cancelled():
                    self.core.forget(request)
        for each in done:
            if isinstance(each, Exception):
                raise each
        return done

    async def _answered(self, answers):
        """Waits for answers. The time without a connection counts only for `away_max`."""
        away, end = self._away(), self.loop.time() + self.seconds_max
        while not all(each.done() for each in answers):
            gone = self._away() - away
            left = end + gone - self.loop.time()
            if left <= 0:
                raise late(self.seconds_max)
            if self.away_max is not None and self._lost_at is not None:
                left = min(left, self.away_max - gone)
                if left <= 0:
                    raise _Away
            await asyncio.wait(answers, timeout=left)
        return [each.result() for each in answers]

    async def _wait(self, wish):
        woken = asyncio.Event()
        for stream in wish.streams:
            stream.wake = lambda: self._in_loop(woken.set)
        try:
            if any(stream.frames or stream.error is not None for stream in wish.streams):
                return True
            self.core.waits(1)
            try:
                await asyncio.wait_for(woken.wait(), wish.seconds)
            finally:
                self.core.waits(-1)
            return True
        except asyncio.TimeoutError:
            return False
        finally:
            for stream in wish.streams:
                stream.wake = None


class _Away(Exception):
    """A caller has waited long enough for another connection."""


def _teller(answer):
    def told(frames):
        if not answer.done():
            answer.set_result(frames)
    return told


# ---- driving operations
# ---------------------------------------------------------------------------


async def drive_async(operation, link):
    """Carries out an operation in the event loop of its link."""
    send, value = operation.send, None
    while True:
        try:
            wish = send(value)
        except StopIteration as done:
            return done.value
        try:
            send, value = operation.send, await link.perform(wish)
        except (MusterError, asyncio.CancelledError) as error:
            send, value = operation.throw, error


def drive(operation, link):
    """Carries out an operation and waits for it. The link belongs to the background thread."""
    if link.pid != os.getpid():
        raise Lost("this session belongs to the process that this one was forked from; connect again")
    send, value = operation.send, None
    while True:
        try:
            wish = send(value)
        except StopIteration as done:
            return done.value
        try:
            send, value = operation.send, in_background(link.perform(wish))
        except (MusterError, KeyboardInterrupt) as error:
            send, value = operation.throw, error


class _Background:
    """The thread that serves the connections of programs that wait."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.pid = os.getpid()
        threading.Thread(target=self.loop.run_forever, name="muster", daemon=True).start()


_background = None
_background_lock = threading.Lock()


def in_background(coroutine):
    """Runs a coroutine in the background thread and waits for its result."""
    global _background
    with _background_lock:
        if _background is None or _background.pid != os.getpid():
            _background = _Background()  # a forked process does not have its parent's threads
        background = _background
    running = asyncio.run_coroutine_threadsafe(coroutine, background.loop)
    try:
        return running.result()
    except BaseException:
        running.cancel()
        raise
