"""What a program can do with a world. Each operation is written once, as a coroutine that awaits
only questions of the protocol; faces.py makes of it the methods of Client and of AsyncClient."""
import random
from typing import NamedTuple

from . import proof
from .batch import struct_batch, table_batch, timed_batch
from .core import PROTOCOL_NEWEST, PROTOCOL_OLDEST, SESSION, Ask, Wait
from .edits import UNSET, Edits, Transaction
from .errors import Late, Lost, Mistaken, Refused
from .ids import Entity, hash64, nil
from .people import People, person_of
from .schema import Type
from .values import Value, codec_of
from .watch import Events, Watch

IDS_AT_ONCE_MAX = 4096
TEXTS_BYTES_AT_ONCE = 1 << 18


class Ack(NamedTuple):
    """The world's answer to an edit. `sequence` is its position among all inputs of this epoch.

    If an edit was sent in parts, `sequence` is that of the last one, and `first` that of the
    first, which is the number of the step in a run."""

    sequence: int
    durable_through: int
    handled: int
    unhandled: int
    dead: int
    cut_short: bool
    epoch: int
    first: int


class Found(NamedTuple):
    entity: Entity
    path: str


class Child(NamedTuple):
    entity: Entity
    name: str
    child_count: int
    components: tuple


class Step(NamedTuple):
    """A step of the history. `is_redo` is true for those that were undone."""

    label: str
    what: str
    parts: int
    sequence: int
    is_redo: bool


class RunEdit(NamedTuple):
    """A step of a run, which keep() can apply to the level."""

    step: int
    user: int
    what: str
    is_marked: bool


class Shown:
    """An entity with its components: shown["Health"].value, or shown[types.Health]."""

    def __init__(self, about, components, types):
        self.entity, self.parent, self.name, self.path = about.entity, about.parent, about.name, about.path
        self.child_count, self.sequence, self.clock_ns = about.child_count, about.sequence, about.clock_ns
        self.about, self.components, self._types = about, components, types

    def __getitem__(self, component):
        name = self._types.component(component).name
        if name not in self.components:
            raise KeyError(f"{self.path or self.entity} has no {name}")
        return self.components[name]

    def __contains__(self, component):
        return self._types.component(component).name in self.components

    def __repr__(self):
        return f"<{self.path or self.entity}: {', '.join(repr(each) for each in self.components.values())}>"


