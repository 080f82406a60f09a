"""The configuration file, the log files, the audit log, and what a service manager is told."""
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

from shared import GAME, MUSTER, REFUSED, ROOT, SERVER, USAGE, equal, holds, wait_for


def written(folder, text, name="town.toml"):
    (folder.path / name).write_text(text)
    return name


def checked(folder, text, *arguments):
    """The output of --check-config, and its exit code."""
    ran = subprocess.run([SERVER, "--config", written(folder, text), "--check-config", *arguments], cwd=folder.path,
                         capture_output=True, text=True, timeout=20, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def served(folder, text, *arguments, **options):
    """A server whose options are in town.toml and that is reachable by the commands."""
    config = written(folder, 'listen = "127.0.0.1:0"\nworld = "game.muster"\n' + text)
    for name, value in options.items():
        folder.environment[name] = value
    server = folder.start(SERVER, "--config", config, *arguments, stderr=subprocess.PIPE)
    folder.served_by("game.muster", server)
    return server


def metric(folder, name):
    address = json.loads((folder.path / "game.muster-server.json").read_text())["address"]
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=20) as answer:
        return float(re.search(rf"^{name} (\S+)$", answer.read().decode(), re.MULTILINE)[1])


def lines(folder, name):
    path = folder.path / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def a_configuration_that_is_wrong_says_where_and_what_is_near(folder):
    for text, *parts in (
            ("hzz = 3", 'town.toml:1:1: there is no option hzz; did you mean "hz"?'),
            ("\n  wrold = 'x'", 'town.toml:2:3: there is no option wrold; did you mean "world"?'),
            ('hz = "3"', "town.toml:1:6: hz takes a number, and this is 3"),
            ("paused = 1", "town.toml:1:10: paused takes true or false, and this is 1"),
            ("unix = 3", "town.toml:1:8: unix takes a text, and this is 3"),
            ("hz = 3000000", "town.toml:1:6: ", "not in range"),
            ("hz = nan", "town.toml:1:6: hz is not a finite number"),
            ("hz = 1979-01-01", "town.toml:1:6: hz cannot be a date or time"),
            ("hz = 1\nhz = 2", "town.toml:2:6: ", "cannot redefine"),
            ("hz = ", "town.toml:1:6: "),
            ("workers = 1.5", "town.toml:1:11: --workers"),
            ('durability = "never"', "town.toml:1:14: --durability: never not in"),
            ('listen = ["a"]', "town.toml:1:1: listen takes one value, not an array"),
            ('schema = [["a"]]', "town.toml:1:11: schema cannot be an array"),
            ("[limits]\ntext_max = 3", 'town.toml:2:1: there is no limit text_max; did you mean "texts_max"?'),
            ("[limits]\ntexts_max = -3", "town.toml:2:13: the limit texts_max is negative"),
            ("[limits]\ntexts_max = 99999999999", "town.toml:2:13: 99999999999 is too large for the limit texts_max"),
            ("[limits]\npage_bytes_max = 3", "town.toml:2:18: page_bytes_max is at least 1024"),
            ('[limits]\ntexts_max = "3"', "town.toml:2:1: the limit texts_max is one integer"),
            ("limits = 3", "town.toml:1:10: limits is a table"),
            ('limit = ["a=3"]', "town.toml:1:1: there is no option limit; did you mean \"limits\"?"),
            ('config = "other.toml"', "town.toml:1:1: there is no option config"),
            ("new = true\nexisting = true", "--new excludes --existing"),
            ("hz = 1\xff", "town.toml:"),
            ("a" * 2_000_000, "at most 1048576 are allowed"),
            ("a = " + "[" * 5000, "town.toml:1:"),
            ("hz = 3\n [=]", "town.toml:2:2: this is not TOML"),
            ("hz = 3 # ä\n ä = 1", "town.toml:2:2: "),
            ("hz = 3\n\uFE7F", "town.toml:2:1: "),
            ("hz = 3\uFE7F", "town.toml:1:"),
            ("[\x03\x00]", "town.toml:1:1: "),
            ("[[ #x]]", "town.toml:1:1: ")):
        code, said = checked(folder, text, "w.muster")
        equal(code, USAGE)
        holds(said, *parts)
        equal([path.name for path in folder.path.iterdir()], ["town.toml"])
    equal(checked(folder, "hz = 3"), (USAGE, "WORLD is required; --help lists the options\n"))
    ran = subprocess.run([SERVER, "--config", "none.toml"], cwd=folder.path, capture_output=True, text=True, timeout=20, check=False)
    equal((ran.returncode, ran.stderr), (USAGE, "none.toml: the configuration cannot be read: No such file or directory\n"))
    ran = subprocess.run([SERVER, "--config", "."], cwd=folder.path, capture_output=True, text=True, timeout=20, check=False)
    equal((ran.returncode, ran.stderr), (USAGE, ".: the configuration cannot be read: not a regular file\n"))


