#!/usr/bin/env python3
"""Runs `muster` and `muster-server` as people do, in folders of their own: every command, its JSON, its errors and exit codes.

`run.py MUSTER SERVER GAME_BFBS SOURCE_ROOT [NAME...]`; NAMEs pick tests. The last line is `N passed, N failed`.
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from programs import Folder, equal, run_tests  # noqa: E402

MUSTER, SERVER, GAME, ROOT = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
TOWN = ROOT / "examples/levels/town/town_model.gltf"
DONE, REFUSED, USAGE, UNREACHABLE, BAD_FILE = range(5)


@contextlib.contextmanager
def game(folder):
    """A served world of game.fbs types with a small town in it."""
    folder.run("new", "game.muster", "--schema", GAME)
    folder.serve("game.muster")
    folder.run("spawn", "/town")
    folder.run("spawn", "/town/tower", "Health.value=80", "Unit.team=red")
    folder.run("spawn", "/town/gate", "Health")
    yield folder


def holds(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in\n{text}"


# ---- worlds ----------------------------------------------------------------------------------------------------------


def new_makes_a_world_and_never_replaces_one(folder):
    equal(folder.run("new", "a.muster"), "made a.muster\n")
    before = (folder.path / "a.muster").read_bytes()
    equal(folder.error(REFUSED, "new", "a.muster"), "a.muster is there already")
    equal((folder.path / "a.muster").read_bytes(), before)
    equal(folder.json("new", "b.muster"), {"world": str(folder.path / "b.muster")})
    holds(folder.error(BAD_FILE, "new", "nowhere/c.muster"), "there is no folder")
    equal(folder.error(BAD_FILE, "new", "c.muster", "--schema", "no.fbs"), "there is no schema file no.fbs")
    (folder.path / "bad.bfbs").write_bytes(b"not a schema")
    holds(folder.error(BAD_FILE, "new", "c.muster", "--schema", "bad.bfbs"), "bad.bfbs")
    equal(folder.error(UNREACHABLE, "info", "--world", "c.muster"), "there is no world c.muster")
    assert not list(folder.path.glob("*-server.json")), "a server was left behind"


def the_town_is_imported_whole(folder):
    counts = folder.json("import", TOWN, "town.muster")
    equal({key: counts[key] for key in ("path", "entities", "meshes", "lights", "cameras", "warnings")},
          {"path": "/town_model", "entities": 112, "meshes": 60, "lights": 0, "cameras": 0, "warnings": []})
    folder.serve("town.muster")
    equal(folder.json("info")["entities"], 112)

    def count(children):
        return sum(1 + count(child.get("children", [])) for child in children)

    equal(count(folder.json("tree")["children"]), 112)
    equal(len(folder.json("ls", "--with", "MeshReference")), 60)
    mesh = folder.json("show", folder.json("ls", "--with", "scene.MeshReference")[0]["id"])
    equal(mesh["components"]["scene.MeshReference"]["asset"], os.path.relpath(TOWN, folder.path))
    holds(folder.run("tree", "--depth", "1"), "town_model", "… 4 below")


def import_uses_the_server_of_a_served_world(folder):
    with game(folder):
        holds(folder.run("import", TOWN, "game.muster", "--under", "/town", "--name", "model"),
              "imported ", " as /town/model (", "112 entities, 60 meshes, 0 lights, 0 cameras")
        equal(folder.json("info")["entities"], 115)
        equal(folder.error(REFUSED, "import", TOWN, "game.muster", "--under", "town", "--name", "model"),
              'the name "model" is taken; leave --name out, or "model~2" is free')
        equal(folder.json("import", TOWN, "game.muster")["path"], "/town_model")
        equal(folder.json("import", TOWN, "game.muster")["path"], "/town_model~2")
        holds(folder.error(USAGE, "import", TOWN, "game.muster", "--schema", GAME), "is served already")


def a_broken_model_changes_nothing(folder):
    folder.run("new", "a.muster")
    before = (folder.path / "a.muster").read_bytes()
    (folder.path / "broken.gltf").write_text('{"asset": {"version": "2.0"}, "nodes": [')
    (folder.path / "what.xyz").write_text("no model")
    for file in ("broken.gltf", "what.xyz", "missing.glb"):
        holds(folder.error(BAD_FILE, "import", file, "a.muster"), "cannot import " + file)
        holds(folder.error(BAD_FILE, "import", file, "new.muster"), file)
    equal((folder.path / "a.muster").read_bytes(), before)
    assert not (folder.path / "new.muster").exists()


def a_file_that_is_no_world_is_left_alone(folder):
    (folder.path / "a.muster").write_text("these are no entities\n" * 100)
    before = (folder.path / "a.muster").read_bytes()
    holds(folder.error(BAD_FILE, "import", TOWN, "a.muster"), "a.muster")
    equal((folder.path / "a.muster").read_bytes(), before)


def import_says_what_it_needs(folder):
    holds(folder.error(USAGE, "import", TOWN), "import needs the world")
    holds(folder.error(USAGE, "import"), "FILE is required")
    holds(folder.error(USAGE, "import", TOWN, "a.muster", "--connect", "127.0.0.1:1"), "not both")


def what_was_edited_is_there_after_a_restart(folder):
    with game(folder):
        folder.run("import", TOWN, "game.muster")
        folder.run("set", "tower", "Unit.title", "the old tower, north")
        folder.run("set", "tower", "Unit.target", "gate")
        tree, tower = folder.json("tree"), folder.json("show", "tower")
        info = folder.json("info", "--hash")
        folder.stop(folder.started[0])
        assert not (folder.path / "game.muster-server.json").exists()
        folder.serve("game.muster")
        equal(folder.json("tree"), tree)
        again = folder.json("show", "tower")
        equal(again["components"]["game.Unit"]["title"], "the old tower, north")
        equal({**again, "sequence": 0}, {**tower, "sequence": 0})
        equal(folder.json("info", "--hash")["hash"], info["hash"])


def save_writes_what_was_edited(folder):
    with game(folder):
        folder.run("spawn", "/kept")
        sequence = folder.json("save")["sequence"]
        equal(folder.run("save"), f"saved, through sequence {sequence}\n")
        folder.started[0].kill()
        folder.started[0].wait()
        folder.serve("game.muster")
        equal([child["name"] for child in folder.json("ls")], ["town", "kept"])


def a_server_that_cannot_listen_makes_nothing(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for listen, reason in (("0.0.0.0:0", "only loopback addresses"), ("127.0.0.1", "expected ADDRESS:PORT"),
                               (f"127.0.0.1:{taken.getsockname()[1]}", "cannot listen on")):
            server = folder.start(SERVER, "w.muster", "--listen", listen, stderr=subprocess.PIPE)
            equal(server.wait(timeout=20), 6)
            holds(server.stderr.read(), reason)
            equal(list(folder.path.iterdir()), [])
    (folder.path / "file").write_text("no socket")
    server = folder.start(SERVER, "w.muster", "--listen", "", "--unix", "file", stderr=subprocess.PIPE)
    equal(server.wait(timeout=20), 6)
    holds(server.stderr.read(), "exists and is no socket")
    equal([path.name for path in folder.path.iterdir()], ["file"])


def a_limit_that_there_is_none_of_is_told_with_those_there_are(folder):
    for limit in ("texts", "texts_max", "texts_max=", "texts_max=-1", "texts_max=4294967296", "texts_max=5x", "=5"):
        server = folder.start(SERVER, "w.muster", "--listen", "127.0.0.1:0", "--limit", limit, stderr=subprocess.PIPE)
        equal(server.wait(timeout=20), 2)
        holds(server.stderr.read(), f"--limit {limit}: it is NAME=NUMBER", " depth_max ", " world_texts_max ")
        equal(list(folder.path.iterdir()), [])


def a_limit_that_was_set_is_held(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    folder.serve("game.muster", "--limit", "name_bytes_max=8", "--limit", "depth_max=50")
    folder.run("spawn", "/doorway8")
    holds(folder.error(REFUSED, "rename", "doorway8", "portcullis"), "a name of 10 bytes; 8 are allowed")


def a_server_says_where_its_editor_is_where_it_has_one(folder):
    (folder.path / "page").mkdir()
    (folder.path / "page" / "index.html").write_text("<!doctype html>")

    def said(*arguments):
        server = folder.start(SERVER, "w.muster", "--listen", "127.0.0.1:0", *arguments,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        lines = []
        while not lines or " token " not in lines[-1]:
            lines.append(server.stdout.readline())
            assert lines[-1], "".join(lines)
        server.send_signal(signal.SIGTERM)
        equal(server.wait(timeout=20), 0)
        return "".join(lines)

    holds(said("--page", "page"), " editor http://127.0.0.1:", "/#token=")
    without = said("--page", "none")
    holds(without, "listening on 127.0.0.1:")
    assert "http" not in without, without


def a_server_stops_in_good_order_from_the_moment_it_can_be_found(folder):
    for _ in range(5):
        server = folder.start_server("w.muster")
        while not (folder.path / "w.muster-server.json").exists():
            assert server.poll() is None, server.stderr.read()
        folder.stop(server)
        equal(sorted(path.name for path in folder.path.iterdir()), ["w.muster", "w.muster-lock"])


def a_second_sigterm_ends_a_server_at_once(folder):
    server = folder.serve("w.muster")
    address = json.loads((folder.path / "w.muster-server.json").read_text())["address"].split(":")
    with socket.create_connection((address[0], int(address[1]))) as silent:
        # Connections are accepted in turn: with the answer to the second the first was.
        with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/health", timeout=20) as health:
            equal(health.status, 200)
        server.send_signal(signal.SIGTERM)
        assert silent.recv(4096), "it is gone already"  # that it stops: it waits a second for clients to read so
        server.send_signal(signal.SIGTERM)
        equal(server.wait(timeout=0.5), -signal.SIGTERM)
    folder.serve("w.muster")


# ---- which server ----------------------------------------------------------------------------------------------------


def the_server_is_found_by_folder_variable_and_option(folder):
    equal(folder.error(UNREACHABLE, "info"),
          "no world is served in this folder; name one with --world or MUSTER_WORLD, or a server with --connect")
    folder.run("new", "a.muster")
    holds(folder.error(UNREACHABLE, "info", "--world", "a.muster"), "a.muster")
    folder.serve("a.muster")
    equal(folder.json("info")["world"], "a.muster")
    folder.run("new", "b.muster")
    folder.serve("b.muster")
    holds(folder.error(UNREACHABLE, "info"), "several worlds are served in this folder; name one with --world:",
          "a.muster", "b.muster")
    equal(folder.json("info", "--world", "b.muster")["world"], "b.muster")
    equal(folder.json("--world", str(folder.path / "a.muster"), "info")["world"], "a.muster")
    holds(folder.run("info", MUSTER_WORLD="b.muster"), "b.muster")


def a_killed_server_is_not_looked_for(folder):
    folder.run("new", "a.muster")
    folder.serve("a.muster").kill()
    folder.started[0].wait()
    assert (folder.path / "a.muster-server.json").exists()
    folder.run("info", exit=UNREACHABLE)
    folder.run("info", "--world", "a.muster", exit=UNREACHABLE)
    folder.serve("a.muster")


def elsewhere_an_address_and_a_token_are_needed(folder):
    folder.run("new", "a.muster")
    folder.serve("a.muster")
    beside = folder.path / "a.muster-server.json"
    equal(beside.stat().st_mode & 0o777, 0o600)
    at = json.loads(beside.read_text())
    # A token that is given counts, whoever says where the server is.
    for where in (["--world", "a.muster"], []):
        holds(folder.error(UNREACHABLE, "info", *where, "--token", "x" * 32), "the token is not valid here")
        equal(folder.json("info", *where, "--token", at["token"])["world"], "a.muster")
    with tempfile.TemporaryDirectory() as away:
        other = Folder(away, MUSTER, SERVER)
        equal(other.json("--connect", at["address"], "--token", at["token"], "info")["world"], "a.muster")
        holds(other.run("info", "--connect", at["address"], MUSTER_TOKEN=at["token"]), "a.muster")
        equal(other.error(USAGE, "info", "--connect", at["address"]),
              "--connect needs the server's token: --token, or MUSTER_TOKEN")
        holds(other.error(UNREACHABLE, "info", "--connect", at["address"], "--token", "x" * 32), at["address"], "token")
        holds(other.error(UNREACHABLE, "info", "--connect", "127.0.0.1:1", "--token", "x"), "127.0.0.1:1")
        holds(other.error(UNREACHABLE, "info", "--connect", "unix:/nowhere", "--token", "x"), "/nowhere")


# ---- looking ---------------------------------------------------------------------------------------------------------


def ls_and_tree_show_who_is_there(folder):
    with game(folder):
        equal(folder.run("ls"), "ID   NAME  CHILDREN  COMPONENTS\n1:1  town  2\n".replace("1:1", folder.json("ls")[0]["id"]))
        children = folder.json("ls", "/town")
        equal([(child["name"], child["components"], child["child_count"]) for child in children],
              [("tower", ["game.Health", "game.Unit"], 0), ("gate", ["game.Health"], 0)])
        tower, gate = (child["id"] for child in children)
        equal(folder.run("tree", "town").splitlines()[1:],
              [f"├─ tower  {tower}  [game.Health, game.Unit]", f"└─ gate  {gate}  [game.Health]"])
        tree = folder.json("tree")
        equal((tree["id"], tree["path"]), (None, "/"))
        equal([child["name"] for child in tree["children"][0]["children"]], ["tower", "gate"])
        equal([found["path"] for found in folder.json("ls", "--with", "Unit")], ["/town/tower"])
        equal([found["path"] for found in folder.json("ls", "--name", "TE")], ["/town/gate"])
        equal(folder.run("ls", "tower"), "")


def entities_have_paths_names_and_ids(folder):
    with game(folder):
        id = folder.json("show", "/town/tower")["id"]
        for name in ("tower", "town/tower", "/town/tower", "/town/tower/", id, "#" + id):
            equal(folder.json("show", name)["path"], "/town/tower")
        folder.run("spawn", "tower")
        other = folder.json("show", "/tower")["id"]
        said = folder.error(REFUSED, "show", "tower")
        holds(said, '"tower" is ambiguous: 2 entities are called so; use a path or an id',
              f"  {id}  /town/tower", f"  {other}  /tower")
        equal(folder.error(REFUSED, "show", "/town/towr"),
              'no entity /town/towr: /town has no child "towr"; did you mean "tower"?')
        equal(folder.error(REFUSED, "show", "/twon/tower"),
              'no entity /twon/tower: the world has no child "twon"; did you mean "town"?')
        equal(folder.error(REFUSED, "show", "nobody"), "no entity nobody in this world")
        holds(folder.error(REFUSED, "show", "gat"), "names that contain it:", "/town/gate")
        holds(folder.error(REFUSED, "show", "4000000:1"), "4000000:1")
        holds(folder.error(REFUSED, "show", id.replace(":1", ":9")), "9")
        holds(folder.error(USAGE, "show", "/"), "/ is the whole world")
        folder.run("spawn", "a/b")
        equal(folder.json("ls")[-1]["name"], "a/b")
        equal(folder.json("show", "/a\\/b")["name"], "a/b")
        folder.run("spawn", "/town/c\\/d")
        equal(folder.json("show", "/town/c\\/d")["name"], "c/d")


def show_tells_values_and_units(folder):
    with game(folder):
        shown = folder.json("show", "tower")
        equal(shown["components"], {"game.Health": {"value": 80},
                                    "game.Unit": {"team": "red", "speed": 0, "target": None, "title": None}})
        equal((shown["name"], shown["path"], shown["child_count"]), ("tower", "/town/tower", 0))
        equal(shown["parent"], folder.json("show", "town")["id"])
        holds(folder.run("show", "tower"), "/town/tower (", "game.Health\n", "  value  80 hp\n", "team    red")


def info_and_types_describe_the_world(folder):
    with game(folder):
        info = folder.json("info", "--hash")
        equal((info["world"], info["entities"], info["hz"]), ("game.muster", 3, 0))
        assert re.fullmatch("[0-9a-f]{16}", info["hash"]), info
        assert "hash" not in folder.json("info")
        holds(folder.run("info"), "entities  3\n")
        names = {type["name"]: type["kind"] for type in folder.json("types")}
        equal((names["game.Health"], names["game.Frozen"], names["game.Say"]), ("component", "tag", "message"))
        assert not any(name.startswith("muster.session.") for name in names)
        holds(folder.run("types", "Health"), "How much an entity can bear.\n", "a number from 0 to 100 (hp)", "100")
        equal(folder.json("types", "Unit")["fields"][0]["takes"], "one of neutral, red, blue")
        holds(folder.error(REFUSED, "types", "Helth"), "did you mean game.Health?")


# ---- changing --------------------------------------------------------------------------------------------------------


def set_writes_one_field(folder):
    with game(folder):
        holds(folder.run("set", "tower", "Health.value", "50"), "/town/tower (", ")  game.Health.value = 50\n")
        done = folder.json("set", "tower", "game.Unit.speed", "-2.5")
        equal((done["component"], done["field"], done["value"]), ("game.Unit", "speed", "-2.5"))
        folder.run("set", "tower", "Unit.team", "blue")
        folder.run("set", "tower", "Unit.target", "/town/gate")
        folder.run("set", "tower", "Unit.title", "north")
        gate = folder.json("show", "gate")["id"]
        equal(folder.json("show", "tower")["components"],
              {"game.Health": {"value": 50}, "game.Unit": {"team": "blue", "speed": -2.5, "target": gate, "title": "north"}})
        folder.run("set", "tower", "Unit.target", "nil")
        equal(folder.json("show", "tower")["components"]["game.Unit"]["target"], None)


def set_writes_arrays_whole_or_by_element(folder):
    with game(folder):
        folder.run("add", "gate", "Path")
        folder.run("set", "gate", "Path.points[3]", "-7")
        equal(folder.json("show", "gate")["components"]["game.Path"]["points"], [0, 0, 0, -7] + [0] * 28)
        folder.run("set", "gate", "Path.points", ",".join(str(-i) for i in range(32)))
        equal(folder.json("show", "gate")["components"]["game.Path"]["points"], [-i for i in range(32)])
        holds(folder.error(USAGE, "set", "gate", "Path.points", "1,2"), "takes 32 values separated by commas")
        holds(folder.error(REFUSED, "set", "gate", "Path.points[32]", "1"), "elements 0 to 31")


def set_names_what_does_not_fit(folder):
    with game(folder):
        equal(folder.error(REFUSED, "set", "tower", "Helth.value", "5"), 'no component "Helth"; did you mean game.Health?')
        equal(folder.error(REFUSED, "set", "tower", "Health.vale", "5"), "game.Health has no field 'vale'; it has value")
        equal(folder.error(USAGE, "set", "tower", "Health.value", "101"),
              "game.Health.value cannot be '101': it takes a number from 0 to 100 (hp)")
        equal(folder.error(USAGE, "set", "tower", "Unit.team", "green"),
              "game.Unit.team cannot be 'green': it takes one of neutral, red, blue")
        equal(folder.error(USAGE, "set", "tower", "Health", "5"),
              "game.Health is a component; name a field of it, as in Health.value")
        holds(folder.error(REFUSED, "set", "gate", "Unit.speed", "5"), "game.Unit", "gate")
        equal(folder.error(REFUSED, "set", "tower", "Name.text", "x"),
              "muster.Name is kept by the world and not written from outside")
        holds(folder.error(USAGE, "set", "tower", "Health.value"), "VALUE is required")
        equal(folder.json("show", "tower")["components"]["game.Health"], {"value": 80})


def set_can_expect_a_value(folder):
    with game(folder):
        folder.run("set", "tower", "Health.value", "70", "--expect", "80")
        holds(folder.error(REFUSED, "set", "tower", "Health.value", "60", "--expect", "80"),
              "game.Health.value is 70, not 80")
        equal(folder.json("show", "tower")["components"]["game.Health"], {"value": 70})


def push_sends_messages_to_one_many_or_all(folder):
    with game(folder):
        holds(folder.run("push", "tower", "Damage", "amount=5", "from=gate"),
              "/town/tower (", "game.Damage  no handler took it")
        done = folder.json("push", "tower", "game.Damage")
        equal((done["message"], done["handled"], done["unhandled"], done["dead"]), ("game.Damage", 0, 1, 0))
        equal(folder.json("push", "town", "Damage", "--below")["unhandled"], 3)
        equal(folder.json("push", "@world", "Say", "text=hello, all", "numbers=1,-2", "loud=true")["message"], "game.Say")
        equal(folder.json("push", "gate", "muster.Destroy")["handled"], 1)
        folder.run("show", "gate", exit=REFUSED)


def push_names_what_does_not_fit(folder):
    with game(folder):
        equal(folder.error(REFUSED, "push", "tower", "Damge"), 'no message "Damge"; did you mean game.Damage?')
        equal(folder.error(REFUSED, "push", "tower", "game.Health"), 'no message "game.Health": that type is no message')
        equal(folder.error(REFUSED, "push", "tower", "Damage", "amont=5"),
              "game.Damage has no field 'amont'; it has amount, from")
        equal(folder.error(USAGE, "push", "tower", "Damage", "5"), "'5' is not of the form field=value")
        equal(folder.error(REFUSED, "push", "tower", "Damage", "from=elf"), "no entity elf in this world")
        equal(folder.error(USAGE, "push", "tower", "Say"), "game.Say needs text=: a text")
        equal(folder.error(REFUSED, "push", "@world", "Update", "dt=1"), "muster.Update may not be sent from outside")
        holds(folder.error(USAGE, "push", "@world", "Damage", "--below"), "@world is everyone already")


def components_come_and_go(folder):
    with game(folder):
        holds(folder.run("add", "gate", "Unit", "team=blue", "speed=3"), "added game.Unit")
        equal(folder.json("show", "gate")["components"]["game.Unit"]["speed"], 3)
        holds(folder.error(REFUSED, "add", "gate", "Unit"), "has game.Unit already; change it with `muster set`")
        folder.run("add", "gate", "Frozen")
        holds(folder.run("tree"), "game.Frozen")
        holds(folder.error(REFUSED, "add", "tower", "Frozen", "reserved=1"), "game.Frozen is a tag: it has no fields")
        holds(folder.run("remove", "gate", "Unit"), "removed game.Unit")
        holds(folder.error(REFUSED, "remove", "gate", "Unit"), "has no game.Unit; it has game.", "game.Health")
        equal(folder.error(REFUSED, "add", "gate", "muster.ChildOf"),
              "muster.ChildOf is kept by the world and not written from outside")


def entities_are_spawned_moved_renamed_and_destroyed(folder):
    with game(folder):
        made = folder.json("spawn", "orc", "--under", "town", "--before", "gate", "Health.value=30", "Frozen")
        equal(made["path"], "/town/orc")
        equal([child["name"] for child in folder.json("ls", "town")], ["tower", "orc", "gate"])
        holds(folder.error(REFUSED, "spawn", "/town/orc"), 'the name "orc" is taken by a sibling')
        equal(folder.json("spawn", "/town/orc", "--suffix")["path"], "/town/orc~2")
        holds(folder.error(REFUSED, "spawn", "/nowhere/orc"), 'the world has no child "nowhere"')
        holds(folder.error(USAGE, "spawn", "/town/elf", "--under", "gate"), "leave --under or the path out")
        holds(folder.error(USAGE, "spawn", "elf", "Health.value=x"), "game.Health.value cannot be 'x'")
        holds(folder.run("rename", "orc", "ork"), "is now /town/ork")
        equal(folder.error(REFUSED, "rename", "ork", "gate"), 'the name "gate" is taken by a sibling')
        holds(folder.run("reparent", "ork", "/"), "is now /ork")
        holds(folder.run("reparent", "town", "ork"), "is now /ork/town")
        holds(folder.error(REFUSED, "reparent", "ork", "tower"), "below itself")
        holds(folder.run("destroy", "tower", "gate"), "/ork/town/tower (", "/ork/town/gate (", "destroyed")
        folder.run("destroy", "ork", "town")
        equal(folder.json("ls"), [])
        equal(folder.error(REFUSED, "destroy", made["id"]), f"no entity #{made['id']} is alive")


def the_clock_is_paused_stepped_and_set_to_a_speed(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    folder.serve("game.muster", "--hz", "200")
    clock = folder.json("clock")
    equal((clock["hz"], clock["speed"], clock["paused"], clock["steps"]), (200, 1, False, 0))
    equal(folder.error(REFUSED, "clock", "step"), "the clock runs: single ticks are made while it is paused")
    paused = folder.json("clock", "pause")
    equal(paused["paused"], True)
    folder.run("spawn", "/gate", "Health.value=5")
    holds(folder.run("clock"), "clock  paused", "ticks  200 per second", f"tick   {paused['tick']}\n", "saved  through")
    folder.run("save")
    holds(folder.run("clock"), "saved  all of it")
    stepped = folder.json("clock", "step")
    equal((stepped["tick"], stepped["steps"]), (paused["tick"] + 1, 0))
    equal(stepped["clock_ns"] - paused["clock_ns"], 5_000_000)
    equal(folder.json("clock", "step", "600")["tick"], paused["tick"] + 601)
    equal(folder.json("clock", "speed", "0.25"), {**folder.json("clock"), "speed": 0.25, "paused": True})
    holds(folder.run("clock", "play"), "clock  runs", "ticks  200 per second, at speed 0.25")
    equal(folder.json("clock", "speed", "100")["paused"], False)
    while folder.json("clock")["tick"] < paused["tick"] + 700:
        pass

    equal(folder.error(REFUSED, "clock", "speed", "0.001"), "a clock's speed is from 0.01 to 100")
    holds(folder.error(REFUSED, "clock", "speed", "101"), "speed is 101", "to 100")
    holds(folder.error(REFUSED, "clock", "speed", "nan"), "speed is nan")
    folder.run("clock", "pause")
    holds(folder.error(REFUSED, "clock", "step", "100001"), "steps is 100001")
    equal(folder.error(USAGE, "clock", "speed"), "speed needs a number: muster clock speed 0.5")
    equal(folder.error(USAGE, "clock", "speed", "fast"), "speed needs a number: muster clock speed 0.5")
    holds(folder.error(USAGE, "clock", "speed", "0"), "muster clock pause")
    for steps in ("0", "-1", "1.5", "many", "1e300", "nan"):
        equal(folder.error(USAGE, "clock", "step", steps), f"'{steps}' is no number of ticks")
    equal(folder.error(USAGE, "clock", "pause", "3"), "pause takes no number")
    holds(folder.error(USAGE, "clock", "stop"), "stop")
    equal(folder.json("clock")["speed"], 100)


def a_server_begins_with_a_clock_that_is_paused_where_it_is_told_so(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = folder.serve("game.muster", "--hz", "1000", "--paused")
    equal([folder.json("clock")[key] for key in ("tick", "paused")], [0, True])
    folder.run("spawn", "/gate")
    equal(folder.json("clock", "step", "2")["tick"], 2)
    folder.stop(server)  # a pause does not keep it from stopping, and is not saved
    folder.serve("game.muster", "--hz", "1000")
    equal(folder.json("clock")["paused"], False)
    equal(len(folder.json("ls")), 1)


def a_world_without_ticks_has_nothing_to_step_to(folder):
    with game(folder):
        holds(folder.run("clock"), "clock  runs", "ticks  none: it moves when something arrives", "tick   0")
        equal(folder.json("clock", "pause")["paused"], True)
        holds(folder.error(REFUSED, "clock", "step"), "0 Hz")


def handlers_are_listed_with_what_they_write_and_read(folder):
    with game(folder):
        equal(folder.run("handlers"), "")
        equal(folder.json("handlers"), [])


def templates_are_defined_spawned_and_merged(folder):
    with game(folder):
        squad = folder.path / "squad.json"
        squad.write_text("""{ templates: [
  { name: "game.man", components: { "game.Health": { value: 80 } },
    children: [ { name: "bag", components: { Unit: { target: "." } } } ] },
  { name: "game.pair", bases: ["game.man"], components: { Unit: { team: "red" } },
    messages: [ { type: "game.Damage", value: { amount: 3 } } ],
    children: [ { name: "mate", bases: ["game.man"] } ] } ] }""")
        equal(folder.run("templates"), "")
        equal(folder.run("timers"), "")
        equal(folder.json("timers"), [])
        equal(folder.json("define", squad), [{"name": "game.man", "entities": 2}, {"name": "game.pair", "entities": 4}])
        equal(folder.json("templates"), [{"name": "game.man", "entities": 2}, {"name": "game.pair", "entities": 4}])
        nodes = folder.json("templates", "game.pair")["nodes"]
        equal([node["name"] for node in nodes], ["", "bag", "mate", "bag"])
        equal([node["parent"] for node in nodes], [0, 0, 0, 2])
        holds(folder.run("templates", "game.pair"), "game.pair  ", "  mate", "    bag", "game.Damage")

        made = folder.json("spawn", "/town/two", "--template", "game.pair", "Health.value=50")
        equal(made["path"], "/town/two")
        equal(folder.json("show", "/town/two")["components"]["game.Health"]["value"], 50)
        equal(folder.json("show", "/town/two")["components"]["game.Unit"]["team"], "red")
        equal(folder.json("show", "/town/two/mate")["components"]["game.Health"]["value"], 80)
        mate = folder.json("show", "/town/two/mate")["id"]
        equal(folder.json("show", "/town/two/mate/bag")["components"]["game.Unit"]["target"], mate)
        holds(folder.error(REFUSED, "spawn", "/town/two", "--template", "game.pair"), 'the name "two" is taken')
        equal(folder.json("spawn", "/town/two", "--template", "game.man", "--suffix")["path"], "/town/two~2")

        folder.run("spawn", "/town/gate/mate")
        equal(folder.run("merge", "/town/gate", "game.pair").split("  ")[1], "merged with game.pair, 2 created\n")
        holds(folder.run("tree", "/town/gate"), "bag", "mate")
        equal(folder.json("show", "/town/gate/mate")["components"]["game.Health"]["value"], 80)
        equal(folder.json("merge", "/town/gate", "game.pair")["created"], 0)

        equal(folder.error(REFUSED, "spawn", "x", "--template", "game.no"),
              'the world has no template called "game.no"')
        equal(folder.error(REFUSED, "merge", "/town", "game.no"), 'the world has no template called "game.no"')
        squad.write_text('{ templates: [ { name: "game.bad", components: { "game.Health": { valu: 1 } } } ] }')
        holds(folder.error(REFUSED, "define", squad), f"{squad}:1: game.bad", "valu")
        holds(folder.error(BAD_FILE, "define", "no.json"), "no.json cannot be read")
        equal(len(folder.json("templates")), 2)


def foreign_names_cannot_steer_a_terminal(folder):
    with game(folder):
        folder.run("spawn", "a\x1b[2Jb")
        for command in (("ls",), ("tree",), ("show", folder.json("ls")[-1]["id"])):
            holds(folder.run(*command), "a\\x1b[2Jb")
        equal(folder.json("ls")[-1]["name"], "a\x1b[2Jb")


# ---- watching --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def watching(folder, *arguments):
    process = subprocess.Popen([MUSTER, "watch", *arguments], cwd=folder.path, env=folder.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if "--json" not in arguments:
            equal(process.stderr.readline(), "watching; end with Ctrl-C\n")
        else:
            time.sleep(1)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def watch_prints_what_another_client_does(folder):
    with game(folder), watching(folder, "--values", "--structure") as watch:
        folder.run("set", "tower", "Health.value", "12")
        holds(watch.stdout.readline(), "/town/tower (", "game.Health  value=12")
        folder.run("spawn", "/town/orc")
        holds(watch.stdout.readline(), "/town/orc (", "created")
        folder.run("rename", "orc", "ork")
        holds(watch.stdout.readline(), "/town/ork (", "renamed")
        folder.run("reparent", "ork", "/")
        holds(watch.stdout.readline(), "/ork (", "moved")
        folder.run("remove", "gate", "Health")
        holds(watch.stdout.readline(), "/town/gate (", "removed game.Health")
        folder.run("destroy", "ork")
        holds(watch.stdout.readline(), "/ork (", "destroyed")
        watch.send_signal(signal.SIGINT)
        equal(watch.wait(timeout=10), DONE)


def watch_tells_messages_with_their_fields(folder):
    with game(folder), watching(folder, "--events", "--json") as watch:
        folder.run("push", "tower", "Damage", "amount=7")
        event = json.loads(watch.stdout.readline())
        equal((event["what"], event["path"], event["message"], event["value"]["amount"]),
              ("event", "/town/tower", "game.Damage", 7))
        folder.run("push", "@world", "Say", "text=hi")
        event = json.loads(watch.stdout.readline())
        equal((event["message"], event["value"]), ("game.Say", {"text": "hi"}))
        assert "id" not in event


def watch_leaves_out_messages_that_are_named(folder):
    with game(folder), watching(folder, "--events", "--except", "Damage") as watch:
        folder.run("push", "tower", "Damage", "amount=7")
        folder.run("push", "@world", "Say", "text=hi")
        holds(watch.stdout.readline(), "@world", "game.Say")
        holds(folder.error(REFUSED, "watch", "--pushed", "Nothing"), "Nothing")


def watch_of_one_entity_is_silent_about_others(folder):
    with game(folder), watching(folder, "gate", "--component", "Health", "--lines", "1") as watch:
        folder.run("set", "tower", "Health.value", "1")
        folder.run("set", "gate", "Health.value", "2")
        holds(watch.stdout.readline(), "/town/gate (", "value=2")
        equal(watch.wait(timeout=10), DONE)


def watch_prints_as_many_lines_as_asked_though_more_came_at_once(folder):
    with game(folder), watching(folder, "--structure", "--lines", "2") as watch:
        folder.run("destroy", "/town")
        equal(watch.wait(timeout=10), DONE)
        equal(len(watch.stdout.read().splitlines()), 2)


def watch_ends_when_its_time_is_over_or_the_server_goes(folder):
    with game(folder):
        equal(folder.run("watch", "--for", "0.2"), "")
        with watching(folder) as watch:
            folder.stop(folder.started[0])
            equal(watch.wait(timeout=10), UNREACHABLE)


def a_command_whose_answer_is_late_ends_with_3_and_says_so(folder):
    with game(folder):
        server = folder.started[0]
        server.send_signal(signal.SIGSTOP)  # connections are taken by the system, and nobody answers
        try:
            for command in (["info"], ["ls"], ["show", "tower"], ["set", "tower", "Health.value", "7"], ["spawn", "/town/hut"], ["save"]):
                began = time.monotonic()
                holds(folder.error(UNREACHABLE, "--timeout", "0.3", *command), "did not answer within 300 ms")
                assert time.monotonic() - began < 20, command
            said = json.loads(folder.run("--timeout", "0.3", "info", "--json", exit=UNREACHABLE))
            equal(said["exit"], UNREACHABLE)
        finally:
            server.send_signal(signal.SIGCONT)
        holds(folder.run("show", "tower"), "80")  # a late Hello is no session: nothing of it was done
        holds(folder.run("show", "/town/hut", exit=REFUSED), "muster: ")


# ---- the command itself ----------------------------------------------------------------------------------------------


def usage_is_explained(folder):
    holds(folder.run("--help"), "import", "watch", "Exit codes: 0 done")
    holds(folder.run("set", "--help"), "Component.field")
    holds(folder.run("--version"), "muster 0")
    holds(folder.error(USAGE), "A subcommand is required", "muster --help")
    holds(folder.error(USAGE, "dance"), "muster --help")
    holds(folder.error(USAGE, "ls", "--bogus"), "--bogus")


def errors_are_json_too(folder):
    said = json.loads(folder.run("info", "--json", exit=UNREACHABLE))
    equal(said["exit"], UNREACHABLE)
    holds(said["error"], "no world is served in this folder")


def the_command_links_no_world(folder):
    symbols = subprocess.run(["nm", "-C", MUSTER], capture_output=True, text=True, check=True).stdout
    holds(symbols, "muster::Client::connect")
    for foreign in ("EntityRegistry", "sqlite3_", "asio::", "muster::World::", "muster::Storage"):
        assert foreign not in symbols, f"muster holds {foreign}"


def main():
    tests = [test for name, test in globals().items()
             if callable(test) and getattr(test, "__code__", None) and test.__code__.co_varnames[:1] == ("folder",)
             and test.__module__ == "__main__" and not hasattr(test, "__wrapped__")]
    return run_tests([test for test in tests if not sys.argv[5:] or test.__name__ in sys.argv[5:]],
                     lambda path: Folder(path, MUSTER, SERVER))


if __name__ == "__main__":
    sys.exit(main())
