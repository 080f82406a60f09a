"""Commands that change values, components and the tree."""

from shared import REFUSED, USAGE, equal, game, holds


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
              "game.Health.value cannot be '101': expected a number from 0 to 100 (hp)")
        equal(folder.error(USAGE, "set", "tower", "Unit.team", "green"),
              "game.Unit.team cannot be 'green': expected one of neutral, red, blue")
        equal(folder.error(USAGE, "set", "tower", "Health", "5"),
              "game.Health is a component; name one of its fields, as in Health.value")
        holds(folder.error(REFUSED, "set", "gate", "Unit.speed", "5"), "game.Unit", "gate")
        equal(folder.error(REFUSED, "set", "tower", "Name.text", "x"),
              "muster.Name is kept by the world and not written from outside")
        holds(folder.error(USAGE, "set", "tower", "Health.value"), "VALUE is required")
        equal(folder.json("show", "tower")["components"]["game.Health"], {"value": 80})


def a_number_too_large_for_its_field_is_told_as_it_was_written(folder):
    with game(folder):
        for number in ("1e40", "-1e40", "1e400"):
            holds(folder.error(USAGE, "set", "tower", "Unit.speed", number),
                  f"game.Unit.speed cannot be '{number}': it does not fit in a 32-bit float")
        holds(folder.error(USAGE, "spawn", "x", "Unit.speed=1e39"), "does not fit in a 32-bit float")
        holds(folder.error(USAGE, "set", "tower", "Unit.speed", "inf"), "cannot be 'inf': expected a number")
        folder.run("set", "tower", "Unit.speed", "3.4e38")


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
        equal(folder.error(REFUSED, "push", "tower", "game.Health"), 'no message "game.Health": that type is not a message')
        equal(folder.error(REFUSED, "push", "tower", "Damage", "amont=5"),
              "game.Damage has no field 'amont'; it has amount, from")
        equal(folder.error(USAGE, "push", "tower", "Damage", "5"), "'5' is not of the form field=value")
        equal(folder.error(REFUSED, "push", "tower", "Damage", "from=elf"), "no entity elf in this world")
        equal(folder.error(USAGE, "push", "tower", "Say"), "game.Say needs text=: a string")
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


def a_path_to_spawn_at_may_have_escaped_slashes_and_backslashes(folder):
    with game(folder):
        equal(folder.json("spawn", r"/town/and\/or")["path"], r"/town/and\/or")
        equal(folder.json("spawn", r"/town/and\/or/in\\side")["path"], r"/town/and\/or/in\\side")
        equal(folder.json("spawn", r"/\/")["path"], r"/\/")
        equal([child["name"] for child in folder.json("ls", r"/town/and\/or")], ["in\\side"])
        equal(folder.json("spawn", r"a\/b", "--under", "town")["path"], r"/town/a\/b")


def a_name_to_spawn_with_has_no_slash_but_an_escaped_one(folder):
    with game(folder):
        equal(folder.error(USAGE, "spawn", "town/hut"),
              "town/hut is neither a name nor a whole path: `muster spawn /town/hut` makes hut below /town, "
              r"`muster spawn 'town\/hut'` a root of that name")
        equal(folder.error(USAGE, "spawn", "a/b", "--under", "town"),
              r"a/b is neither a name nor a whole path: name the parent with --under alone, or write a\/b for one name with a slash")
        equal(folder.error(USAGE, "spawn", r"a\/b/c\\"),
              r"a\/b/c\\ is neither a name nor a whole path: `muster spawn /a\/b/c\\` makes c\\ below /a\/b, "
              r"`muster spawn 'a\/b\/c\\'` a root of that name")
        equal([child["name"] for child in folder.json("ls")], ["town"])
        equal(folder.json("spawn", r"town\/hut")["path"], r"/town\/hut")


def entities_are_spawned_moved_renamed_and_destroyed(folder):
    with game(folder):
        made = folder.json("spawn", "orc", "--under", "town", "--before", "gate", "Health.value=30", "Frozen")
        equal(made["path"], "/town/orc")
        equal([child["name"] for child in folder.json("ls", "town")], ["tower", "orc", "gate"])
        holds(folder.error(REFUSED, "spawn", "/town/orc"), 'the name "orc" is taken by a sibling')
        equal(folder.json("spawn", "/town/orc", "--suffix")["path"], "/town/orc~2")
        holds(folder.error(REFUSED, "spawn", "/nowhere/orc"), 'the world has no child "nowhere"')
        holds(folder.error(USAGE, "spawn", "/town/elf", "--under", "gate"), "omit --under or give a name only")
        holds(folder.error(USAGE, "spawn", "elf", "Health.value=x"), "game.Health.value cannot be 'x'")
        holds(folder.run("rename", "orc", "ork"), "is now /town/ork")
        equal(folder.error(REFUSED, "rename", "ork", "gate"), 'the name "gate" is taken by a sibling')
        holds(folder.run("reparent", "ork", "/"), "is now /ork")
        holds(folder.run("reparent", "town", "ork"), "is now /ork/town")
        holds(folder.error(REFUSED, "reparent", "ork", "tower"), "would become its own descendant")
        holds(folder.error(USAGE, "reparent", "tower", "/", "--before", "ork"), "roots have no order")
        holds(folder.error(USAGE, "spawn", "elf", "--before", "ork"), "roots have no order")
        holds(folder.run("destroy", "tower", "gate"), "/ork/town/tower (", "/ork/town/gate (", "destroyed")
        folder.run("destroy", "ork", "town")
        equal(folder.json("ls"), [])
        equal(folder.error(REFUSED, "destroy", made["id"]), f"no entity #{made['id']} is alive")
