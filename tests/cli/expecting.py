"""Edits that expect something of the world, and dry runs of edits."""
from shared import REFUSED, USAGE, equal, game, holds


def edits_are_refused_with_the_real_value_if_the_world_is_not_as_expected(folder):
    with game(folder):
        folder.run("spawn", "/town/tower/flag")
        holds(folder.error(REFUSED, "destroy", "tower", "--expect", "0"), "1 entity is below #", "(/town/tower), not 0")
        holds(folder.error(REFUSED, "reparent", "flag", "/", "--expect", "town"), "is below #", "(/town/tower), not below #")
        holds(folder.error(REFUSED, "reparent", "flag", "/", "--expect", "/"), "(/town/tower), not a root")
        holds(folder.error(REFUSED, "rename", "flag", "banner", "--expect", "pennant"), 'has the name "flag", not the name "pennant"')
        holds(folder.error(REFUSED, "remove", "tower", "Health", "--expect", "value=41"), "is not what was expected: it is 80")
        holds(folder.error(USAGE, "remove", "tower", "Health", "--expect", "41"), "is not FIELD=VALUE")
        holds(folder.error(USAGE, "destroy", "tower", "flag", "--expect", "1"), "--expect is possible for one entity at a time")
        folder.run("remove", "tower", "Health", "--expect", "value=80")
        folder.run("reparent", "flag", "town", "--expect", "tower")
        folder.run("rename", "flag", "banner", "--expect", "flag")
        folder.run("destroy", "tower", "--expect", "0")


def a_dry_run_shows_what_would_change_and_changes_nothing(folder):
    with game(folder):
        folder.run("spawn", "/town/tower/flag")
        before = folder.json("info", "--hash")["hash"]
        tower = folder.json("show", "tower")["id"]
        holds(folder.run("destroy", "tower", "--dry"), f"destroyed  {tower}", "would create 0, destroy 2 and change 0 entities; nothing was changed\n")
        equal(folder.json("rename", "tower", "keep", "--dry")["entities"], [{"id": tower, "name": "keep", "change": "changed"}])
        equal(folder.json("set", "tower", "Health.value", "5", "--dry")["changed"], 1)
        equal(folder.json("set", "tower", "Health.value", "80", "--dry")["changed"], 0)
        equal(folder.json("remove", "tower", "Health", "--dry")["changed"], 1)
        equal(folder.json("reparent", "flag", "/", "--dry")["changed"], 1)
        equal(folder.json("add", "flag", "Health", "--dry")["changed"], 1)
        holds(folder.error(REFUSED, "destroy", "tower", "--dry", "--expect", "7"), "not 7")
        holds(folder.error(REFUSED, "set", "tower", "Health.value", "1", "--dry", "--expect", "7"), "is not what was expected: it is 80")
        equal(folder.json("info", "--hash")["hash"], before)
        # A session is granted ids for new entities, which return when it ends.
        made = folder.json("spawn", "/town/tower", "--suffix", "--dry")
        equal([(each["name"], each["change"]) for each in made["entities"]], [("tower~2", "created")])
        holds(folder.error(REFUSED, "spawn", "/town/tower", "--dry"), 'would get the name "tower", which #')
        equal(folder.json("info")["entities"], 4)
