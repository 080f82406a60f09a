"""A client of Muster, written from docs/protocol.md, docs/batches.md and the schemas that these name."""
import base64
import dataclasses
import functools
import hashlib
import hmac
import socket
import ssl
import struct

from flat import padded, read_schema, read_struct, read_table, struct_bytes, table_bytes

EACH, SHARED, TABLE, WORLD, SUBTREE, TIMED = range(1, 7)
WITH_CAUSE, WITH_ROWS = 1, 2
ENVELOPE, MORE, EVENT, PUSHED = 1, 2, 4, 8
NIL = (0, 0)
SECONDS_MAX = 60


def hash32(text):
    return fnv(text.encode(), 0x811c9dc5, 0x01000193, 1 << 32)


def hash64(text):
    return fnv(text.encode(), 0xcbf29ce484222325, 0x00000100000001b3, 1 << 64) if text else 0


def fnv(data, value, prime, size):
    for byte in data:
        value = (value ^ byte) * prime % size
    return value


def entity(value):
    """The id in a value, as a pair."""
    return value["index"], value["generation"]


def entity_value(pair):
    return {"index": pair[0], "generation": pair[1]}


# Tests start servers with the same types again and again.
read_schema_once = functools.lru_cache(maxsize=16)(read_schema)


class Types:
    def __init__(self):
        self.by_name, self.by_id = {}, {}

    def add(self, data):
        """Those of a binary schema."""
        for name, each in read_schema_once(bytes(data)).items():
            self.by_name[name] = each
            self.by_id[hash32(name)] = each


# ---- batches --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Message:
    target: tuple
    value: dict
    rows: dict  # component's full name -> value
    cause: int = 0


@dataclasses.dataclass
class Batch:
    type: str
    kind: int
    messages: list
    argument: int = 0
    timer: int = 0
    inner: "Batch | None" = None  # of a timed one


def header(kind, flags, units, payload_offset, count, payload_bytes, item_bytes, argument=0):
    return struct.pack("<BBBBIIIQ", kind, flags, units, payload_offset, count, payload_bytes, item_bytes, argument)


def batch_bytes(types, batch):
    """Messages without causes."""
    kind, items = batch.kind, batch.messages
    head, body = b"", bytearray()
    if kind == TIMED:
        inner = batch_bytes(types, batch.inner)
        head = header(TIMED, 0, 2, 16, 1, 0, 0, batch.argument)
        body += struct.pack("<QQ", batch.timer, 0) + inner
    elif kind == TABLE:
        head = header(TABLE, 0, 2, 16, len(items), 0, 0)
        for each in items:
            table = table_bytes(types.by_name, batch.type, each.value)
            body += struct.pack("<IIII", *each.target, len(table), 0) + table
            body += bytes(padded(len(body), 16) - len(body))
    else:
        rows, places, payload_bytes, align = row_set(types, batch)
        payloads = []
        for each in items[:1] if kind == SHARED else items:
            payload = bytearray(payload_bytes)
            own = struct_bytes(types.by_name, batch.type, each.value)
            payload[:len(own)] = own
            for name, at in places.items():
                value = struct_bytes(types.by_name, name, each.rows[name])
                payload[at:at + len(value)] = value
            payloads.append(payload)
        units = (32 + len(rows)) // 16
        flags = WITH_ROWS if rows else 0
        if kind == SHARED:
            head = header(SHARED, flags, units, 0, len(items), payload_bytes, 8)
            body += payloads[0] + bytes(padded(payload_bytes, 16) - payload_bytes)
            for each in items:
                body += struct.pack("<II", *each.target)
        else:
            offset = 0 if kind == WORLD else padded(8, align)
            item_bytes = padded(offset + payload_bytes, max(8, align))
            argument = batch.argument if kind == SUBTREE else 0
            head = header(kind, flags, units, offset, len(items), payload_bytes, item_bytes, argument)
            for each, payload in zip(items, payloads):
                item = bytearray(item_bytes)
                if kind != WORLD:
                    struct.pack_into("<II", item, 0, *each.target)
                item[offset:offset + payload_bytes] = payload
                body += item
        head += rows
    size = padded(8 + len(head) + len(body), 16)
    type_id = hash32(batch.inner.type if kind == TIMED else batch.type)
    whole = struct.pack("<II", size, type_id) + head + body
    return whole + bytes(size - len(whole))


def row_set(types, batch):
    """Its bytes, where each component lies in the payload, the payload's bytes and alignment."""
    message = types.by_name[batch.type]
    names = sorted(batch.messages[0].rows, key=hash32)
    end, align, places, rows = message.bytes, message.align, {}, b""
    for name in names:
        component = types.by_name[name]
        end, align = padded(end, component.align), max(align, component.align)
        places[name] = end
        rows += struct.pack("<II", hash32(name), end)
        end += component.bytes
    if names:
        rows = struct.pack("<II", len(names), 0) + rows
        rows += bytes(padded(len(rows), 16) - len(rows))
    return rows, places, end, align


