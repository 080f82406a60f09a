"""What `muster watch` asks for by its options, and the line that it prints of each thing it is told."""
import json
import struct
import subprocess

from scripted import (EACH, EVENT, NIL, PUSHED, TABLE, Batch, Message, Told, entity_value, fault, hash32,
                      hash64, said, spoken)
from shared import MUSTER, REFUSED, equal, holds

HEALTH, UNIT, DAMAGE, SAY = (hash32("game." + name) for name in ("Health", "Unit", "Damage", "Say"))
NAME = hash32("muster.Name")
BACKGROUND = [hash32("muster." + name) for name in ("Update", "Advance", "InternText", "Grant", "ReturnGrant", "DropTexts")]
WATCHING = said("Watching", {"entities": 1})


def texts(*all):
    return [said("muster.InternText", {"text": text}, request=0) for text in all]


def create(index, name, parent=NIL):
    return Told("muster.Create", [((index, 1), {"parent": entity_value(parent), "name": hash64(name)}, {})], kind=EACH)


def one(name, value, rows=None, index=4, **more):
    return Told(name, [((index, 1), value, rows or {})], kind=EACH, **more)


def values(component, value):
    return said("Values", {"component": component, "value_bytes": len(value), "entities": [entity_value((4, 1))], "values": value})


