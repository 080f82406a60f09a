"""A session of the protocol without a connection: bytes go in and come out, and nothing here waits.

`receive` takes bytes from the server, and `take_outgoing` returns those for it. A caller gets
the frames of the answer by a callback. All methods are called by one thread."""
import collections
import struct
import threading

from .batch import Batch, Frames, frame_of, struct_batch, table_batch, WORLD
from .bootstrap import bootstrap
from .errors import Late, Lost, Mistaken, MusterError, ProtocolError, Refused
from .ids import hash64, nil
from .resuming import RESUMABLE, KeptWatch, Sent, go_on, is_change
from .types import Types
from .values import Place, codec_of

PROTOCOL_NEWEST, PROTOCOL_OLDEST = 1, 1
FRAME_BYTES_MAX_BEFORE_WELCOME = 1 << 20
#: Bytes of watches that may be on their way or waiting for the program.
CREDIT_BYTES = 1 << 19
#: Limit on the bytes of a watch that wait for the program. Beyond it, the watch ends.
UNREAD_BYTES_MAX = 64 << 20

SESSION = "muster.session."


class Ask:
    """An operation awaits this: batches to send, and an answer to each, or to none of them.

    `epoch` is the epoch for which edits were made; nothing is sent if a run has begun or ended
    since. With `now`, the batches are sent although the session has not been resumed yet."""

    __slots__ = ("batches", "answered", "epoch", "now")

    def __init__(self, batches, answered=True, epoch=None, now=False):
        self.batches, self.answered, self.epoch, self.now = batches, answered, epoch, now

    def __await__(self):
        return (yield self)


class Wait:
    """Waits until one of several streams has a frame or has ended. The answer is False if none has
    in time."""

    __slots__ = ("streams", "seconds")

    def __init__(self, streams, seconds):
        self.streams, self.seconds = streams, seconds

    def __await__(self):
        return (yield self)


class Stream:
    """Frames under one request that arrive over time: a watch, or those that come unasked."""

    def __init__(self, core, request):
        self.core, self.request = core, request
        self.frames, self.error = collections.deque(), None
        self.unread = 0  # bytes of the frames
        self.wake = None

    def put(self, frame):
        self.frames.append(frame)
        self.unread += frame.bytes
        self._tell()

    def end(self, error):
        self.error = error
        self._tell()

    def _tell(self):
        if self.wake is not None:
            self.wake()

    def take(self):
        """Returns the next frame, or None. Raises the error that ended the stream once there is no
        frame left."""
        if self.frames:
            frame = self.frames.popleft()
            self.unread -= frame.bytes
            self.core.consumed(frame.bytes)
            return frame
        if self.error is not None:
            raise self.error
        return None


