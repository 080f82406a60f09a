"""World files, looked at without serving them, or while they are served."""
import json
import subprocess

from shared import BAD_FILE, GAME, MUSTER, REFUSED, SERVER, USAGE, equal, game, holds

HIDDEN = SERVER.parent.parent / "tests/cli/libhidden.so"


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


def a_world_that_is_not_served_is_copied_whole(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = folder.serve("game.muster")
    folder.run("spawn", "/tower", "Health.value=80")
    folder.run("set", "tower", "Health.value", "42", "--durable")
    holds(folder.error(BAD_FILE, "copy", "game.muster", "copy.muster"), "game.muster: in use by process")
    folder.stop(server)
    copied = folder.json("copy", "game.muster", "copy.muster")
    first, second = (folder.json("verify", name) for name in ("game.muster", "copy.muster"))
    equal((copied["hash"], copied["sequence"]), (first["hash"], first["sequence"]))
    equal({**second, "file": ""}, {**first, "file": ""})
    holds(folder.error(REFUSED, "copy", "game.muster", "copy.muster"), "copy.muster: exists already, and is not replaced")
    said = folder.error(BAD_FILE, "copy", "game.muster", "postgres://ann:s3cret@/worlds/town?host=/nowhere")
    holds(said, "postgres://ann@/worlds/town: cannot be reached: ")
    assert "s3cret" not in said, said
    holds(folder.error(BAD_FILE, "copy", "game.muster", "postgres://worlds"), "it must be postgres://HOST/DATABASE/WORLD")


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


def differing(where, *arguments):
    """Returns the output of a replay that finds differences."""
    ran = subprocess.run([MUSTER, "replay", *map(str, arguments)], cwd=where.path, env=where.environment, capture_output=True,
                         text=True, timeout=60, check=False)
    equal((ran.returncode, ran.stderr), (REFUSED, ""))
    return ran.stdout


def hidden_state_of_a_plugin_is_named_live_and_in_a_replay(folder):
    server = folder.serve("game.muster", "--plugin", HIDDEN, "--autosave", "0", "--hz", "60", "--synctest")
    folder.run("clock", "pause")
    folder.run("clock", "step", "5")
    folder.run("journal", "game.muster", "--slice", "bug.slice")
    folder.run("backup", "game.muster", "copy.muster")
    for _ in range(2):
        holds(differing(folder, "copy.muster", "--plugin", HIDDEN, "--check"),
              "file copy.muster-differs.slice has the inputs of this replay", "differs: tick ", "compared with each other: ",
              "not compared with the recorded run: ")
    server.terminate()
    equal(server.wait(timeout=20), 10)
    holds(server.stderr.read(), "game.Health.value of #1:1 (/orc) is ", 'is one of handler "game.tire" of muster.Update',
          "the new file game.muster-differs.slice has these inputs; whether they show it again says: muster replay ")
    equal((folder.path / "game.muster-differs.slice").stat().st_mode & 0o777, 0o600)
    holds(differing(folder, "game.muster-differs.slice", "--plugin", HIDDEN, "--check"), 'handler "game.tire" of muster.Update')
    (folder.path / "game.muster-differs.slice").unlink()
    said = differing(folder, "bug.slice", "--plugin", HIDDEN, "--check", "--slice", "again.slice", "--json")
    found = json.loads(said)["differences"][0]
    equal([found[name] for name in ("handler", "message", "component", "field", "entity")],
          ["game.tire", "muster.Update", "game.Health", "value", "#1:1 (/orc)"])
    equal((folder.path / "again.slice").read_bytes(), (folder.path / "bug.slice").read_bytes())
    (folder.path / "bug.slice").rename(folder.path / "moved.slice")
    holds(differing(folder, "moved.slice", "--plugin", HIDDEN, "--check"), "differs: tick ")
    equal([path.name for path in folder.path.glob("*-differs.slice")], ["copy.muster-differs.slice"])
    (folder.path / "moved.slice").rename(folder.path / "bug.slice")
    holds(folder.error(BAD_FILE, "replay", "bug.slice"), "bug.slice: ", "another build wrote it", "hidden 1")
    holds(folder.error(BAD_FILE, "replay", "bug.slice", "--plugin", "none.so"), "none.so")


def a_recovery_that_differs_is_named_and_leaves_a_slice(folder):
    options = "--plugin", HIDDEN, "--autosave", "0", "--hz", "60", "--synctest"
    server = folder.serve("game.muster", *options)
    folder.run("clock", "pause")
    folder.run("clock", "step", "5")
    folder.run("set", "/orc", "Unit.speed", "9", "--durable")
    server.kill()
    server.wait()
    slice = folder.path / "game.muster-differs.slice"
    slice.unlink(missing_ok=True)  # of the first server, which did not end
    mark = folder.path / "game.muster-work"
    work = mark.read_bytes()
    mark.write_bytes(work[:48] + bytes([5]) + work[49:])  # it died at input 5
    server = folder.serve("game.muster", *options)
    server.kill()
    server.wait()
    said = server.stderr.read()
    holds(said, "the journal is not checked, because a process died while it handled an input")
    assert "recovery differs" not in said, said
    mark.unlink()
    slice.unlink(missing_ok=True)
    server = folder.serve("game.muster", *options)
    assert slice.exists()
    equal(slice.stat().st_mode & 0o777, 0o600)
    holds(differing(folder, slice, "--plugin", HIDDEN, "--check"), 'handler "game.tire" of muster.Update')
    server.terminate()
    equal(server.wait(timeout=20), 10)
    said = server.stderr.read()
    holds(said, "game.muster: recovery differs: tick ", "game.Health.value of #1:1 (/orc) is ", 'handler "game.tire"',
          "the new file game.muster-differs.slice has these inputs, of which a replay showed the difference")


def a_replay_has_the_hashes_that_a_server_wrote(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = folder.serve("game.muster", "--autosave", "0", "--hz", "60", "--tick-hashes", "hashes")
    folder.run("clock", "pause")
    folder.run("spawn", "/tower", "Health.value=80")
    folder.run("clock", "step", "5")
    folder.run("set", "tower", "Health.value", "41", "--durable")
    folder.run("clock", "step", "5")
    folder.run("set", "tower", "Health.value", "40", "--durable")  # a slice has what is durable
    folder.run("journal", "game.muster", "--slice", "a.slice")
    holds(folder.error(BAD_FILE, "journal", "game.muster", "--slice", "b.slice", "--hashes", "none"), "none: cannot be read")
    holds(folder.run("journal", "game.muster", "--slice", "b.slice", "--hashes", "hashes"), "it has the hashes of ", " ticks and 0 states")
    folder.stop(server)
    replayed = folder.json("replay", "a.slice", "--hashes", "hashes")
    equal((replayed["differences"], replayed["hashes"] > 5, replayed["compared"]), ([], True, True))
    assert 0 < folder.json("replay", "b.slice")["hashes"] <= replayed["hashes"]  # the log lags
    holds(folder.run("replay", "b.slice"), "compared with the recorded run: the hashes of ", "no difference")
    assert "no difference" not in folder.run("replay", "a.slice")
    lines = (folder.path / "hashes").read_text().splitlines()
    changed = next(line for line in reversed(lines) if "game.Health" in line)
    other = changed[:-1] + ("0" if changed[-1] != "0" else "1")
    (folder.path / "hashes").write_text("\n".join(lines).replace(changed, other) + "\n")
    holds(differing(folder, "a.slice", "--hashes", "hashes"), f"differs: tick {changed.split()[0]}: at input ",
          "the values of game.Health are not those of the recorded run")
    found = json.loads(differing(folder, "a.slice", "--hashes", "hashes", "--json"))["differences"][0]
    equal((found["with"], found["component"], found["handler"], found["candidates"]), ("recorded hashes", "game.Health", "", []))


def a_replay_that_compares_nothing_says_so(folder):
    nothing = 6
    server = folder.serve("game.muster", "--plugin", HIDDEN, "--autosave", "0", "--hz", "60")
    folder.run("set", "/orc", "Unit.speed", "9", "--durable")
    folder.run("journal", "game.muster", "--slice", "bug.slice")
    folder.stop(server)
    for check in ([], ["--check"]):
        holds(folder.error(BAD_FILE, "replay", "bug.slice", "--any-build", *check), "bug.slice: there are no handlers here", "3 handlers",
              "hidden 1", "--plugin")
    folder.run("new", "empty.muster", "--schema", GAME)
    for options in ([], ["--check"], ["--check", "--any-build"], ["--check", "--to", "0"]):
        ran = subprocess.run([MUSTER, "replay", "empty.muster", *options], cwd=folder.path, env=folder.environment, capture_output=True,
                             text=True, timeout=60, check=False)
        equal((ran.returncode, ran.stderr), (nothing, ""))
        holds(ran.stdout, "0 inputs with 0 ticks were done again", "nothing was compared: there are no inputs after the checkpoint")
        assert "no difference" not in ran.stdout, ran.stdout
    said = json.loads(subprocess.run([MUSTER, "replay", "empty.muster", "--check", "--json"], cwd=folder.path, env=folder.environment,
                                     capture_output=True, text=True, timeout=60, check=False).stdout)
    equal((said["compared"], said["inputs"], said["differences"]), (False, 0, []))
    said = folder.run("journal", "empty.muster", "--slice", "empty.slice")
    holds(said, "0 inputs with 0 ticks", "note: it has no inputs, so that muster replay has nothing to do again")
    # Without --check, nothing is compared, and the replay does not say that nothing differs.
    said = folder.run("replay", "bug.slice", "--plugin", HIDDEN)
    holds(said, "nothing was compared; with --check, ", "not compared with the recorded run")
    assert "no difference" not in said, said


def files_that_are_none_are_refused_by_name(folder):
    equal(folder.error(BAD_FILE, "verify", "none.muster"), "none.muster: no such file")
    (folder.path / "a.muster").write_text("these are no entities\n" * 100)
    for command in ("verify", "journal"):
        holds(folder.error(BAD_FILE, command, "a.muster"), "a.muster: not a world")
    holds(folder.error(BAD_FILE, "backup", "a.muster", "b.muster"), "a.muster")
    assert not (folder.path / "b.muster").exists()
    holds(folder.error(USAGE, "backup", "a.muster"), "COPY is required")
    holds(folder.error(USAGE, "journal", "a.muster", "--from", "x"), "--from")
