"""A server of a world that is made up: it gives each question the answers that a test has for it, and keeps what it was asked."""
import contextlib
import hashlib
import hmac
import pathlib
import socket
import struct
import sys
import threading

from shared import GAME, SESSION

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
from session import (EACH, ENVELOPE, EVENT, MORE, NIL, PUSHED, TABLE, TIMED, WORLD, Batch, Ended,  # noqa: E402, F401
                     Message, Session, Stream, batch_bytes, entity_value, hash32, hash64)

TOKEN = "a token"
NEVER = object()  # an answer that does not come
CLOSE = object()  # the connection is closed instead


def said(name, value, **more):
    """A batch of one message to nobody; a name without a dot is the session's."""
    return Told(name if "." in name else "muster.session." + name, [(NIL, value, {})], **more)


class Told:
    """A batch and the frame around it. `messages`: (target, value, rows) each; `kind` is found by the type."""

    def __init__(self, name, messages, kind=None, flags=0, request=None, sequence=0, session=0, inner=None, argument=0, data=None):
        self.name, self.messages, self.kind, self.flags, self.request = name, messages, kind, flags, request
        self.sequence, self.session, self.inner, self.argument, self.data = sequence, session, inner, argument, data
        self.whole = False  # not flagged more, whatever comes behind it


def fault(code, text, request=None, **more):
    return said("Fault", {"code": code, "text": text, "closes": code < 100} | more, request=request)


def ids(*indices):
    return [{"index": index, "generation": 1} for index in indices]


class Accepted(Stream):
    def __init__(self, connected):
        self.socket = connected
        self.socket.settimeout(20)


class Scripted:
    """`answers`: of a question's name one answer, a list of them, or a list of such lists, one for each time it is asked; an
    answer is Told, NEVER or CLOSE. All frames of an answer but the last are flagged more."""

    def __init__(self, answers, welcome=None):
        self.answers = {"Ack": None} | answers
        self.welcome = {"protocol": 1, "frame_bytes_max": 1 << 20, "world": "made-up.muster"} | (welcome or {})
        self.asked, self.batches, self.wrong = [], [], None
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listening.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connected, _ = self.listening.accept()
            except OSError:
                return
            with contextlib.suppress(Ended, OSError), connected:
                try:
                    self.converse(Session(Accepted(connected), SESSION.read_bytes()))
                except (AssertionError, KeyError, TypeError, ValueError, struct.error) as wrong:
                    self.wrong = wrong

    def converse(self, session):
        session.types.add(GAME.read_bytes())
        while True:
            frame = session.next_frame()
            name = frame.batch.type.removeprefix("muster.session.")
            self.asked.append((name, frame.batch.messages[0].value if frame.batch.messages else None))
            self.batches.append(frame.batch)
            if name == "Hello" and "Hello" not in self.answers and self.asked[-1][1]["token_id"]:
                answers = [self.challenge(self.asked[-1][1])]
            else:
                answers = self.answer_to("Hello" if name == "Proof" else name)
            for i, told in enumerate(answers):
                if told is CLOSE:
                    return
                if told is NEVER:
                    continue
                last = i + 1 == len(answers)
                flags = told.flags | (0 if last or told.whole or told.flags & EVENT or told.request == 0 else MORE)
                self.send(session, told, frame.request if told.request is None else told.request, flags)

    @staticmethod
    def challenge(hello):
        """The proof that this server knows the token (docs/protocol.md, "Proofs")."""
        nonce = bytes(range(32))
        text = b"muster server proof" + bytes(hello["nonce"]) + nonce
        proof = hmac.digest(hashlib.sha256(TOKEN.encode()).digest(), text, "sha256")
        return said("Challenge", {"nonce": nonce, "proof": proof})

    def answer_to(self, name):
        if name in self.answers:
            answers = self.answers[name]
        elif name == "Hello":
            answers = said("Welcome", self.welcome)
        elif name == "GetSchema":
            answers = said("Schema", {"count": 1, "bytes": GAME.read_bytes()})
        elif name.startswith("muster.") or name.startswith("game."):
            answers = said("Ack", {"sequence": 7, "handled": 1})
        else:
            answers = fault(104, f"nobody told me what to say to {name}")
        if isinstance(answers, list) and answers and isinstance(answers[0], list):
            answers = answers.pop(0) if len(answers) > 1 else answers[0]
        return answers if isinstance(answers, list) else [answers]

    @staticmethod
    def send(session, told, request, flags):
        if told.data is not None:
            data = told.data
        else:
            kind = told.kind or (TIMED if told.inner else WORLD if session.types.by_name[told.name].is_struct
                                 and told.messages[0][0] == NIL else EACH if session.types.by_name[told.name].is_struct else TABLE)
            batch = Batch(told.name, kind, [Message(*each) for each in told.messages], told.argument, 9, told.inner)
            data = batch_bytes(session.types, batch)
        head = struct.pack("<QQQQ", told.sequence, told.session, 0, 0) if told.sequence or told.session else b""
        session.stream.send(struct.pack("<IIQ", 16 + len(head) + len(data), flags | (ENVELOPE if head else 0), request) + head + data)

    def question(self, name, which=0):
        """What was asked, without what is nothing."""
        value = [value for asked, value in self.asked if asked == name][which]
        return {key: part for key, part in value.items() if part not in (0, "", [], b"", False, None, {"index": 0, "generation": 0})}

    def close(self):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        self.thread.join(timeout=10)
        if self.wrong:
            raise self.wrong


class Spoken:
    """`muster` with a scripted server."""

    def __init__(self, folder, server):
        self.folder, self.server = folder, server
        self.where = ("--connect", server.address, "--token", TOKEN)

    def run(self, *arguments, **more):
        return self.folder.run(*self.where, *arguments, **more)

    def json(self, *arguments):
        return self.folder.json(*self.where, *arguments)

    def error(self, exit, *arguments):
        return self.folder.error(exit, *self.where, *arguments)

    def question(self, name, which=0):
        return self.server.question(name, which)

    def count(self, name):
        return sum(asked == name for asked, _ in self.server.asked)


@contextlib.contextmanager
def spoken(folder, answers, welcome=None):
    server = Scripted(answers, welcome)
    try:
        yield Spoken(folder, server)
    finally:
        server.close()
