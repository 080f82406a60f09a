"""Undo, redo and history, and what they say."""
from shared import GAME, REFUSED, USAGE, equal, game, holds


def health_of(served):
    return served.json("show", "tower")["components"]["game.Health"]["value"]


def undo_takes_back_edits_and_redo_makes_them_again(folder):
    with game(folder):
        folder.run("set", "tower", "Health.value", "70")
        folder.run("set", "tower", "Health.value", "60")
        holds(folder.run("undo"), "undone: ", ", 1 part\n")
        equal(health_of(folder), 70)
        done = folder.json("undo", "--durable")
        equal(len(done), 1)
        equal((done[0]["act"], done[0]["dry"], done[0]["done"], done[0]["passed_over"], done[0]["skipped"]), ("undo", False, 1, 0, []))
        equal(health_of(folder), 80)
        holds(folder.run("redo", "5"), "redone: ", "there is nothing more to redo\n")
        equal(health_of(folder), 60)
        equal(folder.error(REFUSED, "redo"), "there is nothing to redo")
        holds(folder.error(USAGE, "undo", "0"), "N")
        holds(folder.error(USAGE, "undo", "2", "--dry"), "--dry shows one step")


def undo_brings_back_what_was_destroyed_with_its_id_and_references_to_it(folder):
    with game(folder):
        folder.run("set", "tower", "Unit.target", "/town/gate")
        before = folder.json("show", "gate")
        folder.run("destroy", "gate")
        folder.run("show", "gate", exit=REFUSED)
        holds(folder.run("undo"), "undone: ")
        equal(folder.json("show", "gate"), before | {key: folder.json("show", "gate")[key] for key in ("sequence",) if key in before})
        equal(folder.json("show", "tower")["components"]["game.Unit"]["target"], before["id"])


def a_dry_undo_changes_nothing(folder):
    with game(folder):
        folder.run("set", "tower", "Health.value", "70")
        holds(folder.run("undo", "--dry"), "would be undone: ", ", 1 part\n")
        equal(health_of(folder), 70)
        holds(folder.run("undo"), "undone: ", ", 1 part\n")
        equal(health_of(folder), 80)


def everybody_undoes_their_own_edits_and_is_told_what_is_skipped(folder):
    with game(folder):
        ann, bob = (folder.json("token", "create", name, "--role", "edit")["token"] for name in ("ann", "bob"))
        folder.run("set", "tower", "Health.value", "70", "--token", ann)
        folder.run("set", "tower", "Unit.speed", "5", "--token", ann)
        folder.run("set", "tower", "Health.value", "60", "--token", bob)
        equal(folder.error(REFUSED, "undo", "3", "--token", folder.json("token", "create", "eve", "--role", "edit")["token"]),
              "there is nothing to undo")
        equal(folder.run("undo", "--token", ann), "undone: set game.Unit.speed of tower, 1 part\n")
        folder.run("set", "gate", "Health.value", "9", "--token", ann)
        folder.run("undo", "--token", ann)
        for more in ((), ("--dry",)):
            text = folder.error(REFUSED, "undo", "--token", ann, *more)
            holds(text, "nothing of 'set game.Health.value of tower' is left to undo\n  skipped: game.Health.value of /town/tower",
                  "has edited it since: it is 60 now, and would be 80", "--overwrite overwrites", "--pass-over drops the step")
        equal(folder.json("history", "--token", ann)["undo_steps"], 1)
        equal(folder.error(REFUSED, "undo", "--pass-over", "--token", ann),
              "there is nothing to undo: 1 step was passed over, because nothing of it was left to undo")
        equal(health_of(folder), 60)
        holds(folder.run("undo", "--token", bob), "undone: ")
        equal(health_of(folder), 70)


def what_others_have_worked_on_is_named_in_a_refusal_and_may_be_overwritten(folder):
    with game(folder):
        ann, bob = (folder.json("token", "create", name, "--role", "edit")["token"] for name in ("ann", "bob"))
        folder.run("add", "gate", "Unit", "team=blue", "--token", ann)
        folder.run("set", "gate", "Unit.speed", "3", "--token", bob)
        holds(folder.error(REFUSED, "undo", "--dry", "--token", ann), "nothing of 'add game.Unit to gate' is left to undo")
        equal("game.Unit" in folder.json("show", "gate")["components"], True)
        holds(folder.run("undo", "--overwrite", "--token", ann), "undone: ", ", 1 part\n")
        equal("game.Unit" in folder.json("show", "gate")["components"], False)


def history_lists_the_steps(folder):
    with game(folder):
        equal(folder.json("history")["redo_steps"], 0)
        folder.run("set", "tower", "Health.value", "70")
        folder.run("set", "tower", "Health.value", "60")
        folder.run("undo")
        all_ = folder.json("history")
        equal((all_["undo_steps"], all_["redo_steps"]), (4, 1))
        equal([step["act"] for step in all_["steps"]], ["redo"] + 4 * ["undo"])
        equal([step["parts"] for step in all_["steps"]][:2], [1, 1])
        text = folder.run("history", "--limit", "2")
        holds(text, "STEP", "PARTS", "SEQUENCE", "redo", "3 more steps are not shown\n")
        equal(len(text.splitlines()), 4)
        equal([step["act"] for step in folder.json("history", "--limit", "2")["steps"]], ["redo", "undo"])
        equal([step["what"] for step in folder.json("history", "--limit", "2")["steps"]], 2 * ["set game.Health.value of tower"])
        holds(folder.error(USAGE, "history", "--limit", "0"), "--limit")


def a_history_is_there_after_a_restart(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    for way in ("terminate", "kill"):
        server = folder.serve("game.muster")
        folder.run("spawn", f"/{way}", "Health.value=80")
        folder.run("set", way, "Health.value", "70", "--durable")
        before = folder.json("history")["steps"]
        getattr(server, way)()
        server.wait(timeout=20)
        server = folder.serve("game.muster")
        equal(folder.json("history")["steps"], before)
        holds(folder.run("undo"), "undone: ")
        equal(folder.json("show", way)["components"]["game.Health"]["value"], 80)
        folder.stop(server)


def a_server_without_a_history_says_that_there_is_nothing_to_undo(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    folder.serve("game.muster", "--history", "0")
    folder.run("spawn", "/tower", "Health.value=80")
    equal(folder.error(REFUSED, "undo"), "there is nothing to undo")
    equal(folder.run("history"), "there is nothing to undo or redo\n")
