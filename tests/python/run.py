#!/usr/bin/env python3
"""A client in Python, written from docs/protocol.md alone, edits and watches a served world.

`run.py MUSTER SERVER SESSION_BFBS GAME_BFBS`. The last line is `N passed, N failed`."""
import contextlib
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from flat import read_schema  # noqa: E402
from programs import Folder, equal, run_tests  # noqa: E402
from session import (EACH, NIL, SHARED, TABLE, TIMED, WORLD, Batch, Copy, Ended, Message, Refused, Session,  # noqa: E402
                     Stream, TlsStream, Types, WebStream, batch_bytes, entity, entity_value, hash32, hash64)

MUSTER, SERVER, SESSION, GAME = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
HEALTH, UNIT, FROZEN, NAME = "game.Health", "game.Unit", "game.Frozen", "muster.Name"


class Served:
    """A world with the types of game.fbs, its server, and sessions of it."""

    def __init__(self, folder, *options):
        self.folder = folder
        folder.serve("w.muster", "--schema", GAME, *options)
        beside = json.loads((folder.path / "w.muster-server.json").read_text())
        self.address, self.token = beside["address"], beside["token"]
        self.sessions = []

    def stranger(self, stream=Stream):
        """A connection on which nothing was said yet."""
        session = Session(stream(self.address), SESSION.read_bytes())
        self.sessions.append(session)
        return session

    def session(self, stream=Stream):
        session = self.stranger(stream)
        session.hello(self.token)
        session.get_schema()
        return session

    def shown(self, of):
        """An entity as `muster` shows it."""
        return self.folder.json("show", f"{of[0]}:{of[1]}")


@contextlib.contextmanager
def served(folder, *options):
    world = Served(folder, *options)
    try:
        yield world
    finally:
        for session in world.sessions:
            session.close()


def refused(call, *arguments):
    """The Fault that a call is answered with."""
    try:
        answer = call(*arguments)
    except Refused as refusal:
        return refusal.fault
    raise AssertionError(f"it is not refused, but answered {answer}")


def closed(session):
    """That the server has nothing more to say."""
    try:
        frame = session.next_frame()
    except Ended:
        return
    raise AssertionError(f"{frame} comes behind the fault that closes")


def words(text):
    return bytes.fromhex(text.replace("\n", " "))


def the_examples_of_the_documents_are_made_and_read(_folder):
    equal(hash32("muster.session.Hello"), 0x9063f717)
    equal(hash32("position.x"), 0x530c73bc)
    equal(hash32("slots[2].count"), 0x98fe4807)
    equal(hash64("tower"), 0x4a5f617d6523c182)
    equal(hash64(""), 0)
    types = Types()
    types.add(SESSION.read_bytes())
    heartbeat = Batch("muster.session.Heartbeat", WORLD, [Message(NIL, {"number": 1, "time_ns": 2}, {})])
    equal(batch_bytes(types, heartbeat), words("""
        40000000 93ba42fa 04000200 01000000 18000000 18000000 00000000 00000000
        01000000 00000000 02000000 00000000 00000000 00000000 00000000 00000000"""))
    destroy = Batch("muster.Destroy", EACH, [Message((12, 1), {}, {})])
    equal(batch_bytes(types, destroy), words("""
        30000000 3b48897c 01000208 01000000 04000000 10000000 00000000 00000000 0c000000 01000000 00000000 00000000"""))


def a_wrong_token_and_what_is_no_hello_end_the_connection_with_a_reason(folder):
    with served(folder) as world:
        session = world.stranger()
        fault = refused(session.hello, "not the token of this server")
        equal((fault["code"], fault["closes"]), (4, True))
        assert "token" in fault["text"], fault
        closed(session)

        session = world.stranger()
        fault = refused(session.ask, "Heartbeat", {"number": 1})
        equal((fault["code"], fault["closes"]), (5, True))
        closed(session)

        session = world.stranger()
        session.control("Hello", {"protocol": 9, "protocol_oldest": 8, "token": world.token}, 3)
        fault = refused(session.answer, 3)
        equal((fault["code"], fault["closes"]), (3, True))
        closed(session)

        session = world.stranger()
        hello = batch_bytes(session.types, Batch("muster.session.Hello", TABLE, [Message(NIL, {"token": world.token}, {})]))
        session.stream.send(struct.pack("<IIQ", 16 + len(hello), 0, 1) + hello[:-1] + b"x")
        fault = refused(session.answer, 1)
        equal((fault["code"], fault["closes"], fault["reason"]), (2, True, "nonzero_padding"))
        closed(session)

        welcome = world.session().welcome
        equal((welcome["protocol"], welcome["role"], welcome["resumed"]), (1, 4, False))
        assert welcome["world"].endswith("w.muster") or welcome["world"] == "w", welcome


