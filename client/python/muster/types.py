"""All types of a world, by name, by id and as attributes."""
from .errors import Lost, Mistaken, ProtocolError
from .schema import Type, read_schema
from .values import Value, codec_of


class Types:
    """The types of a world: `types["game.Health"]`, `types.Health` and `types.game.Health` are the
    same class.

    A type may be named by the last part of its name if no other type of the game has it. The world
    may learn types while a program runs; they are then there at once."""

    def __init__(self):
        self._by_name, self._by_id, self._by_short, self._enums = {}, {}, {}, {}
        self._provisional = set()

    def _add(self, types, enums, provisional=False):
        """Adds types. Raises Lost if a type has another layout than before."""
        for name, made in types.items():
            known = self._by_name.get(name)
            if known is not None:
                if name not in self._provisional:
                    if known.layout() != made.layout():
                        raise Lost(f"the server sent another layout of {name} than before")
                    continue
                self._provisional.discard(name)
            elif made.id in self._by_id:
                raise ProtocolError(f"{name} and {self._by_id[made.id].name} have the same id")
            if provisional:
                self._provisional.add(name)
            self._by_name[name] = self._by_id[made.id] = made
            same = [each for each in self._by_short.get(made.short, []) if each.name != name]
            self._by_short[made.short] = [*same, made]
        for name, made in enums.items():
            self._enums.setdefault(name, made)
        for made in types.values():
            # Each schema has its own copy of the types that it shares with others.
            for field in made.fields:
                if field.of is not None:
                    field.of = self._by_name.get(field.of.name, field.of)
                if field.enum is not None:
                    field.enum = self._enums.get(field.enum.name, field.enum)

    def _learn(self, data):
        self._add(*read_schema(data))

    def find(self, which):
        """Returns the description of a type: by class, value, full name, last part of the name, or
        id. Raises Mistaken."""
        if isinstance(which, Type):
            which = which.name
        elif isinstance(which, Value) or (isinstance(which, type) and issubclass(which, Value)):
            mine = self._by_name.get(which._type.name)
            if mine is None:
                raise Mistaken(f"this world has no type {which._type.name}")
            if mine is not which._type and mine.layout() != which._type.layout():
                raise Mistaken(f"{mine.name} has another layout in this world")
            return mine
        if isinstance(which, int):
            if which not in self._by_id:
                raise Mistaken(f"this world has no type with the id {which:#010x}")
            return self._by_id[which]
        if not isinstance(which, str):
            raise Mistaken(f"{which!r} is not a type: give its class or its name")
        if which in self._by_name:
            return self._by_name[which]
        named = self._by_short.get(which, [])
        games = [each for each in named if not each.name.startswith("muster.")] or named
        if len(games) == 1:
            return games[0]
        if games:
            names = ", ".join(sorted(each.name for each in games))
            raise Mistaken(f"'{which}' may be any of the types {names}")
        raise Mistaken(f"this world has no type '{which}'" + _similar(which, self._by_short))

    def component(self, which):
        """Returns the description of a component. Raises Mistaken for any other type."""
        found = self.find(which)
        if not found.is_component:
            raise Mistaken(f"{found.name} is not a component")
        return found

    def message(self, which):
        """Returns the description of a message that a client may send. Raises Mistaken for any
        other type."""
        found = self.find(which)
        if not found.is_message:
            raise Mistaken(f"{found.name} is not a message")
        if found.right == "none":
            raise Mistaken(f"{found.name} may not be sent from outside")
        return found

    def of_id(self, number):
        """Returns the description of a type by its id, or None."""
        return self._by_id.get(number)

    @property
    def components(self):
        """The classes of all components, by full name."""
        return {name: codec_of(each).cls for name, each in sorted(self._by_name.items()) if each.is_component}

    @property
    def messages(self):
        """The classes of all messages that a client may send, by full name."""
        return {name: codec_of(each).cls for name, each in sorted(self._by_name.items())
                if each.is_message and each.right != "none"}

    def __getitem__(self, which):
        if isinstance(which, str) and which in self._enums:
            return self._enums[which].made
        return codec_of(self.find(which)).cls

    def __contains__(self, which):
        try:
            return bool(self[which])
        except Mistaken:
            return False

    def __iter__(self):
        return iter(sorted(self._by_name))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return _attribute(self, "", name)

    def __dir__(self):
        return [*super().__dir__(), *(each.partition(".")[0] for each in self._by_name)]


class Namespace:
    """The types of one namespace."""

    def __init__(self, types, name):
        self._types, self._name = types, name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _attribute(self._types, self._name + ".", name)

    def __repr__(self):
        return f"<namespace {self._name}>"

    def __dir__(self):
        begin = self._name + "."
        return [each[len(begin):].partition(".")[0] for each in self._types if each.startswith(begin)]


def _attribute(types, prefix, name):
    for word in (name, name[:-1] if name.endswith("_") else name):
        whole = prefix + word
        if whole in types._by_name or whole in types._enums:
            return types[whole]
        if any(each.startswith(whole + ".") for each in types._by_name):
            return Namespace(types, whole)
        if not prefix:
            try:
                return types[word]
            except Mistaken:
                short = [each for full, each in types._enums.items() if full.rpartition(".")[2] == word]
                if len(short) == 1:
                    return short[0].made
    raise AttributeError(f"this world has no type or namespace '{prefix}{name}'" + _similar(name, types._by_short))


def _similar(name, known):
    import difflib
    close = difflib.get_close_matches(name, list(known), 3, 0.7)
    return f"; did you mean {' or '.join(close)}?" if close else ""
