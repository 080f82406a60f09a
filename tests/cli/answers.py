"""What commands print of the answers that a server gives, and what they ask: pages, figures, lists, answers that make no sense."""
import struct

from scripted import CLOSE, EACH, NEVER, NIL, Told, entity_value, fault, hash32, hash64, ids, said, spoken
from shared import REFUSED, UNREACHABLE, USAGE, equal, holds

HEALTH, UNIT, DAMAGE, SAY = (hash32("game." + name) for name in ("Health", "Unit", "Damage", "Say"))
NAME, CHILD_OF = hash32("muster.Name"), hash32("muster.ChildOf")
INVALID = "the server's answer is invalid"
SECOND = 1_000_000_000
GONE = 987654321  # no type of the world


def children(of, names, offset=0, total=None, components=(), counts=None):
    return said("Children", {"entity": entity_value(of), "total": len(names) if total is None else total, "offset": offset,
                             "entities": ids(*(10 + offset + i for i in range(len(names)))), "names": names,
                             "child_counts": counts or [0] * len(names),
                             "component_counts": [len(components)] * len(names), "components": [*components] * len(names)})


def shown(index, path, components=(), rows=None, **more):
    about = said("Shown", {"entity": entity_value((index, 1)), "path": path, "name": path.rsplit("/", 1)[-1],
                           "components": list(components)} | more)
    return [about, Told("muster.Set", [((index, 1), {}, rows)], kind=EACH)] if rows else about


def found(*paths, more=False, first=1):
    return said("Found", {"entities": ids(*range(first, first + len(paths))), "paths": list(paths), "more": more})


def info_says_what_ticks_take_and_how_much_memory_there_is(folder):
    info = said("Info", {"world": "a.muster", "server": "muster-server 9", "entities": 3, "types": 4, "sequence": 5, "clock_ns": 61 * SECOND,
                         "hz": 0.5, "sessions": 6, "watches": 7, "uptime_ns": 3600 * SECOND, "plugins": ["p: one", "q\x1b: two"], "hash": 0xabc,
                         "durable_sequence": 4, "saved_sequence": 3, "durability": 2, "autosave_ns": 2 * SECOND})
    load = said("Load", {"processor_ns": 8, "memory_bytes": (9 << 20) + 1048575, "tick_ns_max": 4_567_899,
                         "ticks": [{"below_ns": 1_234_567, "count": 5}, {"below_ns": 2_000_000, "count": 4}, {"below_ns": 5_000_000, "count": 1}]})
    with spoken(folder, {"GetInfo": info, "GetLoad": load}) as world:
        lines = ["world         a.muster", "server        muster-server 9, up 1 h 0 min", "entities      3", "types         4", "sequence      5",
                 "durable       through sequence 4; a crash takes some ms", "clock         1 min 1 s", "ticks         0.5 per second",
                 "a tick takes  half of them less than 1.234 ms of processor time, 99.9 % less than 4.567 ms, the longest 4.567 ms",
                 "memory        9 MiB", "sessions      6, with 7 watches", "plugin        p: one", "plugin        q\\x1b: two"]
        equal(world.run("info"), "\n".join(lines) + "\n")
        equal(world.question("GetInfo"), {})
        equal(world.run("info", "--hash"), "\n".join(lines + ["hash          0000000000000abc"]) + "\n")
        equal(world.question("GetInfo", 1), {"hash": 1})
        whole = {"world": "a.muster", "server": "muster-server 9", "entities": 3, "types": 4, "sequence": 5, "clock_ns": 61 * SECOND, "hz": 0.5,
                 "sessions": 6, "watches": 7, "playing": False, "uptime_ns": 3600 * SECOND, "processor_ns": 8, "memory_bytes": (9 << 20) + 1048575,
                 "tick_ns_half": 1_234_567, "tick_ns_most": 4_567_899, "tick_ns_max": 4_567_899, "plugins": ["p: one", "q\x1b: two"],
                 "durable_sequence": 4, "saved_sequence": 3, "durability": "each_flush", "autosave_ns": 2 * SECOND, "error": "", "save_error": ""}
        equal(world.json("info"), whole)
        equal(world.json("info", "--hash"), {**whole, "hash": "0000000000000abc"})
    with spoken(folder, {"GetInfo": said("Info", {"world": "a"}), "GetLoad": said("Load", {"memory_bytes": 1})}) as world:
        equal(world.run("info").splitlines()[5], "durable   all of it; a crash takes all since the last save")
        equal(world.run("info").splitlines()[7:], ["ticks     none: it advances when something arrives", "memory    0 MiB", "sessions  0, with 0 watches"])
        assert "tick_ns_max" not in world.json("info")
    for durability, error, save_error, told in (
            (0, "the disk is full", "likewise", ["durable        through sequence 0, and nothing after it",
                                                 "EDITS REFUSED  the disk is full"]),
            (1, "", "the disk\x1b is full", ["durable    all of it; a crash takes a tenth of a second",
                                            "not saved  the disk\\x1b is full"])):
        info = said("Info", {"world": "a", "durability": durability, "autosave_ns": 3 * SECOND, "error": error, "save_error": save_error})
        with spoken(folder, {"GetInfo": info, "GetLoad": said("Load", {})}) as world:
            equal(world.run("info").splitlines()[5:7], told)