def read_batch(types, data):
    size, type_id, kind, flags, units, offset, count, payload_bytes, item_bytes, argument = \
        struct.unpack_from("<IIBBBBIIIQ", data)
    assert size == len(data), f"a batch says {size} bytes, and has {len(data)}"
    name = types.by_id[type_id].name
    cause_at, body = 8 if flags & WITH_CAUSE else None, units * 16
    batch = Batch(name, kind, [], argument)
    if kind == TIMED:
        batch.timer = struct.unpack_from("<Q", data, body)[0]
        inner_bytes = struct.unpack_from("<I", data, body + 16)[0]
        batch.inner = read_batch(types, data[body + 16:body + 16 + inner_bytes])
        return batch
    if kind == TABLE:
        at = body
        for _ in range(count):
            index, generation, length = struct.unpack_from("<III", data, at)
            value = read_table(types.by_name, name, data[at + offset:at + offset + length])
            batch.messages.append(Message((index, generation), value, {}))
            at += offset + padded(length, 16)
        return batch
    places = {}
    if flags & WITH_ROWS:
        for i in range(struct.unpack_from("<I", data, 32)[0]):
            component, at = struct.unpack_from("<II", data, 40 + 8 * i)
            places[types.by_id[component].name] = at

    def payload(at):
        rows = {component: {} if "tag" in types.by_name[component].attributes
                else read_struct(types.by_name, component, data, at + place) for component, place in places.items()}
        return read_struct(types.by_name, name, data, at), rows

    if kind == SHARED:
        value, rows = payload(body + offset)
        targets = body + offset + padded(payload_bytes, 16)
        for i in range(count):
            batch.messages.append(Message(struct.unpack_from("<II", data, targets + 8 * i), value, rows))
        return batch
    for i in range(count):
        at = body + i * item_bytes
        target = NIL if kind == WORLD else struct.unpack_from("<II", data, at)
        cause = 0 if cause_at is None else struct.unpack_from("<Q", data, at + (0 if kind == WORLD else cause_at))[0]
        batch.messages.append(Message(target, *payload(at + offset), cause))
    return batch


# ---- streams and frames -------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Frame:
    flags: int
    request: int
    sequence: int
    session: int
    sender_request: int
    clock_ns: int
    batch: Batch

    @property
    def more(self):
        return bool(self.flags & MORE)

    @property
    def event(self):
        return bool(self.flags & EVENT)


class Stream:
    """TCP or a Unix socket: bytes go as they are."""

    def __init__(self, address):
        if address.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(address.removeprefix("unix:"))
        else:
            host, port = address.rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)))
        self.socket.settimeout(SECONDS_MAX)
        if self.socket.family != socket.AF_UNIX:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        """Some bytes; none when the server has closed."""
        try:
            return self.socket.recv(65536)
        except ConnectionResetError:
            return b""

    def close(self):
        self.socket.close()


class TlsStream(Stream):
    """TLS 1.3 over TCP, to the server whose certificate has this fingerprint."""

    def __init__(self, address, fingerprint):
        super().__init__(address)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.socket = context.wrap_socket(self.socket)
        found = hashlib.sha256(self.socket.getpeercert(binary_form=True)).hexdigest()
        assert found == fingerprint, found


class WebStream(Stream):
    """A WebSocket: the same bytes in binary messages, masked on their way to the server."""

    def __init__(self, address, path="/session"):
        super().__init__(address)
        key = base64.b64encode(bytes(range(16))).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.kept, self.sent, self.close_code = b"", 0, None
        while b"\r\n\r\n" not in self.kept:
            self.fill()
        head, self.kept = self.kept.split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 101 "), head

    def fill(self):
        data = super().receive()
        assert data, "the server closed the connection"
        self.kept += data

    def take(self, count):
        while len(self.kept) < count:
            self.fill()
        data, self.kept = self.kept[:count], self.kept[count:]
        return data

    def send(self, data, opcode=2):
        length = struct.pack(">B", 0x80 | len(data)) if len(data) < 126 else \
            struct.pack(">BH", 0x80 | 126, len(data)) if len(data) < 65536 else struct.pack(">BQ", 0x80 | 127, len(data))
        self.sent += 1
        mask = struct.pack(">I", self.sent * 0x9e3779b1 % (1 << 32))
        masked = bytes(byte ^ mask[i & 3] for i, byte in enumerate(data))
        self.socket.sendall(bytes([0x80 | opcode]) + length + mask + masked)

    def receive(self):
        while True:
            first, second = self.take(2)
            size = second & 127
            if size == 126:
                size = struct.unpack(">H", self.take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.take(8))[0]
            data = self.take(size)
            opcode = first & 15
            if opcode == 8:
                self.close_code = struct.unpack(">H", data[:2])[0]
                return b""
            if opcode == 9:
                self.send(data, 10)
            elif opcode in (0, 2):
                return data


