"""Commands that look at entities, types, handlers."""
import re

from shared import REFUSED, USAGE, equal, game, holds


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
        holds(said, '"tower" is ambiguous: 2 entities have this name; use a path or an id',
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
        folder.run("spawn", r"a\/b")
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
        holds(folder.run("types", "muster.Update"), "sent from outside by: nobody")
        holds(folder.run("types", "Damage"), "sent from outside by: edit", "kept in the journal: always")
        holds(folder.run("types", "Frozen"), "written from outside by: edit")
        equal((folder.json("types", "Damage")["journal"], folder.json("types", "Frozen")["enableable"]), ("always", False))
        equal(folder.json("types", "Unit")["fields"][0]["takes"], "one of neutral, red, blue")
        holds(folder.error(REFUSED, "types", "Helth"), "did you mean game.Health?")


def handlers_are_listed_with_what_they_write_and_read(folder):
    with game(folder):
        equal(folder.run("handlers"), "")
        equal(folder.json("handlers"), [])


def foreign_names_cannot_steer_a_terminal(folder):
    with game(folder):
        folder.run("spawn", "a\x1b[2Jb")
        for command in (("ls",), ("tree",), ("show", folder.json("ls")[-1]["id"])):
            holds(folder.run(*command), "a\\x1b[2Jb")
        equal(folder.json("ls")[-1]["name"], "a\x1b[2Jb")
