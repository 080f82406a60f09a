"""Servers that begin, listen, hold limits and stop, and how commands find them."""
import json
import signal
import socket
import subprocess
import tempfile
import urllib.request

from shared import GAME, MUSTER, REFUSED, SERVER, UNREACHABLE, USAGE, Folder, equal, game, holds


def a_server_that_cannot_listen_makes_nothing(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for listen, reason in (("0.0.0.0:0", "only loopback addresses"), ("127.0.0.1", "expected ADDRESS:PORT"),
                               (f"127.0.0.1:{taken.getsockname()[1]}", "cannot listen on")):
            server = folder.start(SERVER, "w.muster", "--listen", listen, stderr=subprocess.PIPE)
            equal(server.wait(timeout=20), 6)
            holds(server.stderr.read(), reason)
            equal(list(folder.path.iterdir()), [])
    (folder.path / "file").write_text("no socket")
    server = folder.start(SERVER, "w.muster", "--listen", "", "--unix", "file", stderr=subprocess.PIPE)
    equal(server.wait(timeout=20), 6)
    holds(server.stderr.read(), "exists and is not a socket")
    equal([path.name for path in folder.path.iterdir()], ["file"])


def a_server_says_at_its_start_what_other_users_of_the_machine_could_do(folder):
    def said():
        server = folder.serve("w.muster")
        folder.stop(server)
        return server.stderr.read()

    folder.run("new", "w.muster")
    folder.path.chmod(0o700)
    equal(said(), "")
    (folder.path / "w.muster").chmod(0o640)
    holds(said(), "w.muster: other users of this machine can open it (mode 0640); chmod 600 makes it private")
    (folder.path / "w.muster").chmod(0o600)
    folder.path.chmod(0o777)
    holds(said(), "w.muster: other users of this machine can put files into its folder (mode 0777); chmod 700 prevents it")


def an_unknown_limit_is_refused_and_the_known_ones_are_listed(folder):
    for limit in ("texts", "texts_max", "texts_max=", "texts_max=-1", "texts_max=4294967296", "texts_max=5x", "=5"):
        server = folder.start(SERVER, "w.muster", "--listen", "127.0.0.1:0", "--limit", limit, stderr=subprocess.PIPE)
        equal(server.wait(timeout=20), 2)
        holds(server.stderr.read(), f"--limit {limit}: expected NAME=NUMBER", " depth_max ", " world_texts_max ")
        equal(list(folder.path.iterdir()), [])


def a_limit_below_what_a_server_can_work_with_says_what_is_enough(folder):
    for name, least in (("page_bytes_max", 1024), ("slice_steps", 64), ("rows_max", 1)):
        limit = f"{name}={least - 1}"
        server = folder.start(SERVER, "w.muster", "--listen", "127.0.0.1:0", "--limit", limit, stderr=subprocess.PIPE)
        equal(server.wait(timeout=20), 2)
        holds(server.stderr.read(), f"--limit {limit}: {name} is at least {least}")
        equal(list(folder.path.iterdir()), [])


def a_limit_that_was_set_is_held(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    folder.serve("game.muster", "--limit", "name_bytes_max=8", "--limit", "depth_max=50")
    folder.run("spawn", "/doorway8")
    holds(folder.error(REFUSED, "rename", "doorway8", "portcullis"), "a name of 10 bytes; 8 are allowed")


def a_server_says_where_its_editor_is_where_it_has_one(folder):
    (folder.path / "page").mkdir()
    (folder.path / "page" / "index.html").write_text("<!doctype html>")

    def said(*arguments):
        server = folder.start(SERVER, "w.muster", "--listen", "127.0.0.1:0", *arguments,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        lines = []
        while not lines or " token " not in lines[-1]:
            lines.append(server.stdout.readline())
            assert lines[-1], "".join(lines)
        server.send_signal(signal.SIGTERM)
        equal(server.wait(timeout=20), 0)
        return "".join(lines)

    holds(said("--page", "page"), " editor http://127.0.0.1:", "/#token=")
    without = said("--page", "none")
    holds(without, "listening on 127.0.0.1:")
    assert "http" not in without, without


def a_server_stops_in_good_order_from_the_moment_it_can_be_found(folder):
    for _ in range(5):
        server = folder.start_server("w.muster")
        while not (folder.path / "w.muster-server.json").exists():
            assert server.poll() is None, server.stderr.read()
        folder.stop(server)
        equal(sorted(path.name for path in folder.path.iterdir()), ["w.muster", "w.muster-lock"])


def a_second_sigterm_ends_a_server_at_once(folder):
    server = folder.serve("w.muster")
    address = json.loads((folder.path / "w.muster-server.json").read_text())["address"].split(":")
    with socket.create_connection((address[0], int(address[1]))) as silent:
        # Connections are accepted in turn: with the answer to the second the first was.
        with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/health", timeout=20) as health:
            equal(health.status, 200)
        server.send_signal(signal.SIGTERM)
        assert silent.recv(4096), "it is gone already"  # that it stops: it waits a second for clients to read so
        server.send_signal(signal.SIGTERM)
        equal(server.wait(timeout=0.5), -signal.SIGTERM)
    folder.serve("w.muster")


def the_server_is_found_by_folder_variable_and_option(folder):
    equal(folder.error(UNREACHABLE, "info"),
          "no world is served in this folder; name one with --world or MUSTER_WORLD, or a server with --connect")
    folder.run("new", "a.muster")
    holds(folder.error(UNREACHABLE, "info", "--world", "a.muster"), "a.muster")
    folder.serve("a.muster")
    equal(folder.json("info")["world"], "a.muster")
    folder.run("new", "b.muster")
    folder.serve("b.muster")
    said = folder.error(UNREACHABLE, "info").splitlines()
    equal(said[0], "several worlds are served in this folder; name one with --world:")
    equal([line.rsplit("/", 1)[-1].strip() for line in said[1:]], ["a.muster", "b.muster"])
    equal(folder.json("info", "--world", "b.muster")["world"], "b.muster")
    equal(folder.json("--world", str(folder.path / "a.muster"), "info")["world"], "a.muster")
    holds(folder.run("info", MUSTER_WORLD="b.muster"), "b.muster")


def a_killed_server_is_not_looked_for(folder):
    folder.run("new", "a.muster")
    folder.serve("a.muster").kill()
    folder.started[0].wait()
    assert (folder.path / "a.muster-server.json").exists()
    folder.run("info", exit=UNREACHABLE)
    folder.run("info", "--world", "a.muster", exit=UNREACHABLE)
    folder.serve("a.muster")


def an_edit_that_was_waited_for_survives_a_server_that_is_killed(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    for durability, loss in (("each_flush", "some ms"), ("batched", "a tenth of a second"), ("checkpoint", "the last 0.05 s")):
        server = folder.serve("game.muster", "--durability", durability, "--autosave", "0.05")
        name = "/" + durability
        equal(folder.run("spawn", name, "Health.value=5", "--durable").split(" ")[0], name)
        for command in (("set", name, "Health.value", "6"), ("add", name, "Unit"), ("rename", name, durability + "2"),
                        ("spawn", "/short"), ("reparent", "short", name + "2"), ("destroy", "short"),
                        ("remove", name + "2", "Unit"), ("push", name + "2", "Damage", "amount=1")):
            folder.run(*command, "--durable")
        info = folder.json("info")
        equal((info["durability"], info["autosave_ns"], info["error"], info["save_error"]), (durability, 50_000_000, "", ""))
        assert info["durable_sequence"] == info["sequence"] >= info["saved_sequence"], info
        holds(folder.run("info"), f"durable   all of it; a crash takes {loss}")
        shown = folder.json("show", name + "2")
        server.kill()
        server.wait()
        server = folder.serve("game.muster")
        equal({**folder.json("show", name + "2"), "sequence": 0}, {**shown, "sequence": 0})
        folder.error(REFUSED, "show", "short")
        folder.stop(server)
        equal(server.stderr.read(), "")
    server = folder.serve("game.muster", "--durability", "checkpoint", "--autosave", "0")
    holds(folder.error(REFUSED, "set", "batched2", "Health.value", "7", "--durable"), "applied, as sequence ",
          ", but not durable until the world is saved")
    equal(folder.json("show", "batched2")["components"]["game.Health"]["value"], 7)
    holds(folder.run("info"), "a crash takes all since the last save")
    folder.stop(server)
    for wrong in (("--durability", "never"), ("--autosave", "-1"), ("--autosave", "often")):
        server = folder.start(SERVER, "game.muster", *wrong, stderr=subprocess.PIPE)
        equal(server.wait(timeout=20), USAGE)
        holds(server.stderr.read(), wrong[0])


def a_server_says_what_it_did_again_after_a_crash(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = folder.serve("game.muster", "--autosave", "0")
    folder.run("spawn", "/orc", "Health.value=5", "--durable")
    server.kill()
    server.wait()
    server = folder.start(SERVER, "game.muster", "--listen", "127.0.0.1:0", stderr=subprocess.PIPE)
    lines = []
    while not lines or " token " not in lines[-1]:
        lines.append(server.stderr.readline())
        assert lines[-1], "".join(lines)
    holds("".join(lines), "info game.muster: recovered up to sequence ", ", tick 0. ", " inputs with 0 ticks were done again")
    folder.stop(server)


def elsewhere_an_address_and_a_token_are_needed(folder):
    folder.run("new", "a.muster")
    folder.serve("a.muster")
    beside = folder.path / "a.muster-server.json"
    equal(beside.stat().st_mode & 0o777, 0o600)
    at = json.loads(beside.read_text())
    # A token that is given counts, whoever says where the server is.
    for where in (["--world", "a.muster"], []):
        holds(folder.error(UNREACHABLE, "info", *where, "--token", "x" * 32), "the token is not valid here")
        equal(folder.json("info", *where, "--token", at["token"])["world"], "a.muster")
    with tempfile.TemporaryDirectory() as away:
        other = Folder(away, MUSTER, SERVER)
        equal(other.json("--connect", at["address"], "--token", at["token"], "info")["world"], "a.muster")
        holds(other.run("info", "--connect", at["address"], MUSTER_TOKEN=at["token"]), "a.muster")
        equal(other.error(USAGE, "info", "--connect", at["address"]),
              "--connect needs the server's token: --token, or MUSTER_TOKEN")
        holds(other.error(UNREACHABLE, "info", "--connect", at["address"], "--token", "x" * 32), at["address"], "token")
        holds(other.error(UNREACHABLE, "info", "--connect", "127.0.0.1:1", "--token", "x"), "127.0.0.1:1")
        holds(other.error(UNREACHABLE, "info", "--connect", "unix:/nowhere", "--token", "x"), "/nowhere")
