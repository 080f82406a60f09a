"""Tools that change the world: edits as one step, messages of the game, undo and redo."""
import re

from ..edits import UNSET
from ..errors import Mistaken, Refused
from ..ids import entity_of, nil
from ..schema import ARRAY, VECTOR
from .answers import CHARACTERS_MAX, shortest, text_of
from .tool import OBJECT, TEXT, TEXTS, YES_NO, tool

#: For each op: the members that it needs, and those that it may have.
OPS = {"create": ("", "name under before components as"), "spawn": ("template", "name under before components as"),
       "set": ("entity components", ""), "set_field": ("entity field value", "expect"), "remove": ("entity component", ""),
       "destroy": ("entity", ""), "move": ("entity under", "before"), "rename": ("entity name", "")}
EDITS_MAX = 5000
#: As many of the entities that an edit has touched are shown to others.
SELECTED_MAX = 256


class Batch:
    """Edits of one call. `made` has the ids of entities by the words that `as` gave them."""

    def __init__(self, agent, label):
        self.agent, self.world = agent, agent.world
        self.edit = agent.world.transaction(label)
        self.made, self.targets, self.created = {}, [], []

    def add(self, each):
        """Adds one edit. Raises Mistaken."""
        op = each.get("op")
        if op not in OPS:
            raise Mistaken(f"op: {op!r} is not one of {', '.join(OPS)}")
        needed, optional = (words.split() for words in OPS[op])
        for name in each:
            if name not in ("op", *needed, *optional):
                raise Mistaken(f"{op} has no '{name}'; it has {', '.join([*needed, *optional])}")
        for name in needed:
            if name not in each:
                raise Mistaken(f"{op} needs '{name}'")
        self.targets.append(getattr(self, op)(each))

    def entity(self, text):
        """Returns the id of an entity, which "$word" names if an edit before has created it."""
        if isinstance(text, str) and text.startswith("$"):
            if text[1:] not in self.made:
                raise Mistaken(f"no edit before this one has \"as\": \"{text[1:]}\"")
            return self.made[text[1:]]
        if not isinstance(text, str):
            raise Mistaken(f"{text!r} is not an entity; give its id, path or name as a text")
        found = entity_of(text)
        return self.world.entity(text) if found is None else found

    def place(self, each):
        found = {name: self.entity(each[name]) for name in ("under", "before") if each.get(name) not in (None, "/")}
        return found

    def components(self, each):
        values = each.get("components", {})
        if not isinstance(values, dict):
            raise Mistaken("components: an object such as {\"Health\": {\"value\": 5}} is expected")
        pairs = []
        for name, fields in values.items():
            type_ = self.world.types.component(name)
            pairs.append((type_, self.value(fields, type_)))
        return pairs

    def value(self, fields, type_):
        """Returns a value in which entities may be named by paths, and by $words."""
        if not isinstance(fields, dict):
            raise Mistaken(f"{type_.name}: an object with its fields is expected")
        return {name: self.part(value, type_.field(name)) for name, value in fields.items()}

    def part(self, value, field):
        if field.of is None or value is None:
            return value
        if field.base in (ARRAY, VECTOR) and isinstance(value, list):
            return [self.one(each, field) for each in value]
        return self.one(value, field)

    def one(self, value, field):
        if field.is_entity:
            return self.entity(value)
        return self.value(value, field.of) if isinstance(value, dict) else value

    # ---- one method for each op; returns the entity that it concerns

    def create(self, each):
        return self.record(each, self.edit.create(each.get("name", ""), *self.components(each), **self.place(each)))

    def spawn(self, each):
        made = self.edit.spawn(each["template"], each.get("name", ""), *self.components(each), **self.place(each))
        return self.record(each, made)

    def record(self, each, made):
        if "as" in each:
            if not isinstance(each["as"], str) or each["as"] in self.made:
                raise Mistaken(f"as: {each['as']!r} is not a new word")
            self.made[each["as"]] = made
        self.created.append({"entity": str(made), **{name: each[name] for name in ("as", "name") if name in each}})
        return made

    def set(self, each):
        target = self.entity(each["entity"])
        self.edit.set(target, *self.components(each))
        return target

    def set_field(self, each):
        target, (type_, part) = self.entity(each["entity"]), self.agent.place(each["field"])
        if part is None:
            raise Mistaken(f"field: '{each['field']}' is a whole component; use the op set")
        field = part.reader.field
        expect = self.part(each["expect"], field) if "expect" in each else UNSET
        self.edit.set_field(target, f"{type_.name}.{part.path}", self.part(each["value"], field), expect)
        return target

    def remove(self, each):
        target = self.entity(each["entity"])
        self.edit.remove(target, each["component"])
        return target

    def destroy(self, each):
        target = self.entity(each["entity"])
        self.edit.destroy(target)
        return target

    def move(self, each):
        target = self.entity(each["entity"])
        place = self.place(each)
        self.edit.move(target, place.pop("under", nil), **place)
        return target

    def rename(self, each):
        target = self.entity(each["entity"])
        self.edit.rename(target, each["name"])
        return target


def _refuse_locked(agent, targets):
    """Raises Refused if another user has locked one of the entities."""
    people = agent.others()
    for i, target in enumerate(targets):
        holder = next((each for each in people if target in each.locks), None)
        if holder is not None:
            raise Refused(f"edits[{i}]: {holder.name or holder.kind} is working on {target} and has locked it; wait, or "
                          "give ignore_locks", reason="locked")


