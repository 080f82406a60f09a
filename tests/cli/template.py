"""Templates, defined from files."""

import os

from shared import BAD_FILE, REFUSED, equal, game, holds


def templates_are_defined_spawned_and_merged(folder):
    with game(folder):
        squad = folder.path / "squad.json"
        squad.write_text("""{ templates: [
  { name: "game.man", components: { "game.Health": { value: 80 } },
    children: [ { name: "bag", components: { Unit: { target: "." } } } ] },
  { name: "game.pair", bases: ["game.man"], components: { Unit: { team: "red" } },
    messages: [ { type: "game.Damage", value: { amount: 3 } } ],
    children: [ { name: "mate", bases: ["game.man"] } ] } ] }""")
        equal(folder.run("templates"), "the world has no templates\n")
        equal(folder.run("timers"), "no timed message waits\n")
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
        folder.run("spawn", "/town/one", "--template", "game.man", "--before", "/town/two")
        equal([child["name"] for child in folder.json("ls", "town")], ["tower", "gate", "one", "two", "two~2"])
        holds(folder.error(REFUSED, "spawn", "/town/x", "--template", "game.man", "--before", "/town/two/mate"), "before is not a child of the parent that")

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
        for name, data, why in [
            ("wide.json", "{ templates: [] }".encode("utf-16"), "is UTF-16, not UTF-8"),
            ("wide_unmarked.json", "{ templates: [] }".encode("utf-16-be"), "is UTF-16, not UTF-8"),
            ("zero.json", b"{ tem\0plates: [] }", "has a zero byte at byte 5"),
            ("latin.json", "{ // Küche".encode("latin-1"), "is not valid UTF-8 at byte 6"),
        ]:
            (folder.path / name).write_bytes(data)
            holds(folder.error(BAD_FILE, "define", folder.path / name), f"{name} {why}")
        os.mkfifo(folder.path / "pipe.json")
        holds(folder.error(BAD_FILE, "define", folder.path / "pipe.json"), "pipe.json is not a regular file")
        equal(len(folder.json("templates")), 2)


def a_child_without_a_name_is_no_node_of_a_template_and_stays_as_it_is(folder):
    with game(folder):
        file = folder.path / "nameless.json"
        file.write_text("""{ templates: [ { name: "game.camp",
  children: [ { components: { "game.Health": { value: 7 } } } ] } ] }""")
        folder.run("define", file)
        for times in (1, 2):
            equal(folder.json("merge", "/town/gate", "game.camp")["created"], 1)
            children = folder.json("ls", "/town/gate")
            equal([child["name"] for child in children], [""] * times)
            if times == 1:
                folder.run("set", children[0]["id"], "Health.value", "3")
        equal([folder.json("show", child["id"])["components"]["game.Health"]["value"] for child in children], [3, 7])
