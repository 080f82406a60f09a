"""Worlds whose files are moved, deleted, replaced or written over while they are served, and worlds that are only looked at."""
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request

from shared import GAME, SERVER, equal, holds


def a_world_that_was_only_looked_at_stays_as_it_is(folder):
    folder.run("new", "w.muster", "--schema", GAME)
    file = folder.path / "w.muster"
    before, changed = file.read_bytes(), file.stat().st_mtime_ns
    names = sorted(path.name for path in folder.path.iterdir())
    for durability in ("checkpoint", "batched", "commit"):
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
        until = time.monotonic() + 20  # it is looked at without an edit
        while not rescued.exists():
            assert time.monotonic() < until, f"{way}: the world was not saved beside its file"
            time.sleep(0.05)
        time.sleep(0.1)
        for command in (("spawn", "after", "--durable"), ("save",)):
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
