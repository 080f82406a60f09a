"""A naive model of undo and redo, written from docs/undo.md alone.

A Model is a World together with a history for each user. `apply` takes one operation of a program
(program.py describes the format) and returns the answer that a server must give.
"""
import dataclasses

from world import Place, Refused, World

# The sessions of a program, and the numbers of their users. The user 0 has the server's own token.
USERS = {"anna": 1, "anna2": 1, "ben": 2, "cleo": 0}
STEPS_SHOWN = 20
JOINED = ("field", "moved", "renamed", "template")


@dataclasses.dataclass
class Step:
    parts: list
    label: str
    gesture: object  # the session and its gesture, or None
    sequence: int  # of the newest input


@dataclasses.dataclass
class History:
    undo: list = dataclasses.field(default_factory=list)
    redo: list = dataclasses.field(default_factory=list)


class Skipped(Exception):
    """A part that is not undone."""

    def __init__(self, reason, user=0, mine=None, theirs=None):
        super().__init__(reason)
        self.reason, self.user, self.mine, self.theirs = reason, user, mine, theirs


class Recorded:
    """The parts of all steps, by the entity that they concern; those of templates are under ""."""

    def __init__(self, histories):
        self.parts = {}  # entity -> the user and the part, for each
        # Parked entity -> the sequence of each part that can revive it, and its parent then.
        self.graves = {}
        for user, history in histories.items():
            for step in history.undo + history.redo:
                for part in step.parts:
                    self.parts.setdefault(part.entity, []).append((user, part))
                    for each in part.before if part.kind == "destroyed" else ():
                        parent = each.parent if each.symbol != part.entity else part.place.parent
                        self.graves.setdefault(each.symbol, []).append((part.sequence, parent))