class Session:
    def __init__(self, core):
        self.core = core
        self.where = None  # where.Where
        self._gesture = random.getrandbits(48)

    # ---- the session itself

    @property
    def types(self):
        """All types of the world. Grows when the world learns types."""
        return self.core.types

    @property
    def welcome(self):
        """The server's description of itself, the world and this session."""
        return self.core.welcome

    @property
    def epoch(self):
        """Changes when a run begins or ends. Each start of the server has other epochs."""
        return self.core.epoch

    @property
    def sequence(self):
        """The newest sequence that was received."""
        return self.core.sequence

    @property
    def playing(self):
        """True if a run is on, as far as the server has told."""
        return self.core.playing

    @property
    def role(self):
        """The rights of this session: "view", "edit", "control" or "admin"."""
        return {1: "view", 2: "edit", 3: "control", 4: "admin"}.get(int(self.core.welcome.role), "none")

    @property
    def resumed(self):
        """Counts how often the session was resumed on another connection."""
        return self.core.resumed

    @property
    def ended(self):
        """The error that ended the session, or None while it is open."""
        return self.core.error

    async def _hello(self, token, is_trusted, **fields):
        """Begins the session. Sends the token itself only to a server that is known to be the right
        one."""
        await self._greet(token, is_trusted, fields)
        for frame in (await Ask([self.core.control("GetSchema")]))[0]:
            self.core.types._learn(frame.batch.message(0, {}).bytes)

    async def _greet(self, token, is_trusted, fields):
        """Says hello on a new connection, and receives the Welcome."""
        fields = dict(fields, protocol=PROTOCOL_NEWEST, protocol_oldest=PROTOCOL_OLDEST, resumable=self.core.resumes)
        if is_trusted:
            await Ask([self.core.control("Hello", token=token, **fields)], now=True)
        else:
            await self._prove(token, fields)

    async def _prove(self, token, fields):
        own = proof.draw_nonce()
        [frames] = await Ask([self.core.control("Hello", token_id=proof.id_of(token), nonce=own, **fields)], now=True)
        challenge = frames[0].batch.message(0, {})
        if frames[0].batch.type.name != SESSION + "Challenge" \
                or not proof.is_equal(challenge.proof, proof.server_proof(token, own, challenge.nonce)):
            raise Lost("this program is not the server that was meant: it does not know the token")
        await Ask([self.core.control("Proof", proof=proof.client_proof(token, own, challenge.nonce))], now=True)

    # ---- questions

    async def ask(self, question, /, **fields):
        """Asks any question of the protocol, by the name of its message: ask("GetInfo", hash=1).

        Returns the answer, or a list if an answer may have several frames."""
        frames, type_ = await self._frames(question, fields)
        answers = [frame.batch.message(0, self.core.words) for frame in frames]
        self.core.saw(getattr(answers[0], "sequence", 0))
        return answers if type_.attributes["answer"].startswith("[") else answers[0]

    async def _frames(self, question, fields):
        if isinstance(question, str) and not question.startswith(SESSION):
            question = SESSION + question
        type_ = self.core.types.find(question)
        if "answer" not in type_.attributes:
            raise Mistaken(f"{type_.name} is not a question")
        if isinstance(question, Value):
            fields = {field.name: getattr(question, field.attribute) for field in type_.fields}
        batch = self.core.control(type_.name[len(SESSION):], **fields)
        return (await Ask([batch]))[0], type_

    async def entity(self, text):
        """Returns the only entity with an id ("12:1"), a path ("/town/tower"), or a name or end of
        a path ("tower")."""
        found = await self.ask("Resolve", path=text, limit=5)
        if len(found.entities) == 1:
            return found.entities[0]
        if not found.entities:
            raise Mistaken(f"no entity is named '{text}'")
        lines = ", ".join(f"{path} ({each})" for each, path in zip(found.entities, found.paths))
        raise Mistaken(f"'{text}' may be any of {lines}{' ...' if found.more else ''}")

    async def find(self, name="", having=(), under=nil, limit=None):
        """Returns all entities whose names contain `name`, ignoring case, and that have all of the
        components."""
        under = await self._edits()._entity(under, True)
        having = [having] if isinstance(having, (str, type, Type)) else having
        ids = [self.core.types.component(each).id for each in having]
        found, after = [], nil
        while limit is None or len(found) < limit:
            page = await self.ask("Find", name=name, components=ids, under=under, after=after,
                                  limit=0xffffffff if limit is None else limit - len(found))
            found += [Found(*each) for each in zip(page.entities, page.paths)]
            if not page.more or not page.entities:
                break
            after = page.entities[-1]
        return found

    async def children(self, entity=nil):
        """Returns the children of an entity in order, or the roots."""
        entity, found = await self._edits()._entity(entity, True), []
        while True:
            page = await self.ask("ListChildren", entity=entity, offset=len(found))
            at = 0
            for i, each in enumerate(page.entities):
                ids, at = page.components[at:at + page.component_counts[i]], at + page.component_counts[i]
                names = tuple(self.core.types.find(each_id).name for each_id in ids)
                found.append(Child(each, page.names[i], page.child_counts[i], names))
            if len(found) >= page.total or not page.entities:
                return found

    async def show(self, entity):
        """Returns an entity with its components."""
        entity = await self._edits()._entity(entity)
        frames, _ = await self._frames("Show", dict(entity=entity))
        about, components = frames[0].batch.message(0, self.core.words), {}
        self.core.saw(about.sequence)
        for frame in frames:
            for type_, data in frame.batch.rows(0):
                components[type_.name] = codec_of(type_).read(data, 0, self.core.words)
        return Shown(about, components, self.core.types)

    async def info(self):
        """Returns figures that describe the world and its server."""
        return await self.ask("GetInfo")

    async def text(self, number):
        """Returns the text of a hash, which a field contains if the client has not received the
        text."""
        if number not in self.core.words:
            self.core.remember((await self.ask("GetText", hash=number)).text)
        return self.core.words[number]

    # ---- who is there

    async def presence(self, _follow=0):
        """Returns who is there, and what each does: a list of Person, this session included."""
        found, more = [], True
        while more:
            after = found[-1].session if found else 0
            page = await self.ask("GetPresence", after=after, follow=_follow)
            found += [person_of(each) for each in page.people]
            more = page.more and page.people
        return found

    async def set_presence(self, selection=(), dragged=(), locks=(), camera=None):
        """Tells others what this session does. Replaces what it told before.

        `locks` are entities that others should leave alone for now. `camera` is where it is and the
        point at which it looks: ((0, 2, 5), (0, 0, 0)). Returns {entity: session} of the locks that
        were not granted, because other sessions have them."""
        fields = {}
        for name, entities in (("selection", selection), ("dragged", dragged), ("locks", locks)):
            fields[name] = [await self._edits()._entity(each) for each in entities]
        fields["camera"] = [] if camera is None else [*camera[0], *camera[1]]
        answer = await self.ask("SetPresence", **fields)
        self.core.presence = fields
        return dict(zip(answer.refused, answer.holders))

    async def people(self):
        """Returns who is there as an iterator of what changes (People)."""
        people = People(self)
        await people._open()
        return people

    # ---- edits

    def _edits(self):
        return Edits(self)

    async def create(self, name="", *components, under=nil, before=nil, clash="refuse"):
        edits = self._edits()
        made = await edits.create(name, *components, under=under, before=before, clash=clash)
        await self._push(edits)
        return made

    async def spawn(self, template, name="", *components, under=nil, before=nil, clash="suffix"):
        edits = self._edits()
        made = await edits.spawn(template, name, *components, under=under, before=before, clash=clash)
        await self._push(edits)
        return made

    async def set(self, entity, *components):
        edits = self._edits()
        await edits.set(entity, *components)
        return await self._push(edits)

    async def set_field(self, entity, path, value, expect=UNSET):
        edits = self._edits()
        await edits.set_field(entity, path, value, expect)
        return await self._push(edits)

    async def remove(self, entity, component):
        edits = self._edits()
        await edits.remove(entity, component)
        return await self._push(edits)

    async def destroy(self, entity):
        edits = self._edits()
        await edits.destroy(entity)
        return await self._push(edits)

    async def move(self, entity, under, before=nil):
        edits = self._edits()
        await edits.move(entity, under, before)
        return await self._push(edits)

    async def rename(self, entity, name, clash="refuse"):
        edits = self._edits()
        await edits.rename(entity, name, clash)
        return await self._push(edits)

    async def push(self, target, message, /, **fields):
        edits = self._edits()
        await edits.push(target, message, **fields)
        return await self._push(edits)

    async def push_at(self, due_ns, target, message, /, **fields):
        """Like push, but the message is delivered when the world's clock reaches `due_ns`."""
        edits = self._edits()
        await edits.push(target, message, **fields)
        return await self._push(edits, due_ns)

    for _name in ("create", "spawn", "set", "set_field", "remove", "destroy", "move", "rename", "push"):
        locals()[_name].__doc__ = getattr(Edits, _name).__doc__
    del _name

    def transaction(self, label=""):
        """Returns a transaction: edits that are applied or refused as a whole, and are one step for
        undo."""
        return Transaction(self, label)

    async def _next_id(self):
        """Returns an id that a new entity may have. It is valid in the current epoch."""
        while True:
            grants = self.core.grants
            if grants:
                first, end = grants[-1]
                if first + 1 >= end:
                    grants.pop()
                else:
                    grants[-1] = (first + 1, end)
                return Entity(first, 1)
            count = min(IDS_AT_ONCE_MAX, max(16, self._granted))
            granted = await self.ask("RequestGrant", count=count)
            self._granted = 2 * granted.count
            if self.core.grants is grants:  # no other epoch has begun meanwhile
                grants.append((granted.first, granted.first + granted.count))

    _granted = 0

    async def _push(self, edits, due_ns=None):
        """Sends edits as batches of their own, without waiting between them. Returns the sum of the
        answers."""
        found, texts = edits.batches(self.core.welcome.frame_bytes_max - 64)
        batches = [batch if due_ns is None else timed_batch(batch, due_ns) for _, batch in found]
        if not batches:
            raise Mistaken("there is nothing to send: the list of targets is empty")
        return await self._send(batches, texts, edits.epoch)

    async def _push_step(self, edits, label="", gesture=0):
        """Sends edits as one step. If they are too large for one input, sends several with the same
        gesture.

        The world then applies or refuses each of these as a whole, and the history has one step."""
        limit = self.core.welcome.frame_bytes_max - 512 - len(label.encode("utf-8", "replace"))
        limit -= sum(128 + len(each.get("value", b"")) + 4 * len(each.get("name", "")) for each in edits.expected)
        steps, texts = edits.steps(limit)
        if len(steps) > 1 and not gesture:
            self._gesture += 1
            gesture = self._gesture
        type_, total = self.core.types.find("muster.Step"), None
        for step in steps:
            batch = table_batch(type_, [(nil, dict(batches=step, label=label, gesture=gesture))], set())
            if edits.expected and total is None:
                # A later part would find what the first one has changed.
                batch = self.core.control("EditIf", expected=edits.expected, batch=batch)
            ack = await self._send([batch], texts, edits.epoch)
            total, texts = ack if total is None else _sum(total, ack), set()
        return total

    async def _try_step(self, edits):
        """Asks what edits would do as one step. Raises Refused for the first edit that the world
        would refuse."""
        steps, texts = edits.steps(self.core.welcome.frame_bytes_max - 512)
        if len(steps) > 1:
            raise Mistaken("these edits are too many to be tried at once")
        new = [(nil, dict(text=text)) for text in sorted(texts) if text not in self.core.told]
        if new:
            steps[0] = table_batch(self.core.types.find("muster.InternText"), new, set()) + steps[0]
        step = table_batch(self.core.types.find("muster.Step"), [(nil, dict(batches=steps[0]))], set())
        return await self.ask("DryRun", expected=edits.expected, batch=step)

    async def _send(self, batches, texts, epoch):
        """Sends batches after the texts that they refer to."""
        told = self.core.told
        new = sorted(each for each in texts if each not in told)
        type_ = self.core.types.find("muster.InternText")
        self.core.registered.update(new)
        first, size, group = [], 0, []
        at_once = min(TEXTS_BYTES_AT_ONCE, self.core.welcome.frame_bytes_max // 2)
        for text in new:
            group.append((nil, dict(text=text)))
            size += 64 + len(text.encode("utf-8"))
            if size > at_once:
                first.append(table_batch(type_, group, set()))
                size, group = 0, []
        if group:
            first.append(table_batch(type_, group, set()))
        answers = await Ask(first + batches, epoch=epoch)
        told.update(new)
        for text in new:
            self.core.words[hash64(text)] = text
        total = None
        for frames in answers[len(first):]:
            ack = frames[0].batch.message(0, self.core.words)
            ack = Ack(ack.sequence, ack.durable_through, ack.handled, ack.unhandled, ack.dead, bool(ack.cut_short),
                      frames[0].epoch, ack.sequence)
            total = ack if total is None else _sum(total, ack)
        return total

    # ---- history

    async def undo(self, *, dry=False, overwrite=False):
        """Undoes the newest step of this user, and only this one. With `dry`, only returns what
        would be done.

        Parts that another user has edited since are skipped, unless `overwrite` is set. Raises
        Refused with the reason "nothing_to_undo" if there is nothing left to do."""
        return await self.ask("Undo", act="undo", dry=int(dry), on_conflict="overwrite" if overwrite else "skip")

    async def redo(self, *, dry=False, overwrite=False):
        """Redoes the step that was undone last."""
        return await self.ask("Undo", act="redo", dry=int(dry), on_conflict="overwrite" if overwrite else "skip")

    async def history(self, limit=20):
        """Returns steps of this user: those to redo, the next one last, then those to undo, the
        next one first."""
        page = await self.ask("GetHistory", limit=limit)
        return [Step(*each) for each in zip(page.labels, page.whats, page.parts, page.sequences, map(bool, page.is_redo))]

    # ---- templates

    async def templates(self):
        """Returns {name: number of entities} of the world's templates."""
        return {name: nodes for page in await self.ask("ListTemplates") for name, nodes in zip(page.names, page.nodes)}

    async def define_templates(self, text, file="templates.json"):
        """Defines the templates in the text of a template file (docs/templates.md). Returns their
        names."""
        return [name for page in await self.ask("ReadTemplates", text=text, file=file) for name in page.names]

    # ---- the clock and runs

    async def clock(self):
        """Returns the state of the world's clock."""
        return await self.ask("GetClock")

    async def pause(self):
        """Pauses the clock: no ticks, no timers. Edits are still applied."""
        return await self.ask("SetClock", paused=1)

    async def resume(self, speed=0):
        """Lets the clock run, at `speed` times its usual speed (0.01 to 100), or at the speed that
        it has."""
        return await self.ask("SetClock", paused=0, speed=speed)

    async def step(self, ticks=1):
        """Makes ticks of a paused clock, and returns its state after them."""
        stream = self.core.follow("ClockState")
        if not self._follows_clock:
            await self.ask("GetClock", follow=1)
            self._follows_clock = True
        begun = state = await self.ask("SetClock", paused=2, steps=ticks)
        end = begun.tick + begun.steps
        while state.tick < end and (state.steps or state.sequence <= begun.sequence):
            if await Wait((stream,), 0.5):
                frame = stream.take()
                state = frame.batch.message(0, self.core.words) if frame is not None else state
            else:
                state = await self.ask("GetClock")
        self.core.saw(state.sequence)
        return state

    _follows_clock = False

    async def play(self):
        """Begins a run: play on a copy of the level (docs/runs.md)."""
        return await self.ask("Play")

    async def stop(self):
        """Ends the run. The world is the level again."""
        return await self.ask("StopPlaying")

    async def run_edits(self):
        """Returns the steps of the run, the newest first. After a run, those of the last one."""
        found = []
        while True:
            page = await self.ask("GetRunEdits", offset=len(found))
            found += [RunEdit(*each) for each in zip(page.steps, page.users, page.whats, map(bool, page.marked))]
            if not page.steps:
                return found

    async def keep(self, *steps, all=False):
        """Keeps steps of a run, by their numbers, or all of them: applies them to the level when
        the run ends."""
        return await self.ask("Keep", all=all, steps=list(steps))

    # ---- saving

    async def save(self):
        """Saves the world. Returns when it is on disk."""
        return await self.ask("Save")

    async def wait_durable(self, ack, seconds=30):
        """Waits until an edit survives a crash of the server. Raises Late, or Refused if nothing is
        being written."""
        if not isinstance(ack, (Ack, int)):
            raise Mistaken(f"wait_durable(): an Ack, which edits return, or its sequence is expected, not {ack}")
        if isinstance(ack, Ack) and ack.epoch != self.core.epoch and ack.epoch not in self.core.earlier_epochs:
            raise Mistaken("this answer is from another start of the server")
        sequence = ack.sequence if isinstance(ack, Ack) else ack
        stream = self.core.follow("Durable")
        state = await self.ask("FollowDurable")
        while state.sequence < sequence:
            if state.error:
                raise Refused(state.error, "not_recorded", "not_recorded")
            if not await Wait((stream,), seconds):
                raise Late(f"the edit was not durable within {seconds:g} s")
            frame = stream.take()
            state = frame.batch.message(0, self.core.words) if frame is not None else state
        return state

    # ---- watches

    async def watch(self, *entities, below=True, having=(), without=(), components=None, rate_max=0):
        """Opens a watch on the world, or on some entities and everything below them. Returns when
        its copy is whole.

        `having` and `without` choose entities by their components; `components` chooses whose
        values are sent."""
        watch = Watch(self)
        await watch._open([await self._edits()._entity(each) for each in entities], below, having, without, components,
                          rate_max)
        return watch

    async def events(self, *messages, of=(), below=True, pushed=()):
        """Opens a watch on messages as they arrive: of these types, or of all but ticks.

        `of` chooses entities; without it, the whole world is watched. `pushed` are types of
        messages that handlers post or timers deliver."""
        events = Events(self)
        of = [of] if isinstance(of, (str, Entity)) else of
        await events._open([await self._edits()._entity(each) for each in of], below, messages, pushed)
        return events


def _sum(one, other):
    return other._replace(first=one.first, handled=one.handled + other.handled, unhandled=one.unhandled + other.unhandled,
                          dead=one.dead + other.dead, cut_short=one.cut_short or other.cut_short)