class Refused(Exception):
    """A Fault; `fault` has its fields."""

    def __init__(self, fault):
        super().__init__(fault["text"])
        self.fault = fault


class Ended(Exception):
    """The server closed the stream."""


class Session:
    """Blocking: a call returns with its answer. What comes meanwhile for others is kept under its request."""

    def __init__(self, stream, session_schema):
        self.stream = stream
        self.types = Types()
        self.types.add(session_schema)
        self.kept, self.frames = b"", {}
        self.texts, self.told = {0: ""}, set()
        self.ids, self.last_request = [], 0
        self.welcome = {}

    def close(self):
        self.stream.close()

    # -- frames

    def send_batch(self, batch, request=0):
        data = batch_bytes(self.types, batch)
        self.stream.send(struct.pack("<IIQ", 16 + len(data), 0, request) + data)

    def next_frame(self):
        while len(self.kept) < 16 or len(self.kept) < struct.unpack_from("<I", self.kept)[0]:
            data = self.stream.receive()
            if not data:
                raise Ended()
            self.kept += data
        size, flags, request = struct.unpack_from("<IIQ", self.kept)
        data, self.kept = self.kept[:size], self.kept[size:]
        assert size % 16 == 0 and size >= (80 if flags & ENVELOPE else 48), (size, flags)
        envelope = struct.unpack_from("<QQQQ", data, 16) if flags & ENVELOPE else (0, 0, 0, 0)
        return Frame(flags, request, *envelope, read_batch(self.types, data[48 if flags & ENVELOPE else 16:]))

    def frame(self, request):
        """The next frame of this request."""
        while not self.frames.get(request):
            frame = self.next_frame()
            if frame.request == 0 and frame.batch.type == "muster.InternText":
                for message in frame.batch.messages:
                    self.texts[hash64(message.value["text"])] = message.value["text"]
            else:
                self.frames.setdefault(frame.request, []).append(frame)
        return self.frames[request].pop(0)

    def answer(self, request):
        """All frames of an answer."""
        frames = []
        while not frames or frames[-1].more:
            frame = self.frame(request)
            if frame.batch.type == "muster.session.Fault":
                raise Refused(frame.batch.messages[0].value)
            frames.append(frame)
        return frames

    # -- questions and messages

    def next_request(self):
        self.last_request += 1
        return self.last_request

    def control(self, name, value, request):
        """A message of muster.session, on its way."""
        name = "muster.session." + name
        kind = WORLD if self.types.by_name[name].is_struct else TABLE
        self.send_batch(Batch(name, kind, [Message(NIL, value, {})]), request)

    def ask_all(self, name, value):
        request = self.next_request()
        self.control(name, value, request)
        return self.answer(request)

    def ask(self, name, value):
        return self.ask_all(name, value)[-1].batch.messages[0].value

    def hello(self, token, **more):
        value = {"protocol": 1, "protocol_oldest": 1, "token": token, "name": "a test in Python", "kind": "test"} | more
        self.welcome = self.ask("Hello", value)
        return self.welcome

    def hello_with_proof(self, token, **more):
        """Says Hello without the token, which both sides prove to know."""
        def keyed(*parts):
            return hmac.new(hashlib.sha256(token.encode()).digest(), b"".join(parts), hashlib.sha256).digest()
        nonce = bytes(range(32))
        value = {"protocol": 1, "protocol_oldest": 1, "name": "a test in Python", "kind": "test",
                 "token_id": keyed(b"muster token id")[:16], "nonce": nonce} | more
        challenge = self.ask("Hello", value)
        assert challenge["proof"] == keyed(b"muster server proof", nonce, challenge["nonce"]), "another program has the port"
        self.welcome = self.ask("Proof", {"proof": keyed(b"muster client proof", nonce, challenge["nonce"])})
        return self.welcome

    def get_schema(self):
        frames = self.ask_all("GetSchema", {})
        for frame in frames:
            self.types.add(frame.batch.messages[0].value["bytes"])
        return frames

    def push(self, name, target, value, rows=None, kind=EACH):
        """One message; its Ack. Texts in it are the caller's to make known."""
        return self.push_batch(Batch(name, kind, [Message(target, value, rows or {})]))

    def push_batch(self, batch):
        request = self.next_request()
        self.send_batch(batch, request)
        return self.answer(request)[0].batch.messages[0].value

    # -- edits

    def text(self, content):
        """Its hash, once the world knows it."""
        if content and content not in self.told:
            self.push("muster.InternText", NIL, {"text": content}, kind=TABLE)
            self.told.add(content)
            self.texts[hash64(content)] = content
        return hash64(content)

    def text_of(self, number):
        if number not in self.texts:
            self.texts[number] = self.ask("GetText", {"hash": number})["text"]
        return self.texts[number]

    def next_id(self):
        if not self.ids:
            granted = self.ask("RequestGrant", {"count": 16})
            self.ids = [(granted["first"] + i, 1) for i in range(granted["count"])]
        return self.ids.pop(0)

    def create(self, parent, name, rows=None, before=NIL):
        made = self.next_id()
        self.push("muster.Create", made, {"parent": entity_value(parent), "before": entity_value(before),
                                          "name": self.text(name)}, rows)
        return made

    def field_value(self, component, field, form, value):
        data = struct.pack("<" + form, value)
        return {"component": hash32(component), "field": hash32(field), "bytes": len(data),
                "value": data.ljust(64, b"\0")}

    def set_field(self, target, component, field, form, value):
        return self.push("muster.SetField", target, self.field_value(component, field, form, value))

    def set_field_if(self, target, component, field, form, value, expected):
        return self.push("muster.SetFieldIf", target, {"set": self.field_value(component, field, form, value),
                                                       "expected": struct.pack("<" + form, expected).ljust(64, b"\0")})

    def show(self, of):
        """Shown, and {component: value}."""
        frames = self.ask_all("Show", {"entity": entity_value(of)})
        rows = frames[1].batch.messages[0].rows if len(frames) > 1 else {}
        return frames[0].batch.messages[0].value, rows