def timers_come_in_pages_each_behind_the_last_of_the_one_before(folder):
    def pages():
        first = {"timers": [4, 5], "due_ns": [2 * SECOND, 12 * SECOND], "types": [DAMAGE, GONE], "targets": [*ids(3), entity_value(NIL)],
                 "counts": [1, 20], "clock_ns": 10 * SECOND, "more": True}
        second = {"timers": [6], "due_ns": [70 * SECOND], "types": [SAY], "targets": ids(8), "counts": [2], "clock_ns": 10 * SECOND}
        return {"ListTimers": [[said("PendingTimers", first)], [said("PendingTimers", second)]]}
    with spoken(folder, pages()) as world:
        equal(world.run("timers"), world_table(["TIMER", "DUE IN", "MESSAGE", "TO", "COUNT"], ["4", "0 s", "game.Damage", "3:1", "1"],
                                               ["5", "2 s", f"#{GONE}", "the world", "20"], ["6", "1 min 0 s", "game.Say", "8:1", "2"]))
        equal(world.question("ListTimers"), {})
        equal(world.question("ListTimers", 1), {"after_due_ns": 12 * SECOND, "after_timer": 5})
    with spoken(folder, pages()) as world:
        equal(world.json("timers"), [{"timer": 4, "due_ns": 2 * SECOND, "message": "game.Damage", "to": "3:1", "count": 1},
                                     {"timer": 5, "due_ns": 12 * SECOND, "message": f"#{GONE}", "to": None, "count": 20},
                                     {"timer": 6, "due_ns": 70 * SECOND, "message": "game.Say", "to": "8:1", "count": 2}])
    with spoken(folder, {"ListTimers": said("PendingTimers", {"more": True})}) as world:
        equal(world.json("timers"), [])  # a page that says there are more, and has none, is the last


def world_table(*rows):
    """Columns as wide as their widest cell and two blanks, no blanks at the end."""
    widths = [max(len(row[i]) for row in rows) + 2 for i in range(len(rows[0]))]
    return "".join("".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)


def handlers_come_in_pages_with_what_each_writes_and_reads(folder):
    def pages(**more):
        first = {"handlers": [7, 9], "names": ["hit", ""], "messages": [DAMAGE, HEALTH], "changes": [0, 1], "enabled": [1, 0],
                 "write_counts": [1, 0], "writes": [HEALTH], "read_counts": [2, 1], "reads": [UNIT, HEALTH, GONE], "more": True} | more
        second = {"handlers": [11, 12], "names": ["fall", "see"], "messages": [HEALTH, UNIT], "changes": [2, 3], "enabled": [1, 1],
                  "write_counts": [0, 0], "read_counts": [0, 0]}
        return {"ListHandlers": [[said("HandlerList", first)], [said("HandlerList", second)]]}
    with spoken(folder, pages()) as world:
        equal(world.run("handlers"), world_table(
            ["HANDLER", "MESSAGE", "WRITES", "READS"], ["hit", "game.Damage", "game.Health", "game.Unit, game.Health"],
            ["(no name) (off)", "Added game.Health", "", f"#{GONE}"], ["fall", "Removed game.Health", "", ""],
            ["see", "Changed game.Unit", "", ""]))
        equal([world.question("ListHandlers", i) for i in range(2)], [{}, {"after": 9}])
    with spoken(folder, pages()) as world:
        equal(world.json("handlers")[:2], [
            {"name": "hit", "message": "game.Damage", "enabled": True, "writes": ["game.Health"], "reads": ["game.Unit", "game.Health"]},
            {"name": "", "message": "Added game.Health", "enabled": False, "writes": [], "reads": [f"#{GONE}"]}])
    text = '"hit" and "see" do not overlap:\n  "hit" runs first\n'
    with spoken(folder, {"WhyApart": said("Explanation", {"text": text})}) as world:
        equal(world.run("handlers", "--why", "hit", "see"), text)
        equal(world.json("handlers", "--why", "hit", "see"), text.rstrip())
        equal(world.question("WhyApart"), {"first": "hit", "second": "see"})
        holds(world.error(USAGE, "handlers", "--why", "hit"), "--why")
    for wrong in ({"names": ["hit"]}, {"messages": [DAMAGE]}, {"changes": [0]}, {"enabled": [1]}, {"write_counts": [1]},
                  {"read_counts": [2]}, {"write_counts": [1, 1]}, {"read_counts": [2, 2]}):
        with spoken(folder, pages(**wrong)) as world:
            equal(world.error(UNREACHABLE, "handlers"), INVALID)


def reload_says_of_each_plugin_what_it_is_and_was(folder):
    answer = {"sequence": 5, "plugins": ["a", "b", "c\x1b"], "builds": ["2", "1", "3"], "builds_before": ["1", "1", "3"], "changed": [1, 0, 1]}
    with spoken(folder, {"Reload": said("Reloaded", answer)}) as world:
        equal(world.run("reload"), "a  2, was 1\nb  1; the file is the same as before\nc\\x1b  3\n")
        equal(world.question("Reload"), {})
        equal(world.json("reload", "a.so"), {"sequence": 5, "plugins": [
            {"name": "a", "build": "2", "before": "1", "changed": True}, {"name": "b", "build": "1", "before": "1", "changed": False},
            {"name": "c\x1b", "build": "3", "before": "3", "changed": True}]})
        equal(world.question("Reload", 1), {"plugin": "a.so"})
    for part in ("builds", "builds_before", "changed"):
        with spoken(folder, {"Reload": said("Reloaded", answer | {part: answer[part][:2]})}) as world:
            equal(world.error(UNREACHABLE, "reload"), INVALID)
    with spoken(folder, {"Reload": fault(107, "a.so: no such file")}) as world:
        equal(world.error(REFUSED, "reload"), "a.so: no such file")


