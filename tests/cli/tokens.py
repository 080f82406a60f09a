"""Users with tokens of their own."""
import json
import os
import signal
import socket
import subprocess

from shared import GAME, MUSTER, REFUSED, SERVER, UNREACHABLE, USAGE, equal, game, holds, wait_for


def a_user_is_let_in_by_a_token_and_out_again(folder):
    with game(folder):
        made = folder.json("token", "create", "ann", "--role", "edit")
        equal({key: made[key] for key in ("user", "name", "role", "expires")},
              {"user": 1, "name": "ann", "role": "edit", "expires": None})
        folder.run("set", "tower", "Health.value", "12", "--token", made["token"])
        equal(json.loads(folder.run("show", "tower", "--json", MUSTER_TOKEN=made["token"]))["components"]["game.Health"]["value"], 12)
        holds(folder.error(REFUSED, "save", "--token", made["token"]), "control")
        holds(folder.error(REFUSED, "token", "list", "--token", made["token"]), "admin")
        equal(folder.error(REFUSED, "token", "create", "ann", "--role", "view"),
              'there is a user "ann"; revoke that user\'s token first')
        equal(folder.run("token", "revoke", "ann"), "user 1, ann, can no longer connect\n")
        holds(folder.error(UNREACHABLE, "ls", "--token", made["token"]), "the token is not valid here")
        equal(folder.error(REFUSED, "token", "revoke", "ann"), 'there is no user "ann"')
        holds(folder.run("token", "create", "the build", "--role", "view", "--expires", "30d"), "user 2, the build, may view until 20")
        equal([(user["user"], user["name"], user["role"]) for user in folder.json("token", "list")],
              [(1, "ann", None), (2, "the build", "view")])
        holds(folder.run("token", "list"), "USER  NAME       ROLE     EXPIRES", "1     ann        revoked", "2     the build  view     20")