def the_schema_describes_every_type_of_the_world(folder):
    with served(folder) as world:
        session = world.session()
        health = session.types.by_name[HEALTH]
        equal((health.is_struct, health.bytes, "component" in health.attributes), (True, 4, True))
        equal(health.fields[0].attributes["range"], "0,100")
        described = {name for frame in session.get_schema() for name in read_schema(frame.batch.messages[0].value["bytes"])}
        assert {HEALTH, "muster.Create", "muster.session.Fault"} <= described, described
        equal(session.ask("GetInfo", {})["world"], session.welcome["world"])
        beat = session.ask("Heartbeat", {"number": 77, "time_ns": 5})
        equal(beat, {"number": 77, "time_ns": 5, "answer": 1})


def edits(folder, stream, *options):
    with served(folder, *options) as world:
        session = world.session(stream)
        camp = session.create(NIL, "camp")
        orc = session.create(camp, "orc", {HEALTH: {"value": 50}, FROZEN: {},
                                           UNIT: {"team": 1, "speed": 1.5, "target": entity_value(camp),
                                                  "title": session.text("the first")}})
        elf = session.create(camp, "elf", before=orc)
        shown = world.shown(orc)
        equal(shown["path"], "/camp/orc")
        equal(shown["components"][HEALTH], {"value": 50})
        equal(shown["components"][UNIT]["title"], "the first")
        assert FROZEN in shown["components"], shown
        mine, rows = session.show(orc)
        equal((mine["path"], entity(mine["parent"]), set(rows)), ("/camp/orc", camp, {NAME, HEALTH, UNIT, FROZEN}))
        equal(rows[UNIT]["target"], entity_value(camp))

        ack = session.push("muster.Set", orc, {"mode": 0}, {HEALTH: {"value": 60}})
        equal((ack["handled"], ack["dead"], ack["cut_short"]), (1, 0, 0))
        assert ack["sequence"] > ack["durable_through"], ack
        later = session.set_field(orc, HEALTH, "value", "f", 70)
        assert later["sequence"] > ack["sequence"], later
        equal(world.shown(orc)["components"][HEALTH], {"value": 70})

        fault = refused(session.set_field_if, orc, HEALTH, "value", "f", 80, 60)
        equal((fault["code"], fault["closes"], fault["reason"]), (101, False, "value_mismatch"))
        equal((entity(fault["entity"]), fault["type"], fault["field"]), (orc, hash32(HEALTH), "value"))
        equal((struct.unpack("<f", fault["value"])[0], fault["refused"]), (70, 1))
        session.set_field_if(orc, HEALTH, "value", "f", 80, 70)
        equal(world.shown(orc)["components"][HEALTH], {"value": 80})

        fault = refused(session.set_field, orc, HEALTH, "value", "f", 101)
        equal((fault["code"], fault["reason"], fault["field"]), (101, "out_of_range", "value"))
        fault = refused(session.push, "muster.Rename", elf, {"name": session.text("orc")})
        equal((fault["code"], fault["reason"], entity(fault["entity"])), (101, "name_taken", elf))

        session.push("muster.Reparent", elf, {"parent": entity_value(orc)})
        session.push("muster.Rename", elf, {"name": session.text("a/elf")})
        equal(world.shown(elf)["path"], "/camp/orc/a\\/elf")
        session.push("muster.Remove", orc, {"component": hash32(FROZEN)})
        assert FROZEN not in world.shown(orc)["components"]

        ack = session.push_batch(Batch("game.Damage", SHARED, [Message(each, {"amount": 2}, {}) for each in (orc, elf)]))
        equal((ack["unhandled"], ack["handled"]), (2, 0))
        nameless = session.create(NIL, "")
        equal(session.show(nameless)[1], {})
        session.push("muster.Destroy", nameless, {})
        session.push("muster.Destroy", orc, {})
        equal(session.ask("GetInfo", {})["entities"], 1)
        fault = refused(session.show, elf)
        equal(fault["code"], 102)


