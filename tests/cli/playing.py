"""Levels and runs: play, stop, and what a crash leaves. Past states."""
import contextlib
import json
import os
import random
import sys
import time

from shared import GAME, REFUSED, ROOT, SESSION, USAGE, equal, game, holds

sys.path.insert(0, str(ROOT / "tests" / "python"))
from session import EACH, TIMED, Batch, Message, Session, Stream  # noqa: E402
from world_rows import differing, saved  # noqa: E402


def level(served):
    """Everything that an edit can change."""
    return [served.run("tree"), [served.json("show", each)["components"] for each in ("tower", "gate")]]


def a_run_changes_nothing_in_the_level(folder):
    with game(folder):
        before = level(folder)
        steps = folder.json("history")["steps"]
        equal(folder.json("info")["playing"], False)
        folder.run("play")
        equal(folder.json("info")["playing"], True)
        holds(folder.run("info"), "run  ", "on; `muster stop` brings back the level of tick ")
        folder.run("set", "tower", "Health.value", "5")
        folder.run("destroy", "gate")
        folder.run("spawn", "/orc", "Health.value=3")
        holds(folder.run("undo"), "undone: ")  # the run has a history of its own
        folder.run("save")
        folder.run("stop")
        equal(level(folder), before)
        equal(folder.json("history")["steps"], steps)
        folder.run("undo")
        folder.run("redo")
        equal(level(folder), before)


def a_run_is_on_once(folder):
    with game(folder):
        equal(folder.error(REFUSED, "stop"), "no run is on: `muster play` begins one")
        folder.run("play")
        equal(folder.error(REFUSED, "play"), "a run is on already: `muster stop` ends it")
        folder.run("stop")
        equal(folder.error(REFUSED, "stop"), "no run is on: `muster play` begins one")