def users_of_a_world_that_none_serves_are_kept_too(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    token = folder.run("token", "create", "ann", "--role", "view", "--world", "game.muster").splitlines()[1]
    users = folder.path / "game.muster-users"
    equal(users.stat().st_mode & 0o777, 0o600)
    assert token not in users.read_text()
    server = folder.serve("game.muster")
    equal(folder.json("ls", "--token", token), [])
    folder.stop(server)
    folder.run("token", "revoke", "ann", MUSTER_WORLD="game.muster")
    folder.serve("game.muster")
    holds(folder.error(UNREACHABLE, "ls", "--token", token), "the token is not valid here")


def refused_token(folder, token):
    holds(folder.error(UNREACHABLE, "ls", "--token", token), "the token is not valid here")


def the_servers_own_token_is_exchanged_and_its_sessions_are_told(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = folder.serve("game.muster", "--token-file", "token", "--audit-log", "audit")
    old = json.loads((folder.path / "game.muster-server.json").read_text())["token"]
    ann = folder.json("token", "create", "ann", "--role", "admin")["token"]
    watch = folder.start(MUSTER, "watch", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: len(folder.json("who")) == 2, "no watch")
    said = folder.run("token", "rotate").splitlines()
    holds(said[0], "the server's own token was exchanged")
    new = said[1]
    equal(watch.wait(timeout=20), UNREACHABLE)
    holds(watch.stderr.read(), "the server's own token was replaced")
    assert new != old and len(new) >= 16
    refused_token(folder, old)
    for how in ((), ("--token", new), ("--token", ann)):
        equal(folder.json("ls", *how), [])
    equal((folder.path / "token").read_text(), new + "\n")
    for file in ("token", "game.muster-server.json"):
        equal((folder.path / file).stat().st_mode & 0o777, 0o600)
    audit = (folder.path / "audit").read_text()
    holds(audit, '"event": "own_token_replaced"')
    assert old not in audit and new not in audit
    # A reload finds the token that it knows, so no session ends.
    watch = folder.start(MUSTER, "watch", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: len(folder.json("who")) == 2, "no watch")
    server.send_signal(signal.SIGHUP)
    folder.run("spawn", "/gate")
    wait_for(lambda: '"event": "reload"' in (folder.path / "audit").read_text(), "no reload")
    equal(len(folder.json("who")), 2)
    watch.terminate()
    watch.wait(timeout=20)
    folder.stop(server)
    server = folder.serve("game.muster", "--token-file", "token")
    equal(len(folder.json("ls", "--token", new)), 1)
    folder.stop(server)
    holds(folder.error(REFUSED, "token", "rotate", "--world", "game.muster"), "no server serves game.muster")


def a_token_that_cannot_be_kept_is_not_exchanged(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = folder.serve("game.muster", "--token-file", "token")
    token = json.loads((folder.path / "game.muster-server.json").read_text())["token"]
    ann = folder.json("token", "create", "ann", "--role", "admin")["token"]
    holds(folder.error(REFUSED, "token", "rotate", "--token", ann), "only a session with the server's own token")
    (folder.path / "token").unlink()
    (folder.path / "token").mkdir()
    (folder.path / "token" / "file").touch()
    holds(folder.error(REFUSED, "token", "rotate"), "the new token cannot be written", "the old one stays")
    equal(folder.json("ls", "--token", token), [])
    equal(json.loads((folder.path / "game.muster-server.json").read_text())["token"], token)
    equal(sorted(path.name for path in folder.path.iterdir() if path.name.startswith("token")), ["token"])
    folder.stop(server)
    (folder.path / "kept").write_text("0123456789abcdef\n")
    server = folder.serve("game.muster", "--token-file", "kept", "--token-fixed")
    holds(folder.error(REFUSED, "token", "rotate"), "has given it its token")
    equal(folder.json("ls", "--token", "0123456789abcdef"), [])
    equal((folder.path / "kept").read_text(), "0123456789abcdef\n")
    folder.stop(server)


def a_users_token_is_exchanged_and_the_user_stays_the_same(folder):
    with game(folder):
        old = folder.json("token", "create", "ann", "--role", "edit", "--expires", "30d")["token"]
        before = folder.json("token", "list")
        watch = folder.start(MUSTER, "watch", "--token", old, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: len(folder.json("who")) == 2, "no watch")
        rotated = folder.json("token", "rotate", "ann")
        equal((rotated["user"], rotated["name"]), (1, "ann"))
        equal(watch.wait(timeout=20), UNREACHABLE)
        holds(watch.stderr.read(), "the token was exchanged for a new one")
        refused_token(folder, old)
        folder.run("set", "tower", "Health.value", "12", "--token", rotated["token"])
        after = folder.json("token", "list")
        equal([{**user, "seen": None} for user in after], [{**user, "seen": None} for user in before])
        equal(folder.error(REFUSED, "token", "rotate", "bob"), 'there is no user "bob"')
        holds(folder.error(REFUSED, "token", "rotate", "ann", "--token", rotated["token"]), "admin")


def users_who_were_revoked_or_have_expired_are_cleaned_up(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    (folder.path / "town.toml").write_text('[[rule]]\nusers = ["bob"]\ndeny = "muster.Destroy"\n')
    own = ("--world", "game.muster")
    for name, more in (("ann", ()), ("bob", ()), ("guest", ("--expires", "6s")), ("dora", ())):
        folder.run("token", "create", name, "--role", "edit", *more, *own)
    server = folder.serve("game.muster", "--config", "town.toml")
    for name in ("ann", "bob"):
        folder.run("token", "revoke", name)
    wait_for(lambda: len(folder.run("token", "clean", "--dry").splitlines()) == 3, "nobody expires")
    equal(folder.run("token", "clean", "--dry").splitlines(),
          ["would remove user 1, ann", "would remove user 3, guest", "kept bob, whom a rule names"])
    equal(len(folder.json("token", "list")), 4)
    equal(folder.json("token", "clean"),
          {"dry": False, "removed": [{"user": 1, "name": "ann"}, {"user": 3, "name": "guest"}], "kept": ["bob"]})
    equal([(user["user"], user["name"]) for user in folder.json("token", "list")], [(2, "bob"), (4, "dora")])
    folder.stop(server)
    server = folder.serve("game.muster", "--config", "town.toml")  # the rule names a known user
    equal(folder.json("token", "create", "ann", "--role", "view")["user"], 5)
    folder.run("token", "create", "bob", "--role", "view")
    equal(folder.run("token", "clean"), "removed user 2, bob\n")  # the rule concerns the new bob
    equal(folder.run("token", "clean"), "no user was revoked or has expired\n")
    equal([user["user"] for user in folder.json("token", "list")], [4, 5, 6])
    folder.stop(server)


def token_says_what_it_needs(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    world = ("--world", "game.muster")
    equal(folder.error(USAGE, "token", "create", "ann", *world), "a token needs --role view, edit, control or admin")
    equal(folder.error(USAGE, "token", "create", "ann", "--role", "king", *world), "'king' is not a role: expected view, edit, control or admin")
    holds(folder.error(USAGE, "token", "create", *world), "needs the user's name")
    holds(folder.error(USAGE, "token", "revoke", *world), "needs the user's name")
    holds(folder.error(USAGE, "token", "give", "ann", *world), "give")
    equal(folder.error(USAGE, "token", "list", "ann", *world), "token list takes no name")
    equal(folder.error(USAGE, "token", "clean", "ann", *world), "token clean takes no name")
    holds(folder.error(USAGE, "token", "rotate", "ann", "--dry", *world), "for token clean")
    holds(folder.error(USAGE, "token", "revoke", "ann", "--role", "view", *world), "for token create")
    for time in ("soon", "30", "-1d", "30y", "2027-02-30", "2027-1-1x", "2027-01-01T25:00:00Z", "1e9d"):
        holds(folder.error(USAGE, "token", "create", "ann", "--role", "view", "--expires", time, *world), f"'{time}' is not a time")
    equal(folder.error(REFUSED, "token", "create", "ann", "--role", "view", "--expires", "2020-01-01", *world),
          "the expiry time is in the past")
    holds(folder.error(UNREACHABLE, "token", "list", "--world", "no.muster"), "there is no world no.muster")
    equal(folder.json("token", "list", *world), [])


def a_list_of_users_that_is_cut_off_is_not_served(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    folder.run("token", "create", "ann", "--role", "view", "--world", "game.muster")
    users = folder.path / "game.muster-users"
    users.write_text(users.read_text().rsplit("\n", 2)[0] + "\n")
    server = folder.start(SERVER, "game.muster", "--listen", "127.0.0.1:0", stderr=subprocess.PIPE)
    equal(server.wait(timeout=20), 6)
    holds(server.stderr.read(), "game.muster-users: it has 0 users")


def a_list_of_users_that_is_not_a_file_is_refused_at_once(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    users = folder.path / "game.muster-users"
    for make in (os.mkfifo, os.mkdir):
        make(users)
        server = folder.start(SERVER, "game.muster", "--listen", "127.0.0.1:0", stderr=subprocess.PIPE)
        equal(server.wait(timeout=20), 6)
        holds(server.stderr.read(), "game.muster-users", "not a regular file")
        users.unlink() if make is os.mkfifo else users.rmdir()


def an_address_file_that_is_not_a_file_is_not_waited_for(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    os.mkfifo(folder.path / "game.muster-server.json", 0o600)
    holds(folder.error(UNREACHABLE, "info", "--world", "game.muster"), "game.muster-server.json", "not a regular file")
    holds(folder.error(UNREACHABLE, "info"), "no world is served in this folder")


def an_address_file_of_a_process_that_does_not_have_the_world_open_is_not_believed(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    file = folder.path / "game.muster-server.json"
    address = {"world": "game.muster", "address": "127.0.0.1:9", "unix": "", "token": "stolen", "pid": os.getpid(), "server": "x"}
    file.write_text(json.dumps(address))
    file.chmod(0o600)
    lock = folder.path / "game.muster-lock"
    why = f"process {os.getpid()}, which game.muster-server.json names, does not have it open"
    holds(folder.error(UNREACHABLE, "info", "--world", "game.muster"), why)
    lock.write_text(f"muster-lock 1\nprocess {os.getpid():010}\n")  # not held
    holds(folder.error(UNREACHABLE, "info", "--world", "game.muster"), why)
    file.unlink()
    lock.unlink()
    folder.serve("game.muster")
    folder.run("info", "--world", "game.muster")
    served = json.loads(file.read_text())
    file.write_text(json.dumps({**served, "pid": os.getpid()}))  # held by another process
    holds(folder.error(UNREACHABLE, "info", "--world", "game.muster"), why)


def a_users_name_has_no_letters_that_cannot_be_seen(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    folder.serve("game.muster")
    for letter in "\u00ad\u034f\u115f\u180e\u200b\u200d\u2060\u2064\u2800\u3164\ufe0f\uffa0\U000e0041\U000e0100":
        holds(folder.error(REFUSED, "token", "create", f"an{letter}n", "--role", "view"), "invisible")
    for name in ("ann", "Ännchen", "анна", "安 娜"):
        folder.run("token", "create", name, "--role", "view")


def a_server_says_that_other_users_can_reach_its_world(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    folder.path.chmod(0o700)
    world = folder.path / "game.muster"
    for mode, of_folder, said in [(0o600, 0o755, None), (0o644, 0o700, "can open it (mode 0644)"), (0o600, 0o777, "(mode 0777)")]:
        world.chmod(mode)
        folder.path.chmod(of_folder)
        server = folder.start(SERVER, "game.muster", "--listen", "127.0.0.1:0", stderr=subprocess.PIPE)
        folder.served_by("game.muster", server)
        folder.stop(server)
        log = server.stderr.read()
        assert ("other users" in log) == (said is not None) and (said or "") in log, log
    folder.path.chmod(0o700)


def a_token_file_that_is_not_there_is_made_once(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    file = folder.path / "token"
    tokens = []
    for turn in range(2):
        server = folder.start(SERVER, "game.muster", "--listen", "127.0.0.1:0", "--token-file", "token", stderr=subprocess.PIPE)
        tokens.append(folder.served_by("game.muster", server)["token"])
        folder.stop(server)
        said = server.stderr.read()
        assert ("token: a new token" in said) == (turn == 0), said
        equal(file.stat().st_mode & 0o777, 0o600)
        equal(file.read_text(), tokens[0] + "\n")
    equal(tokens[0], tokens[1])
    assert len(tokens[0]) >= 16
    equal([path.name for path in folder.path.iterdir() if path.name.startswith("token")], ["token"])


def a_token_file_has_one_token(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    for text, why in {"": ": no token can be read from it", "too short\n": ", line 1: a token has at least 16 characters",
                      "0123456789abcdef\r\n\nview 0123456789abcdef\n":
                          ", line 3: the file has one token; to give a user another one, use 'muster token create'"}.items():
        (folder.path / "token").write_text(text)
        server = folder.start(SERVER, "game.muster", "--listen", "127.0.0.1:0", "--token-file", "token", stderr=subprocess.PIPE)
        equal(server.wait(timeout=20), 2)
        holds(server.stderr.read(), "token" + why)
    (folder.path / "token").write_bytes(b"0123456789abcdef \r\n\n")
    server = folder.start(SERVER, "game.muster", "--listen", "127.0.0.1:0", "--token-file", "token", stderr=subprocess.PIPE)
    equal(folder.served_by("game.muster", server)["token"], "0123456789abcdef")
    folder.stop(server)


def a_token_file_is_made_through_no_link_and_in_no_folder_that_is_missing(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    (folder.path / "link").symlink_to("elsewhere")
    for name in ("link", "no/token"):
        server = folder.start(SERVER, "game.muster", "--listen", "127.0.0.1:0", "--token-file", name, stderr=subprocess.PIPE)
        equal(server.wait(timeout=20), 2)
        holds(server.stderr.read(), name)
    assert not (folder.path / "elsewhere").exists()


def an_address_that_is_taken_is_told_with_what_to_do(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = folder.start(SERVER, "game.muster", "--listen", f"127.0.0.1:{taken.getsockname()[1]}", stderr=subprocess.PIPE)
        equal(server.wait(timeout=20), 6)
        holds(server.stderr.read(), "Address already in use", "--listen")