class Undoing:
    """Applies the inverse of one step to a world and remembers what that did."""

    def __init__(self, recorded, world, user, overwrite, alive_after=None):
        """`alive_after` has the entities that are alive or parked after the undo. If it is None,
        all references are kept; such a trial run shows which entities will be alive."""
        self.recorded, self.world, self.user, self.overwrite = recorded, world, user, overwrite
        self.alive_after = alive_after
        self.made, self.skipped, self.revived = [], [], set()
        self.done = self.nil_references = self.other_parents = self.other_names = 0

    def undo(self, step):
        for part in reversed(step.parts):
            try:
                made = getattr(self, part.kind)(part)
                self.made += made
                self.done += bool(made)
            except Skipped as skip:
                of_template = part.kind == "template"
                self.skipped.append((skip.reason, part.entity, part.component, part.property, skip.user,
                                     None if of_template else skip.mine, None if of_template else skip.theirs))
        return self

    # ---- conflicts -----------------------------------------------------------------------------

    def other_editor(self, part, entities, is_edit=lambda _: True):
        """The other user with the newest later edit of these entities of which `is_edit` is true,
        or None."""
        newest, editor = part.sequence, None
        for user, each in (found for entity in entities for found in self.recorded.parts.get(entity, ())):
            if user != self.user and each.sequence > newest and is_edit(each):
                newest, editor = each.sequence, user
        return editor

    def skip_if(self, conflict, editor, mine=None, theirs=None, reason="edited_by_other"):
        if editor is not None and conflict and not self.overwrite:
            raise Skipped(reason, editor, mine, theirs)

    def need(self, symbol):
        if not self.world.alive(symbol):
            raise Skipped("not_alive")
        return self.world.entities[symbol]

    def nearest_living(self, place):
        """The nearest ancestor of a dead parent that is alive, or None."""
        parent = place.parent
        while parent is not None and not self.world.alive(parent):
            if parent not in self.recorded.graves:
                return next((each for each in place.ancestors if self.world.alive(each)), None)
            parent = max(self.recorded.graves[parent], key=lambda grave: grave[0])[1]
        return parent

    def without_dead(self, value):
        """The value with nil in the place of each reference to what is neither alive nor parked."""
        if isinstance(value, dict):
            return {name: self.without_dead(each) for name, each in value.items()}
        if self.alive_after is not None and isinstance(value, str) and value.startswith("@") and \
                value[1:] not in self.alive_after:
            return None
        return value

    def count_nil(self, before, written):
        if isinstance(before, dict):
            for name in before:
                self.count_nil(before[name], written[name])
        else:
            self.nil_references += before != written

    # ---- the inverse of each kind of part ------------------------------------------------------

    def field(self, part):
        components = self.need(part.entity).components
        if part.component not in components:
            raise Skipped("component_missing")
        now = components[part.component][part.property]
        wanted = self.without_dead(part.before)
        editor = self.other_editor(part, [part.entity], lambda each: each.key() == part.key() or each.key() in (
            ("added", part.entity, part.component, ""), ("removed", part.entity, part.component, "")))
        self.skip_if(now != part.after, editor, wanted, now)
        made = self.world.write_property(part.entity, part.component, part.property, wanted)
        if made:
            self.count_nil(part.before, wanted)
        return made

    def added(self, part):
        if part.component not in self.need(part.entity).components:
            return []
        self.skip_if(True, self.other_editor(part, [part.entity], lambda each: (each.kind, each.component) == (
            "field", part.component)))
        return self.world.take_component(part.entity, part.component)

    def removed(self, part):
        if part.component in self.need(part.entity).components:
            raise Skipped("component_exists")
        wanted = self.without_dead(part.before)
        self.count_nil(part.before, wanted)
        return self.world.add_component(part.entity, part.component, wanted)

    def created(self, part):
        if not self.world.alive(part.entity):
            return []
        self.skip_if(True, self.other_editor(part, self.world.subtree(part.entity)), reason="worked_on_by_other")
        return self.world.take_subtree(part.entity)

    def destroyed(self, part):
        place = part.place
        if place.parent is not None and not self.world.alive(place.parent):
            place = Place(self.nearest_living(place))
            self.other_parents += 1
        name = self.world.free_name([place.parent], part.before[0].name)
        self.other_names += name != part.before[0].name
        entities = [each.copied() for each in part.before]
        for each in entities:
            wanted = self.without_dead(each.components)
            self.count_nil(each.components, wanted)
            each.components = wanted
        made = self.world.put_subtree(entities, name, place)
        self.done += place.parent in self.revived
        self.revived |= {each.symbol for each in entities}
        return made if place.parent not in self.revived else []

    def moved(self, part):
        entity = self.need(part.entity)
        editor = self.other_editor(part, [part.entity], lambda each: each.key() == part.key())
        self.skip_if(not self.world.place_of(part.entity).same(part.after), editor)
        place, other_parent = part.before, False
        if place.parent is not None and not self.world.alive(place.parent):
            place, other_parent = Place(self.nearest_living(place)), True
        if place.parent in self.world.subtree(part.entity):
            raise Skipped("would_be_circle")
        name, made = entity.name, []
        is_taken = self.world.name_is_taken(place.parent, name, part.entity)
        if is_taken:  # another name is free under one parent, but maybe not under the other
            made += self.world.give_name(part.entity, "")
        made += self.world.move(part.entity, place)
        if is_taken:
            made += self.world.give_name(part.entity, self.world.free_name([place.parent], name, part.entity))
            self.other_names += 1
        self.other_parents += other_parent and bool(made)
        return made

    def renamed(self, part):
        entity = self.need(part.entity)
        editor = self.other_editor(part, [part.entity], lambda each: each.key() == part.key())
        self.skip_if(entity.name != part.after, editor)
        name = self.world.free_name([entity.parent], part.before, part.entity)
        made = self.world.give_name(part.entity, name)
        self.other_names += name != part.before
        return made

    def template(self, part):
        editor = self.other_editor(part, [part.entity], lambda each: each.key() == part.key())
        self.skip_if(self.world.templates.get(part.property) != part.after, editor)
        return self.world.define_template(part.property, part.before)