def clock_says_how_it_runs_and_asks_for_what_was_ordered(folder):
    state = {"hz": 60, "speed": 1, "tick": 8, "clock_ns": 1_500_000_000, "sequence": 9, "saved_sequence": 9, "paused": 0}
    with spoken(folder, {"GetClock": said("ClockState", state), "SetClock": said("ClockState", state)}) as world:
        equal(world.run("clock"), "clock  runs\nticks  60 per second\ntick   8\ntime   1.5 s\nsaved  all of it\n")
        equal(world.question("GetClock"), {})
        for order, asked in ((["pause"], {"paused": 1}), (["play"], {}), (["step"], {"paused": 2, "steps": 1}), (["step", "40"], {"paused": 2, "steps": 40}),
                             (["step", "4e9"], None), (["speed", "0.5"], {"paused": 2, "speed": 0.5})):
            if asked is not None:
                world.run("clock", *order)
                equal(world.question("SetClock", -1), asked)
    ahead = {**state, "hz": 2.5, "speed": 3, "paused": 1, "saved_sequence": 4, "clock_ns": 999_999}
    with spoken(folder, {"GetClock": said("ClockState", {**ahead, "steps": 5})}) as world:
        equal(world.run("clock"), "clock  paused, 5 ticks are being made\nticks  2.5 per second, at speed 3\ntick   8\ntime   0 s\nsaved  through sequence 4 of 9\n")
        equal(world.json("clock"), {"hz": 2.5, "speed": 3, "paused": True, "steps": 5, "tick": 8, "clock_ns": 999_999, "sequence": 9, "saved_sequence": 4})
    # Steps are waited for.
    steps = [[said("ClockState", {**ahead, "steps": left})] for left in (2, 1, 0)]
    with spoken(folder, {"SetClock": said("ClockState", {**ahead, "steps": 3}), "GetClock": steps}) as world:
        equal(world.json("clock", "step", "3")["steps"], 0)
        equal(world.count("GetClock"), 3)


def children_come_in_pages_until_there_are_as_many_as_were_told(folder):
    def pages():
        some = (UNIT, NAME, HEALTH, GONE)
        return {"ListChildren": [[children(NIL, ["a", "b\x1b"], total=3, components=some, counts=[2, 0])],
                                 [children(NIL, ["c"], offset=2, total=3)]]}
    with spoken(folder, pages()) as world:
        equal(world.run("ls"), world_table(["ID", "NAME", "CHILDREN", "COMPONENTS"], ["10:1", "a", "2", f"#{GONE}, game.Health, game.Unit"],
                                           ["11:1", "b\\x1b", "", f"#{GONE}, game.Health, game.Unit"], ["12:1", "c", "", ""]))
        equal([world.question("ListChildren", i) for i in range(2)], [{}, {"offset": 2}])
        equal(world.count("ListChildren"), 2)
    with spoken(folder, pages()) as world:
        equal(world.json("ls")[0], {"id": "10:1", "name": "a", "components": [f"#{GONE}", "game.Health", "game.Unit"], "child_count": 2})
    with spoken(folder, {"ListChildren": children(NIL, [], total=3)}) as world:
        equal(world.json("ls"), [])  # a page without any is the last


def a_search_goes_on_behind_the_last_that_was_found(folder):
    def pages():
        return {"Find": [[found("/t", "/t/a", more=True, first=3)], [found("/t/b", more=False, first=8)]], "Resolve": found("/t", first=3)}
    with spoken(folder, pages()) as world:
        equal(world.run("ls", "t", "--with", "Health", "--with", "game.Unit", "--name", "x"), world_table(["ID", "PATH"], ["4:1", "/t/a"], ["8:1", "/t/b"]))
        equal(world.question("Find"), {"name": "x", "components": [HEALTH, UNIT], "under": entity_value((3, 1))})
        equal(world.question("Find", 1), {"name": "x", "components": [HEALTH, UNIT], "under": entity_value((3, 1)), "after": entity_value((4, 1))})
        equal(world.question("Resolve"), {"path": "t", "limit": 20})
    with spoken(folder, pages()) as world:
        equal(world.json("ls", "t", "--name", "x"), [{"id": "4:1", "path": "/t/a"}, {"id": "8:1", "path": "/t/b"}])
    with spoken(folder, {"Find": found(more=True)}) as world:
        equal(world.run("ls", "--name", "x"), "")


