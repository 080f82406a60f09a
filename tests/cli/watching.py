"""`muster watch`, and answers that come late."""
import contextlib
import json
import signal
import subprocess
import time

from shared import DONE, GAME, MUSTER, REFUSED, UNREACHABLE, equal, game, holds, wait_for


@contextlib.contextmanager
def watching(folder, *arguments):
    process = subprocess.Popen([MUSTER, "watch", *arguments], cwd=folder.path, env=folder.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if "--json" not in arguments:
            equal(process.stderr.readline(), "watching; end with Ctrl-C\n")
        else:
            time.sleep(1)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def watch_names_the_fields_of_edits(folder):
    with game(folder), watching(folder, "--events") as watch:
        folder.run("set", "tower", "Health.value", "12")
        holds(watch.stdout.readline(), "/town/tower (", "muster.SetField  game.Health.value = 12\n")
        folder.run("set", "tower", "Health.value", "13", "--expect", "12")
        holds(watch.stdout.readline(), "muster.SetFieldIf  game.Health.value = 13 if it is 12\n")
        folder.run("add", "tower", "Frozen")
        holds(watch.stdout.readline(), "muster.Set  mode=add", "game.Frozen")
        folder.run("remove", "tower", "Frozen")
        holds(watch.stdout.readline(), "muster.Remove  component=game.Frozen\n")


def watch_says_when_a_run_begins_and_ends_and_when_a_state_is_restored(folder):
    with game(folder), watching(folder, "--events") as watch:
        folder.run("save")
        folder.run("play")
        holds(watch.stdout.readline(), "  @world  a run began\n")
        folder.run("set", "tower", "Health.value", "5")
        holds(watch.stdout.readline(), "game.Health.value = 5\n")
        folder.run("stop")
        holds(watch.stdout.readline(), "  @world  the run ended; the world is the level again\n")
        folder.run("set", "tower", "Health.value", "6")
        holds(watch.stdout.readline(), "game.Health.value = 6\n")
        folder.run("restore", "--at", folder.json("restore")["past"][0]["saved"])
        holds(watch.stdout.readline(), "  @world  a past state was restored\n")


def watch_prints_what_another_client_does(folder):
    with game(folder), watching(folder, "--values", "--structure") as watch:
        folder.run("set", "tower", "Health.value", "12")
        holds(watch.stdout.readline(), "/town/tower (", "game.Health  value=12")
        folder.run("spawn", "/town/orc")
        holds(watch.stdout.readline(), "/town/orc (", "created")
        folder.run("rename", "orc", "ork")
        holds(watch.stdout.readline(), "/town/ork (", "renamed")
        folder.run("reparent", "ork", "/")
        holds(watch.stdout.readline(), "/ork (", "moved")
        folder.run("remove", "gate", "Health")
        holds(watch.stdout.readline(), "/town/gate (", "removed game.Health")
        folder.run("destroy", "ork")
        holds(watch.stdout.readline(), "/ork (", "destroyed")
        watch.send_signal(signal.SIGINT)
        equal(watch.wait(timeout=10), DONE)


def watch_tells_messages_with_their_fields(folder):
    with game(folder), watching(folder, "--events", "--json") as watch:
        folder.run("push", "tower", "Damage", "amount=7")
        event = json.loads(watch.stdout.readline())
        equal((event["what"], event["path"], event["message"], event["value"]["amount"]),
              ("event", "/town/tower", "game.Damage", 7))
        folder.run("push", "@world", "Say", "text=hi")
        event = json.loads(watch.stdout.readline())
        equal((event["message"], event["value"]), ("game.Say", {"text": "hi"}))
        assert "id" not in event


def watch_leaves_out_messages_that_are_named(folder):
    with game(folder), watching(folder, "--events", "--except", "Damage") as watch:
        folder.run("push", "tower", "Damage", "amount=7")
        folder.run("push", "@world", "Say", "text=hi")
        holds(watch.stdout.readline(), "@world", "game.Say")
        holds(folder.error(REFUSED, "watch", "--pushed", "Nothing"), "Nothing")


def watch_of_one_entity_is_silent_about_others(folder):
    with game(folder), watching(folder, "gate", "--component", "Health", "--lines", "1") as watch:
        folder.run("set", "tower", "Health.value", "1")
        folder.run("set", "gate", "Health.value", "2")
        holds(watch.stdout.readline(), "/town/gate (", "value=2")
        equal(watch.wait(timeout=10), DONE)


def watch_prints_as_many_lines_as_asked_though_more_came_at_once(folder):
    with game(folder), watching(folder, "--structure", "--lines", "2") as watch:
        folder.run("destroy", "/town")
        equal(watch.wait(timeout=10), DONE)
        equal(len(watch.stdout.read().splitlines()), 2)


def watch_ends_when_its_time_is_over_or_the_server_goes(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = folder.serve("game.muster", "--limit", "resume_ns_max=200000000")
    equal(folder.run("watch", "--for", "0.2"), "")
    with watching(folder) as watch:
        folder.stop(server)
        equal(watch.wait(timeout=30), UNREACHABLE)


def watch_goes_on_when_the_server_is_there_again(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    again = ("game.muster", "--token-file", "token", "--unix", folder.path / "socket")
    server = folder.serve(*again)
    folder.run("spawn", "/tower", "Health.value=80", "--durable")
    with watching(folder, "--values") as watch:
        server.kill()
        server.wait()
        holds(watch.stdout.readline(), "the connection is lost: ", "; trying again for up to 1 min 0 s\n")
        folder.serve(*again)
        holds(watch.stdout.readline(), "@world  the connection was lost and is there again; what happened in the meantime is not shown\n")
        watch.stderr.readline()
        folder.run("set", "/tower", "Health.value", "12")
        holds(watch.stdout.readline(), "/tower (", "game.Health  value=12")


def watch_says_at_once_that_the_server_stops(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = folder.serve("game.muster")
    with watching(folder, "--json") as watch:
        wait_for(lambda: len(folder.json("who")) == 2, "no watch")
        folder.stop(server)
        line = json.loads(watch.stdout.readline())
        equal((line["what"], line["why"]), ("lost", "the connection is lost: the server stops; trying again for up to 1 min 0 s"))
        watch.send_signal(signal.SIGINT)
        equal(watch.wait(timeout=10), DONE)


def top_says_at_once_that_the_server_is_gone_and_when_it_is_back(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    again = ("game.muster", "--token-file", "token", "--unix", folder.path / "socket")
    server = folder.serve(*again)
    top = folder.start(MUSTER, "--timeout", "0.5", "top", "--seconds", "0.2", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    holds(top.stdout.readline(), "nothing happened")
    folder.stop(server)
    holds(top.stderr.readline(), "the connection is lost: the server stops; trying again for up to 1 min 0 s\n")
    time.sleep(1)  # longer than the command waits for an answer
    equal(top.poll(), None)
    folder.serve(*again)
    equal(top.stderr.readline(), "the connection is there again\n")
    top.send_signal(signal.SIGINT)
    top.communicate(timeout=10)
    equal(top.returncode, DONE)


def a_command_whose_answer_is_late_ends_with_3_and_says_so(folder):
    with game(folder):
        server = folder.started[0]
        server.send_signal(signal.SIGSTOP)  # connections are taken by the system, and nobody answers
        try:
            for command in (["info"], ["ls"], ["show", "tower"], ["set", "tower", "Health.value", "7"], ["spawn", "/town/hut"], ["save"]):
                began = time.monotonic()
                holds(folder.error(UNREACHABLE, "--timeout", "0.3", *command), "did not answer within 300 ms")
                assert time.monotonic() - began < 20, command
            said = json.loads(folder.run("--timeout", "0.3", "info", "--json", exit=UNREACHABLE))
            equal(said["exit"], UNREACHABLE)
        finally:
            server.send_signal(signal.SIGCONT)
        holds(folder.run("show", "tower"), "80")  # a late Hello is no session: nothing of it was done
        holds(folder.run("show", "/town/hut", exit=REFUSED), "muster: ")
