"""Imports that end early: nothing of them is left, whatever ends them."""
import json
import os
import resource
import shutil
import signal
import subprocess
import time

from shared import BAD_FILE, MUSTER, REFUSED, TOWN, UNREACHABLE, UNWRITTEN, equal, holds


def write_model(folder, name, nodes, roots=(0,)):
    model = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": list(roots)}], "nodes": nodes}
    (folder.path / name).write_text(json.dumps(model))


def wide(count, called="leaf"):
    """A root with so many named children."""
    return [{"name": "root", "children": list(range(1, count + 1))}, *({"name": f"{called}{i}"} for i in range(count))]


def chain(count, begin=0):
    return [{"name": f"level{i}", "children": [begin + i + 1]} for i in range(count - 1)] + [{"name": "last"}]


def files(where):
    return sorted(path.name for path in where.path.iterdir() if "muster" in path.name)


def processes_in(where):
    """The processes that run in the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd") == str(where.path.resolve()):
                found.append(pid)
        except OSError:
            pass  # it has ended
    return found


def until(holds_true, what, seconds=30):
    end = time.monotonic() + seconds
    while not holds_true():
        assert time.monotonic() < end, what
        time.sleep(0.002)


def an_import_that_cannot_be_written_leaves_no_new_world(folder):
    write_model(folder, "wide.gltf", wide(40000))
    before = files(folder)
    # The server may write no more than a part of it.
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))  # noqa: E731
    process = folder.start(MUSTER, "import", "wide.gltf", "new.muster", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           preexec_fn=limit)
    out, said = process.communicate(timeout=60)
    assert process.returncode in (REFUSED, UNREACHABLE), said
    equal(out, "")
    holds(said, "nothing was imported: ")
    equal(files(folder), before)


def heard():
    """A test that was started by nohup would have its programs ignore SIGHUP."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def an_import_that_a_signal_ends_leaves_no_new_world_and_no_server(folder):
    write_model(folder, "wide.gltf", wide(150000))
    before = files(folder)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for pause in (0, 0.05, 0.2):
            process = folder.start(MUSTER, "import", "wide.gltf", "new.muster", stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=heard)
            until(lambda: files(folder) != before, "the import makes no file")
            time.sleep(pause)
            process.send_signal(number)
            said = process.communicate(timeout=60)[1]
            equal(process.returncode, -number)
            holds(said, "interrupted")
            equal(files(folder), before)
            equal(processes_in(folder), [])


def an_import_that_is_killed_leaves_no_new_world_and_no_server(folder):
    write_model(folder, "wide.gltf", wide(60000))
    before = files(folder)
    process = folder.start(MUSTER, "import", "wide.gltf", "new.muster", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: files(folder) != before, "the import makes no file")
    time.sleep(0.1)
    process.kill()
    process.communicate(timeout=60)
    until(lambda: not processes_in(folder), "the server goes on")
    assert not (folder.path / "new.muster").exists()
    assert all(name.startswith("new.muster-unfinished-") for name in set(files(folder)) - set(before)), files(folder)
    equal(folder.json("import", "wide.gltf", "new.muster")["entities"], 60001)


def an_import_that_a_signal_ends_leaves_nothing_in_a_served_world(folder):
    folder.run("new", "served.muster")
    folder.serve("served.muster")
    write_model(folder, "wide.gltf", wide(90000))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = folder.start(MUSTER, "import", "wide.gltf", "served.muster", stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, preexec_fn=heard)
        until(lambda: folder.json("info")["entities"] > 0, "nothing comes in")
        process.send_signal(number)
        said = process.communicate(timeout=60)[1]
        if process.returncode == 0:  # all had come in before the signal
            folder.run("destroy", "wide")
            continue
        equal(process.returncode, -number)
        holds(said, "nothing was imported: interrupted")
        equal(folder.json("info")["entities"], 0)


