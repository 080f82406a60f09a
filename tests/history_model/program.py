#!/usr/bin/env python3
"""Random programs of edits, undos and redos by three users, and what the model makes of them.

A program is text with one operation a line:

    SESSION VERB JSON     what a session sends
    SESSION reconnect     the session ends, and another one of the same user takes its place
    - restart             the server stops and starts again
    - kill                the server is killed, once everything is durable, and starts again
    - save                the world is saved
    - droptexts           the world drops the texts that it does not need
    # ...                 a comment

The sessions are anna and anna2 (one user), ben, and cleo (with the server's own token). Verbs:

    create set remove set_field set_field_if destroy reparent rename define spawn merge
                          JSON is the list of the messages of one batch, each an object with the
                          arguments of the function of that name in world.py
    step                  {"batches": [[VERB, [MESSAGE...]]...], "label", "gesture"}
    undo, redo            {"on_conflict": "skip" or "overwrite", "dry": 0 or 1}

An entity is a symbol: the letter of the session that creates it and a number. `world.py` describes
values. `program.py SEED COUNT` prints a program. `program.py --run FILE` runs a program through the
model, and prints a hash of the content and the answer after each operation. `program.py --check`
checks the promises of docs/undo.md in random programs.
"""
import copy
import hashlib
import json
import pathlib
import random
import re
import sys

from model import Model, USERS
from world import COMPONENTS

LETTERS = {"anna": "a", "anna2": "q", "ben": "b", "cleo": "c"}
NAMES = ["", "orc", "elf", "den", "orc~2"]
TITLES = ["", "king", "thief"]
TEMPLATES = ["camp", "pair"]
ENTITIES_MAX = 14
VERBS = {"set_field": 30, "set_field_if": 4, "set": 12, "remove": 7, "destroy": 7, "reparent": 14, "rename": 9, "define": 4,
         "spawn": 4, "merge": 6}  # and how often each is drawn


def read(text):
    """The operations of a program."""
    operations = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            session, verb, *argument = line.split(" ", 2)
            operations.append((session, verb, json.loads(argument[0]) if argument else {}))
    return operations


def written(operation):
    session, verb, argument = operation
    return f"{session} {verb}" + (" " + json.dumps(argument) if argument or verb in ("undo", "redo") else "")


