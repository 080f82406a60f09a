"""Draws schemas: mostly valid ones, with names that are likely to break what schemac writes."""
import dataclasses
import random

from names import C_STEMS, CPP, DOCS, GLOBALS, MACROS, OWN, PLAIN, STEMS, TYPESCRIPT

INTEGERS = {"byte": (-128, 127), "ubyte": (0, 255), "short": (-32768, 32767), "ushort": (0, 65535), "int": (-(2**31), 2**31 - 1),
            "uint": (0, 2**32 - 1), "long": (-(2**63), 2**63 - 1), "ulong": (0, 2**64 - 1)}
UNITS = ["m", "hp/s", "*/", "%", "\\\\"]
SCALARS = list(INTEGERS) + ["float", "double", "bool"]


@dataclasses.dataclass
class Declared:
    """A type that later declarations can use."""
    name: str  # the full name
    kind: str  # struct, table, enum, flags
    values: list


class Drawer:
    """Draws one project: a main schema and the schemas that it includes."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        pools = [CPP, TYPESCRIPT, MACROS, GLOBALS, OWN, PLAIN]
        some = [self.dice.choice(self.dice.choice(pools)) for _ in range(self.dice.choice([3, 5, 8]))]
        self.pool = some + [name + tail for name in some for tail in ("_", "View") if self.dice.random() < 0.3]
        self.taken = set()
        self.structs = set()
        self.spaces = [self.space() for _ in range(self.dice.choice([1, 1, 2, 3]))]

    def project(self):
        """Returns the files as (path, text). Included files come before those that include them."""
        count = self.dice.choice([1, 1, 1, 2, 3])
        stems = [self.dice.choice(STEMS if self.dice.random() < 0.8 else C_STEMS) for _ in range(count)]
        if self.dice.random() < 0.8:
            stems = list(dict.fromkeys(stems))
        paths = [self.dice.choice(["", "", "parts/"]) + stem + ".fbs" for stem in stems[:-1]] + [stems[-1] + ".fbs"]
        paths = list(dict.fromkeys(paths))
        files, visible = [], []
        for at, path in enumerate(paths):
            includes = [other for other in paths[:at] if other == paths[at - 1] or self.dice.random() < 0.5]
            if at + 1 < len(paths) and self.dice.random() < 0.05:
                includes.append(paths[at + 1])
            up = "../" if "/" in path else ""
            files.append((path, self.file([up + each for each in includes], visible)))
        return files

    def file(self, includes, visible):
        lines = [f'include "{each}";' for each in includes] + ['include "schema/muster.fbs";']
        self.dice.shuffle(lines)
        for _ in range(self.dice.choice([1, 2, 4, 7])):
            space = self.dice.choice(self.spaces)
            lines.append(f"namespace {space};")
            lines += self.declaration(space, visible)
        return "\n".join(lines) + "\n"

    def space(self):
        if self.dice.random() < 0.05:
            return ""
        return ".".join(self.name() for _ in range(self.dice.choice([1, 1, 2, 3])))

    def name(self):
        if self.dice.random() < 0.25:
            return self.dice.choice(PLAIN)
        return self.dice.choice(self.pool)

    def names(self, count):
        return list(dict.fromkeys(self.name() for _ in range(count)))

    def doc(self):
        text = self.dice.choice(DOCS) if self.dice.random() < 0.2 else ""
        return [f"///{text}"] if text else []

    def declaration(self, space, visible):
        name = self.name()
        full = f"{space}.{name}" if space else name
        if full in self.taken:
            return []
        self.taken.add(full)
        kind = self.dice.choice(["struct", "struct", "table", "table", "enum", "flags"])
        if kind in ("enum", "flags"):
            return self.doc() + self.enum(full, name, kind, visible)
        self.structs.add(name)
        if kind == "table":
            visible.append(Declared(full, kind, []))
        fields, used = [], []
        for field in self.names(self.dice.choice([1, 2, 4, 8])):
            if field in self.structs | {name} and self.dice.random() < 0.97:  # refused by flatc
                continue
            fields += ["  " + line for line in self.doc()]
            fields.append(f"  {field}:{self.field(kind, visible, used)};")
        if kind == "struct" and not fields:
            fields = ["  x:int;"]
        if kind == "struct":
            visible.append(Declared(full, kind, []))
        roles = ["", "message"] + (["component", "tag", "component, enableable"] if kind == "struct" else [])
        attributes = [self.dice.choice(roles)]
        if attributes[0] and self.dice.random() < 0.1:
            attributes.append(f'was: "{self.dice.choice(["game.Old", "Old", full + "Old"])}"')
        if attributes[0] and attributes[0] != "tag" and self.dice.random() < 0.05:
            attributes.append(f'remote: "{self.dice.choice(["view", "control", "admin"])}"')
        listed = ", ".join(each for each in attributes if each)
        return self.doc() + [f"{kind} {name} {f'({listed})' if listed else ''} {{"] + fields + ["}"]

    def enum(self, full, name, kind, visible):
        unsigned = kind == "flags"
        underlying = self.dice.choice([each for each in INTEGERS if not unsigned or each.startswith("u")])
        high = INTEGERS[underlying][1]
        values, lines, number = [], [], 0
        names = self.names(self.dice.choice([1, 2, 5]))
        for at, value in enumerate(names):
            given = ""
            if kind == "enum" and at and self.dice.random() < 0.3:
                number = min(high - len(names), number + self.dice.choice([1, 7, high]))
                given = f" = {number}"
            lines += self.doc() + [f"  {value}{given}{',' if at + 1 < len(names) else ''}"]
            values.append(value)
            number += 1
        flags = " (bit_flags)" if kind == "flags" else ""
        visible.append(Declared(full, kind, values))
        return [f"enum {name} : {underlying}{flags} {{"] + lines + ["}"]

    def field(self, kind, visible, used):
        """Returns the type of a field, its default, and its attributes."""
        choice = self.dice.random()
        attributes = []
        structs = [each for each in visible if each.kind == "struct"]
        tables = [each for each in visible if each.kind == "table"]
        enums = [each for each in visible if each.kind in ("enum", "flags")]
        if self.dice.random() < 0.08:
            attributes.append(f'unit: "{self.dice.choice(UNITS)}"')
        if self.dice.random() < 0.05:
            attributes.append(f'was: "{self.dice.choice(["older", "old"])}"')
        if choice < 0.25 and structs:
            text = self.dice.choice(structs).name
            if kind == "struct" and self.dice.random() < 0.2:
                text = f"[{text}:{self.dice.choice([1, 3])}]"
            if kind == "table" and self.dice.random() < 0.3:
                text = f"[{text}]"
            elif kind == "table" and self.dice.random() < 0.2:
                attributes.append("required")
        elif choice < 0.5 and enums:
            chosen = self.dice.choice(enums)
            text = chosen.name
            value = self.dice.choice(chosen.values)
            if kind == "struct" and self.dice.random() < 0.5:
                attributes.append(f'default: "{value}"')
            elif kind == "table":
                default = value if "null" in chosen.values else self.dice.choice([value, "null"])
                text = f"[{text}]" if self.dice.random() < 0.2 else f"{text} = {default}"
        elif choice < 0.65 and kind == "table" and tables:
            text = self.dice.choice(tables).name
            text = f"[{text}]" if self.dice.random() < 0.4 else text
        elif choice < 0.75 and kind == "table":
            text = self.dice.choice(["string", "[string]", "[ubyte]", "[bool]", "[double]", "[muster.Entity]"])
            if self.dice.random() < 0.2:
                attributes.append("required")
        elif choice < 0.85:
            text = "muster.Entity" if self.dice.random() < 0.5 else "ulong"
            if text == "ulong":
                attributes.append("text")
        else:
            text = self.dice.choice(SCALARS)
            if text == "bool":
                value = self.dice.choice(["true", "false"])
            elif text in INTEGERS:
                value = str(self.dice.choice([*INTEGERS[text], 1]))
            else:
                value = self.dice.choice(["0.5", "1e30", "-3.25", "nan", "inf"] if self.dice.random() < 0.3 else ["1.5"])
            if kind == "struct" and self.dice.random() < 0.2:
                text = f"[{text}:{self.dice.choice([1, 4])}]"
            if self.dice.random() < 0.5:
                if kind == "struct":
                    attributes.append(f'default: "{value}"')
                else:
                    text += f" = {self.dice.choice([value, value, 'null'])}"
        used.append(text)
        return text + (f" ({', '.join(attributes)})" if attributes else "")