def a_refused_import_leaves_nothing_however_much_had_come_in(folder):
    folder.run("new", "served.muster")
    server = folder.serve("served.muster", "--limit", "depth_max=30")
    # More than one Destroy may end.
    count = 110_000
    nodes = [{"name": "root", "children": list(range(1, count + 2))}, *[{}] * count, *chain(40, begin=count + 1)]
    write_model(folder, "late.gltf", nodes)
    holds(folder.error(REFUSED, "import", "late.gltf", "served.muster"), "nothing was imported: ", "30 are allowed")
    equal(folder.json("info")["entities"], 0)
    folder.stop(server)


def a_model_too_deep_for_its_place_is_refused_before_anything_is_sent(folder):
    folder.run("new", "served.muster")
    folder.serve("served.muster")
    write_model(folder, "deep.gltf", chain(600))
    folder.run("import", "deep.gltf", "served.muster")
    info = folder.json("info")
    said = folder.error(REFUSED, "import", "deep.gltf", "served.muster", "--under", "last")
    holds(said, "nothing was imported: the model has 600 levels and ", " is 599 levels below its root; a world takes 1024")
    now = folder.json("info")
    equal((now["entities"], now["sequence"]), (info["entities"], info["sequence"]))


def a_model_of_more_names_than_a_session_may_make_known_comes_into_a_world_that_nobody_serves(folder):
    write_model(folder, "names.gltf", wide(100_001))
    equal(folder.json("import", "names.gltf", "new.muster")["entities"], 100_002)
    server = folder.serve("new.muster")
    info = folder.json("info")
    write_model(folder, "names.gltf", wide(100_001, "other"))
    holds(folder.error(REFUSED, "import", "names.gltf", "new.muster"), "nothing was imported: ", "100000 are allowed")
    equal(folder.json("info")["entities"], info["entities"])
    folder.stop(server)


def errors_name_the_new_world_as_it_was_asked_for(folder):
    before = files(folder)
    holds(folder.error(BAD_FILE, "import", TOWN, "nowhere/c.muster"), "cannot make nowhere/c.muster: there is no folder")
    (folder.path / "bad.fbs").write_text("struct {")
    assert "unfinished" not in folder.error(BAD_FILE, "import", TOWN, "c.muster", "--schema", "bad.fbs")
    holds(folder.error(UNREACHABLE, "import", TOWN, "c.muster", TMPDIR="/nonexistent"),
          "cannot make a folder /nonexistent/muster-", "No such file or directory; TMPDIR names another place")
    equal(files(folder), before)


def a_finished_import_is_no_refusal_if_its_output_cannot_be_written(folder):
    for part in TOWN.parent.glob("town_model*"):
        shutil.copy(part, folder.path)
    model = folder.path / TOWN.name
    ran = subprocess.run(["bash", "-c", 'exec "$@" > /dev/full', "bash", str(MUSTER), "import", str(model), "new.muster"],
                         cwd=folder.path, env=folder.environment, capture_output=True, text=True, timeout=60, check=False)
    equal((ran.returncode, ran.stderr), (UNWRITTEN, "muster: the command succeeded, but its output could not be written\n"))
    holds(folder.run("verify", "new.muster"), "good", "112 entities")


def names_of_files_do_not_steer_a_terminal(folder):
    write_model(folder, "a\x1b[31mred.gltf", [{"name": "a\x1bb"}])
    said = folder.run("import", "a\x1b[31mred.gltf", "new.muster")
    assert "\x1b" not in said and "\\x1b[31mred" in said, said
    said = folder.error(BAD_FILE, "import", "b\x1b[31mred.gltf", "new.muster")
    assert "\x1b" not in said and "\\x1b[31mred" in said, said


def the_lock_file_of_a_new_world_comes_with_it(folder):
    folder.run("import", TOWN, "new.muster")
    lock = (folder.path / "new.muster-lock").read_bytes()
    (folder.path / "new.muster").unlink()
    # One that is left of another world does not keep the new one from being made and served.
    folder.run("import", TOWN, "new.muster")
    assert lock
    folder.stop(folder.serve("new.muster"))
    equal(folder.run("verify", "new.muster").split("\n")[0].split(": ")[1], "good")