class Generator:
    """Makes operations that fit the state of a model, which it lets apply each of them."""

    def __init__(self, seed, sessions=tuple(USERS), restarts=0.0):
        """`restarts` is the share of operations that restart the server or end a session."""
        self.draws = random.Random(seed)
        self.model = Model()
        self.sessions, self.restarts = sessions, restarts
        self.numbers = dict.fromkeys(LETTERS, 0)
        self.gestures = {}  # session: a gesture that goes on
        self.gesture_count = 0
        self.planned = []  # operations that come next
        self.focus, self.verbs = [], VERBS  # the entities that a step is about, and what it does

    def next(self):
        operation = self.planned.pop(0) if self.planned else self.draw()
        self.model.apply(operation)
        return operation

    def draw(self):
        r = self.draws
        session = r.choice(self.sessions)
        if r.random() < self.restarts:
            return r.choice([(session, "reconnect", {}), ("-", "restart", {}), ("-", "kill", {}), ("-", "save", {}),
                             ("-", "droptexts", {})])
        chance = r.random()
        if chance < 0.20:
            return session, r.choice(("undo", "undo", "redo")), self.how()
        if chance < 0.22:
            count = r.randint(2, 6)
            self.planned = [(session, verb, self.how(False)) for verb in ("undo",) * count + ("redo",) * count]
            return self.planned.pop(0)
        if chance < 0.34:
            return session, "step", self.step(session, r.randint(1, 5))
        if chance < (0.50 if session in self.gestures else 0.38):
            return session, "step", self.dragging(session)
        return (session, *self.batch(session))

    def how(self, may_be_dry=True):
        value = {}
        if self.draws.random() < 0.3:
            value["on_conflict"] = "overwrite"
        if may_be_dry and self.draws.random() < 0.1:
            value["dry"] = 1
        return value

    def step(self, session, count):
        value, world = {"batches": []}, self.model.world
        if self.draws.random() < 0.6 and world.entities:
            self.focus = self.draws.sample(sorted(world.entities), min(3, len(world.entities)))
            if self.draws.random() < 0.4:
                self.verbs, count = self.draws.choice((("reparent",), ("rename",), ("reparent", "rename", "destroy"))), count + 2
        for _ in range(count):
            value["batches"].append(list(self.batch(session)))
            if value["batches"][-1][0] == "define":  # a Step cannot use a template that it defines
                self.verbs = {each: VERBS[each] for each in self.verbs if each not in ("spawn", "merge")}
            # The next batch is drawn for the state that this one leaves.
            self.model.world = self.after(value["batches"][-1:])[0]
        self.model.world, self.focus, self.verbs = world, [], VERBS
        if self.draws.random() < 0.5:
            value["label"] = self.draws.choice(("Move", "Paint", "Build"))
        return value

    def after(self, batches):
        """The world after these batches, and whether any of their messages is refused."""
        model = Model()
        model.world = self.model.world.copied()
        answer = model.input("anna", copy.deepcopy(batches))
        return model.world, bool(answer["refused"])

    def dragging(self, session):
        """An input of a gesture, which begins or goes on."""
        if session not in self.gestures:
            self.gesture_count += 1
            self.gestures[session] = self.gesture_count
        value = self.step(session, self.draws.randint(1, 2)) | {"gesture": self.gestures[session]}
        if self.draws.random() < 0.2:
            del self.gestures[session]
        return value

    # ---- what an edit names --------------------------------------------------------------------

    def symbol(self):
        """An entity, which is seldom a dead one."""
        world = self.model.world
        dead = sorted(world.used - set(world.entities))
        if dead and (not world.entities or self.draws.random() < 0.02):
            return self.draws.choice(dead)
        living = [each for each in self.focus if world.alive(each)] or sorted(world.entities)
        return self.draws.choice(living) if living else None

    def new_symbol(self, session):
        if self.draws.random() < 0.02 and self.model.world.used:
            return self.draws.choice(sorted(self.model.world.used))
        self.numbers[session] += 1
        return f"{LETTERS[session]}{self.numbers[session]}"

    def parent(self):
        return None if self.draws.random() < 0.3 else self.symbol()

    def before(self, parent):
        world = self.model.world
        if parent is None or not world.alive(parent) or self.draws.random() < 0.4:
            return None
        row = world.siblings(parent)
        return self.draws.choice(row) if self.draws.random() < 0.97 and row else None if not row else self.symbol()

    def reference(self):
        symbol = self.symbol() if self.draws.random() < 0.7 else None
        return symbol and "@" + symbol

    def value(self, default, reference):
        r = self.draws
        if isinstance(default, dict):
            return {name: self.value(each, reference) for name, each in default.items()}
        if default is None:
            return reference()
        if isinstance(default, str):
            return r.choice(TITLES)
        return r.randint(0, 3) if isinstance(default, int) else r.choice((0.0, 0.5, 1.0))

    def properties(self, component, reference=None):
        """Some properties of a component."""
        return {name: self.value(default, reference or self.reference) for name, default in COMPONENTS[component].items()
                if self.draws.random() < 0.6}

    def rows(self, count_max=2):
        return {component: self.properties(component)
                for component in sorted(self.draws.sample(sorted(COMPONENTS), self.draws.randint(0, count_max)))}

    # ---- batches -------------------------------------------------------------------------------

    def batch(self, session):
        """A batch, which is seldom refused."""
        while True:
            batch = self.any_batch(session)
            if not self.after([batch])[1] or self.draws.random() < 0.1:
                return batch

    def any_batch(self, session):
        r, world = self.draws, self.model.world
        if len(world.entities) < 3 or len(world.entities) < ENTITIES_MAX and r.random() < 0.12 and self.verbs is VERBS:
            return "create", [self.create(session)]
        if len(world.entities) > ENTITIES_MAX and self.verbs is VERBS:
            return "destroy", [{"target": self.symbol()}]
        verb = r.choices(tuple(self.verbs), [VERBS[each] for each in self.verbs])[0]
        many = r.random() < 0.15
        if verb in ("define", "spawn", "merge"):
            message = getattr(self, verb)(session)
            return (verb, [message]) if message else ("rename", [self.rename(session)])
        if verb == "set":
            components = sorted(r.sample(sorted(COMPONENTS), r.randint(1, 2)))
            mode = r.choice(("add_or_replace", "add_or_replace", "add", "replace"))
            return verb, [{"target": self.symbol(), "mode": mode, "rows": {each: self.properties(each) for each in components}}
                          for _ in range(2 if many else 1)]
        return verb, [getattr(self, verb)(session) for _ in range(2 if many else 1)]

    def create(self, session):
        parent = self.parent()
        return {"target": self.new_symbol(session), "parent": parent, "before": self.before(parent),
                "name": self.draws.choice(NAMES), "clash": self.clash(), "rows": self.rows()}

    def clash(self):
        return self.draws.choice(("refuse", "suffix"))

    def destroy(self, _session):
        return {"target": self.symbol()}

    def with_component(self):
        """An entity and a component that it has, if there is one."""
        world = self.model.world
        having = [(symbol, component) for symbol in sorted(world.entities) for component in sorted(world.entities[symbol].components)]
        if having and self.draws.random() < 0.97:
            return self.draws.choice(having)
        return self.symbol(), self.draws.choice(sorted(COMPONENTS))

    def remove(self, _session):
        target, component = self.with_component()
        return {"target": target, "component": component}

    def set_field(self, _session):
        target, component = self.with_component()
        while not COMPONENTS[component]:
            target, component = self.symbol(), self.draws.choice(sorted(COMPONENTS))
        paths = []
        for name, default in COMPONENTS[component].items():
            paths += [(name, default)]
            if isinstance(default, dict):
                paths += [(f"{name}.{inner}", each) for inner, each in default.items()]
            if name.endswith("[0]"):
                array = name[:-3]
                paths += [(array, [each for other, each in COMPONENTS[component].items() if other.startswith(array + "[")])]
        field, default = self.draws.choice(paths)
        value = [self.value(each, self.reference) for each in default] if isinstance(default, list) \
            else self.value(default, self.reference)
        return {"target": target, "component": component, "field": field, "value": value}

    def set_field_if(self, session):
        message = self.set_field(session)
        while "." in message["field"] or isinstance(message["value"], list):
            message = self.set_field(session)
        entity = self.model.world.entities.get(message["target"])
        now = entity and entity.components.get(message["component"], {}).get(message["field"])
        return message | {"expected": message["value"] if now is None or self.draws.random() < 0.3 else now}

    def reparent(self, _session):
        parent = self.parent()
        return {"target": self.symbol(), "parent": parent, "before": self.before(parent)}

    def rename(self, _session):
        target, world = self.symbol(), self.model.world
        row = world.siblings(world.entities[target].parent) if world.alive(target) else []
        # The name of a sibling may have become free.
        name = world.entities[self.draws.choice(row)].name if row and self.draws.random() < 0.3 else self.draws.choice(NAMES)
        return {"target": target, "name": name, "clash": self.clash()}

    def define(self, _session):
        r = self.draws
        count = r.choice((0, 1, 2, 3))
        nodes = []
        for i in range(count):
            components = sorted(r.sample(sorted(COMPONENTS), r.randint(0, 2)))
            reference = lambda: r.choice((None, f"#{r.randrange(count)}"))  # noqa: E731
            nodes.append({"parent": r.randrange(i) if i else 0, "name": ["", "left", "right"][i],
                          "components": {each: self.properties(each, reference) for each in components}})
        return {"name": r.choice(TEMPLATES), "nodes": nodes}

    def spawn(self, session):
        world = self.model.world
        if not world.templates:
            return self.define(session) and None
        what = self.draws.choice(sorted(world.templates))
        count = len(world.templates[what]) * self.draws.choice((1, 1, 2))
        parent = self.parent()
        return {"ids": [self.new_symbol(session) for _ in range(count)], "what": what, "parent": parent,
                "before": self.before(parent), "name": self.draws.choice(NAMES), "clash": self.clash(), "rows": self.rows(1)}

    def merge(self, session):
        world = self.model.world
        target = self.symbol()
        if not world.templates or not world.alive(target):
            return None
        what = self.draws.choice(sorted(world.templates))
        return {"ids": [each or self.new_symbol(session) for each in world.merge_ids(target, what)], "what": what}