def a_script_of_edits_is_seen_by_others_and_a_conflict_says_what_is_there_now(folder):
    edits(folder, Stream)


def the_same_script_works_over_a_web_socket(folder):
    edits(folder, WebStream)


def the_same_script_works_over_a_unix_socket(folder):
    edits(folder, lambda _address: Stream(f"unix:{folder.path}/w.sock"), "--unix", "w.sock")


def find_resolve_and_children_answer_in_pages(folder):
    with served(folder) as world:
        session = world.session()
        camp = session.create(NIL, "camp")
        orcs = [session.create(camp, f"Orc {i}", {HEALTH: {"value": i}} if i % 2 else None) for i in range(5)]
        found = session.ask("Find", {"name": "oRc", "limit": 3})
        equal(([entity(each) for each in found["entities"]], found["more"]), (orcs[:3], True))
        found = session.ask("Find", {"name": "orc", "limit": 3, "after": found["entities"][-1]})
        equal(([entity(each) for each in found["entities"]], found["more"]), (orcs[3:], False))
        equal(found["paths"], ["/camp/Orc 3", "/camp/Orc 4"])
        found = session.ask("Find", {"components": [hash32(HEALTH)], "under": entity_value(camp), "limit": 10})
        equal([entity(each) for each in found["entities"]], [orcs[1], orcs[3]])
        found = session.ask("Resolve", {"path": "/camp/Orc 4", "limit": 2})
        equal([entity(each) for each in found["entities"]], [orcs[4]])
        page = session.ask("ListChildren", {"entity": entity_value(camp), "offset": 1, "limit": 2})
        equal((page["names"], page["total"], page["component_counts"]), (["Orc 1", "Orc 2"], 5, [2, 1]))


def a_watch_begins_with_the_state_and_tells_what_others_change(folder):
    with served(folder) as world:
        writer, reader = world.session(), world.session()
        camp = writer.create(NIL, "camp")
        orc = writer.create(camp, "orc", {HEALTH: {"value": 50}})
        copy = Copy(reader, {"world": True, "values": True, "structure": True, "inputs": True,
                             "input_types": [hash32("game.Damage")]})
        equal(copy.entities[camp]["name"], "camp")
        equal(copy.entities[orc], {"parent": camp, "name": "orc", "components": {NAME: {"text": hash64("orc")},
                                                                                HEALTH: {"value": 50}}})

        writer.set_field(orc, HEALTH, "value", "f", 60)
        copy.follow_until(lambda: copy.entities[orc]["components"][HEALTH] == {"value": 60})
        elf = writer.create(camp, "elf", {FROZEN: {}, UNIT: {"title": writer.text("archer")}})
        copy.follow_until(lambda: elf in copy.entities)
        equal((copy.entities[elf]["name"], copy.entities[elf]["parent"]), ("elf", camp))
        equal(reader.text_of(copy.entities[elf]["components"][UNIT]["title"]), "archer")
        writer.push("muster.Rename", elf, {"name": writer.text("fay")})
        copy.follow_until(lambda: copy.entities[elf]["name"] == "fay")
        writer.push("muster.Reparent", elf, {"parent": entity_value(orc)})
        copy.follow_until(lambda: copy.entities[elf]["parent"] == orc)
        writer.push("muster.Remove", elf, {"component": hash32(FROZEN)})
        copy.follow_until(lambda: FROZEN not in copy.entities[elf]["components"])

        request = writer.last_request + 1
        ack = writer.push("game.Damage", orc, {"amount": 7, "from": entity_value(elf)})
        event = copy.next_event()
        equal((event.sequence, event.session, event.sender_request), (ack["sequence"], writer.welcome["session"], request))
        equal((event.batch.type, event.batch.messages[0].target), ("game.Damage", orc))
        equal(event.batch.messages[0].value, {"amount": 7, "from": entity_value(elf)})

        writer.push("muster.Destroy", orc, {})
        copy.follow_until(lambda: orc not in copy.entities)
        assert elf not in copy.entities, "what was below it went with it"
        request = reader.next_request()
        reader.control("Unwatch", {"watch": copy.request}, request)
        equal(reader.answer(request)[0].batch.messages[0].value, {"watch": copy.request})


