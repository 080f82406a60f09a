"""Programs started with standard input, output or error closed: what they print goes into no file."""
import json
import re
import signal
import subprocess

from shared import GAME, MUSTER, ROOT, SERVER, TOWN, equal, holds

FILE = MUSTER.parent.parent.parent / "server/file_program/muster-file"
SCHEMAC = MUSTER.parent.parent.parent / "schema/schemac"
CLOSED = [[each for each in range(3) if bits & 1 << each] for bits in range(1, 8)]
PRINTED = b"listening on", b"saved at sequence", b"muster: ", b"schemac: ", b" info "
LOCK = re.compile(rb"muster-lock 1\nprocess \d{10}\nworld [0-9a-f]{32}\n(?:[a-z]+ [0-9a-f -]+\n)*\Z")


def without(closed, *command):
    """A command that runs `command` with those descriptors closed."""
    redirected = " ".join(f"{each}>&-" for each in closed)
    return ["bash", "-c", f'exec "$@" {redirected}', "bash", *map(str, command)]


def run(place, closed, *command):
    return subprocess.run(without(closed, *command), cwd=place.path, env=place.environment, capture_output=True, timeout=60,
                          check=False)


def is_clean(place, world, *secrets):
    """The world is good, its lock is one, and no file has what was printed."""
    holds(place.run("verify", world), "good")
    lock = (place.path / f"{world}-lock").read_bytes()
    assert LOCK.match(lock), lock
    for path in place.path.glob("*.muster*"):
        words = PRINTED if path.name.endswith("-server.json") else (*PRINTED, *secrets)
        content = path.read_bytes()
        for word in words:
            assert word not in content, f"{path.name} holds {word}"


def a_server_whose_descriptors_are_closed_logs_into_no_file(folder):
    for closed in CLOSED:
        world = "w" + "".join(map(str, closed)) + ".muster"
        server = folder.start(*without(closed, SERVER, world, "--listen", "127.0.0.1:0", "--schema", GAME, "--durability",
                                       "each_flush"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        served = folder.served_by(world, server)
        token = served["token"].encode()
        folder.run("spawn", "/town", "Health.value=80", "--durable", "--world", world)
        holds(folder.run("show", "town", "--world", world), "80")
        is_clean(folder, world, token)
        server.send_signal(signal.SIGTERM)
        equal(server.wait(timeout=20), 0)
        is_clean(folder, world, token)
        folder.serve(world)
        holds(folder.run("show", "town", "--world", world), "80")


def a_server_that_ends_by_a_kill_leaves_no_log_in_a_file(folder):
    for closed in ([1], [2], [0, 1, 2]):
        world = "k" + "".join(map(str, closed)) + ".muster"
        server = folder.start(*without(closed, SERVER, world, "--listen", "127.0.0.1:0", "--durability", "each_flush"),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        served = folder.served_by(world, server)
        folder.run("spawn", "/town", "--durable", "--world", world)
        server.kill()
        server.wait(timeout=20)
        is_clean(folder, world, served["token"].encode())
        folder.serve(world)
        holds(folder.run("tree", "--world", world), "town")


def commands_whose_descriptors_are_closed_print_into_no_file(folder):
    for closed in CLOSED:
        name = "".join(map(str, closed))
        made, imported, copy = f"a{name}.muster", f"b{name}.muster", f"c{name}.muster"
        run(folder, closed, MUSTER, "new", made)
        is_clean(folder, made)
        run(folder, closed, MUSTER, "import", TOWN, imported)
        is_clean(folder, imported)
        server = folder.serve(imported)
        before = json.loads((folder.path / f"{imported}-server.json").read_text())
        for command in (["info"], ["tree"], ["set", "nothing", "Health.value", "1"], ["spawn", "/more"],
                        ["trace", f"{name}.json", "--seconds", "0.1"], ["backup", imported, copy]):
            run(folder, closed, MUSTER, *command, *(["--world", imported] if command[0] != "backup" else []))
        equal(json.loads((folder.path / f"{imported}-server.json").read_text()), before)
        json.loads((folder.path / f"{name}.json").read_text())
        is_clean(folder, imported, before["token"].encode())
        holds(folder.run("verify", copy), "good")
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=20)
        is_clean(folder, imported)


def programs_for_files_and_schemas_print_into_no_file(folder):
    folder.run("new", "w.muster")
    before = (folder.path / "w.muster").read_bytes()
    (folder.path / "good.fbs").write_text('include "schema/muster.fbs";\nnamespace good;\nstruct Good (component) { a:int; }\n')
    for closed in CLOSED:
        for command in (["verify", "w.muster"], ["journal", "w.muster"], ["backup", "w.muster", "w.muster"]):
            run(folder, closed, FILE, *command)
        equal((folder.path / "w.muster").read_bytes(), before)
        header = f"good{''.join(map(str, closed))}.h"
        run(folder, closed, SCHEMAC, "-I", ROOT, "good.fbs", "-o", header)
        holds((folder.path / header).read_text(), "struct Good")


def what_cannot_be_printed_is_an_error_as_before(folder):
    folder.run("new", "w.muster")
    equal(run(folder, [1], FILE, "verify", "w.muster").returncode, 1)
