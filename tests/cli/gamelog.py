"""`muster log`: the lines that handlers write to the game's log."""
import json
import signal
import subprocess

from files import HIDDEN
from rules import ruled
from scripted import entity_value, ids, said, spoken, NIL
from shared import DONE, MUSTER, REFUSED, UNREACHABLE, USAGE, equal, holds


def log_prints_the_lines_of_handlers_with_level_handler_and_entity(folder):
    folder.serve("game.muster", "--plugin", HIDDEN)
    equal(folder.run("log"), "")
    equal(folder.json("log"), [])
    folder.run("push", "orc", "Damage", "amount=3")
    folder.run("push", "orc", "Damage", "amount=30")
    first, second = folder.run("log").splitlines()
    holds(first, "  info  game.hurt  /orc (1:1)  a hit of 3")
    holds(second, "  error  game.hurt  /orc (1:1)  a hit of 30")
    equal(folder.run("log", "--level", "warning"), second + "\n")
    lines = folder.json("log")
    equal([{name: line[name] for name in ("number", "level", "handler", "id", "path", "text", "lost_before")} for line in lines],
          [{"number": 1, "level": "info", "handler": "game.hurt", "id": "1:1", "path": "/orc", "text": "a hit of 3", "lost_before": 0},
           {"number": 2, "level": "error", "handler": "game.hurt", "id": "1:1", "path": "/orc", "text": "a hit of 30", "lost_before": 0}])
    assert lines[0]["sequence"] < lines[1]["sequence"], lines
    holds(folder.error(USAGE, "log", "--level", "loud"), "loud")
    folder.run("destroy", "orc")
    holds(folder.run("log").splitlines()[1], "  error  game.hurt  1:1  a hit of 30")


def log_follows_what_handlers_write_until_it_is_interrupted(folder):
    folder.serve("game.muster", "--plugin", HIDDEN)
    folder.run("push", "orc", "Damage", "amount=1")
    for arguments, text in ((), str), (("--json", "--level", "info"), lambda line: json.loads(line)["text"]):
        process = subprocess.Popen([MUSTER, "log", "--follow", *arguments], cwd=folder.path, env=folder.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            holds(text(process.stdout.readline()), "a hit of 1")
            folder.run("push", "orc", "Damage", "amount=2")
            holds(text(process.stdout.readline()), "a hit of 2")
            process.send_signal(signal.SIGINT)
            equal(process.wait(timeout=10), DONE)
            equal(process.stderr.read(), "")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()


def a_recovered_world_does_not_write_its_lines_again(folder):
    options = "--plugin", HIDDEN, "--autosave", "0"
    server = folder.serve("game.muster", *options)
    folder.run("push", "orc", "Damage", "amount=5", "--durable")
    equal(len(folder.json("log")), 1)
    server.kill()
    server.wait()
    folder.serve("game.muster", *options)
    equal(folder.json("log"), [])
    folder.run("push", "orc", "Damage", "amount=6")
    equal([(line["number"], line["text"]) for line in folder.json("log")], [(1, "a hit of 6")])


def a_user_whose_rules_hide_something_gets_no_lines(folder):
    with ruled(folder, '[[rule]]\nusers = ["anna"]\nhide = "/secret"\n', ("anna", "view"), ("bob", "view")) as (_, tokens):
        equal(folder.run("log", "--token", tokens["bob"]), "")
        holds(folder.error(REFUSED, "log", "--token", tokens["anna"]), "rule")


def page(numbers, **more):
    count = len(numbers)
    return said("LogLines", {"log": 7, "numbers": numbers, "sequences": [5] * count, "clocks_ns": [1_500_000_000] * count,
                             "levels": [1] * count, "entities": [entity_value(NIL)] * count, "handlers": ["h\x1b"] * count,
                             "texts": [f"line {number}\x1b" for number in numbers], "lost_before": [0] * count} | more)


def lines_come_in_pages_and_those_that_were_lost_are_told(folder):
    with spoken(folder, {"ReadLog": [[page([1, 2], more=True)], [page([5], lost_before=[3], entities=ids(4), handlers=[""])]]}) as world:
        holds(world.run("log"), "1.5 s  warning  h\\x1b  line 1\\x1b\n1.5 s  warning  h\\x1b  line 2\\x1b\n"
              "(2 lines were lost)\n(3 lines were lost)\n1.5 s  warning  (no name)  ")
        equal([world.question("ReadLog", i) for i in range(2)], [{}, {"after": 2}])
    for wrong in ("sequences", "clocks_ns", "levels", "entities", "handlers", "texts", "lost_before"):
        with spoken(folder, {"ReadLog": page([1, 2], **{wrong: []})}) as world:
            equal(world.error(UNREACHABLE, "log"), "the server's answer is invalid")
    with spoken(folder, {"ReadLog": page([], more=True)}) as world:
        equal(world.json("log"), [])  # a page that says there are more, and has none, is the last


def a_log_of_another_start_of_the_server_is_read_from_its_beginning(folder):
    pages = [[page([8, 9], more=True)], [page([10], log=8)], [page([1], log=8)]]
    with spoken(folder, {"ReadLog": pages}) as world:
        equal([line["number"] for line in world.json("log")], [8, 9, 1])
        equal([world.question("ReadLog", i) for i in range(3)], [{}, {"after": 9}, {}])