def the_command_line_wins_over_the_file_and_what_holds_can_be_read_back(folder):
    text = ('world = "w.muster"\nhz = 60\npaused = true\nexisting = true\nschema = ["a.fbs", "b.fbs"]\n'
            '[limits]\ntexts_max = 500\noutgoing.data_bytes_max = 100000\n'
            '[[rule]]\nusers = "ann\\u0022"\ndeny = ["/", "game.*"]\nallow = "/town"\n')
    code, said = checked(folder, text, "--hz", "30", "--new", "--paused=false", "--limit", "texts_max=7", "--plugin", "x.so",
                         "--schema", GAME)
    equal(code, 0)
    shown = {line.split(" = ")[0]: line.split(" = ", 1)[1] for line in said.splitlines() if " = " in line}
    for key, value, origin in (("world", '"w.muster"', "town.toml:1:1"), ("hz", "30", "the command line"), ("new", "true", "the command line"),
                               ("existing", "false", None), ("paused", "false", "the command line"), ("plugin", '["x.so"]', "the command line"),
                               ("schema", f'["{GAME}"]', "the command line"), ("texts_max", "7", "the command line"),
                               ("outgoing.data_bytes_max", "100000", "town.toml:8:27"), ("autosave", "2", None)):
        given, _, where = shown[key].partition(" #")
        equal((key, given.strip(), where.strip()), (key, value, origin or ""))
    again = "".join(re.sub(r" *#.*", "", line) + "\n" for line in said.splitlines())
    code, said_again = checked(folder, again)
    equal(code, 0)
    equal(re.sub(r" *#.*", "", said_again), re.sub(r" *#.*", "", said))


def every_option_has_a_key_and_a_row_in_the_documentation(folder):
    del folder
    shown = subprocess.run([SERVER, "--help"], capture_output=True, text=True, timeout=20, check=True).stdout
    options = set(re.findall(r"^ +(?:-\w,)?--([\w-]+)", shown, re.MULTILINE))
    options -= {"help", "version", "config", "check-config", "limit"}
    of_replay = {"replay", "to", "check", "any-build", "slice", "json", "hashes"}
    options -= of_replay
    page = (pathlib.Path(ROOT) / "docs/operation.md").read_text()
    table = page[page.index("| key | "):].split("\n\n")[0]
    equal(set(re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE)), options | {"world"})