def a_name_that_means_several_or_none_is_told_with_those_there_are(folder):
    with spoken(folder, {"Resolve": found("/a/x", "/b\x1b/x", more=True)}) as world:
        equal(world.error(REFUSED, "show", "x"), '"x" is ambiguous: more than 2 entities have this name; use a path or an id\n  1:1  /a/x\n  2:1  /b\\x1b/x')
    with spoken(folder, {"Resolve": found(), "Find": found("/a/xy", "/b/yx", more=True)}) as world:
        equal(world.error(REFUSED, "show", "x"), "no entity x in this world; names that contain it:\n  1:1  /a/xy\n  2:1  /b/yx\n  ...")
        equal(world.question("Find"), {"name": "x", "limit": 5})
    with spoken(folder, {"Resolve": [[found()], [found("/a", first=4)], [found()]], "ListChildren": children((4, 1), ["north", "east"])}) as world:
        equal(world.error(REFUSED, "show", r"/a/nor\/th/x"), r'no entity /a/nor\/th/x: /a has no child "nor\/th"; did you mean "north"?')
        equal([world.question("Resolve", i) for i in range(3)],
              [{"path": r"/a/nor\/th/x", "limit": 20}, {"path": "/a", "limit": 1}, {"path": r"/a/nor\/th", "limit": 1}])
        equal(world.question("ListChildren"), {"entity": entity_value((4, 1))})
    with spoken(folder, {"Resolve": found(), "ListChildren": children(NIL, ["completely different"])}) as world:
        equal(world.error(REFUSED, "show", "/a"), 'no entity /a: the world has no child "a"')
    with spoken(folder, {}) as world:
        equal(world.error(USAGE, "show", "//"), "/ is the whole world, not an entity")
        equal(world.error(USAGE, "show", ""), "an empty text is not an entity: use a path, a name or an id")
        equal(world.count("Resolve"), 0)


def a_tree_is_drawn_with_lines_and_cut_at_its_depth(folder):
    def levels():
        return {"ListChildren": [[children(NIL, ["a", "b"], counts=[2, 0])], [children((10, 1), ["", "d"], counts=[1, 3], components=[HEALTH])],
                                 [children((10, 1), ["e"])], [children((11, 1), ["f"])]]}
    with spoken(folder, levels()) as world:
        equal(world.run("tree"), "/\n├─ a  10:1\n│  ├─ 10:1  [game.Health]\n│  │  └─ e  10:1\n│  └─ d  11:1  [game.Health]\n│     └─ f  10:1\n└─ b  11:1\n")
    for depth in ("0", "1"):
        with spoken(folder, levels()) as world:
            equal(world.run("tree", "--depth", depth), "/\n├─ a  10:1  … 2 children\n└─ b  11:1\n")
    with spoken(folder, levels()) as world:
        tree = world.json("tree", "--depth", "2")
        equal(tree["children"][0]["children"][1], {"id": "11:1", "name": "d", "components": ["game.Health"], "child_count": 3})
        equal(tree["children"][1], {"id": "11:1", "name": "b", "components": [], "child_count": 0})


def show_prints_parent_children_and_values_with_units(folder):
    rows = {"game.Health": {"value": 7.5}, "game.Unit": {"team": 2, "speed": 1, "target": entity_value((5, 1)), "title": hash64("Sir")},
            "muster.Name": {"text": hash64("orc")}, "game.Frozen": {}}
    about = shown(9, "/a/orc\x1b", [HEALTH, UNIT, NAME], rows, parent=entity_value((3, 1)), child_count=4, sequence=6)
    with spoken(folder, {"Show": about, "GetText": fault(104, "no such text")}) as world:
        holds(world.run("show", "9:1"), "/a/orc\\x1b (9:1)\n  parent    3:1\n  children  4\n", "game.Health\n  value  7.5 hp\n", "game.Frozen\n",
              "game.Unit\n  team    blue\n  speed   1\n  target  5:1\n", f'  title   "#{hash64("Sir")}"\n')
        equal(world.question("Show"), {"entity": entity_value((9, 1))})
        equal(world.question("GetText"), {"hash": hash64("Sir")})
    with spoken(folder, {"Show": about, "GetText": said("muster.InternText", {"text": "Sir"})}) as world:
        said_of = world.json("show", "#9:1")
        equal({key: said_of[key] for key in ("id", "parent", "child_count", "sequence", "path")},
              {"id": "9:1", "parent": "3:1", "child_count": 4, "sequence": 6, "path": "/a/orc\x1b"})
        equal(said_of["components"], {"game.Health": {"value": 7.5}, "game.Frozen": {},
                                      "game.Unit": {"team": "blue", "speed": 1, "target": "5:1", "title": "Sir"}})
    # A text that comes by itself, to nobody in particular, need not be asked for.
    hint = said("muster.InternText", {"text": "Sir"}, request=0)
    with spoken(folder, {"Show": [hint, *about]}) as world:
        equal(world.json("show", "9:1")["components"]["game.Unit"]["title"], "Sir")
        equal(world.count("GetText"), 0)
    with spoken(folder, {"Show": shown(9, "")}) as world:
        equal(world.run("show", "9:1"), "9:1\n")
        equal(world.json("show", "9:1")["parent"], None)


