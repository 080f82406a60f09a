"""The agent as a user of the world: its connection, its watch, and values by their paths."""
from .. import faces
from ..errors import Lost, Mistaken
from ..values import Place, codec_of
from .answers import plain
from .changing import edit, push, redo, undo
from .playing import clock, play, run_edits, stop
from .reading import changes_since, describe_type, find, history, info, show, templates
from .screenshot import screenshot

TOOLS = (info, find, show, describe_type, changes_since, edit, push, clock, play, stop, run_edits, undo, redo, history,
         templates, screenshot)


class Agent:
    def __init__(self, where, **options):
        self.where, self.options = where, {"name": "agent", "kind": "agent", **options}
        self.world = self.watch = None
        self.connect()

    def connect(self):
        """Connects, unless there is a connection. Raises Lost or Mistaken."""
        if self.world is None or self.world.ended is not None:
            self.watch = None
            self.world = faces.connect(self.where, **self.options)

    def close(self):
        self.world.close()

    @property
    def tools(self):
        """The tools that the rights of this session allow, by name."""
        return {each.name: each for each in TOOLS if each.is_allowed(self.world.role)}

    def call(self, name, arguments):
        """Returns what a tool answers: a text, or a list of parts of an answer. Raises
        MusterError."""
        try:
            self.connect()
            chosen = self.tools[name]
            return chosen.run(self, **chosen.checked(arguments))
        except Lost as error:
            raise Lost(f"{error}. The next call connects again; sequences and ids may differ then") from None

    # ---- for tools

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
