"""World files, looked at without serving them, or while they are served."""
from shared import BAD_FILE, REFUSED, USAGE, equal, game, holds


def a_world_is_verified_copied_and_read_while_it_is_served(folder):
    with game(folder):
        sequence = folder.json("save")["sequence"]
        info = folder.json("info", "--hash")
        verified = folder.json("verify", "game.muster")
        equal((verified["running"], verified["hash"], verified["entities"]), (True, info["hash"], info["entities"]))
        holds(folder.run("verify", "game.muster"), "game.muster: good (a copy of it as it runs)", "checkpoint ", "entities")
        made = folder.json("backup", "game.muster", "copy.muster")
        equal((made["copy"], made["sequence"] >= sequence), ("copy.muster", True))
        equal(folder.error(REFUSED, "backup", "game.muster", "copy.muster"),
              "copy.muster: exists already; a copy never replaces a file")
        folder.run("journal", "game.muster")
    equal(folder.json("verify", "copy.muster")["running"], False)


def files_that_are_none_are_refused_by_name(folder):
    equal(folder.error(BAD_FILE, "verify", "none.muster"), "none.muster: no such file")
    (folder.path / "a.muster").write_text("these are no entities\n" * 100)
    for command in ("verify", "journal"):
        holds(folder.error(BAD_FILE, command, "a.muster"), "a.muster: not a world")
    holds(folder.error(BAD_FILE, "backup", "a.muster", "b.muster"), "a.muster")
    assert not (folder.path / "b.muster").exists()
    holds(folder.error(USAGE, "backup", "a.muster"), "COPY is required")
    holds(folder.error(USAGE, "journal", "a.muster", "--from", "x"), "--from")