def show_prints_the_values_that_managers_hold(folder):
    label = struct.pack("<f", 2.5)
    held = [{"manager": "meshes\x1b", "name": "mesh", "instance": 7, "value": bytes(range(3))},
            {"manager": "motion", "name": "health", "type": HEALTH, "value": label},
            {"manager": "motion", "name": "long", "value": bytes(40)},
            {"manager": "motion", "name": "later", "type": GONE, "value": b"a"},
            {"manager": "motion", "name": "short", "type": HEALTH, "value": b"a"}]
    with spoken(folder, {"Show": shown(9, "/orc", held=held, held_left_out=2)}) as world:
        equal(world.run("show", "9:1"),
              "/orc (9:1)\nheld by meshes\\x1b: mesh #7\n  3 bytes: 00 01 02\n"
              "held by motion: health (game.Health)\n  value  2.5 hp\n"
              "held by motion: long\n  40 bytes: " + "00 " * 32 + "...\n"
              "held by motion: later\n  1 bytes: 61\nheld by motion: short\n  1 bytes: 61\n"
              "too large to be shown: 2 more values of managers\n")
        said_of = world.json("show", "9:1")
        equal(said_of["held"][:2], [{"manager": "meshes\x1b", "name": "mesh", "instance": 7, "bytes": "00 01 02"},
                                    {"manager": "motion", "name": "health", "instance": 0, "type": "game.Health", "value": {"value": 2.5}}])
        equal(said_of["held_left_out"], 2)


def tokens_are_listed_with_what_is_over_and_until_when(folder):
    users = {"users": [1, 2, 3, 4], "names": ["ann", "bob\x1b", "cid", "dan"], "roles": [0, 4, 2, 1],
             "expires_s": [5, 0, 86399, 253402300800], "seen_s": [0, 86399, 0, 0]}
    with spoken(folder, {"ListTokens": said("muster.session.Tokens", users)}) as world:
        equal(world.run("token", "list"), world_table(["USER", "NAME", "ROLE", "EXPIRES", "SEEN"], ["1", "ann", "revoked", "", ""],
                                                      ["2", "bob\\x1b", "admin", "", "1970-01-01T23:59:59Z"],
                                                      ["3", "cid", "edit", "1970-01-01T23:59:59Z, is over", ""], ["4", "dan", "view", "253402300800 s", ""]))
        equal(world.json("token", "list"), [
            {"user": 1, "name": "ann", "role": None, "expires": "1970-01-01T00:00:05Z", "seen": None},
            {"user": 2, "name": "bob\x1b", "role": "admin", "expires": None, "seen": "1970-01-01T23:59:59Z"},
            {"user": 3, "name": "cid", "role": "edit", "expires": "1970-01-01T23:59:59Z", "seen": None},
            {"user": 4, "name": "dan", "role": "view", "expires": "253402300800 s", "seen": None}])
    with spoken(folder, {"CreateToken": said("TokenCreated", {"user": 5, "token": "secret"}), "RevokeToken": said("TokenRevoked", {"user": 5})}) as world:
        for role, number in (("view", 1), ("edit", 2), ("control", 3), ("admin", 4)):
            equal(world.run("token", "create", "ann", "--role", role), f"user 5, ann, may {role}. The token, which is shown only once:\nsecret\n")
            equal(world.question("CreateToken", number - 1), {"name": "ann", "role": number})
        for until, shown_as, seconds in (("2027-01-31", "2027-01-31T00:00:00Z", 1801353600), ("2027-01-31T23:59:59Z", "2027-01-31T23:59:59Z", 1801439999),
                                         ("2028-02-29T00:00:01Z", "2028-02-29T00:00:01Z", 1835395201)):
            equal(world.run("token", "create", "ann", "--role", "view", "--expires", until),
                  f"user 5, ann, may view until {shown_as}. The token, which is shown only once:\nsecret\n")
            equal(world.question("CreateToken", -1), {"name": "ann", "role": 1, "expires_s": seconds})
        equal(world.json("token", "create", "ann", "--role", "view", "--expires", "2027-01-31"),
              {"user": 5, "name": "ann", "role": "view", "expires": "2027-01-31T00:00:00Z", "token": "secret"})
        lengths = []
        for unit in ("100s", "100m", "100h", "100d", "100w"):
            world.run("token", "create", "ann", "--role", "view", "--expires", unit)
            lengths.append(world.question("CreateToken", -1)["expires_s"])
        for (shorter, longer), more in zip(zip(lengths, lengths[1:]), (5900, 354000, 8280000, 51840000)):
            assert more <= longer - shorter <= more + 60, (shorter, longer, more)
        for time in ("1969-12-31", "2027-01-31T24:00:00Z", "2027-01-31T00:60:00Z", "2027-01-31T00:00:60Z", "2027-13-01", "2027-01-31 ", "1000000001s"):
            equal(world.error(USAGE, "token", "create", "ann", "--role", "view", "--expires", time),
                  f"'{time}' is not a time: expected 30d (s, m, h, d, w), 2027-01-31 or 2027-01-31T12:00:00Z")
        equal(world.error(USAGE, "token", "create", "ann", "--role", "none"), "'none' is not a role: expected view, edit, control or admin")
        equal(world.run("token", "revoke", "a\x1b"), "user 5, a\\x1b, can no longer connect\n")
        equal(world.json("token", "revoke", "ann"), {"user": 5, "name": "ann"})


