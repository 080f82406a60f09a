"""Worlds whose files are moved, deleted, replaced or written over while they are served, and worlds that are only looked at."""
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request

from shared import GAME, REFUSED, SERVER, equal, holds


def a_world_that_was_only_looked_at_stays_as_it_is(folder):
    folder.run("new", "w.muster", "--schema", GAME)
    file = folder.path / "w.muster"
    before, changed = file.read_bytes(), file.stat().st_mtime_ns
    names = sorted(path.name for path in folder.path.iterdir())
    for durability in ("checkpoint", "batched", "each_flush"):
        server = folder.serve("w.muster", "--durability", durability)
        folder.run("--world", "w.muster", "tree")
        folder.run("--world", "w.muster", "info")
        server.terminate()
        equal(server.wait(timeout=20), 0)
    equal(sorted(path.name for path in folder.path.iterdir()), names)
    assert file.read_bytes() == before, "the file was changed"
    equal(file.stat().st_mtime_ns, changed)


def health(beside, world):
    served = json.loads((beside.path / f"{world}-server.json").read_text())
    try:
        with urllib.request.urlopen(f"http://{served['address']}/health?token={served['token']}", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def wait_until_rescued(folder, world, rescued):
    """Waits until the server names the file in which it saved the state. It exists before that."""
    until = time.monotonic() + 60
    while str(rescued) not in folder.json("--world", world, "info").get("error", ""):
        assert time.monotonic() < until, "the world was not saved beside its file"
        time.sleep(0.05)


def edits_and_saves_are_refused_once_the_file_is_not_in_its_place(folder):
    folder.run("new", "base.muster", "--schema", GAME)
    shutil.copy(folder.path / "base.muster", folder.path / "pulled.muster")
    pulled = folder.serve("pulled.muster")
    for name in ("a", "b", "c"):
        folder.run("--world", "pulled.muster", "spawn", name)
    pulled.terminate()
    equal(pulled.wait(timeout=20), 0)
    there = (folder.path / "pulled.muster").read_bytes()
    for way in ("moved", "deleted", "replaced", "written over"):
        world = f"{way.split()[0]}.muster"
        file, elsewhere = folder.path / world, folder.path / f"elsewhere-{world}"
        shutil.copy(folder.path / "base.muster", file)
        server = folder.serve(world, "--autosave", "0")
        folder.run("--world", world, "spawn", "before", "--durable")
        if way == "moved":
            file.rename(elsewhere)
        elif way == "deleted":
            file.unlink()
        elif way == "replaced":
            shutil.copy(folder.path / "pulled.muster", folder.path / "new")
            (folder.path / "new").rename(file)
        else:
            shutil.copyfile(folder.path / "pulled.muster", file)
        rescued = folder.path / f"{way.split()[0]}-rescued.muster"
        wait_until_rescued(folder, world, rescued)  # the server looks at the file without an edit
        for command in (("spawn", "after", "--durable"), ("undo",), ("save",)):
            ran = subprocess.run([folder.commands[0], "--world", world, *command], cwd=folder.path, env=folder.environment,
                                 capture_output=True, text=True, timeout=60, check=False)
            assert ran.returncode != 0, f"{way}: {command} was taken"
            holds(ran.stderr, world, str(rescued))
        holds(folder.json("--world", world, "info")["error"], str(rescued))
        status, text = health(folder, world)
        equal(status, 503)
        holds(text, str(rescued))
        server.terminate()
        said = server.stderr.read()
        assert server.wait(timeout=20) != 0, f"{way}: the server said that it saved"
        holds(said, "[error]" if "[error]" in said else "error", "while this process had the world open", str(rescued))
        if way in ("replaced", "written over"):
            assert file.read_bytes() == there, f"{way}: the file that was put there was changed"
        else:
            assert not file.exists(), f"{way}: a file was made"
        if way == "written over":
            continue  # what lies there is that world with the -wal over it, or refused if the two do not fit
        again = folder.start(SERVER, world, "--listen", "127.0.0.1:0", stderr=subprocess.PIPE)
        equal(again.wait(timeout=20), 5)
        holds(again.stderr.read(), f"{world}-wal")
        assert (folder.path / f"{world}-wal").stat().st_size > 0
        holds(folder.run("verify", rescued.name), "1")
        folder.serve(rescued.name)
        holds(folder.run("--world", rescued.name, "tree"), "before")
        if way == "moved":
            (folder.path / f"{world}-wal").rename(f"{elsewhere}-wal")
            folder.run("verify", elsewhere.name)
            folder.serve(elsewhere.name)
            holds(folder.run("--world", elsewhere.name, "tree"), "before")


def displaced(folder, world):
    """Returns a server whose file was moved away, that file, and the one in which the server saved
    its state. `last` was said to be done after the move. The server looks at its file once a second
    and then refuses edits, so on a busy machine `last` may come too late: then it begins again."""
    away = folder.path / f"away-{world}"
    rescued = folder.path / world.replace(".muster", "-rescued.muster")
    for _ in range(20):
        server = folder.serve(world, "--autosave", "0")
        folder.run("--world", world, "spawn", "first", "--durable")
        (folder.path / world).rename(away)
        spawned = subprocess.run([folder.commands[0], "--world", world, "spawn", "last"], cwd=folder.path,
                                 env=folder.environment, capture_output=True, text=True, timeout=60, check=False)
        wait_until_rescued(folder, world, rescued)
        if spawned.returncode == 0:
            return server, away, rescued
        holds(spawned.stderr, "edits are refused")
        server.terminate()
        equal(server.wait(timeout=60), 7)
        rescued.unlink()
        for part in ("", "-wal", "-lock"):
            for file in (folder.path / f"{world}{part}", folder.path / f"away-{world}{part}"):
                file.unlink(missing_ok=True)
        folder.run("new", world, "--schema", GAME)
    raise AssertionError("the server always noticed the move before the next edit")


def an_edit_that_only_a_rescued_file_has_is_told_when_the_world_is_opened(folder):
    folder.run("new", "w.muster", "--schema", GAME)
    server, away, rescued = displaced(folder, "w.muster")
    sequence = folder.json("--world", "w.muster", "info")["sequence"]
    server.terminate()
    equal(server.wait(timeout=20), 7)
    away.rename(folder.path / "w.muster")
    # None of these is a reason to warn, or not to start.
    (folder.path / "w-rescued-2.muster").write_bytes(b"SQLite format 3\0" + bytes(5000))
    os.mkfifo(folder.path / "w-rescued-3.muster")
    (folder.path / "w-rescued-4.muster").symlink_to("nowhere")
    folder.run("new", "other.muster")
    (folder.path / "other.muster").rename(folder.path / "other-rescued.muster")
    names = sorted(path.name for path in folder.path.iterdir())
    before = rescued.read_bytes(), rescued.stat().st_mtime_ns
    holds(folder.run("verify", "w.muster"), str(rescued), f"sequence {sequence}")
    server = folder.serve("w.muster")
    tree = folder.run("--world", "w.muster", "tree")
    holds(tree, "first")
    assert "last" not in tree
    of_file = folder.json("--world", "w.muster", "info")["sequence"]
    assert of_file < sequence
    folder.stop(server)
    said = server.stderr.read()
    told = [line for line in said.splitlines() if "-rescued" in line]
    equal(len(told), 1)
    holds(told[0], "warn", str(rescued), f"sequence {sequence}", f"sequence {of_file}", "move")
    equal((rescued.read_bytes(), rescued.stat().st_mtime_ns), before)
    equal(sorted(path.name for path in folder.path.iterdir() if not path.name.startswith("w.muster")),
          [name for name in names if not name.startswith("w.muster")])
    # Do as the warning says.
    for part in ("", "-wal", "-lock"):
        if (folder.path / f"w.muster{part}").exists():
            (folder.path / f"w.muster{part}").rename(folder.path / f"old.muster{part}")
    rescued.rename(folder.path / "w.muster")
    server = folder.serve("w.muster")
    holds(folder.run("--world", "w.muster", "tree"), "first", "last")
    folder.stop(server)
    assert "-rescued" not in server.stderr.read()


def a_served_world_is_found_where_its_file_was(folder):
    folder.run("new", "w.muster", "--schema", GAME)
    displaced(folder, "w.muster")
    holds(folder.run("tree"), "first", "last")
    folder.json("info")


def info_says_one_thing_of_a_world_that_is_not_kept(folder):
    folder.run("new", "w.muster", "--schema", GAME)
    _, _, rescued = displaced(folder, "w.muster")
    said = folder.run("--world", "w.muster", "info")
    holds(said, "EDITS REFUSED", f"give {rescued} the name")
    for contrary in ("all of it", "a crash takes"):
        assert contrary not in said, said
    refused = folder.error(REFUSED, "--world", "w.muster", "spawn", "x")
    holds(refused, "edits are refused", str(rescued))
    assert "until the world can be saved" not in refused, refused


def no_user_is_written_beside_a_file_that_is_not_in_its_place(folder):
    folder.run("new", "w.muster", "--schema", GAME)
    displaced(folder, "w.muster")
    for change in (("create", "ann", "--role", "view"), ("revoke", "bob")):
        holds(folder.error(REFUSED, "--world", "w.muster", "token", *change), "moved")
    assert not (folder.path / "w.muster-users").exists()
    equal(folder.json("--world", "w.muster", "token", "list"), [])


def a_mark_that_is_cut_off_ends_no_server(folder):
    folder.run("new", "w.muster", "--schema", GAME)
    server = folder.serve("w.muster", "--hz", "100")
    mark = folder.path / "w.muster-work"
    until = time.monotonic() + 20
    while not mark.exists():
        assert time.monotonic() < until, "there is no mark"
        time.sleep(0.01)
    for length in (0, 100):
        os.truncate(mark, length)
        time.sleep(0.1)
        folder.run("spawn", f"after{length}", "--durable")
        equal(server.poll(), None)
    folder.stop(server)
    folder.serve("w.muster")
    holds(folder.run("tree"), "after0", "after100")
