"""Worlds as one file, and without what no server needs."""
import json
import resource
import signal
import subprocess

from shared import BAD_FILE, GAME, MUSTER, REFUSED, USAGE, equal, game, holds

PARTS = "hash", "entities", "checkpoint", "steps", "sequence", "durable"


def without_room(folder, bytes_max, *arguments):
    """Runs a command that may not make larger files. A full disk refuses the same writes."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, bytes_max))
    ran = subprocess.run([MUSTER, *arguments], cwd=folder.path, env=folder.environment, capture_output=True, text=True,
                         timeout=60, check=False, preexec_fn=limit, restore_signals=False)
    assert ran.returncode in (REFUSED, BAD_FILE), ran.stdout + ran.stderr
    return ran.stderr


def names(folder):
    return sorted(path.name for path in folder.path.iterdir())


def a_world_moves_as_one_file(folder):
    with game(folder):
        folder.run("set", "tower", "Health.value", "70", "--durable")
        folder.run("export", "game.muster", "served.town")  # while it is served
        folder.run("save")
        folder.run("set", "tower", "Health.value", "60", "--durable")
        hash = folder.json("info", "--hash")["hash"]
        folder.run("export", "game.muster", "moved.town")
        holds(folder.error(REFUSED, "export", "game.muster", "moved.town"), "moved.town: the slice cannot be made: File exists")
    made = folder.json("import", "moved.town", "moved.muster")
    equal((made["world"], made["inputs"] > 0, made["steps"] > 0), ("moved.muster", True, True))
    folder.serve("moved.muster")
    there = "--world", "moved.muster"
    equal(folder.json("info", "--hash", *there)["hash"], hash)
    folder.run("undo", *there)
    equal(folder.json("show", "tower", *there)["components"]["game.Health"]["value"], 70)
    holds(folder.run("import", "served.town", "old.muster"), "made old.muster of served.town, through sequence ")
    holds(folder.run("verify", "old.muster"), "old.muster: good")
    holds(folder.error(REFUSED, "import", "moved.town", "moved.muster"), "moved.muster: exists already")
    holds(folder.error(USAGE, "import", "moved.town"), "name the file to create")
    holds(folder.error(USAGE, "import", "moved.town", "x.muster", "--name", "x"), "--under and --name are for models")


def a_file_that_was_cut_or_changed_makes_no_world(folder):
    with game(folder):
        folder.run("save")
        folder.run("set", "tower", "Health.value", "60", "--durable")
        folder.run("export", "game.muster", "a.town")
    whole = (folder.path / "a.town").read_bytes()
    before = names(folder)
    for place in (9, 40, len(whole) // 2, len(whole) - 1):
        (folder.path / "a.town").write_bytes(whole[:place])
        holds(folder.error(BAD_FILE, "import", "a.town", "b.muster"), "a.town: ", "cut")
        (folder.path / "a.town").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:])
        holds(folder.error(BAD_FILE, "import", "a.town", "b.muster"), "a.town: ")
        equal(names(folder), before)
    (folder.path / "a.town").write_bytes(whole)
    for bytes_max in (0, 5000, 30000):
        without_room(folder, bytes_max, "import", "a.town", "b.muster")
        without_room(folder, min(bytes_max, len(whole) - 1), "export", "game.muster", "b.town")
        equal(names(folder), before)


def a_world_is_compacted_while_no_server_has_it(folder):
    with game(folder):
        for i in range(20):
            folder.run("spawn", f"/house-{i}", "Health.value=80", "--durable")
            if i % 5 == 0:
                folder.run("save")
        before = (folder.path / "game.muster").read_bytes()
        holds(folder.error(BAD_FILE, "compact", "game.muster"), "game.muster: in use by process")
        folder.started[-1].kill()  # so that there is a journal, and a -wal that was not merged
        folder.started[-1].wait()
    was = folder.json("verify", "game.muster")
    assert was["past"] > 0, was
    files = names(folder)
    said = without_room(folder, len(before) // 2, "compact", "game.muster")
    holds(said, "game.muster: ")
    equal([folder.json("verify", "game.muster")[part] for part in PARTS], [was[part] for part in PARTS])
    equal([name for name in names(folder) if name not in files], [])
    done = folder.json("compact", "game.muster")
    equal((done["hash"], done["saves_dropped"]), (was["hash"], was["past"]))
    assert done["bytes"] < done["bytes_before"], done
    equal((folder.path / "game.muster").stat().st_size, done["bytes"])
    now = folder.json("verify", "game.muster")
    equal(([now[part] for part in PARTS], now["past"]), ([was[part] for part in PARTS], 0))
    server = folder.serve("game.muster")
    folder.run("show", "/house-19")
    folder.run("undo")
    folder.stop(server)
    holds(folder.run("compact", "game.muster"), "game.muster: ", " bytes became ")
    holds(folder.run("verify", "game.muster"), "game.muster: good")


def a_run_is_kept_by_compacting_and_is_not_exported(folder):
    with game(folder):
        folder.run("save")
        folder.run("play")
        folder.run("set", "tower", "Health.value", "12", "--durable")
        folder.run("save")
        holds(folder.error(REFUSED, "export", "game.muster", "a.town"), "a run is on")
        folder.run("journal", "game.muster", "--slice", "a.slice")
        holds(folder.error(BAD_FILE, "import", "a.slice", "b.muster"), "was made during a run")
        folder.started[-1].kill()
        folder.started[-1].wait()
    folder.run("compact", "game.muster")
    folder.serve("game.muster")
    equal(folder.json("show", "tower")["components"]["game.Health"]["value"], 12)
    folder.run("stop")
    equal(folder.json("show", "tower")["components"]["game.Health"]["value"], 80)


def files_that_cannot_be_compacted_stay(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    whole = (folder.path / "game.muster").read_bytes()
    place = whole.index(b"The id of an entity")  # in a schema
    (folder.path / "a.muster").write_bytes(whole[:place] + bytes(4) + whole[place + 4:])
    (folder.path / "a.txt").write_text("no world\n" * 100)
    for name in ("a.muster", "a.txt"):
        there = (folder.path / name).read_bytes()
        holds(folder.error(BAD_FILE, "compact", name), name)
        assert (folder.path / name).read_bytes() == there, name
    holds(folder.error(BAD_FILE, "compact", "none.muster"), "none.muster: no such file")
    equal(json.loads(folder.run("compact", "game.muster", "--json"))["saves_dropped"], 0)
