"""Types as a binary schema (.bfbs) describes them. The server sends such schemas; see
docs/schema.md."""
import enum
import keyword
import re

from .errors import Mistaken, ProtocolError
from .flat import Buffer
from .ids import hash32

#: For each of FlatBuffers' numbers: its letter for `struct`, its size, and its name in a schema.
SCALARS = {1: ("B", 1, "ubyte"), 2: ("?", 1, "bool"), 3: ("b", 1, "byte"), 4: ("B", 1, "ubyte"), 5: ("h", 2, "short"),
           6: ("H", 2, "ushort"), 7: ("i", 4, "int"), 8: ("I", 4, "uint"), 9: ("q", 8, "long"), 10: ("Q", 8, "ulong"),
           11: ("f", 4, "float"), 12: ("d", 8, "double")}
BOOL, UBYTE, ULONG, FLOAT, DOUBLE, STRING, VECTOR, OBJECT, ARRAY = 2, 4, 10, 11, 12, 13, 14, 15, 17
STRUCT_BYTES_MAX = 65535
DEPTH_MAX = 32
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def python_name(name, taken):
    """Returns the attribute for a name of a schema. Keywords, and names that Python uses itself,
    get a trailing underscore."""
    if keyword.iskeyword(name) or name.startswith("__") or name == "_type":
        name += "_"
    while name in taken:
        name += "_"
    return name


class Field:
    """One field of a type. `name` is its name in the schema, and `attribute` its name in Python."""

    __slots__ = ("name", "attribute", "slot", "offset", "base", "element", "of", "enum", "length", "default",
                 "attributes", "doc", "required", "optional", "deprecated")

    @property
    def is_text(self):
        return "text" in self.attributes and ULONG in (self.base, self.element)

    @property
    def is_entity(self):
        return self.of is not None and self.of.name == "muster.Entity"

    @property
    def is_inline(self):
        """True for what lies in a table itself: numbers and structs."""
        return self.base in SCALARS or (self.base == OBJECT and self.of.is_struct)

    @property
    def kind(self):
        """The field's type as a schema writes it, such as "float", "[muster.Entity]" or
        "[float:3]"."""
        inner = self.element if self.base in (VECTOR, ARRAY) else self.base
        if self.enum is not None:
            name = self.enum.name
        elif self.of is not None:
            name = self.of.name
        elif self.is_text:
            name = "text"
        else:
            name = "string" if inner == STRING else SCALARS[inner][2]
        if self.base == ARRAY:
            return f"[{name}:{self.length}]"
        return f"[{name}]" if self.base == VECTOR else name


class _Named(enum.IntEnum):
    """The base of enums: str() is the name."""

    def __str__(self):
        return self.name


class _Flags(enum.IntFlag):
    """The base of bit flags."""


class Enum:
    """An enum of a schema. `made` is the enum class in Python."""

    def __init__(self, name, values, bit_flags):
        self.name, self.bit_flags = name, bit_flags
        self.values = dict(values)
        taken, members = set(), []
        for each, number in self.values.items():
            member = python_name(each, taken)
            if member in ("name", "value", "mro") or member.startswith("_"):
                member = "value_" + member.strip("_")
            taken.add(member)
            members.append((member, number))
        self.members = {name: member for name, (member, _) in zip(self.values, members)}
        self.made = (_Flags if bit_flags else _Named)(name.rpartition(".")[2], members, module=__name__)

    def read(self, number):
        """Returns the member for a number, or the number itself if the enum has none."""
        try:
            return self.made(number)
        except ValueError:
            return number

    def number(self, text):
        """Returns the number of a name, or of "fire|ice" for flags. Raises Mistaken."""
        total = 0
        parts = text.split("|") if self.bit_flags else [text]
        for part in parts:
            if part.strip() not in self.values:
                raise Mistaken(f"{self.name} has no value '{part.strip()}'; it has {', '.join(self.values)}")
            total |= self.values[part.strip()]
        return total


class Type:
    """A struct or a table. `cls` is its class in Python (see values.py)."""

    def __init__(self, name):
        self.name, self.id = name, hash32(name)
        self.is_struct, self.align, self.size = True, 1, 0
        self.attributes, self.fields, self.doc = {}, [], ""
        self.depth = None  # of nested structs, once it is known
        self.codec = None

    @property
    def short(self):
        return self.name.rpartition(".")[2]

    @property
    def is_tag(self):
        return "tag" in self.attributes

    @property
    def is_component(self):
        return "component" in self.attributes or self.is_tag

    @property
    def is_message(self):
        return "message" in self.attributes

    @property
    def right(self):
        """The right that is needed to send the message or to write the component: "none", "view",
        "edit" ..."""
        return self.attributes.get("remote") or "edit"

    def field(self, name):
        """Returns the field with this name, in the schema or in Python. Raises Mistaken."""
        for each in self.fields:
            if name in (each.name, each.attribute):
                return each
        names = ", ".join(each.name for each in self.fields)
        raise Mistaken(f"{self.name} has no field '{name}'; it has {names}")

    def layout(self):
        """Describes everything that the bytes depend on."""
        return (self.is_struct, self.size if self.is_struct else 0, [
            (each.name, each.base, each.element, each.length, each.offset if self.is_struct else each.slot,
             each.of.name if each.of else "") for each in self.fields])

    def __repr__(self):
        return f"<type {self.name}>"


