"""A tool is a function with a name, a right, and arguments that are checked before it is
called."""
from ..errors import Mistaken

RIGHTS = ("none", "view", "edit", "control", "admin")
TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": {"type": "string"}}
YES_NO = {"type": "boolean"}
COUNT = {"type": "integer", "minimum": 1}
OBJECT = {"type": "object"}
CURSOR = {"type": "string", "description": "From the answer before, to go on"}
_KINDS = {"string": (str, "a text"), "array": (list, "a list"), "boolean": (bool, "true or false"),
          "integer": (int, "a whole number"), "number": ((int, float), "a number"), "object": (dict, "an object")}


class Tool:
    """One tool. `run` is called with the world and the arguments."""

    def __init__(self, run, right, required, arguments):
        self.run, self.name, self.right = run, run.__name__.strip("_"), right
        self.description, self.required, self.arguments = run.__doc__.strip(), required, arguments

    def described(self, examples):
        """Returns what the agent reads. `examples` are texts by the words that they replace."""
        schema = {"type": "object", "properties": self.arguments, "additionalProperties": False}
        if self.required:
            schema["required"] = list(self.required)
        description = " ".join(self.description.split())
        return _filled({"name": self.name, "description": description, "inputSchema": schema,
                        "annotations": {"readOnlyHint": self.right == "view"}}, examples)

    def is_allowed(self, role):
        return RIGHTS.index(self.right) <= RIGHTS.index(role)

    def checked(self, arguments):
        """Returns the arguments by the names of the function. Raises Mistaken."""
        for name, value in arguments.items():
            if name not in self.arguments:
                known = ", ".join(self.arguments) or "none"
                raise Mistaken(f"{self.name} has no argument '{name}'; it has {known}")
            _check(value, self.arguments[name], name)
        missing = [each for each in self.required if each not in arguments]
        if missing:
            raise Mistaken(f"{self.name} needs the argument '{missing[0]}'")
        return arguments


def _filled(described, examples):
    """Returns texts, at any depth of dicts and lists, with their examples."""
    if isinstance(described, dict):
        return {name: _filled(each, examples) for name, each in described.items()}
    if isinstance(described, list):
        return [_filled(each, examples) for each in described]
    if isinstance(described, str):
        for word, example in examples.items():
            described = described.replace(word, example)
    return described


def _check(value, schema, name):
    kind = schema.get("type")
    if kind is None:
        return
    types, said = _KINDS[kind]
    is_right = isinstance(value, types) and (kind == "boolean" or not isinstance(value, bool))
    if not is_right:
        raise Mistaken(f"{name}: {said} is expected, not {_shown(value)}")
    if "enum" in schema and value not in schema["enum"]:
        raise Mistaken(f"{name}: {_shown(value)} is not one of {', '.join(schema['enum'])}")
    if value < schema["minimum"] if "minimum" in schema else False:
        raise Mistaken(f"{name}: at least {schema['minimum']} is expected, not {value}")
    if kind == "array" and "items" in schema:
        for i, each in enumerate(value):
            _check(each, schema["items"], f"{name}[{i}]")


def _shown(value):
    if isinstance(value, str):
        return f"the text {value[:80]!r}"
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(value)


def tool(right="view", required=(), **arguments):
    """Makes a tool of a function. Its docstring is what the agent reads."""
    def made(run):
        return Tool(run, right, required, arguments)
    return made