def program(seed, count, restarts=0.0):
    generator = Generator(seed, restarts=restarts)
    return [generator.next() for _ in range(count)]


def told(model, answer):
    """One line about the state after an operation."""
    return f"{hashlib.sha256(model.content().encode()).hexdigest()[:16]} {json.dumps(answer)}"


# ---- the promises of docs/undo.md -------------------------------------------------------------


def same_but_for_nil(before, after):
    """Whether two contents are equal, apart from references that have become nil."""
    then, now = before.split("\n"), after.split("\n")
    if len(then) != len(now):
        return False
    for one, other in zip(then, now):
        if one != other:
            pattern = "".join("(?:nil|" + re.escape(each) + ")" if each.startswith("@") else re.escape(each)
                              for each in re.split(r"(@\w+)", one))
            if not re.fullmatch(pattern, other):
                return False
    return True


def undos_and_redos_restore(model, session, count, how):
    """Undoes and redoes up to `count` steps on a copy: the contents before and after."""
    model = copy.deepcopy(model)
    before, undone = model.content(), 0
    for _ in range(count):
        undone += "nothing" not in model.apply((session, "undo", how))
    while undone > 0:
        # A step that would only write nil to a reference that is nil is passed over.
        answer = model.apply((session, "redo", {}))
        assert not answer.get("skipped"), answer
        undone -= 1 + answer.get("passed_over", undone)
    return before, model.content()