@tool("edit", required=["edits"], edits={"type": "array", "items": OBJECT}, dry_run=YES_NO, ignore_locks=YES_NO,
      label={"type": "string", "description": "What the edits do, in a few words, for people who read the history"})
def edit(agent, edits, label="", dry_run=False, ignore_locks=False):
    """Applies edits as a whole or not at all, as one step for undo. Each is an object with an op:
    create (name, under, before, components, as), spawn (template, name, under, before, components,
    as), set (entity, components), set_field (entity, field, value, expect), remove (entity,
    component), destroy (entity), move (entity, under, before), rename (entity, name). For example
    {edits}. Without under, the entity is a root. Components are named in full or by the last part.
    Omitted fields, also of nested values, have their defaults, so use set_field to change only one.
    Entities are named as they are before the call, or "$gate" if an edit of this call has created
    them with "as": "gate"; of a spawned template, that is the root, and references among its
    entities lead to the new ones. With expect, an edit is refused unless the field has this value.
    Entities that a person has locked, for instance while dragging them, are not edited. Others see
    what you have edited as your selection. With dry_run, says what the edits would do. In a run,
    step is the number for run_edits."""
    if not edits:
        raise Mistaken("edits: the list is empty")
    if len(edits) > EDITS_MAX:
        raise Mistaken(f"edits: at most {EDITS_MAX} fit into one call, and {len(edits)} were given")
    batch = Batch(agent, label)
    for i, each in enumerate(edits):
        try:
            batch.add(each)
        except (Mistaken, TypeError, AttributeError) as error:
            raise Mistaken(f"edits[{i}]: {error}; nothing was applied") from None
    if not ignore_locks:
        _refuse_locked(agent, batch.targets)
    try:
        would = batch.edit.dry_run() if dry_run else batch.edit.commit()
    except Refused as error:
        concerned = [i for i, target in enumerate(batch.targets) if error.fault and target == error.fault.entity]
        where = f"edits{concerned}: " if concerned and len(concerned) <= 10 else ""
        now = "" if error.value is None else f"; the value is {text_of(shortest(error.value))}"
        said = re.sub(r"^batch \d+ of the Step, at byte \d+: ", "", str(error))
        raise Refused(f"{where}{said} ({error.reason}){now}; nothing was applied", error.code, error.reason) from None
    if dry_run:
        hint = "Nothing has changed." + (" sequence counts that ids were set aside." if batch.created else "")
        return text_of({"sequence": would.sequence, "would_apply": len(edits), "would_create": would.created,
                        "would_destroy": would.destroyed, "would_change": would.changed, "hint": hint})
    answer = {"sequence": agent.world.sequence, "applied": len(edits)}
    if agent.world.playing:
        answer["step"] = batch.edit.ack.first
    agent.world.set_presence(selection=list(dict.fromkeys(batch.targets))[:SELECTED_MAX])
    if batch.created:
        fits = [each for i, each in enumerate(batch.created) if i < CHARACTERS_MAX // 400]
        answer.update(created=fits, created_count=len(batch.created))
    answer["hint"] = "undo takes this back as one step."
    return _within(answer, "created")


def _within(answer, name):
    """Returns the text of an answer, without rows of `name` that do not fit."""
    while len(text_of(answer)) > CHARACTERS_MAX and answer.get(name):
        answer[name] = answer[name][:len(answer[name]) // 2]
    return text_of(answer)


@tool("edit", required=["to", "message"], message=TEXT, fields=OBJECT,
      to={**TEXTS, "description": "Entities; [\"@world\"] sends the message to every entity that handles it"})
def push(agent, to, message, fields=None):
    """Sends a message of the game, such as Damage, to entities. Its handlers run before the answer.
    What handlers change is not undone by undo. describe_type lists messages and their fields."""
    batch, type_ = Batch(agent, ""), agent.world.types.message(message)
    value = batch.value(fields or {}, type_)
    targets = "@world" if to == ["@world"] else [batch.entity(each) for each in to]
    ack = agent.world.push(targets, type_.name, **value)
    answer = {"sequence": ack.sequence, "handled": ack.handled, "unhandled": ack.unhandled, "dead": ack.dead}
    if ack.unhandled:
        answer["hint"] = "No handler wants this message from these entities: a component may be missing."
    return text_of(answer)


def _undone(agent, act, dry_run, overwrite):
    done = getattr(agent.world, act)(dry=dry_run, overwrite=overwrite)
    answer = {"sequence": agent.world.sequence, "step": done.label or done.what, f"would_{act}" if dry_run else "done": done.done}
    hints = ["Nothing has changed."] if dry_run else []
    if done.skipped:
        answer["skipped"] = [{"entity": str(entity), "field": field, "current": theirs[:200]} for entity, field, theirs in
                             zip(done.skipped_entities[:20], done.skipped_fields, done.skipped_theirs)]
        answer["skipped_count"] = done.skipped
        hints.append("Others have edited these since. overwrite takes their edits back, too.")
    if hints:
        answer["hint"] = " ".join(hints)
    return _within(answer, "skipped")


@tool("edit", dry_run=YES_NO, overwrite=YES_NO)
def undo(agent, dry_run=False, overwrite=False):
    """Undoes your newest step. Parts that others have edited since are skipped, unless overwrite is
    true."""
    return _undone(agent, "undo", dry_run, overwrite)


@tool("edit", dry_run=YES_NO, overwrite=YES_NO)
def redo(agent, dry_run=False, overwrite=False):
    """Redoes the step that you undid last."""
    return _undone(agent, "redo", dry_run, overwrite)