def _check_name(name, of):
    """Raises ProtocolError for what cannot be a name in a schema."""
    if not _NAME.fullmatch(name):
        raise ProtocolError(f"'{ascii(name)}' is not the name of {of}")
    return name


def _check_full(name):
    """Checks a name with its namespace."""
    for word in name.split("."):
        _check_name(word, "a type")
    return name


def _attributes(pairs):
    return {pair.string(0): pair.string(1) for pair in pairs}


def _doc(lines):
    return " ".join(line.strip() for line in lines).strip()


def read_schema(data):
    """Returns the types of a binary schema by full name, and its enums. Raises ProtocolError."""
    root = Buffer(memoryview(data)).root()
    enums = []
    for each in root.tables(1):
        name = _check_full(each.string(0))
        values = [(_check_name(value.string(0), f"a value of {name}"), value.scalar(1, "q")) for value in each.tables(1)]
        underlying = each.table(3)
        if underlying is not None and underlying.scalar(0, "B") == ULONG:
            values = [(word, number & 0xffffffffffffffff) for word, number in values]
        enums.append(Enum(name, values, "bit_flags" in _attributes(each.tables(4))))
    objects = root.tables(0)
    types = [Type(_check_full(each.string(0))) for each in objects]
    for made, each in zip(types, objects):
        made.is_struct, made.align, made.size = bool(each.scalar(2, "B")), each.scalar(3, "i"), each.scalar(4, "i")
        made.attributes, made.doc = _attributes(each.tables(5)), _doc(each.strings(6))
        _read_fields(made, each, types, enums)
    for made in types:
        check_struct(made)
    return {made.name: made for made in types}, {each.name: each for each in enums}


def _read_fields(made, object_, types, enums):
    fields = []
    for each in object_.tables(1):
        kind, field = each.table(1), Field()
        if kind is None:
            raise ProtocolError(f"a field of {made.name} has no type")
        index = kind.scalar(2, "i", -1)
        name = _check_name(each.string(0), f"a field of {made.name}")
        field.name, field.slot, field.offset = name, each.scalar(2, "H"), each.scalar(3, "H")
        field.base, field.element, field.length = kind.scalar(0, "B"), kind.scalar(1, "B"), kind.scalar(3, "H")
        is_object = OBJECT in (field.base, field.element)
        within = types if is_object else enums
        if index >= len(within) or (is_object and index < 0):
            raise ProtocolError(f"{made.name}.{field.name} is of a type that the schema lacks")
        field.of = types[index] if is_object else None
        field.enum = enums[index] if not is_object and index >= 0 else None
        field.default = each.scalar(5, "d") if field.base in (FLOAT, DOUBLE) else each.scalar(4, "q")
        if field.base == ULONG:
            field.default &= 0xffffffffffffffff
        field.deprecated, field.required = bool(each.scalar(6, "B")), bool(each.scalar(7, "B"))
        field.optional = bool(each.scalar(11, "B"))
        field.attributes, field.doc = _attributes(each.tables(9)), _doc(each.strings(10))
        inner = field.element if field.base in (VECTOR, ARRAY) else field.base
        if inner not in SCALARS and inner not in (STRING, OBJECT):
            raise ProtocolError(f"{made.name}.{field.name} is of a kind that this client does not know ({inner})")
        fields.append(field)
    fields.sort(key=lambda field: field.slot)
    taken = set()
    for field in fields:
        field.attribute = python_name(field.name, taken)
        taken.add(field.attribute)
    made.fields = fields


def check_struct(made):
    """Returns how deep a struct nests, and raises ProtocolError if its fields do not lie in it one
    after another."""
    if not made.is_struct:
        return 0
    if made.depth is not None:
        if made.depth < 0:
            raise ProtocolError(f"the struct {made.name} contains itself")
        return made.depth
    made.depth = -1
    if not 0 < made.size <= STRUCT_BYTES_MAX or made.align not in (1, 2, 4, 8, 16):
        raise ProtocolError(f"the struct {made.name} has an impossible size or alignment")
    at, depth = 0, 0
    for field in made.fields:
        inner = field.element if field.base == ARRAY else field.base
        if inner == OBJECT and field.of.is_struct:
            depth = max(depth, 1 + check_struct(field.of))
            size = field.of.size
        elif inner in SCALARS:
            size = SCALARS[inner][1]
        else:
            raise ProtocolError(f"{made.name}.{field.name} cannot be in a struct")
        if field.offset < at:
            raise ProtocolError(f"the fields of {made.name} overlap")
        if field.base == ARRAY and field.length == 0:
            raise ProtocolError(f"{made.name}.{field.name} is an array without elements")
        at = field.offset + size * (field.length if field.base == ARRAY else 1)
    if at > made.size or depth > DEPTH_MAX:
        raise ProtocolError(f"the fields of {made.name} exceed its size, or nest too deeply")
    made.depth = depth
    return depth
