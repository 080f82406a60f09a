"""The agent as a user of the world: its connection, its watch, and values by their paths."""
import time

from .. import faces
from ..errors import Lost, Mistaken
from ..values import Place, codec_of
from .answers import plain
from .changing import edit, push, redo, undo
from .examples import examples_of
from .playing import clock, play, run_edits, stop
from .reading import changes_since, describe_type, find, history, info, show, templates
from .screenshot import screenshot

TOOLS = (info, find, show, describe_type, changes_since, edit, push, clock, play, stop, run_edits, undo, redo, history,
         templates, screenshot)


class Agent:
    all_tools = TOOLS

    def __init__(self, where, timeout=10, **options):
        self.where = where
        self.options = {"name": "agent", "kind": "agent", "timeout": timeout, "resumes": True, "away_max": timeout, **options}
        self.world = self.watch = None
        self.kept = set()  # steps of runs that this agent knows to be in the level
        self.connect()

    def connect(self):
        """Connects, unless there is a connection. Raises Lost, Late or Mistaken."""
        if self.world is None or self.world.ended is not None:
            self.watch = None
            self.world = faces.connect(self.where, **self.options)
        elif not self.world.core.is_up:
            self.world.clock()  # ids of a server that was killed are not valid afterward

    def read_watch(self):
        """Applies what the watch of changes_since was told, so that little waits for its next
        call. Stops after a second in a world that changes faster than it is read."""
        end = time.monotonic() + 1
        while self.watch is not None and time.monotonic() < end and self.watch.next(0):
            pass

    def close(self):
        self.world.close()

    @property
    def tools(self):
        """The tools that the rights of this session allow, by name."""
        return {each.name: each for each in TOOLS if each.is_allowed(self.world.role)}

    def call(self, name, arguments):
        """Returns what a tool answers: a text, or a list of parts of an answer. Raises
        MusterError.

        The session goes on after its connection was lost. If that is not possible, another begins:
        at once for a tool that only reads, and otherwise with the next call."""
        chosen = None
        for is_last in (False, True):
            try:
                self.connect()
                if name not in self.tools:
                    raise Mistaken(f"the rights of this session do not allow {name} any longer")
                chosen = self.tools[name]
                self.read_watch()
                return chosen.run(self, **chosen.checked(arguments))
            except Lost as error:
                if chosen is not None and chosen.right == "view" and not is_last:
                    continue
                hint = ". Nothing was done, and the next call tries again" if chosen is None else \
                    ". It may have been done: look before you repeat it. The next call connects again"
                raise Lost(f"{error}{hint}") from None
        raise AssertionError

    # ---- for tools

    @property
    def examples(self):
        """Texts for the descriptions of tools, by what they replace."""
        return examples_of(self.world.types)

    def now(self):
        """Returns the beginning of an answer: as of when it is true."""
        state = self.world.clock()
        return {"sequence": self.world.sequence, "tick": state.tick}

    def watched(self):
        """Returns the watch of the whole world, which begins with the first call."""
        if self.watch is None:
            self.watch = self.world.watch()
        return self.watch

    def others(self):
        """Returns who else is there, and what each does."""
        own = self.world.welcome.session
        return [each for each in self.world.presence() if each.session != own]

    def place(self, path):
        """Returns the component and the place within it that "Health" or "Health.value" names."""
        words = path.split(".")
        for count in range(len(words), 0, -1):
            name = ".".join(words[:count])
            if name in self.world.types:
                type_ = self.world.types.component(name)
                return type_, Place(type_, ".".join(words[count:])) if count < len(words) else None
        raise Mistaken(f"'{path}' does not name a component or its field, such as 'Health.value'")

    def read(self, shown, place):
        type_, part = place
        value = shown[type_.name]
        if part is None:
            return plain(value)
        data = codec_of(type_).write(value, set())[part.offset:part.offset + part.size]
        return plain(part.read(data, self.world.core.words), part.reader.field)

    @staticmethod
    def clock_text(state):
        return {"tick": state.tick, "hz": plain(state.hz), "paused": bool(state.paused), "speed": plain(state.speed)}