def templates_are_listed_and_drawn_as_trees(folder):
    with spoken(folder, {"ListTemplates": [said("Templates", {"names": ["a", "b"], "nodes": [1, 20]}), said("Templates", {"names": ["c"], "nodes": [3]})]}) as world:
        equal(world.run("templates"), "TEMPLATE  ENTITIES\na         1\nb         20\nc         3\n")
    value = {"type": HEALTH, "fingerprint": 1, "value": b""}
    nodes = [{"parent": 0, "name": "", "components": [value], "messages": [{**value, "type": DAMAGE}, {**value, "type": GONE}]},
             {"parent": 0, "name": "arm", "components": [{**value, "type": UNIT}, value]}, {"parent": 1, "name": "hand"}, {"parent": 0, "name": "leg"}]
    with spoken(folder, {"GetTemplate": said("muster.DefineTemplate", {"name": "man", "nodes": nodes})}) as world:
        equal(world.run("templates", "man"), world_table(
            ["ENTITY", "COMPONENTS", "MESSAGES"], ["man", "game.Health", f"game.Damage, #{GONE}"], ["  arm", "game.Unit, game.Health", ""],
            ["    hand", "", ""], ["  leg", "", ""]))
        equal(world.question("GetTemplate"), {"name": "man"})
        equal(world.json("templates", "man")["nodes"][1:3], [
            {"name": "arm", "parent": 0, "components": "game.Unit, game.Health", "messages": ""}, {"name": "hand", "parent": 1, "components": "", "messages": ""}])


def a_trace_is_written_in_the_order_of_its_pieces_or_not_at_all(folder):
    pieces = [said("TraceText", {"slices": 1, "bytes": b'{"a":'}), said("TraceText", {"slices": 12, "left_out": 3, "bytes": b"1}"})]
    with spoken(folder, {"BeginTrace": said("TraceBegun", {}), "EndTrace": pieces}) as world:
        equal(world.run("trace", "t.json", "--seconds", "0"), "t.json: 12 slices, 3 left out\n")
        equal((folder.path / "t.json").read_bytes(), b'{"a":1}')
        equal(world.json("trace", "t.json", "--seconds", "0.01"), {"file": "t.json", "slices": 12, "left_out": 3})
        equal(world.question("BeginTrace"), {})
        world.run("trace", "t.json", "--seconds", "0", "--causes")
        equal(world.question("BeginTrace", 2), {"causes": 1})
        equal(world.error(4, "trace", "no/t.json"), "no/t.json: No such file or directory")
    (folder.path / "t.json").unlink()
    with spoken(folder, {"BeginTrace": said("TraceBegun", {}), "EndTrace": fault(107, "it is gone")}) as world:
        equal(world.error(REFUSED, "trace", "t.json", "--seconds", "0"), "it is gone")
        assert not (folder.path / "t.json").exists()
    with spoken(folder, {"BeginTrace": fault(107, "it is observed already")}) as world:
        equal(world.error(REFUSED, "trace", "t.json"), "it is observed already")
        assert not (folder.path / "t.json").exists()


def what_a_server_ends_or_refuses_decides_the_exit_code(folder):
    for code, exit in ((1, REFUSED), (2, REFUSED), (8, REFUSED), (9, REFUSED), (6, UNREACHABLE), (10, UNREACHABLE), (11, UNREACHABLE),
                       (12, UNREACHABLE), (100, REFUSED), (104, REFUSED), (107, REFUSED), (108, REFUSED)):
        with spoken(folder, {"Save": fault(code, "so it is")}) as world:
            equal(world.error(exit, "save"), "so it is")
    with spoken(folder, {"Hello": fault(4, "no")}) as world:
        equal(world.error(UNREACHABLE, "save"), f"cannot open the world at {world.server.address}: no")
    with spoken(folder, {"Hello": said("Saved", {})}) as world:
        equal(world.error(UNREACHABLE, "save"), f"cannot open the world at {world.server.address}: the server's answer is not a muster.session.Challenge")
    with spoken(folder, {"GetSchema": said("Schema", {"bytes": b"x" * 64})}) as world:
        equal(world.error(UNREACHABLE, "save"), f"cannot open the world at {world.server.address}: the world's schema does not match this program: "
                                                "this is not a binary schema (.bfbs)")
    with spoken(folder, {"Save": said("Unwatched", {})}) as world:
        equal(world.error(UNREACHABLE, "save"), "the server's answer is not a muster.session.Saved")
    with spoken(folder, {"Save": CLOSE}) as world:
        equal(world.error(UNREACHABLE, "save"), "the server closed the connection")
    with spoken(folder, {"Save": [fault(12, "the server stops", request=0), NEVER]}) as world:
        equal(world.error(UNREACHABLE, "save"), "the server stops")  # though nobody asked
    with spoken(folder, {"Save": NEVER}) as world:
        holds(world.error(UNREACHABLE, "--timeout", "1", "save"), "the server did not answer within 1000 ms")
    with spoken(folder, {"Save": Told("", [], data=bytes(32))}) as world:
        equal(world.error(UNREACHABLE, "save"), "the server sent a bad batch: batch declares 0 bytes; the frame holds 32")
    with spoken(folder, {"Save": Told("", [], data=bytes(33))}) as world:
        equal(world.error(UNREACHABLE, "save"), "the server sent a frame of 49 bytes; the size must be a multiple of 16")
    with spoken(folder, {"Save": [said("Saved", {"sequence": 5}, request=77), said("Saved", {"sequence": 6})]}) as world:
        equal(world.run("save"), "saved, through sequence 6\n")  # an answer to somebody else is nobody's
    with spoken(folder, {"Save": [said("Heartbeat", {"number": 3, "time_ns": 4}, request=0), said("Saved", {"sequence": 6})]}) as world:
        equal(world.json("save"), {"sequence": 6})


