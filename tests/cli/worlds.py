"""Worlds made, imported into, saved and opened again."""
import os
import pathlib
import shutil

from importing import until
from shared import BAD_FILE, GAME, REFUSED, ROOT, SERVER, TOWN, UNREACHABLE, USAGE, equal, game, holds


def new_makes_a_world_and_never_replaces_one(folder):
    made = folder.run("new", "a.muster")
    holds(made, "made a.muster\n", "--schema", "muster import FILE a.muster")
    before = (folder.path / "a.muster").read_bytes()
    equal(folder.error(REFUSED, "new", "a.muster"), "a.muster is there already")
    equal((folder.path / "a.muster").read_bytes(), before)
    equal(folder.json("new", "b.muster"), {"world": str(folder.path / "b.muster")})
    holds(folder.error(BAD_FILE, "new", "nowhere/c.muster"), "there is no folder")
    equal(folder.error(BAD_FILE, "new", "c.muster", "--schema", "no.fbs"), "there is no schema file no.fbs")
    (folder.path / "bad.fbs").write_text("struct {")
    assert "-I FOLDER" not in folder.error(BAD_FILE, "new", "c.muster", "--schema", "bad.fbs")
    (folder.path / "bad.bfbs").write_bytes(b"not a schema")
    holds(folder.error(BAD_FILE, "new", "c.muster", "--schema", "bad.bfbs"), "bad.bfbs")
    equal(folder.error(UNREACHABLE, "info", "--world", "c.muster"), "there is no world c.muster")
    assert not list(folder.path.glob("*-server.json")), "a server was left behind"


def schemas_include_others_from_folders_that_are_named(folder):
    (folder.path / "mill.fbs").write_text('include "schema/muster.fbs";\ninclude "parts/base.fbs";\nnamespace mill;\n'
                                          "struct Wear (component) { value:float; by:base.Half; }\n")
    (folder.path / "lib/parts").mkdir(parents=True)
    (folder.path / "lib/parts/base.fbs").write_text("namespace base;\nstruct Half { value:float; }\n")
    said = folder.error(BAD_FILE, "new", "a.muster", "--schema", "mill.fbs", "-I", ROOT)
    holds(said, "mill.fbs: flatc refuses it", "parts/base.fbs")
    assert said.endswith("-I FOLDER names a folder in which included files are looked for, as often as there are such"), said
    assert "above" not in said, said
    equal(folder.run("new", "a.muster", "--schema", "mill.fbs", "-I", ROOT, "-I", "lib"), "made a.muster\n")
    folder.run("import", TOWN, "b.muster", "--schema", "mill.fbs", "-I", "lib", "-I", ROOT)
    folder.serve("a.muster")
    holds(folder.run("types", "mill.Wear"), "value")


def the_town_is_imported_whole(folder):
    counts = folder.json("import", TOWN, "town.muster")
    equal({key: counts[key] for key in ("path", "entities", "meshes", "lights", "cameras")},
          {"path": "/town_model", "entities": 112, "meshes": 60, "lights": 0, "cameras": 0})
    equal([warning for warning in counts["warnings"] if "the world's folder" not in warning], [])
    folder.serve("town.muster")
    equal(folder.json("info")["entities"], 112)

    def count(children):
        return sum(1 + count(child.get("children", [])) for child in children)

    equal(count(folder.json("tree")["children"]), 112)
    equal(len(folder.json("ls", "--with", "MeshReference")), 60)
    mesh = folder.json("show", folder.json("ls", "--with", "scene.MeshReference")[0]["id"])
    equal(mesh["components"]["scene.MeshReference"]["asset"], os.path.relpath(TOWN, folder.path))
    holds(folder.run("tree", "--depth", "1"), "town_model", "… 4 children")


def import_uses_the_server_of_a_served_world(folder):
    with game(folder):
        holds(folder.run("import", TOWN, "game.muster", "--under", "/town", "--name", "model"),
              "imported ", " as /town/model (", "112 entities, 60 meshes, 0 lights, 0 cameras")
        equal(folder.json("info")["entities"], 115)
        equal(folder.error(REFUSED, "import", TOWN, "game.muster", "--under", "town", "--name", "model"),
              'the name "model" is taken; leave --name out, or "model~2" is free')
        equal(folder.json("import", TOWN, "game.muster")["path"], "/town_model")
        equal(folder.json("import", TOWN, "game.muster")["path"], "/town_model~2")
        holds(folder.error(USAGE, "import", TOWN, "game.muster", "--schema", GAME), "is already served")


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


def a_hostile_model_is_refused_with_the_limit_and_changes_nothing(folder):
    folder.run("new", "a.muster")
    before = (folder.path / "a.muster").read_bytes()
    os.mkfifo(folder.path / "pipe.glb")
    nodes = ",".join('{"children": [%d]}' % (i + 1) for i in range(40000))
    (folder.path / "deep.gltf").write_text('{"asset": {"version": "2.0"}, "nodes": [%s, {}]}' % nodes)
    (folder.path / "deep.dae").write_text(
        '<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">'
        '<library_visual_scenes><visual_scene id="s">' + "<node>" * 40000 + "</node>" * 40000 +
        '</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>')
    (folder.path / "large.off").write_text("OFF\n100000000 1 0\n")
    for file, reason in (("pipe.glb", "it is not a regular file"), ("deep.gltf", "nested deeper than 1024 levels"),
                         ("deep.dae", "nested deeper than 1024 levels"), ("large.off", "more than 1024 MiB of memory")):
        holds(folder.error(BAD_FILE, "import", file, "a.muster"), f"cannot import {file}: ", reason)
    equal((folder.path / "a.muster").read_bytes(), before)