class Core:
    def __init__(self, resumes=False):
        self.types = Types()
        self.types._add(*bootstrap(), provisional=True)
        self.lock = threading.RLock()
        self.epoch, self.playing, self.sequence = 0, False, 0
        self.sequence_before = 0  # the newest sequence that earlier connections told
        self.earlier_epochs = set()
        self.welcome = None
        self.words = {0: ""}
        self.told = set()  # texts that this session has registered
        self.grants = []  # of ids: [first, end]
        self.error = None
        self.resumes = resumes
        self.moved_to = ""  # the address at which the session is resumed, if another one
        # "greeting": connected again, but the session has not been resumed yet.
        self.line = "up"
        self.lineage, self.run_epochs = 0, set()
        self.unanswered = {}  # requests of a session that can be resumed, in order
        self.watches = {}
        self.registered = set()  # texts that edits of this epoch may refer to
        self.held_posts = []
        self.resumed = 0  # counts how often
        self.presence = None  # the fields of the last SetPresence
        self.has_sent = False
        self.arrivals = 0  # counts how often bytes have come from the server
        self._buffered = []  # requests whose frames take_outgoing() has not returned
        self.on_outgoing = lambda: None
        self.on_lost = lambda error: None
        self._frames = Frames(FRAME_BYTES_MAX_BEFORE_WELCOME)
        self._outgoing = bytearray()
        self._last_request = 0
        self._waiting = {}
        self._streams = {}
        self._followed = {}
        self._every = set()  # names of messages of which not only the newest matters
        self._received = self._credit_through = self._held = 0
        self._waits = 0  # callers that wait for a stream without frames

    # ---- sending

    def control(self, name, /, **fields):
        """Returns the batch of a message of muster.session."""
        type_ = self.types.find(SESSION + name)
        value = codec_of(type_).cls(**fields)
        if type_.is_struct:
            return struct_batch(type_, [(nil, value, {})], [], set(), kind=WORLD)
        return table_batch(type_, [(nil, value)], set())

    def _put(self, batch, request):
        if self.error is not None:
            raise self.error
        limit = self.welcome.frame_bytes_max if self.welcome is not None else FRAME_BYTES_MAX_BEFORE_WELCOME
        if len(batch) + 16 > limit:
            raise Refused(f"a batch of {len(batch)} bytes was not sent, because the server accepts frames of at most {limit}",
                          reason="oversized")
        if self.line == "up":  # otherwise, go_on() sends it
            self._transmit(batch, request)

    def _transmit(self, batch, request):
        self.has_sent = True
        if self.can_resume:
            self._buffered.append(request)
        self._outgoing += frame_of(batch, request)
        self.on_outgoing()

    def post(self, batch):
        """Sends a batch that is not answered. Without a connection, it waits until there is one."""
        with self.lock:
            if self.line != "up" and self.error is None:
                self.held_posts.append(batch)
            self._put(batch, 0)

    def ask(self, batch, told):
        """Sends a batch and returns its request. `told` receives the frames of the answer, or an
        error."""
        with self.lock:
            request = self._last_request + 1
            self._put(batch, request)
            self._last_request = request
            self._waiting[request] = ([], told)
            self._keep(request, batch)
            return request

    def ask_now(self, batch, told):
        """Like ask, on the current connection, whether or not the session has been resumed."""
        with self.lock:
            if self.error is not None or self.line == "down":
                raise self.error or Lost("the connection was lost")
            self._last_request += 1
            self._waiting[self._last_request] = ([], told)
            self._transmit(batch, self._last_request)
            return self._last_request

    def _keep(self, request, batch):
        """Keeps a request, which is sent again if the connection is lost before its answer."""
        if not self.can_resume:
            return
        type_ = self.types.of_id(struct.unpack_from("<I", batch, 4)[0])
        change = 0
        if is_change(type_.name):
            change = Batch(memoryview(batch), self.types).message(0, self.words).watch
        self.unanswered[request] = Sent(batch, type_, change, self.line != "up")

    def forget(self, request):
        """Drops a request whose caller does not wait any longer. Returns True if it was withdrawn,
        because it had not been sent."""
        with self.lock:
            self._waiting.pop(request, None)
            sent = self.unanswered.get(request)
            if sent is None or not sent.is_unsent or self.line == "up":
                return False
            del self.unanswered[request]
            return True

    def stream(self, batch, watch=None):
        """Sends a question whose answers arrive over time. `watch` are the fields of a Follow that
        opens a watch."""
        with self.lock:
            if self._credit_through == 0:
                self._give_credit()
            request = self._last_request + 1
            stream = self._streams[request] = Stream(self, request)
            try:
                self._put(batch, request)
            except MusterError:
                del self._streams[request]
                raise
            self._last_request = request
            if watch is not None:
                self.watches[request] = KeptWatch(watch)
            else:
                self._keep(request, batch)
            return stream

    def drop_stream(self, stream):
        with self.lock:
            self._streams.pop(stream.request, None)
            self.watches.pop(stream.request, None)
            while stream.frames:
                stream.take()

    def close_stream(self, stream):
        """Ends a watch, unless it has ended. Does not wait for the answer, nor for a connection."""
        with self.lock:
            if stream.error is not None or self.error is not None:
                return
            self.drop_stream(stream)
            stream.end(Mistaken("the watch was closed"))
            self.ask(self.control("Unwatch", watch=stream.request), lambda answer: None)

    def _end_unread(self, stream):
        why = Late(f"nobody has read this watch: {stream.unread} bytes waited, so it was closed")
        self.drop_stream(stream)
        stream.end(why)
        self.ask(self.control("Unwatch", watch=stream.request), lambda answer: None)

    # ---- for resuming.py

    def stream_of(self, request):
        return self._streams.get(request)

    def end_stream(self, request, error):
        self.watches.pop(request, None)
        stream = self._streams.pop(request, None)
        if stream is not None:
            stream.end(error)

    def answer(self, request, frames):
        """Ends a request with frames or an error."""
        self.unanswered.pop(request, None)
        waiting = self._waiting.pop(request, None)
        if waiting is not None:
            waiting[1](frames)

    def followed(self, name):
        return self._followed.get(name)

    def tell(self, name, frames):
        """Hands the answer to a question to those who follow such messages."""
        stream = self._followed.get(name)
        if stream is not None and not isinstance(frames, Exception):
            self._held += frames[0].bytes
            stream.put(frames[0])

    def intern(self, text):
        return table_batch(self.types.find("muster.InternText"), [(nil, dict(text=text))], set())

    def follow(self, name, every=False):
        """Returns the stream of the messages with this name that the server sends without a
        question."""
        with self.lock:
            if every:
                self._every.add(name)
            return self._followed.setdefault(name, Stream(self, 0))

    def unfollow(self, name):
        with self.lock:
            stream = self._followed.pop(name, None)
            self._every.discard(name)
            while stream is not None and stream.frames:
                stream.take()
            if stream is not None:
                stream.end(Mistaken(f"{name} was closed"))

    def check_epoch(self, epoch):
        if epoch is not None and epoch not in self.run_epochs:
            raise Refused("a run began or ended before this edit was sent, so it was not sent", reason="epoch_over")

    def take_outgoing(self):
        with self.lock:
            data, self._outgoing = self._outgoing, bytearray()
            self._buffered.clear()
            return bytes(data)

    @property
    def outgoing_bytes(self):
        return len(self._outgoing)

    def beat(self, always=False):
        """Sends a heartbeat, which the server answers, unless something was sent since the last
        call. With `always`, it is sent in any case."""
        with self.lock:
            if (always or not self.has_sent) and self.error is None and self.line == "up":
                self._put(self.control("Heartbeat"), 0)
            self.has_sent = False

    def _give_credit(self):
        self._credit_through = self._received + CREDIT_BYTES
        self._put(self.control("Credit", through=self._credit_through), 0)

    def consumed(self, count):
        with self.lock:
            self._held -= count
            self._credit()

    def waits(self, more):
        """Counts those who wait for a stream that has no frames. They must not wait for others to
        take theirs."""
        with self.lock:
            self._waits += more
            self._credit()

    def _credit(self):
        """Lets the server send more, unless the program has not taken yet what has come."""
        if self._credit_through and self.error is None and (self._held < CREDIT_BYTES // 2 or self._waits > 0) \
                and self._credit_through - self._received < CREDIT_BYTES // 2:
            self._give_credit()

    # ---- receiving

    def receive(self, data):
        """Takes bytes from the server. If they are invalid, the session has ended with
        ProtocolError."""
        with self.lock:
            self.arrivals += 1
            if self.error is not None:
                return
            try:
                for frame in self._frames.take(data, self.types):
                    self._take(frame)
                    if self.error is not None:
                        return
                self._received += len(data)
                self._credit()
            except MusterError as error:
                if isinstance(error, Lost) and error.code in RESUMABLE:
                    self.lose(error)
                else:
                    self.end(error if isinstance(error, Lost) else ProtocolError(str(error)))
            except RecursionError:
                self.end(ProtocolError("the server sent values that nest too deeply"))

    @property
    def can_resume(self):
        return self.resumes and self.welcome is not None and len(self.welcome.resume) > 0

    @property
    def is_up(self):
        """False while the session has no connection."""
        return self.line == "up"

    def lose(self, error):
        """The connection is lost. Ends the session, unless it can be resumed."""
        with self.lock:
            if self.error is not None or self.line == "down":
                return
            if not self.can_resume:
                self.end(error)
                return
            self.line = "down"
            self._outgoing = bytearray()
            for request in self._buffered:
                if request in self.unanswered:
                    self.unanswered[request].is_unsent = True
            self._buffered.clear()
            for request, (frames, told) in list(self._waiting.items()):
                if request in self.unanswered:
                    frames.clear()
                else:
                    del self._waiting[request]
                    told(error)
            self.on_lost(error)
            self.on_outgoing()

    def connected_again(self):
        """A new connection begins."""
        with self.lock:
            self._frames = Frames(self._frames.bytes_max)
            self._received, self.line = 0, "greeting"

    def go_on(self, epoch, lineage):
        """The session was resumed. It had entered this epoch and lineage before."""
        with self.lock:
            self.line = "up"
            go_on(self, epoch, lineage)

    def close(self):
        """Ends the session for good."""
        with self.lock:
            if self.can_resume and self.error is None and self.line == "up":
                self._put(self.control("Goodbye"), 0)
            self.end(Lost("the session was closed"))

    def end(self, error):
        """Ends the session. Everything that waits gets the error."""
        with self.lock:
            if self.error is not None:
                return
            if self._frames.is_inside and not isinstance(error, ProtocolError):
                error = Lost(f"{error} (inside a frame)", getattr(error, "code", ""), getattr(error, "reason", ""))
            self.error = error
            waiting, self._waiting = self._waiting, {}
            streams, self._streams = [*self._streams.values(), *self._followed.values()], {}
            for _, told in waiting.values():
                told(error)
            for stream in streams:
                stream.end(error)
            self.on_outgoing()

    def _take(self, frame):
        name = frame.batch.type.name
        frame.epoch = self.epoch
        if frame.request == 0 and self._take_own(frame, name):
            return
        if name == SESSION + "Fault":
            fault = frame.batch.message(0, self.words)
            self.moved_to = getattr(fault, "resume_at", "") or self.moved_to
            if fault.closes:
                self._closed_by(fault)
                return
        elif name == SESSION + "Ack":
            self.saw(frame.batch.message(0, self.words).sequence)
        elif name == SESSION + "Heartbeat":
            beat = frame.batch.message(0, self.words)
            if not beat.answer:
                self._put(self.control("Heartbeat", number=beat.number, time_ns=beat.time_ns, answer=1), frame.request)
                return
        elif name == SESSION + "Welcome" and (self.welcome is None or self.line == "greeting"):
            self._welcomed(frame.batch.message(0, self.words))
        self.saw(frame.sequence)
        if frame.is_last:
            self.unanswered.pop(frame.request, None)
        if frame.request in self.watches:
            if name == SESSION + "Fault":
                del self.watches[frame.request]
            else:
                self.watches[frame.request].note(frame, self.words)
        stream = self._streams.get(frame.request)
        if stream is not None:
            if name == SESSION + "Fault":
                del self._streams[frame.request]
                stream.end(self.refusal(frame))
            else:
                self._held += frame.bytes
                stream.put(frame)
                if stream.unread > UNREAD_BYTES_MAX:
                    self._end_unread(stream)
            return
        waiting = self._waiting.get(frame.request)
        if waiting is None:
            return  # no call waits for it any longer
        frames, told = waiting
        frames.append(frame)
        if frame.is_last:
            del self._waiting[frame.request]
            told(self.refusal(frames[0]) if frames[0].batch.type.name == SESSION + "Fault" else frames)

    def _closed_by(self, fault):
        error = Lost(fault.text, _code(fault), fault.reason)
        if error.code in RESUMABLE:
            self.lose(error)
        else:
            self.end(error)

    def _take_own(self, frame, name):
        """Handles what the server tells without a question."""
        if name == "muster.InternText":
            for i in range(frame.batch.count):
                self.remember(frame.batch.message(i, self.words).text)
        elif name == SESSION + "Schema":
            self.types._learn(frame.batch.message(0, self.words).bytes)
        elif name == SESSION + "NewEpoch":
            self._enter(frame.batch.message(0, self.words))
        elif name in (SESSION + "Heartbeat", SESSION + "Welcome"):
            return False
        elif name == SESSION + "Fault":
            fault = frame.batch.message(0, self.words)
            self.moved_to = getattr(fault, "resume_at", "") or self.moved_to
            if fault.closes:
                self._closed_by(fault)
        else:
            name = name.rpartition(".")[2]
            stream = self._followed.get(name)
            if stream is not None:
                while stream.frames and name not in self._every:  # only the newest matters
                    self._held -= stream.frames[0].bytes
                    stream.unread -= stream.frames.popleft().bytes
                self._held += frame.bytes
                stream.put(frame)
        return True

    def _welcomed(self, welcome):
        if not self.run_epochs:
            self.run_epochs.add(welcome.epoch)
        self.welcome, self.lineage = welcome, welcome.lineage
        self.sequence_before = max(self.sequence_before, self.sequence)
        self.epoch, self.playing, self.sequence = welcome.epoch, welcome.playing, welcome.sequence
        # A batch of a snapshot may have any size.
        self._frames.bytes_max = max(welcome.frame_bytes_max, 64 << 20) + 48

    def _enter(self, began):
        """Enters a new epoch before anything else is sent."""
        self.earlier_epochs.add(self.epoch)
        self.epoch, self.playing, self.lineage = began.epoch, began.playing, began.lineage
        self.run_epochs = {began.epoch}
        self.saw(began.sequence)
        self.grants, self.told, self.registered = [], set(), set()  # of a run
        self._put(self.control("EnterEpoch", epoch=began.epoch), 0)  # or go_on() does
        stream = self._followed.get("NewEpoch")
        if stream is not None:
            stream._tell()

    def saw(self, sequence):
        self.sequence = max(self.sequence, sequence)

    def remember(self, text):
        self.words[hash64(text)] = text

    def refusal(self, frame):
        """Returns the error for a Fault that answers a request."""
        fault = frame.batch.message(0, self.words)
        value = None
        type_ = self.types.of_id(fault.type)
        if type_ is not None and fault.value and fault.field and type_.is_struct:
            try:
                place = Place(type_, fault.field)
                value = place.read(fault.value, self.words) if place.size == len(fault.value) else None
            except MusterError:
                pass  # the sentence says it, too
        return Refused(fault.text, _code(fault), fault.reason, fault, value)


def _code(fault):
    return getattr(fault.code, "name", str(int(fault.code)))


def late(seconds):
    return Late(f"the server did not answer within {seconds:g} s")