def a_watch_of_open_nodes_tells_their_children_in_order_and_is_changed(folder):
    with served(folder) as world:
        writer, reader = world.session(), world.session()
        camp, inn = writer.create(NIL, "camp"), writer.create(NIL, "inn")
        orcs = [writer.create(camp, f"orc {i}") for i in range(3)]
        writer.create(inn, "guest")
        tree = Copy(reader, {"open": [entity_value(NIL), entity_value(camp)]})
        equal(sorted(row["name"] for row in tree.rows.values() if row["parent"] == NIL), ["camp", "inn"])
        equal(tree.children(camp), ["orc 0", "orc 1", "orc 2"])
        equal(tree.rows[camp]["children"], 3)

        writer.push("muster.Reparent", orcs[2], {"parent": entity_value(camp), "before": entity_value(orcs[0])})
        tree.follow_until(lambda: tree.rows[orcs[2]]["after"] == NIL)
        equal(tree.children(camp), ["orc 2", "orc 0", "orc 1"])
        writer.push("muster.Reparent", orcs[0], {"parent": entity_value(inn)})
        tree.follow_until(lambda: orcs[0] not in tree.rows)
        equal(tree.children(camp), ["orc 2", "orc 1"])

        change = reader.next_request()
        reader.control("FollowMore", {"watch": tree.request, "open": [entity_value(inn)],
                                      "add": [entity_value(orcs[1])]}, change)
        tree.follow_until(lambda: change in tree.followed)
        equal(tree.children(inn), ["guest", "orc 0"])
        answer = reader.answer(change)[0]
        equal((answer.batch.type, answer.batch.messages[0].value["watch"]), ("muster.session.Followed", tree.request))

        values = Copy(reader, {"world": True, "values": True, "with": [hash32(HEALTH)]})
        writer.push("muster.Set", orcs[1], {}, {HEALTH: {"value": 5}, FROZEN: {}})
        values.follow_until(lambda: orcs[1] in values.entities)
        equal(values.entities[orcs[1]]["components"], {NAME: {"text": hash64("orc 1")}, HEALTH: {"value": 5}, FROZEN: {}})
        writer.push("muster.Remove", orcs[1], {"component": hash32(HEALTH)})
        values.follow_until(lambda: orcs[1] not in values.entities)


def the_clock_is_followed_and_a_timed_message_comes_when_it_is_due(folder):
    with served(folder, "--hz", "20") as world:
        session, other = world.session(), world.session()
        equal(session.ask("GetClock", {"follow": 1})["paused"], 0)
        state = other.ask("SetClock", {"paused": 1})
        equal((state["paused"], state["hz"], state["session"]), (1, 20, other.welcome["session"]))
        told = session.frame(0)
        equal((told.batch.type, told.batch.messages[0].value["paused"]), ("muster.session.ClockState", 1))

        orc = other.create(NIL, "orc", {HEALTH: {"value": 50}})
        copy = Copy(session, {"values": True, "entities": [entity_value(orc)]})
        inner = Batch("muster.Set", EACH, [Message(orc, {}, {HEALTH: {"value": 9}})])
        other.push_batch(Batch("", TIMED, [], state["clock_ns"] + 75_000_000, 0, inner))
        waiting = other.ask("ListTimers", {"limit": 10})
        equal((waiting["total"], waiting["types"], waiting["own"]), (1, [hash32("muster.Set")], b"\1"))
        equal(world.shown(orc)["components"][HEALTH], {"value": 50})
        other.ask("SetClock", {"paused": 1, "steps": 2})
        copy.follow_until(lambda: copy.entities[orc]["components"][HEALTH] == {"value": 9})
        now = session.ask("GetClock", {"follow": 0})
        equal((now["tick"], now["clock_ns"]), (state["tick"] + 2, state["clock_ns"] + 100_000_000))
        fault = refused(other.ask, "SetClock", {"paused": 0, "steps": 1})
        equal((fault["code"], fault["reason"]), (105, "not_paused"))