def after_a_crash_the_run_or_the_level_comes_back_as_asked(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    for option, health in ((), 7), (("--level",), 80):
        server = folder.serve("game.muster", "--level", "--durability", "each_flush")
        if not folder.json("ls"):
            folder.run("spawn", "/tower", "Health.value=80", "--durable")
        equal(folder.json("show", "tower")["components"]["game.Health"]["value"], 80)
        folder.run("play")
        folder.run("set", "tower", "Health.value", "7", "--durable")
        server.kill()
        server.wait()
        server = folder.serve("game.muster", *option)
        equal(folder.json("show", "tower")["components"]["game.Health"]["value"], health)
        equal(folder.json("info")["playing"], not option)
        equal(folder.json("clock")["paused"], bool(option))
        if not option:
            folder.run("stop")
            equal(folder.json("show", "tower")["components"]["game.Health"]["value"], 80)
        folder.stop(server)
        folder.run("verify", "game.muster")


def edits_of_a_run_are_kept_by_field_entity_and_step(folder):
    with game(folder):
        equal(folder.run("keep"), "there is no run whose edits could be kept\n")
        folder.run("play")
        folder.run("set", "tower", "Health.value", "5")
        folder.run("set", "tower", "Unit.team", "blue")
        folder.run("spawn", "/orc", "Health.value=3")
        holds(folder.run("keep", "tower", "Health.value"), "marked; it is kept when the run ends\n")
        edits = folder.json("keep")["edits"]
        equal([(each["what"], each["marked"]) for each in edits],
              [("create orc", False), ("set game.Unit.team of tower", False), ("set game.Health.value of tower", True)])
        holds(folder.run("stop"), "with 1 kept edit\n")
        equal(folder.json("show", "tower")["components"]["game.Health"]["value"], 5)
        team = folder.json("show", "tower")["components"]["game.Unit"]["team"]
        folder.run("undo")
        equal(folder.json("show", "tower")["components"]["game.Health"]["value"], 80)
        folder.run("redo")
        holds(folder.run("keep", "--step", str(edits[0]["step"])), "kept: 1 edit; `muster undo` takes it back\n")
        equal(folder.json("show", "orc")["components"]["game.Health"]["value"], 3)
        holds(folder.run("keep"), "create orc", "set game.Unit.team of tower")
        holds(folder.run("keep", "--all"), "kept: ")
        assert folder.json("show", "tower")["components"]["game.Unit"]["team"] != team
        holds(folder.error(REFUSED, "keep", "gate"), "the run has no edits of 'gate'")
        holds(folder.error(REFUSED, "keep", "--all"), "the level is so already, so nothing was kept")
        holds(folder.error(USAGE, "keep", "tower", "--all"), "give either an entity, or --step, or --all")


def what_is_undone_and_redone_in_a_run_can_be_kept(folder):
    with game(folder):
        folder.run("play")
        folder.run("set", "tower", "Health.value", "5")
        step = folder.json("keep")["edits"][0]["step"]
        folder.run("undo")
        equal(folder.json("keep")["edits"], [])
        holds(folder.error(REFUSED, "keep", "tower"), "the run has no such edits")
        folder.run("redo")
        equal([each["step"] for each in folder.json("keep")["edits"]], [step])
        folder.run("keep", "--all")
        folder.run("stop")
        equal(folder.json("show", "tower")["components"]["game.Health"]["value"], 5)


def after_a_run_names_are_those_of_the_run(folder):
    with game(folder):
        folder.run("play")
        folder.run("spawn", "/dragon", "Health.value=7")
        dragon = folder.json("show", "dragon")["id"]
        folder.run("set", "dragon", "Health.value", "67")
        folder.run("stop")
        folder.run("spawn", "/sheep", "Health.value=1")
        equal(folder.json("show", "sheep")["id"], dragon)
        equal([each["what"] for each in folder.json("keep")["edits"]],
              ["set game.Health.value of dragon", "create dragon"])
        holds(folder.error(REFUSED, "keep", "sheep"), "the run has no edits of 'sheep'")
        folder.run("keep", "dragon")
        equal(folder.json("show", "dragon")["components"]["game.Health"]["value"], 67)
        equal(folder.json("show", "sheep")["components"]["game.Health"]["value"], 1)


def a_past_state_comes_back_by_its_tick_or_time_and_the_restore_can_be_taken_back(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    folder.serve("game.muster", "--hz", "100", "--paused", "--autosave", "0")
    folder.run("spawn", "/tower", "Health.value=80")
    folder.run("save")
    folder.run("clock", "step", "5")
    folder.run("set", "tower", "Health.value", "7")
    folder.run("clock", "step", "5")
    folder.run("destroy", "tower")
    equal(folder.json("clock")["tick"], 10)
    for tick, health in (5, 7), (2, 80):
        equal(folder.json("restore", "--at", str(tick))["tick"], tick)
        equal(folder.json("show", "tower")["components"]["game.Health"]["value"], health)
        equal(folder.json("clock")["tick"], tick)
    holds(folder.run("restore", "--at", "10"), "the world is in the state of tick 10 again, from the save of ")
    equal(folder.json("ls"), [])
    holds(folder.run("restore", "--at", "7"), "the world is in the state of tick 7 again, from the save of ")
    holds(folder.run("undo"), "undone: create tower")
    equal(folder.json("ls"), [])
    past = folder.json("restore")
    equal(past["tick"], 7)
    saved = past["past"][0]["saved"]
    holds(folder.run("restore"), saved)
    holds(folder.error(REFUSED, "restore", "--at", "11"), "tick 11 is not kept. The oldest kept state: tick")
    holds(folder.error(REFUSED, "restore", "--at", "2001-01-01T00:00:00Z"), "2001-01-01T00:00:00Z is not kept.")
    holds(folder.error(USAGE, "restore", "--at", "yesterday"), "'yesterday' is neither a tick nor a time such as")
    folder.run("spawn", "/gate", "Health.value=1")
    folder.run("restore", "--at", "2999-01-01T00:00:00Z")
    equal([each["name"] for each in folder.json("ls")], ["tower"])
    folder.run("play")
    holds(folder.error(REFUSED, "restore", "--at", "5"), "a run is on: `muster stop` ends it")


def session_of(served):
    beside = json.loads((served.path / "game.muster-server.json").read_text())
    session = Session(Stream(beside["address"]), SESSION.read_bytes())
    session.hello(beside["token"])
    session.get_schema()
    return session


def seen(folder, token):
    """What commands say of the level."""
    histories = [folder.json("history", "--limit", "100"), folder.json("history", "--limit", "100", "--token", token)]
    clock = folder.json("clock")
    return [folder.json("tree"), folder.json("templates"), folder.json("timers"), [each["steps"] for each in histories],
            [clock[name] for name in ("tick", "paused", "speed")]]


def after_any_number_of_plays_edits_and_stops_the_level_is_what_it_was(folder):
    rounds = int(os.environ.get("MUSTER_PLAYS", "3"))
    draws = random.Random(rounds)
    world = folder.path / "game.muster"
    folder.run("new", world, "--schema", GAME)
    folder.serve("game.muster", "--level", "--hz", "100")
    ann = folder.json("token", "create", "ann", "--role", "edit")["token"]
    folder.run("spawn", "/town")
    for name in ("tower", "gate", "mill"):
        folder.run("spawn", f"/town/{name}", "Health.value=80", "Unit.speed=1")
    folder.run("set", "mill", "Health.value", "70", "--token", ann)
    folder.run("spawn", "/ruin", "Health")
    folder.run("undo")
    # The ruin cannot be made again then, so its id is free.
    folder.run("set", "gate", "Health.value", "60")
    edits = [("set", "tower", "Health.value", "5"), ("add", "town", "Unit", "speed=3"), ("remove", "mill", "Unit"),
             ("destroy", "gate"), ("reparent", "mill", "/"), ("rename", "tower", "keep"), ("undo",), ("undo", "--token", ann),
             ("spawn", "/orc", "Health.value=3"), ("set", "gate", "Unit.target", "tower"), ("save",),
             ("push", "town", "Damage", "--below"), ("set", "town/mill", "Health.value", "9", "--token", ann)]
    with contextlib.closing(session_of(folder)) as session:
        for due_s in (0.05, 3600):  # the first one is due in each run
            session.push_batch(Batch("game.Damage", TIMED, [], argument=int(due_s * 1e9), inner=Batch(
                "game.Damage", EACH, [Message((1, 1), {"amount": 1}, {})])))
        equal(len(folder.json("timers")), 2)
        for number in range(rounds):
            folder.run("save")
            level, (rows, steps) = seen(folder, ann), saved(world)
            folder.run("play")
            equal(differing(saved(world, of_level=True)[0], rows), [])
            session.ids.clear()
            session.next_id()  # and more are granted, but not used
            folder.run("spawn", "/hut")
            # A command that an earlier one makes impossible is refused.
            for edit in draws.sample(edits, 3):
                folder.try_(*edit)
            until = time.monotonic() + 60
            while len(folder.json("timers")) > 1:
                assert time.monotonic() < until, "no timer is due"
            folder.run("stop")
            folder.run("save")
            equal(seen(folder, ann), level)
            after = saved(world)
            equal([differing(after[0], rows), differing(after[1], steps)], [[], []])
            if number % 4 == 3:
                folder.run("set", "gate", "Health.value", str(number % 50))


def each_mark_of_a_run_counts_and_only_of_that_run(folder):
    with game(folder):
        folder.run("play")
        folder.run("set", "tower", "Health.value", "5")
        folder.run("set", "gate", "Health.value", "6")
        folder.run("keep", "--all")
        folder.run("keep", "tower", "Health.value")
        holds(folder.run("stop"), "with 2 kept edits\n")
        equal([folder.json("show", each)["components"]["game.Health"]["value"] for each in ("tower", "gate")], [5, 6])
        folder.run("play")
        folder.run("set", "tower", "Health.value", "7")
        folder.run("keep", "tower", "Health.value")
        holds(folder.run("stop"), "with 1 kept edit\n")
