"""World files, looked at without serving them, or while they are served."""
import json

from shared import BAD_FILE, GAME, REFUSED, USAGE, equal, game, holds


def a_world_is_verified_copied_and_read_while_it_is_served(folder):
    with game(folder):
        sequence = folder.json("save")["sequence"]
        info = folder.json("info", "--hash")
        verified = folder.json("verify", "game.muster")
        equal((verified["running"], verified["hash"], verified["entities"]), (True, info["hash"], info["entities"]))
        holds(folder.run("verify", "game.muster"), "game.muster: good (read from a copy, because it is running)", "checkpoint ", "entities")
        made = folder.json("backup", "game.muster", "copy.muster")
        equal((made["copy"], made["sequence"] >= sequence), ("copy.muster", True))
        equal(folder.error(REFUSED, "backup", "game.muster", "copy.muster"),
              "copy.muster: exists already; a copy never replaces a file")
        folder.run("journal", "game.muster")
    equal(folder.json("verify", "copy.muster")["running"], False)


def the_journal_names_the_fields_of_edits(folder):
    with game(folder):
        folder.run("save")
        folder.run("set", "tower", "Health.value", "42", "--durable")
        folder.run("set", "tower", "Health.value", "41", "--expect", "42", "--durable")
        folder.run("set", "tower", "Unit.target", "gate", "--durable")
        folder.run("remove", "gate", "Health", "--durable")
        said = folder.run("journal", "game.muster")
        tower = folder.json("show", "tower")["id"]
        holds(said, f"  muster.SetField  to {tower}  game.Health.value = 42\n",
              f"  muster.SetFieldIf  to {tower}  game.Health.value = 41 if it is 42\n", "  game.Unit.target = ",
              "  component=game.Health\n")
        edits = [json.loads(line) for line in folder.run("journal", "game.muster", "--json").splitlines()]
        first = next(edit for edit in edits if edit.get("message") == "muster.SetField")["first"][0]
        equal((first["text"], first["value"]["bytes"]), ("game.Health.value = 42", 4))


def a_slice_of_a_served_world_is_replayed_without_it(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    folder.serve("game.muster", "--autosave", "0", "--hz", "60")
    folder.run("spawn", "/tower", "Health.value=80")
    folder.run("set", "tower", "Health.value", "41", "--durable")
    made = folder.json("journal", "game.muster", "--slice", "bug.slice")
    assert made["last_sequence"] > made["sequence"]
    replayed = folder.json("replay", "bug.slice", "--check", "--workers", "2")
    equal((replayed["sequence"], replayed["differences"]), (made["last_sequence"], []))
    holds(folder.run("replay", "bug.slice", "--to", "2"), "bug.slice: ", ", tick 2: hash ")
    holds(folder.error(REFUSED, "journal", "game.muster", "--slice", "bug.slice"), "bug.slice: the slice cannot be made: File exists")
    holds(folder.error(BAD_FILE, "replay", "game.muster"), "game.muster: in use by process")
    whole = (folder.path / "bug.slice").read_bytes()
    (folder.path / "cut.slice").write_bytes(whole[:-9])
    holds(folder.error(BAD_FILE, "replay", "cut.slice"), "cut.slice: the slice was cut: ")
    (folder.path / "changed.slice").write_bytes(whole[:99] + b"?" + whole[100:])
    holds(folder.error(BAD_FILE, "replay", "changed.slice"), "changed.slice: the slice was changed or cut")


def files_that_are_none_are_refused_by_name(folder):
    equal(folder.error(BAD_FILE, "verify", "none.muster"), "none.muster: no such file")
    (folder.path / "a.muster").write_text("these are no entities\n" * 100)
    for command in ("verify", "journal"):
        holds(folder.error(BAD_FILE, command, "a.muster"), "a.muster: not a world")
    holds(folder.error(BAD_FILE, "backup", "a.muster", "b.muster"), "a.muster")
    assert not (folder.path / "b.muster").exists()
    holds(folder.error(USAGE, "backup", "a.muster"), "COPY is required")
    holds(folder.error(USAGE, "journal", "a.muster", "--from", "x"), "--from")