def a_heartbeat_is_given_back_with_its_number_and_a_command_says_who_it_is(folder):
    beats = [said("Heartbeat", {"number": 3, "time_ns": 4}, request=0), said("Heartbeat", {"number": 9, "answer": 1}, request=0)]
    with spoken(folder, {"GetInfo": [*beats, said("Info", {"world": "a"})], "GetLoad": said("Load", {}), "Heartbeat": NEVER}) as world:
        world.run("info", USER="ann")
        hello = world.question("Hello")
        equal((len(hello.pop("token_id")), len(hello.pop("nonce"))), (16, 32))
        equal(hello, {"protocol": 1, "protocol_oldest": 1, "name": "ann", "kind": "muster"})
        equal(world.question("Heartbeat"), {"number": 3, "time_ns": 4, "answer": 1})
        equal(world.count("Heartbeat"), 1)


def ids_are_asked_for_again_until_there_are_enough(folder):
    nodes = [{"parent": 0, "name": ""}, {"parent": 0, "name": "arm"}, {"parent": 0, "name": "leg"}]
    answers = {"GetTemplate": said("muster.DefineTemplate", {"name": "man", "nodes": nodes}), "Show": shown(30, "/x"),
               "RequestGrant": [[said("Granted", {"first": 30, "count": 2})], [said("Granted", {"first": 50, "count": 1})]]}
    with spoken(folder, answers) as world:
        equal(world.json("spawn", "x", "--template", "man"), {"sequence": 7, "id": "30:1", "path": "/x"})
        equal([world.question("RequestGrant", i) for i in range(2)], [{"count": 3}, {"count": 1}])
        spawned = next(batch for batch in world.server.batches if batch.type == "muster.Spawn")
        equal([message.target for message in spawned.messages], [(30, 1), (31, 1), (50, 1)])
        equal(spawned.messages[0].value["name"], hash64("x"))
        equal(spawned.messages[0].value["what"], hash64("man"))
    with spoken(folder, {"RequestGrant": said("Saved", {})}) as world:
        equal(world.error(UNREACHABLE, "spawn", "x"), "the server's answer is not a muster.session.Granted")


def an_entity_that_died_meanwhile_is_told_as_it_was_named(folder):
    dead = said("Ack", {"dead": 1})
    about = shown(9, "/a/orc", [HEALTH], {"game.Health": {"value": 5}})
    for command in (["push", "9:1", "Damage"], ["set", "9:1", "Health.value", "4"], ["remove", "9:1", "Health"], ["reparent", "9:1", "/"],
                    ["add", "9:1", "Frozen"], ["destroy", "9:1"]):
        answers = {"Show": about} | {name: dead for name in ("game.Damage", "muster.SetField", "muster.Remove", "muster.Reparent", "muster.Set", "muster.Destroy")}
        with spoken(folder, answers) as world:
            equal(world.error(REFUSED, *command), "/a/orc (9:1) is not alive")
    both = {"Show": [about, shown(8, "/a/elf")], "muster.Destroy": [[said("Ack", {"handled": 1})], [dead]]}
    both["Show"] = [[*about], [shown(8, "/a/elf")]]
    with spoken(folder, both) as world:
        equal(world.run("destroy", "9:1", "8:1"), "/a/orc (9:1)  destroyed\n")
        equal(world.count("muster.Destroy"), 2)


def set_sends_the_field_s_bytes_and_what_is_expected(folder):
    import struct
    about = shown(9, "/orc", [HEALTH], {"game.Health": {"value": 5}})
    with spoken(folder, {"Show": about}) as world:
        equal(world.run("set", "9:1", "Health.value", "4.5"), "/orc (9:1)  game.Health.value = 4.5\n")
        sent = next(batch for batch in world.server.batches if batch.type == "muster.SetField").messages[0]
        equal((sent.target, sent.value["component"], sent.value["field"], sent.value["bytes"]), ((9, 1), HEALTH, hash32("value"), 4))
        equal(bytes(sent.value["value"]), struct.pack("<f", 4.5).ljust(64, b"\0"))
    for held, exit, told in ((b"\0\0\x80\x40", REFUSED, "/orc (9:1)  game.Health.value is 4, not 5"), (b"\0\0\x80", REFUSED, "it holds another value")):
        with spoken(folder, {"Show": about, "muster.SetFieldIf": fault(101, "it holds another value", reason="value_mismatch", value=held)}) as world:
            equal(world.error(exit, "set", "9:1", "Health.value", "6", "--expect", "5"), told)
            sent = next(batch for batch in world.server.batches if batch.type == "muster.SetFieldIf").messages[0]
            equal(bytes(sent.value["expected"])[:4], struct.pack("<f", 5))
            equal(bytes(sent.value["set"]["value"])[:4], struct.pack("<f", 6))
    whole = shown(9, "/orc", [HEALTH], {"game.Path": {"points": [1] * 32}})
    with spoken(folder, {"Show": whole, "EditIf": said("Ack", {"handled": 1})}) as world:
        world.run("set", "9:1", "Path.points", ",".join(["2"] * 32), "--expect", ",".join(["1"] * 32))
        expected, = world.question("EditIf")["expected"]
        equal((expected["entity"], expected["field"], bytes(expected["value"])), ({"index": 9, "generation": 1}, hash32("points"), struct.pack("<32f", *[1] * 32)))
        world.run("set", "9:1", "Path.points", ",".join(["2"] * 32))
        sent = next(batch for batch in world.server.batches if batch.type == "muster.Set").messages[0]
        equal((sent.value["mode"], sent.rows["game.Path"]["points"]), (2, [2] * 32))