def a_model_brings_its_lights_and_cameras_to_their_nodes(folder):
    samples = ROOT / "tests/data/models"
    equal([folder.json("import", samples / file, "a.muster")[what] for file, what in
           (("street_lamps.gltf", "lights"), ("two_eyes.gltf", "cameras"), ("forest.gltf", "meshes"))], [3, 4, 6])
    folder.run("import", samples / "long_names.gltf", "a.muster")
    holds(folder.error(BAD_FILE, "import", "none.gltf", "a.muster"), "no such file")
    folder.serve("a.muster")
    holds(folder.run("show", "/street_lamps/street/east"), "scene.Light")
    equal(len(folder.json("ls", "/long_names")), 3)


def a_file_that_is_no_world_is_left_alone(folder):
    (folder.path / "a.muster").write_text("these are no entities\n" * 100)
    before = (folder.path / "a.muster").read_bytes()
    holds(folder.error(BAD_FILE, "import", TOWN, "a.muster"), "a.muster")
    equal((folder.path / "a.muster").read_bytes(), before)


def import_says_what_it_needs(folder):
    holds(folder.error(UNREACHABLE, "import", TOWN), "no world is served in this folder", "muster import FILE WORLD")
    holds(folder.error(USAGE, "import", TOWN, "a.muster", "--world", "b.muster"), "not both")
    holds(folder.error(USAGE, "import"), "FILE is required")
    holds(folder.error(USAGE, "import", TOWN, "a.muster", "--connect", "127.0.0.1:1"), "not both")


def import_takes_the_world_that_other_commands_take(folder):
    folder.run("import", TOWN, "--world", "named.muster")
    folder.run("verify", "named.muster")
    folder.run("import", TOWN, MUSTER_WORLD="named.muster")
    folder.run("new", "served.muster")
    folder.serve("served.muster")
    folder.run("import", TOWN)
    equal([child["name"] for child in folder.json("ls")], ["town_model"])
    folder.serve("named.muster")
    equal([child["name"] for child in folder.json("ls", "--world", "named.muster")], ["town_model", "town_model~2"])
    holds(folder.error(UNREACHABLE, "import", TOWN), "several worlds are served in this folder")
    folder.run("import", TOWN, "served.muster", MUSTER_WORLD="named.muster")
    equal(len(folder.json("ls", "--world", "served.muster")), 2)


def import_says_that_the_page_cannot_draw_a_model_outside_of_the_worlds_folder(folder):
    (folder.path / "worlds").mkdir()
    outside = "the editor's page draws"

    def told(*arguments):
        return folder.json("import", *arguments)["warnings"]

    model = folder.path / "worlds/town_model.gltf"
    for name in ("town_model.gltf", "town_model0.bin"):
        shutil.copy(TOWN.parent / name, folder.path / "worlds" / name)
    assert not any(outside in each for each in told(model, "worlds/room.muster"))
    holds("\n".join(told(TOWN, "worlds/room.muster")), outside, str((folder.path / "worlds").resolve()), str(TOWN))
    holds("\n".join(told(TOWN, "new.muster")), outside)
    (folder.path / "lamp.gltf").write_text('{"asset": {"version": "2.0"}, "nodes": [{"name": "no mesh"}]}')
    assert not any(outside in each for each in told("lamp.gltf", "worlds/room.muster"))


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


def a_world_that_is_served_by_a_link_is_found_by_either_name(folder):
    (folder.path / "real").mkdir()
    (folder.path / "links").mkdir()
    folder.run("new", "real/w.muster")
    (folder.path / "links/w.muster").symlink_to("../real/w.muster")
    folder.start(SERVER, "links/w.muster", "--listen", "127.0.0.1:0", "--quiet")
    until(lambda: (folder.path / "real/w.muster-server.json").exists(), "no address beside the file itself")
    for name in ("links/w.muster", "real/w.muster"):
        folder.run("--world", name, "spawn", name.replace("/", "-"), "--durable")
    folder.run("--world", "links/w.muster", "token", "create", "ann", "--role", "view")
    folder.stop(folder.started[0])
    assert (folder.path / "real/w.muster-users").exists()
    folder.start(SERVER, "links/w.muster", "--listen", "127.0.0.1:0", "--quiet")
    until(lambda: (folder.path / "real/w.muster-server.json").exists(), "no address beside the file itself")
    holds(folder.run("--world", "real/w.muster", "token", "list"), "ann")
    equal([path.name for path in (folder.path / "links").iterdir()], ["w.muster"])


def a_path_that_is_too_long_is_told_with_how_long_it_may_be(folder):
    deep = pathlib.Path(*["d" * 100] * 6)
    (folder.path / deep).mkdir(parents=True)
    holds(folder.run("new", deep / "w.muster", exit=4), "a world's may have 500")
    for length in (233, 242, 256):
        holds(folder.run("new", "n" * (length - 7) + ".muster", exit=4), f"its name has {length} bytes; a new world's may have 220")


def a_name_that_ends_with_a_slash_leads_back(folder):
    folder.run("new", "w.muster")
    folder.serve("w.muster")
    for path in ("/crates\\/", "/a\\\\"):
        equal(folder.run("--world", "w.muster", "spawn", path[1:]).split()[0], path)
        equal(folder.run("--world", "w.muster", "show", path).split()[0], path)
        equal(folder.run("--world", "w.muster", "show", path + "/").split()[0], path)