class Model:
    def __init__(self):
        self.world = World()
        self.histories = {user: History() for user in set(USERS.values())}
        self.connections = {session: 0 for session in USERS}
        self.sequence = 0

    def content(self):
        return self.world.content()

    def apply(self, line):
        """Applies one operation and returns its answer, or an empty dict if it has none."""
        session, verb, argument = line
        if session == "-":
            if verb in ("restart", "kill"):
                self.connections = {name: number + 1 for name, number in self.connections.items()}
            return {}
        if verb == "reconnect":
            self.connections[session] += 1
            return {}
        if verb in ("undo", "redo"):
            return self.undo(session, verb, argument)
        if verb == "step":
            return self.input(session, argument["batches"], argument.get("label", ""), argument.get("gesture", 0), True)
        return self.input(session, [[verb, argument]])

    def history(self, session):
        """The numbers of steps to undo and to redo, and (is it a redo, label) for each of the next
        steps, in the order of GetHistory. A server may join more parts than the model, or fewer."""
        history = self.histories[USERS[session]]
        redo, undo = history.redo[-STEPS_SHOWN:], history.undo[-STEPS_SHOWN:][::-1]
        return [len(history.undo), len(history.redo), *((is_redo, step.label) for is_redo, steps in ((1, redo), (0, undo)) for step in steps)]

    # ---- edits ---------------------------------------------------------------------------------

    def input(self, session, batches, label="", gesture=0, whole=False):
        """The batches of one input. If it is whole, one refusal refuses everything."""
        self.sequence += 1
        parts, reasons = [], []
        before = self.world.copied()
        for verb, messages in batches:
            for message in messages:
                kept = self.world.copied()
                try:
                    parts += getattr(self.world, verb)(**message)
                except Refused as refusal:
                    self.world = kept
                    reasons.append(str(refusal))
        if whole and reasons:
            self.world, parts = before, []
        self.record(session, parts, label, (session, self.connections[session], gesture) if gesture else None)
        return {"refused": reasons[:1] if reasons else []}

    def record(self, session, parts, label, gesture):
        of_input = Step([], label, gesture, self.sequence)
        self.append(of_input, parts)
        parts = of_input.parts
        if not parts:
            return
        history = self.histories[USERS[session]]
        if gesture and history.undo and history.undo[-1].gesture == gesture:
            step = history.undo[-1]
            step.sequence = self.sequence
            step.label = label or step.label
        else:
            step = Step([], label, gesture, self.sequence)
            history.undo.append(step)
        self.append(step, parts)
        if step.parts:
            history.redo.clear()
        else:
            history.undo.pop()

    def append(self, step, parts):
        """Appends the parts, joins those that concern the same place as an earlier one, and drops
        those that then restore nothing."""
        for part in parts:
            part.sequence = step.sequence
            earlier = self.joinable(step.parts, part)
            if earlier is None:
                step.parts.append(part)
                continue
            earlier.after, earlier.sequence = part.after, part.sequence
            if earlier.before.same(earlier.after) if earlier.kind == "moved" else earlier.before == earlier.after:
                step.parts = [each for each in step.parts if each is not earlier]

    @staticmethod
    def joinable(parts, part):
        """The earlier part with which a part is joined, or None."""
        if part.kind not in JOINED:
            return None
        for earlier in reversed(parts):
            if earlier.key() == part.key():
                return earlier
            of_component = (earlier.entity, earlier.component) == (part.entity, part.component)
            if part.kind == "field" and of_component and earlier.kind in ("added", "removed"):
                return None
            if part.kind in ("moved", "renamed") and earlier.kind in ("created", "destroyed", "moved", "renamed"):
                return None
        return None

    # ---- undo and redo -------------------------------------------------------------------------

    def undo(self, session, verb, argument):
        user = USERS[session]
        history = self.histories[user]
        overwrite, dry = argument.get("on_conflict") == "overwrite", argument.get("dry", 0)
        source, target = (history.undo, history.redo) if verb == "undo" else (history.redo, history.undo)
        steps = source[:]
        recorded, passed_over = Recorded(self.histories), 0
        while steps:
            step = steps.pop()
            trial = Undoing(recorded, self.world.copied(), user, overwrite).undo(step)
            world = self.world.copied()
            known = set(self.world.entities) | set(trial.world.entities) | set(recorded.graves)
            done = Undoing(recorded, world, user, overwrite, known).undo(step)
            made = Step([], step.label, None, self.sequence + 1)
            self.append(made, done.made)
            if not made.parts:
                passed_over += 1
                continue
            if not dry:
                self.sequence += 1
                self.world = world
                source[:] = steps
                target.append(made)
            return {"label": step.label, "done": done.done, "passed_over": passed_over,
                    "nil_references": done.nil_references, "other_parents": done.other_parents,
                    "other_names": done.other_names, "skipped": sorted(done.skipped, key=repr)}
        return {"nothing": True}
