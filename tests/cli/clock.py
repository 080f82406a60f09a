"""The clock: paused, stepped, set to a speed."""

from shared import GAME, REFUSED, USAGE, equal, game, holds


def the_clock_is_paused_stepped_and_set_to_a_speed(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    folder.serve("game.muster", "--hz", "200", "--autosave", "0")
    clock = folder.json("clock")
    equal((clock["hz"], clock["speed"], clock["paused"], clock["steps"]), (200, 1, False, 0))
    equal(folder.error(REFUSED, "clock", "step"), "the clock runs: single ticks are made while it is paused")
    paused = folder.json("clock", "pause")
    equal(paused["paused"], True)
    folder.run("spawn", "/gate", "Health.value=5")
    holds(folder.run("clock"), "clock  paused", "ticks  200 per second", f"tick   {paused['tick']}\n", "saved  through")
    folder.run("save")
    holds(folder.run("clock"), "saved  all of it")
    stepped = folder.json("clock", "step")
    equal((stepped["tick"], stepped["steps"]), (paused["tick"] + 1, 0))
    equal(stepped["clock_ns"] - paused["clock_ns"], 5_000_000)
    equal(folder.json("clock", "step", "600")["tick"], paused["tick"] + 601)
    equal(folder.json("clock", "speed", "0.25"), {**folder.json("clock"), "speed": 0.25, "paused": True})
    holds(folder.run("clock", "play"), "clock  runs", "ticks  200 per second, at speed 0.25")
    equal(folder.json("clock", "speed", "100")["paused"], False)
    while folder.json("clock")["tick"] < paused["tick"] + 700:
        pass

    equal(folder.error(REFUSED, "clock", "speed", "0.001"), "a clock's speed is from 0.01 to 100")
    equal(folder.error(REFUSED, "clock", "speed", "101"), "a clock's speed is from 0.01 to 100")
    holds(folder.error(REFUSED, "clock", "speed", "nan"), "speed is nan")
    folder.run("clock", "pause")
    holds(folder.error(REFUSED, "clock", "step", "100001"), "steps is 100001")
    equal(folder.error(USAGE, "clock", "speed"), "speed needs a number: muster clock speed 0.5")
    equal(folder.error(USAGE, "clock", "speed", "fast"), "speed needs a number: muster clock speed 0.5")
    holds(folder.error(USAGE, "clock", "speed", "0"), "muster clock pause")
    for steps in ("0", "-1", "1.5", "many", "1e300", "nan"):
        equal(folder.error(USAGE, "clock", "step", steps), f"'{steps}' is not a number of ticks")
    equal(folder.error(USAGE, "clock", "pause", "3"), "pause takes no number")
    holds(folder.error(USAGE, "clock", "stop"), "stop")
    equal(folder.json("clock")["speed"], 100)


def a_server_begins_with_a_clock_that_is_paused_where_it_is_told_so(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    server = folder.serve("game.muster", "--hz", "1000", "--paused")
    equal([folder.json("clock")[key] for key in ("tick", "paused")], [0, True])
    folder.run("spawn", "/gate")
    equal(folder.json("clock", "step", "2")["tick"], 2)
    folder.stop(server)  # a pause does not keep it from stopping, and is not saved
    folder.serve("game.muster", "--hz", "1000")
    equal(folder.json("clock")["paused"], False)
    equal(len(folder.json("ls")), 1)


def times_are_shown_in_the_two_largest_units(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    folder.serve("game.muster", "--hz", "0.5", "--paused")
    for steps, shown in ((1, "2 s"), (28, "58 s"), (1, "1 min 0 s"), (31, "2 min 2 s"), (1738, "59 min 58 s"), (1, "1 h 0 min"),
                         (31, "1 h 1 min"), (1768, "1 h 59 min"), (1, "2 h 0 min"), (41430, "25 h 1 min")):
        folder.run("clock", "step", str(steps))
        holds(folder.run("clock"), f"time   {shown}\n")


def a_world_without_ticks_has_nothing_to_step_to(folder):
    with game(folder):
        holds(folder.run("clock"), "clock  runs", "ticks  none: it advances when something arrives", "tick   0")
        equal(folder.json("clock", "pause")["paused"], True)
        holds(folder.error(REFUSED, "clock", "step"), "0 Hz")