def types_are_listed_by_kind_and_name_and_described_field_by_field(folder):
    with spoken(folder, {}) as world:
        types = world.json("types")
        equal([type["name"] for type in types if type["kind"] != "message"],
              ["game.Frozen", "game.Health", "game.Path", "game.Unit", "muster.ChildOf", "muster.Name"])
        names = [type["name"] for type in types]
        places = [names.index(name) for name in ("muster.Name", "game.Damage", "muster.Create", "muster.SetField", "game.Say")]
        equal(places, sorted(places))  # messages behind components, tables behind structs
        assert "game.Team" not in names and not any(name.startswith("muster.session.") for name in names), names
        lines = world.run("types").splitlines()
        equal(lines[0], "KIND       NAME")
        equal([line.split(maxsplit=2) for line in lines[1:3]], [["tag", "game.Frozen"], ["component", "game.Health", "How much an entity can bear."]])
        equal(world.run("types", "Health"), "game.Health  component\n  How much an entity can bear.\n  written from outside by: edit\n"
              + world_table(["FIELD", "TAKES", "DEFAULT"], ["value", "a number from 0 to 100 (hp)", "100"]))
        equal(world.run("types", "Unit"), "game.Unit  component\n  written from outside by: edit\n" + world_table(
            ["FIELD", "TAKES", "DEFAULT"], ["team", "one of neutral, red, blue", ""], ["speed", "a number", ""],
            ["target", "an entity: a path, a name, an id or nil", ""], ["title", "a string", ""]))
        equal(world.run("types", "Path"), "game.Path  component\n  written from outside by: edit\n" + world_table(["FIELD", "TAKES", "DEFAULT"], ["points[32]", "a number", ""]))
        equal(world.run("types", "Frozen"), "game.Frozen  tag\n  written from outside by: edit\n")
        equal(world.json("types", "Health"), {"name": "game.Health", "kind": "component", "remote": "edit", "journal": "always", "enableable": False,
              "doc": "How much an entity can bear. At zero it falls.",
              "fields": [{"name": "value", "takes": "a number from 0 to 100 (hp)", "default": "100", "unit": "hp", "count": 1, "doc": ""}]})
        equal(world.json("types", "Frozen")["fields"], [])
        equal(world.error(REFUSED, "types", "Tower"), 'no component "Tower" in this world; it has game.Frozen, game.Health, game.Path, '
                                                      "game.Unit, muster.ChildOf, muster.Name")


def a_page_of_one_is_followed_by_the_next_and_one_child_is_counted(folder):
    with spoken(folder, {"Find": [[found("/a", more=True, first=4)], [found("/b", more=True, first=8)], [found("/c", first=9)]],
                         "Show": shown(4, "/a", child_count=1)}) as world:
        equal([each["id"] for each in world.json("ls", "--name", "x")], ["4:1", "8:1", "9:1"])
        equal(world.count("Find"), 3)
        equal(world.run("show", "4:1"), "/a (4:1)\n  children  1\n")


def a_clock_takes_whole_ticks_up_to_the_largest_number(folder):
    state = said("ClockState", {"hz": 1, "speed": 1})
    with spoken(folder, {"SetClock": state}) as world:
        world.run("clock", "step", "100000")
        equal(world.question("SetClock"), {"paused": 2, "steps": 100000})
        for steps in ("1.5", "0.5", "0", "4000000001", "1x", " 1"):
            equal(world.error(USAGE, "clock", "step", steps), f"'{steps}' is not a number of ticks")
        equal(world.error(USAGE, "clock", "play", "2"), "play takes no number")
        equal(world.count("SetClock"), 1)


def columns_are_as_wide_as_their_characters_and_not_their_bytes(folder):
    names = ["äöü", "€𝄞", "b", "a long name"]
    with spoken(folder, {"ListChildren": children(NIL, names, components=[HEALTH])}) as world:
        equal(world.run("ls"), world_table(["ID", "NAME", "CHILDREN", "COMPONENTS"],
                                           *([f"{10 + i}:1", name, "", "game.Health"] for i, name in enumerate(names))))


def a_name_that_a_sibling_has_is_refused_with_what_helps(folder):
    taken = fault(101, "refused: it is taken", reason="name_taken")
    answers = {"RequestGrant": said("Granted", {"first": 30, "count": 1}), "muster.Create": taken, "muster.Rename": taken, "Show": shown(9, "/orc")}
    with spoken(folder, answers) as world:
        equal(world.error(REFUSED, "spawn", "o\x1brc"), 'the name "o\\x1brc" is taken by a sibling; --suffix finds a free one')
        equal(world.error(REFUSED, "spawn", "orc", "--suffix"), 'the name "orc" is taken by a sibling')
        equal(world.error(REFUSED, "rename", "9:1", "elf"), 'the name "elf" is taken by a sibling')
    with spoken(folder, answers | {"muster.Rename": fault(101, "refused: too long", reason="text_bytes_max")}) as world:
        equal(world.error(REFUSED, "rename", "9:1", "elf"), "refused: too long")