def a_reload_changes_what_it_can_and_a_wrong_file_changes_nothing(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    text = 'hz = 60\nlog-file = "log"\n[limits]\nname_bytes_max = 8\n'
    server = served(folder, text)
    log = folder.path / "log"
    folder.run("spawn", "/doorway8")
    holds(folder.error(REFUSED, "rename", "doorway8", "portcullis"), "8 are allowed")
    base = (folder.path / "town.toml").read_text()
    written(folder, base.replace("= 8", "= 10").replace("hz = 60", "hz = 50"))
    server.send_signal(signal.SIGHUP)
    wait_for(lambda: "limits.name_bytes_max: 8 -> 10\n" in log.read_text(), "no reload")
    holds(log.read_text(), "reloaded: hz: 60 -> 50, after a restart\n")
    folder.run("rename", "doorway8", "portcullis")
    written(folder, base.replace("= 8", "= 50") + "name_bites_max = 3\n")
    server.send_signal(signal.SIGHUP)
    wait_for(lambda: "there is no limit name_bites_max; did you mean" in log.read_text(), "no error")
    holds(log.read_text(), "nothing is reloaded, and the previous settings still hold: town.toml:")
    holds(folder.error(REFUSED, "rename", "portcullis", "x" * 11), "10 are allowed")
    written(folder, base.replace("name_bytes_max = 8", "").replace('"log"', '"nowhere/log"'))
    server.send_signal(signal.SIGHUP)
    wait_for(lambda: "nowhere/log cannot be opened for writing" in log.read_text(), "no error")
    holds(folder.error(REFUSED, "rename", "portcullis", "x" * 11), "10 are allowed")
    written(folder, base.replace("name_bytes_max = 8", ""))
    server.send_signal(signal.SIGHUP)
    wait_for(lambda: "limits.name_bytes_max: 10 -> the default\n" in log.read_text(), "no reload")
    folder.run("rename", "portcullis", "x" * 11)
    folder.stop(server)


def limits_that_change_all_the_time_disturb_no_session(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = served(folder, "")
    base = (folder.path / "town.toml").read_text()
    for turn in range(40):
        written(folder, base + f"[limits]\ndepth_max = {100 + turn}\n")
        server.send_signal(signal.SIGHUP)
        if turn % 4 == 0:
            folder.run("spawn", f"/e{turn}")
    equal(len(folder.json("ls")), 10)
    server.send_signal(signal.SIGTERM)
    equal(server.wait(timeout=20), 0)


def log_files_are_opened_again_after_they_were_renamed(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = served(folder, 'log-file = "log"\naudit-log = "audit"\n')
    for name, asked in (("1", signal.SIGUSR1), ("2", signal.SIGHUP)):
        for file in ("log", "audit"):
            equal((folder.path / file).stat().st_mode & 0o777, 0o600)
            (folder.path / file).rename(folder.path / (file + name))
        server.send_signal(asked)
        wait_for(lambda: (folder.path / "log").exists() and (folder.path / "audit").exists(), "not opened again")
        folder.run("spawn", "/e" + name)
        wait_for(lambda: any(line["event"] == "edit" for line in lines(folder, "audit")), "no line")
        holds((folder.path / "log").read_text(), "welcomed")
    equal(len([line for line in lines(folder, "audit1") if line["event"] == "edit"]), 0)
    folder.stop(server)
    equal(server.stderr.read(), "")


def the_audit_log_says_who_did_what_and_what_was_refused_and_holds_no_token(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = served(folder, 'audit-log = "audit"\nlog-file = "log"\n')
    owner = json.loads((folder.path / "game.muster-server.json").read_text())["token"]
    token = folder.run("token", "create", "anna", "--role", "edit").split()[-1]
    folder.run("spawn", "/orc", "Health.value=5", "--token", token)
    folder.error(REFUSED, "save", "--token", token)
    folder.error(REFUSED, "rename", "orc", "x" * 300, "--token", token)
    folder.run("save")
    folder.run("clock", "pause")
    folder.run("undo", "--token", token)
    folder.run("play")
    folder.run("stop")
    folder.error(3, "info", "--token", "x" * 32)
    folder.run("kick", "anna")
    folder.run("token", "revoke", "anna")
    folder.error(3, "info", "--token", token)
    server.send_signal(signal.SIGTERM)
    equal(server.wait(timeout=20), 0)
    for name in ("audit", "log"):
        text = (folder.path / name).read_text()
        assert owner not in text and token not in text, text
    told = lines(folder, "audit")
    by_anna = [line for line in told if line.get("user") == 1]
    assert all(line["name"] == "anna" and line["from"] == "127.0.0.1" for line in by_anna), by_anna
    for line in told:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]), line
    edits = [line for line in by_anna if line["event"] == "edit"]
    assert edits and all(line["sequence"] > 0 and line["messages"] > 0 and line["request"] > 0 for line in edits), edits
    refused = [line["why"] for line in by_anna if line["event"] == "refused"]
    assert any("needs the right to control" in why for why in refused) and any("a name of 300 bytes" in why for why in refused), refused
    acts = [line["type"] for line in told if line["event"] == "act"]
    for act in ("CreateToken", "Save", "SetClock", "Undo", "Play", "StopPlaying", "Kick", "RevokeToken"):
        assert "muster.session." + act in acts, acts
    for event in ("token_created", "kicked", "token_revoked"):
        equal([(line["of_user"], line["of_name"]) for line in told if line["event"] == event], [(1, "anna")])
    equal(len([line for line in told if line["event"] == "login_refused" and line["refused"] == "bad_token"]), 2)
    equal(len([line for line in told if line["event"] == "login"]), len([line for line in told if line["event"] == "logout"]))


def an_audit_log_on_a_full_disk_counts_what_it_loses_and_delays_nothing(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = served(folder, 'audit-log = "audit"\nlog-file = "log"\nautosave = 0\ndurability = "checkpoint"\n')
    audit = folder.path / "audit"
    folder.run("spawn", "/a")
    wait_for(lambda: any(line["event"] == "logout" for line in lines(folder, "audit")), "no line")
    size = audit.stat().st_size
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size + 10, resource.RLIM_INFINITY))
    folder.run("spawn", "/b")
    wait_for(lambda: metric(folder, "muster_audit_lines_lost_total") >= 2, "nothing is lost")
    lines(folder, "audit")  # no half line
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    wait_for(lambda: any(line["event"] == "lost" for line in lines(folder, "audit")), "not told")
    lost = [line for line in lines(folder, "audit") if line["event"] == "lost"]
    assert lost[0]["lines"] >= 2 and lost[0]["why"] == "File too large", lost
    folder.run("spawn", "/c")
    wait_for(lambda: lines(folder, "audit")[-1]["event"] == "logout", "no line")
    folder.stop(server)


def a_log_file_that_cannot_be_opened_ends_the_start(folder):
    (folder.path / "link").symlink_to("elsewhere")
    os.mkfifo(folder.path / "pipe")
    for name, why in (("nowhere/log", "No such file"), (".", "Is a directory"), ("link", "a symbolic link"), ("pipe", "")):
        for option in ("--log-file", "--audit-log"):
            server = folder.start(SERVER, "w.muster", "--listen", "127.0.0.1:0", option, name, stderr=subprocess.PIPE)
            equal(server.wait(timeout=20), USAGE)
            holds(server.stderr.read(), f"{name} cannot be opened for writing", why)
    equal(sorted(path.name for path in folder.path.iterdir()), ["link", "pipe"])


def service_manager(name):
    """Returns a function that returns the next message that begins so."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    end.bind(name.replace("@", "\0"))
    end.settimeout(20)

    def until(message):
        while True:
            came = end.recv(4096).decode()
            if came.startswith(message):
                return came

    return until


def a_service_manager_is_told_of_each_state(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    for name in (str(folder.path / "notify"), f"@muster-test-{os.getpid()}"):
        until = service_manager(name)
        server = served(folder, "", NOTIFY_SOCKET=name)
        until("READY=1")
        server.send_signal(signal.SIGHUP)
        assert "MONOTONIC_USEC=" in until("RELOADING=1")
        until("READY=1")
        folder.stop(server)
        until("STOPPING=1")


def a_notification_socket_that_is_missing_or_invalid_changes_nothing(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    for name in ("/nowhere/notify", "relative", "", "/" + "x" * 200, "@"):
        server = served(folder, "", NOTIFY_SOCKET=name, WATCHDOG_USEC="x")
        folder.run("info")
        folder.stop(server)


def a_backup_into_a_folder_keeps_users_and_the_newest_copies(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = served(folder, "")
    token = folder.run("token", "create", "anna", "--role", "edit").split()[-1]
    (folder.path / "copies").mkdir()
    for name in ("game-20250101T000000Z.muster", "game-20250102T000000Z.muster", "game-20250102T000000Z.muster-users"):
        (folder.path / "copies" / name).write_text("an old copy")
    made = folder.json("backup", "game.muster", "copies", "--keep", "2")
    assert re.fullmatch(r"copies/game-\d{8}T\d{6}Z\.muster", made["copy"]), made
    equal((made["users"], made["removed"]), (True, ["copies/game-20250101T000000Z.muster"]))
    holds(folder.error(USAGE, "backup", "game.muster", "other.muster", "--keep", "2"), "--keep requires a folder")
    folder.stop(server)
    for part in ("", "-wal", "-shm", "-lock", "-work", "-users"):
        (folder.path / ("game.muster" + part)).unlink(missing_ok=True)
    for part in ("", "-users"):
        (folder.path / (made["copy"] + part)).rename(folder.path / ("game.muster" + part))
    server = served(folder, "")
    folder.run("spawn", "/orc", "--token", token)
    folder.stop(server)


def figures_are_closed_to_those_without_a_token_if_that_is_asked(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = served(folder, "private-figures = true\n")
    entry = json.loads((folder.path / "game.muster-server.json").read_text())
    for page in ("metrics", "health"):
        def asked(token, page=page):
            request = urllib.request.Request(f"http://{entry['address']}/{page}",
                                             headers={"Authorization": f"Bearer {token}"} if token else {})
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return answer.status
            except urllib.error.HTTPError as refused:
                return refused.code
        equal([asked(""), asked("x" * 32), asked(entry["token"])], [401, 401, 200])
    folder.stop(server)


def a_server_that_drains_tells_its_sessions_and_ends_when_they_have_left(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = served(folder, 'drain-time = 60\nlog-file = "log"\n')
    address = json.loads((folder.path / "game.muster-server.json").read_text())["address"]
    stays = folder.start(MUSTER, "watch", "--lines", "1", stdout=subprocess.PIPE)
    wait_for(lambda: len(folder.json("who")) == 2, "no watch")
    server.send_signal(signal.SIGUSR2)
    wait_for(lambda: "no further sessions are accepted" in (folder.path / "log").read_text(), "no drain")
    holds(folder.error(3, "info"), "the server will stop soon")
    try:
        urllib.request.urlopen(f"http://{address}/health", timeout=20)
        assert False, "healthy"
    except urllib.error.HTTPError as refused:
        equal((refused.code, refused.read()), (503, b"the server will stop soon, and accepts no new sessions\n"))
    equal(server.poll(), None)
    stays.terminate()
    equal(server.wait(timeout=20), 0)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def a_server_that_drains_sends_its_sessions_elsewhere(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    (folder.path / "token").write_text("0123456789abcdef\n")
    server = served(folder, 'token-file = "token"\naudit-log = "audit"\n')
    address = json.loads((folder.path / "game.muster-server.json").read_text())["address"]
    elsewhere = f"127.0.0.1:{free_port()}"
    there = ("--connect", address, "--token", "0123456789abcdef")
    for wrong in ("nowhere", "host:", ":7717", "host:70000", "ho st:7717", "x" * 300 + ":7717"):
        holds(folder.error(REFUSED, "drain", "--to", wrong), "expected HOST:PORT")
    equal(folder.json("who", *there)[0]["own"], True)
    viewer = folder.json("token", "create", "vera", "--role", "control")["token"]
    holds(folder.error(REFUSED, "drain", "--token", viewer), "admin")
    watch = folder.start(MUSTER, "watch", "--json", *there, stdout=subprocess.PIPE)
    wait_for(lambda: len(folder.json("who")) == 2, "no watch")
    equal(folder.json("drain", "--to", elsewhere, "--seconds", "0"), {"time_ns": 0, "to": elsewhere})
    equal(server.wait(timeout=20), 0)
    lost = json.loads(watch.stdout.readline())
    equal((lost["what"], elsewhere in lost["why"]), ("lost", True))
    server = folder.start(SERVER, "game.muster", "--token-file", "token", "--listen", elsewhere, stderr=subprocess.PIPE)
    equal(json.loads(watch.stdout.readline())["what"], "resumed")
    folder.run("spawn", "/gate")
    wait_for(lambda: json.loads(watch.stdout.readline())["what"] == "created", "not told")
    equal([line["resume_at"] for line in lines(folder, "audit") if line["event"] == "drain"], [elsewhere])
    folder.stop(server)


def a_server_that_is_sent_a_signal_says_where_its_sessions_go(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = served(folder, 'drain-time = 60\ndrain-to = "tls:studio.example:7717"\n')
    stays = folder.start(MUSTER, "watch", "--lines", "1", stdout=subprocess.PIPE)
    wait_for(lambda: len(folder.json("who")) == 2, "no watch")
    server.send_signal(signal.SIGUSR2)
    wait_for(lambda: subprocess.run([MUSTER, "info"], cwd=folder.path, capture_output=True, env=folder.environment,
                                    timeout=60, check=False).returncode != 0, "no drain")
    holds(folder.error(3, "info"), "the server will stop soon", "tls:studio.example:7717")
    stays.terminate()
    equal(server.wait(timeout=20), 0)


def a_server_that_drains_ends_after_its_time_though_sessions_stay(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = served(folder, "drain-time = 0.3\n[limits]\nresume_ns_max = 200000000\n")
    stays = folder.start(MUSTER, "watch", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: len(folder.json("who")) == 2, "no watch")
    server.send_signal(signal.SIGUSR2)
    equal(server.wait(timeout=20), 0)
    stays.wait(timeout=20)