class Copy:
    """What a watch tells, put together: {entity: {"parent", "name", "components"}}."""

    def __init__(self, session, value):
        self.session, self.request = session, session.next_request()
        self.entities, self.events, self.rows, self.followed = {}, [], {}, []
        self.sequence = 0
        session.control("Follow", value, self.request)
        first = session.frame(self.request)
        if first.batch.type == "muster.session.Fault":
            raise Refused(first.batch.messages[0].value)
        assert first.batch.type == "muster.session.Watching", first
        self.watching = first.batch.messages[0].value
        if first.more:
            self.follow()

    def follow(self):
        """Up to the next consistent state."""
        while True:
            frame = self.session.frame(self.request)
            if frame.event:
                self.events.append(frame)
                continue
            for message in frame.batch.messages:
                self.apply(frame.batch.type, message)
            if not frame.more:
                assert frame.sequence >= self.sequence, (frame.sequence, self.sequence)
                self.sequence = frame.sequence
                return

    def follow_until(self, is_so):
        while not is_so():
            self.follow()

    def next_event(self):
        while not self.events:
            frame = self.session.frame(self.request)
            if frame.event:
                return frame
            for message in frame.batch.messages:
                self.apply(frame.batch.type, message)
        return self.events.pop(0)

    def one(self, of):
        return self.entities.setdefault(of, {"parent": NIL, "name": "", "components": {}})

    def apply(self, name, message):
        target, value = message.target, message.value
        if name == "muster.Create":
            self.one(target).update(parent=entity(value["parent"]), name=self.session.text_of(value["name"]))
            self.one(target)["components"] |= message.rows
        elif name == "muster.Reparent":
            self.one(target)["parent"] = entity(value["parent"])
        elif name == "muster.Rename":
            self.one(target)["name"] = self.session.text_of(value["name"])
        elif name == "muster.Remove":
            known = self.entities.get(target, {"components": {}})  # it may go without ever having been told
            known["components"].pop(self.session.types.by_id[value["component"]].name, None)
        elif name in ("muster.Destroy", "muster.session.Left"):
            self.entities.pop(target, None)
            self.rows.pop(target, None)
        elif name == "muster.session.Values":
            component, size = self.session.types.by_id[value["component"]], value["value_bytes"]
            for i, each in enumerate(value["entities"]):
                self.one(entity(each))["components"][component.name] = {} if not size else \
                    read_struct(self.session.types.by_name, component.name, value["values"], i * size)
        elif name == "muster.session.ChildRows":
            for i, each in enumerate(value["entities"]):
                self.rows[entity(each)] = {"parent": entity(value["parents"][i]), "after": entity(value["after"][i]),
                                           "name": value["names"][i], "children": value["child_counts"][i]}
        elif name == "muster.session.Unlisted":
            del self.rows[target]
        elif name == "muster.session.Watching":
            pass  # the end of a state or a change of which nothing was left
        elif name == "muster.session.Following":
            self.followed.append(value["change"])
        else:
            raise AssertionError(f"{name} in a watch")

    def children(self, parent):
        """Names in order, of an open node: each row says behind whom it stands."""
        behind = {row["after"]: (of, row) for of, row in self.rows.items() if row["parent"] == parent}
        names, at = [], NIL
        while at in behind:
            at, row = behind[at]
            names.append(row["name"])
        assert len(names) == len(behind), behind
        return names