def watched(within, told, *options, lines):
    """What `muster watch` prints, to stdout and stderr, of what the server tells it."""
    with spoken(within, {"Follow": told, "Show": fault(102, "dead")}) as world:
        with subprocess.Popen([MUSTER, *world.where, "watch", "--lines", str(lines), *options], cwd=within.path, env=within.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            out, errors = process.communicate(timeout=20)
            equal(process.returncode, 0)
            return out.splitlines(), errors, world


STATE = [*texts("town", "orc", "ork"), WATCHING, create(3, "town"), create(4, "orc", (3, 1))]
STATE[-1].whole = True


def changes(*tellings):
    """The state as it stood, and behind it each change as a state of its own."""
    made = [*STATE]
    for sequence, telling in enumerate(tellings, 11):
        telling.sequence, telling.whole = sequence, True
        made.append(telling)
    return made


def each_change_of_structure_and_values_is_one_line(folder):
    made = changes(create(5, "ork", (4, 1)), one("muster.Reparent", {"parent": entity_value((3, 1))}, index=5), one("muster.Rename", {"name": hash64("orc")}, index=5),
                   values(HEALTH, struct.pack("<f", 7)), values(NAME, struct.pack("<Q", hash64("orc"))), one("muster.Remove", {"component": HEALTH}),
                   one("muster.Remove", {"component": 99}), one("muster.session.Left", {}, index=5), one("muster.Destroy", {}))
    lines, errors, _ = watched(folder, made, "--structure", "--values", lines=8)
    equal(errors, "watching; end with Ctrl-C\n")
    equal(lines, ["11  /town/orc/ork (5:1)  created", "12  /town/ork (5:1)  moved", "13  /town/orc (5:1)  renamed",
                  "14  /town/orc (4:1)  game.Health  value=7", "16  /town/orc (4:1)  removed game.Health", "17  /town/orc (4:1)  removed #99",
                  "18  /town/orc (5:1)  left", "19  /town/orc (4:1)  destroyed"])
    lines, errors, _ = watched(folder, made, "--structure", "--values", "--json", lines=8)
    equal(errors, "")
    common = {"id": "4:1", "path": "/town/orc"}
    equal([json.loads(line) for line in lines[3:5] + lines[7:]], [
        {"sequence": 14, "what": "value", **common, "component": "game.Health", "value": {"value": 7}},
        {"sequence": 16, "what": "removed", **common, "component": "game.Health"}, {"sequence": 19, "what": "destroyed", **common}])
    lines, _, _ = watched(folder, made, "--structure", lines=5)
    equal([line.split("  ")[2] for line in lines], ["created", "moved", "renamed", "left", "destroyed"])
    lines, _, _ = watched(folder, made, "--values", lines=3)
    equal([line.split("  ")[0] for line in lines], ["14", "16", "17"])


def each_message_is_one_line_with_its_way_and_its_session(folder):
    inner = Batch("game.Damage", EACH, [Message((4, 1), {"amount": 2, "from": entity_value(NIL)}, {})])
    events = [*STATE,
              one("game.Damage", {"amount": 1, "from": entity_value((3, 1))}, flags=EVENT, sequence=21, session=6),
              one("game.Damage", {"amount": 3, "from": entity_value(NIL)}, flags=EVENT | PUSHED, sequence=22),
              Told("game.Damage", [], flags=EVENT, sequence=23, inner=inner, argument=5),
              Told("game.Say", [(NIL, {"text": "hi", "loud": True}, {}), ((4, 1), {"text": "\x1b"}, {})], kind=TABLE, flags=EVENT, sequence=24),
              said("Gap", {"after": 24, "through": 30, "lost": 5}, flags=EVENT)]
    lines, _, _ = watched(folder, events, "--events", lines=6)
    equal(lines, ["21  /town/orc (4:1)  game.Damage  amount=1 from=3:1", "22  /town/orc (4:1)  game.Damage (pushed)  amount=3 from=nil",
                  "23  /town/orc (4:1)  game.Damage (timed)  amount=2 from=nil", '24  @world  game.Say  {"text": "hi", "loud": true}',
                  '24  /town/orc (4:1)  game.Say  {"text": "\\u001b"}', "30  @world  5 messages were not sent: this line was too slow"])
    lines, _, _ = watched(folder, events, "--events", "--json", lines=6)
    equal([json.loads(line) for line in lines][0], {"sequence": 21, "what": "event", "id": "4:1", "path": "/town/orc", "message": "game.Damage",
                                                    "value": {"amount": 1, "from": "3:1"}, "session_number": 6})
    equal([json.loads(line) for line in lines][3], {"sequence": 24, "what": "event", "message": "game.Say", "value": {"text": "hi", "loud": True}, "session_number": 0})
    equal([json.loads(line)["what"] for line in lines], ["event", "pushed", "event", "event", "event", "gap"])
    equal(json.loads(lines[5]), {"sequence": 30, "what": "gap", "lost": 5})


def options_of_watch_are_what_is_asked_for(folder):
    def asked(*options, hz=0.0):
        answers = {"Follow": [WATCHING], "Resolve": said("Found", {"entities": [entity_value((4, 1))], "paths": ["/orc"]})}
        with spoken(folder, answers, {"hz": hz}) as world:
            equal(world.run("watch", *options, "--for", "0.01"), "")
            return world.question("Follow")
    everyone = {"world": True, "structure": True}
    inputs = {"inputs": True, "inputs_except": BACKGROUND}
    everything = {**everyone, "values": True, **inputs}
    equal(asked(), everything)
    equal(asked(hz=30), {**everything, "rate_max": 10})
    equal(asked("--rate", "2", hz=30), {**everything, "rate_max": 2})
    equal(asked("--rate", "0", hz=30), everything)
    equal(asked("--values"), {**everyone, "values": True})
    equal(asked("--structure"), everyone)
    equal(asked("--events"), {**everyone, **inputs})
    equal(asked("--component", "Health"), {**everyone, "values": True, "components": [HEALTH]})
    equal(asked("--message", "Damage"), {**everyone, "inputs": True, "input_types": [DAMAGE]})
    equal(asked("--message", "Damage", "--component", "Health"),
          {**everyone, "values": True, "components": [HEALTH], "inputs": True, "input_types": [DAMAGE]})
    equal(asked("--pushed", "Damage"), {**everyone, "pushed": [DAMAGE]})
    equal(asked("--except", "Damage"), {**everything, "inputs_except": [DAMAGE, *BACKGROUND]})
    orc = {"entities": [entity_value((4, 1))], "structure": True, "values": True, **inputs}
    equal(asked("orc"), orc)
    equal(asked("orc", "--below"), {**orc, "subtree": True})


def a_watch_that_is_refused_says_why(folder):
    with spoken(folder, {"Follow": fault(105, "no such thing")}) as world:
        equal(world.error(REFUSED, "watch", "--structure"), "no such thing")
    with spoken(folder, {"Follow": fault(102, "it is dead")}) as world:
        said_of = world.run("watch", "--events", exit=REFUSED)
        holds(said_of, "muster: it is dead")