def check_invariants(seed, count):
    """Checks after some operations of a program that undos and redos restore the content. Returns
    the number of checks, and the number of those after which references had become nil."""
    generator, checks, nils = Generator(seed), 0, 0
    done = []
    for _ in range(count):
        done.append(generator.next())
        if generator.draws.random() < 0.3:
            session = generator.draws.choice(sorted(USERS))
            how = generator.draws.choice(({}, {"on_conflict": "overwrite"}))
            before, after = undos_and_redos_restore(generator.model, session, generator.draws.randint(1, 8), how)
            checks, nils = checks + 1, nils + (before != after)
            assert same_but_for_nil(before, after), failure(seed, done, before, after)
    return checks, nils


def check_alone(seed, count):
    """Checks that a user who edits alone, and then undoes every edit, gets the content from before.
    Returns the same numbers as check_invariants."""
    generator = Generator(seed)
    done = [generator.next() for _ in range(generator.draws.randint(0, 40))]
    session = generator.draws.choice(("ben", "cleo"))
    generator.sessions, generator.planned, generator.gestures = (session,), [], {}
    history = generator.model.histories[USERS[session]]
    history.undo.clear()
    history.redo.clear()
    before = generator.model.content()
    for _ in range(count):
        done.append(generator.next())
    for _ in range(len(history.undo)):
        answer = generator.model.apply((session, "undo", {}))
        assert "nothing" in answer or not answer["skipped"], failure(seed, done, before, str(answer))
    after = generator.model.content()
    assert same_but_for_nil(before, after), failure(seed, done, before, after)
    return 1, before != after


def failure(seed, done, before, after):
    lines = "\n".join(written(each) for each in done)
    return f"seed {seed}\n{lines}\nbefore:\n{before}\nafter:\n{after}"


def check(seeds, count):
    for promise in (check_invariants, check_alone):
        results = [promise(seed, count) for seed in range(seeds)]
        checks, nils = (sum(column) for column in zip(*results))
        print(f"{promise.__name__}: {checks} checks; in {nils} of them, references became nil")


def main(arguments):
    if arguments[:1] == ["--check"]:
        check(*map(int, arguments[1:] or (100, 100)))
    elif arguments[:1] == ["--run"]:
        model = Model()
        for operation in read(pathlib.Path(arguments[1]).read_text()):
            print(told(model, model.apply(operation)))
    else:
        seed, count = map(int, arguments)
        print(f"# seed {seed}")
        for operation in program(seed, count, 0.01):
            print(written(operation))


if __name__ == "__main__":
    main(sys.argv[1:])