def what_was_saved_is_there_when_the_server_is_killed_and_comes_back(folder):
    with served(folder, "--durability", "checkpoint", "--autosave", "0") as world:
        session = world.session()
        orc = session.create(NIL, "orc", {HEALTH: {"value": 50}})
        saved = session.ask("Save", {})
        ack = session.set_field(orc, HEALTH, "value", "f", 60)
        assert saved["sequence"] <= ack["durable_through"] < ack["sequence"], (saved, ack)
        server = folder.started[0]
        server.kill()
        server.wait()
        closed(session)
        again = Served(folder)
        world.sessions.append(again.session())
        equal(world.sessions[-1].show(orc)[1][HEALTH], {"value": 50})
        assert world.sessions[-1].welcome["epoch"] != session.welcome["epoch"]


def what_is_told_to_be_durable_is_there_when_the_server_is_killed_and_comes_back(folder):
    with served(folder, "--autosave", "0") as world:
        session = world.session()
        orc = session.create(NIL, "orc", {HEALTH: {"value": 50}})
        ack = session.set_field(orc, HEALTH, "value", "f", 60)
        durable = session.ask("FollowDurable", {})
        equal((durable["durability"], durable["autosave_ns"], durable["error"]), (1, 0, ""))
        while durable["sequence"] < ack["sequence"]:
            durable = session.answer(0)[-1].batch.messages[0].value
        assert durable["saved_sequence"] < ack["sequence"], durable
        server = folder.started[0]
        server.kill()
        server.wait()
        closed(session)
        again = Served(folder)
        world.sessions.append(again.session())
        equal(world.sessions[-1].show(orc)[1][HEALTH], {"value": 60})
        assert world.sessions[-1].welcome["sequence"] >= durable["sequence"]


def a_token_is_proved_without_sending_it(folder):
    with served(folder) as world:
        session = world.stranger()
        equal(session.hello_with_proof(world.token)["role"], 4)
        session.get_schema()
        equal(session.show(session.create(NIL, "orc", {HEALTH: {"value": 50}}))[1][HEALTH], {"value": 50})
        session = world.stranger()
        fault = refused(session.hello_with_proof, "not the token of this server")
        equal((fault["code"], fault["closes"]), (4, True))
        closed(session)
        session = world.stranger()
        session.control("Hello", {"protocol": 1, "protocol_oldest": 1, "token_id": bytes(16)}, 1)
        equal(refused(session.answer, 1)["reason"], "token_id")
        closed(session)


def the_same_port_speaks_tls_and_tells_who_does_not(folder):
    with served(folder, "--self-signed") as world:
        fingerprint = json.loads((folder.path / "w.muster-server.json").read_text())["tls"]
        session = world.session(lambda address: TlsStream(address, fingerprint))
        equal(session.show(session.create(NIL, "orc", {HEALTH: {"value": 50}}))[1][HEALTH], {"value": 50})
        session = world.stranger()
        session.control("Hello", {"protocol": 1, "protocol_oldest": 1, "token": world.token}, 1)
        fault = refused(session.answer, 0)
        equal((fault["code"], fault["reason"]), (3, "needs_tls"))
        closed(session)


TESTS = [the_examples_of_the_documents_are_made_and_read,
         a_wrong_token_and_what_is_no_hello_end_the_connection_with_a_reason,
         a_token_is_proved_without_sending_it,
         the_same_port_speaks_tls_and_tells_who_does_not,
         the_schema_describes_every_type_of_the_world,
         a_script_of_edits_is_seen_by_others_and_a_conflict_says_what_is_there_now,
         the_same_script_works_over_a_web_socket,
         the_same_script_works_over_a_unix_socket,
         find_resolve_and_children_answer_in_pages,
         a_watch_begins_with_the_state_and_tells_what_others_change,
         a_watch_of_open_nodes_tells_their_children_in_order_and_is_changed,
         the_clock_is_followed_and_a_timed_message_comes_when_it_is_due,
         what_was_saved_is_there_when_the_server_is_killed_and_comes_back,
         what_is_told_to_be_durable_is_there_when_the_server_is_killed_and_comes_back]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, lambda path: Folder(path, MUSTER, SERVER)))
