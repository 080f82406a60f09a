"""Who is connected, and what the world is busy with."""
import json
import subprocess

from shared import MUSTER, REFUSED, equal, game, holds


def who_is_connected_is_listed_with_what_each_is_told(folder):
    with game(folder):
        watch = folder.start(MUSTER, "watch", "--values", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, environment={"USER": "bob"})
        while True:
            told = folder.json("who")
            if len(told) == 2 and told[0]["rows"] > 0 and told[0]["oldest_ns"] == 0:
                break
        equal([(each["kind"], each["role"], each["own"], each["watches"]) for each in told],
              [("muster", "admin", False, 1), ("muster", "admin", True, 0)])
        equal(told[0]["watched"], 3)
        equal([told[0]["watch_bytes"], told[1]["watch_bytes"]], [0, 0])
        assert told[0]["session"] < told[1]["session"] and told[0]["sent_bytes"] > told[0]["received_bytes"] > 0, told
        lines = folder.run("who").splitlines()
        equal(lines[0].split(), ["SESSION", "NAME", "KIND", "ROLE", "FOR", "EDITS", "WATCHES", "WATCHED", "ROWS", "TOLD", "SENT", "WAITING", "OLDEST", "OWED", "WAITS", "FOR", "SELECTED", "LOCKED"])
        equal([int(each["session_number"]) % 2**32 for each in told], [each["session"] for each in told])
        equal(told[0]["waits_for"], "nothing")
        equal(len(lines), 3)
        holds(lines[2], "(this one)", "admin")
        equal(told[0]["name"], "bob")


def whose_session_was_ended_is_told_with_the_reason(folder):
    with game(folder):
        equal(folder.json("who", "--ended"), [])
        equal(folder.run("who", "--ended"), "the server has ended no session\n")
        token = folder.json("token", "create", "eve", "--role", "view")["token"]
        watch = folder.start(MUSTER, "--token", token, "watch", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(folder.json("who")) < 2:
            pass
        folder.run("token", "revoke", "eve")
        watch.wait()
        while not (ended := folder.json("who", "--ended")):
            pass
        equal([(each["name"], each["code"], each["why"]) for each in ended],
              [("eve", "bad_token", "the token was revoked or has expired")])
        holds(folder.run("who", "--ended"), "WHY", "eve", "the token was revoked")


def what_the_world_is_busy_with_is_said_look_after_look(folder):
    with game(folder):
        top = subprocess.Popen([MUSTER, "top", "--json", "--seconds", "0.2", "--times", "20"], cwd=folder.path, env=folder.environment,
                               stdout=subprocess.PIPE, text=True)
        pushed = handled = looks = 0
        for line in top.stdout:
            look = json.loads(line)
            looks += 1
            for message in look["messages"]:
                if message["message"] == "muster.SetField":
                    pushed += message["pushed"]
                    handled += message["handled"]
            assert look["ns"] > 1e8 and any(session["sent_bytes"] for session in look["sessions"]), look
            if looks < 10:
                folder.run("set", "/town/gate", "Health.value", looks)
        equal(top.wait(), 0)
        equal(looks, 20)
        equal((pushed, handled), (9, 9))
        text = folder.run("top", "--seconds", "0.1", "--times", "1")
        holds(text, "MESSAGE", "PUSHED/s", "HANDLER", "ROWS/s", "SESSION", "(this one)") if "MESSAGE" in text else holds(text, "nothing happened for 0.1", "SESSION")


def who_may_only_look_is_not_told_what_the_world_is_busy_with(folder):
    with game(folder):
        token = folder.json("token", "create", "ann", "--role", "edit")["token"]
        holds(folder.error(REFUSED, "--token", token, "top", "--times", "1"), "GetActivity", "control")
        equal(folder.json("--token", token, "who")[0]["name"], "ann")
