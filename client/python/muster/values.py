"""Values as Python sees them: a class with attributes for each struct and table, and their bytes.

A struct is a row of numbers (its leaves) with gaps, which `struct.Struct` packs at once. A text is
the hash of its content in the bytes, and a `str` in Python."""
import operator
import struct

from .errors import Mistaken, ProtocolError
from .flat import Buffer, Table
from .ids import Entity, entity_of, hash64, nil
from .schema import ARRAY, BOOL, DOUBLE, FLOAT, OBJECT, SCALARS, STRING, UBYTE, VECTOR

_FLOAT_MAX = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


def utf8(text, path):
    """Returns a text's bytes. Raises Mistaken for a lone surrogate, which is no text."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Mistaken(f"{path}: {text!r} contains bytes that are not UTF-8") from None


def shown(value):
    """Describes a value in an error."""
    if isinstance(value, str):
        return f"the text {value!r}"
    if isinstance(value, (bool, int, float)) or value is None:
        return repr(value)
    return f"a value of type {type(value).__name__}"


class Value:
    """The base of the classes of structs and tables. Fields that are not given have the schema's
    defaults."""

    __slots__ = ()
    _type = None

    def __init__(self, /, *fields, **named):
        type_ = self._type
        if len(fields) > len(type_.fields):
            raise Mistaken(f"{type_.name} has {len(type_.fields)} fields, and {len(fields)} values were given")
        given = dict(zip((field.attribute for field in type_.fields), fields))
        for name, value in named.items():
            attribute = type_.field(name).attribute
            if attribute in given:
                raise Mistaken(f"{type_.name}.{name} is given twice")
            given[attribute] = value
        codec = codec_of(type_)
        if len(given) < len(type_.fields):
            codec.fill(self)
        for attribute, value in given.items():
            setattr(self, attribute, value)

    def __eq__(self, other):
        if not isinstance(other, Value) or other._type.name != self._type.name:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None

    def __repr__(self):
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{self._type.short}({inner})"

    def __reduce__(self):
        raise TypeError(f"a value of {self._type.name} cannot be pickled; as_dict() returns its fields")


def as_dict(value):
    """Returns a value as dicts, lists, numbers and texts, by the schema's names. Enum values become
    their names."""
    if isinstance(value, Value):
        return {field.name: _plain(getattr(value, field.attribute), field) for field in value._type.fields}
    return _plain(value, None)


def _plain(value, field):
    if isinstance(value, Value):
        return as_dict(value)
    if isinstance(value, Entity):
        return str(value)
    if isinstance(value, list):
        return [_plain(each, field) for each in value]
    if field is not None and field.enum is not None and isinstance(value, int):
        return enum_text(field.enum, value)
    return value


def enum_text(enum, number):
    """Returns the name of an enum's number, "fire|ice" for flags, or the number if it has no
    name."""
    if enum.bit_flags:
        names = [name for name, each in enum.values.items() if each and int(number) & each == each]
        known = 0
        for name in names:
            known |= enum.values[name]
        return "|".join(names) if names and known == int(number) else int(number)
    return next((name for name, each in enum.values.items() if each == number), int(number))


# ---- one number, entity or text
# -------------------------------------------------------------------


def number_of(base, value, path):
    """Returns a value as a number of this kind. Raises Mistaken, which names the place and what is
    expected."""
    letter, size, name = SCALARS[base]
    if base == BOOL:
        if not isinstance(value, bool):
            raise Mistaken(f"{path}: {shown(value)} is not true or false")
        return value
    if isinstance(value, (bool, str, bytes)) or value is None:
        raise Mistaken(f"{path}: {shown(value)} is not a number; a {name} is expected")
    if base in (FLOAT, DOUBLE):
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise Mistaken(f"{path}: {shown(value)} is not a number; a {name} is expected") from None
        except OverflowError:
            raise Mistaken(f"{path}: {value} does not fit into a {name}") from None
        if base == FLOAT and _FLOAT_MAX < abs(number) < float("inf"):
            raise Mistaken(f"{path}: {value} does not fit into a float")
        return number
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise Mistaken(f"{path}: {shown(value)} is not a whole number; a {name} is expected") from None
    low = -(1 << (8 * size - 1)) if letter.islower() else 0
    high = low + (1 << (8 * size)) - 1
    if not low <= number <= high:
        raise Mistaken(f"{path}: {number} does not fit into a {name} ({low} to {high})")
    return number


def entity_value(value, path):
    if value is None:
        return nil
    if isinstance(value, str):
        found = entity_of(value)
        if found is None:
            raise Mistaken(f"{path}: {value!r} is not the id of an entity, such as '12:1'")
        return found
    entity = getattr(value, "entity", value)  # a row of find() or children() has one
    if isinstance(entity, tuple) and len(entity) == 2 and all(
            isinstance(each, int) and 0 <= each <= 0xffffffff for each in entity):
        return Entity(*entity)
    raise Mistaken(f"{path}: {shown(value)} is not an entity")


def text_value(value, path, texts):
    """Returns the number of a text, and adds the text to `texts`, because the world must know it
    first."""
    if isinstance(value, str):
        utf8(value, path)
        if value:
            texts.add(value)
        return hash64(value)
    if value is None:
        return 0
    # A text that the client has not received is read as its hash, and may be written back.
    if isinstance(value, int) and 0xffffffff < value <= 0xffffffffffffffff:
        return value
    raise Mistaken(f"{path}: {shown(value)} is not a text")


class Leaf:
    """Reads and writes one element of a field: a number, an enum's value, an entity, a text, or a
    struct."""

    def __init__(self, field, base):
        self.field, self.base = field, base
        if base == OBJECT:
            self.form = codec_of(field.of).form
            self.size, self.align = field.of.size, field.of.align
        else:
            self.form, self.size, _ = SCALARS[base]
            self.align = self.size

    def read(self, numbers, words):
        """Takes what it needs from the iterator `numbers`."""
        field = self.field
        if field.is_entity:
            return Entity(next(numbers), next(numbers))
        if self.base == OBJECT:
            return codec_of(field.of).build(numbers, words)
        number = next(numbers)
        if field.is_text:
            return words.get(number, number)
        return field.enum.read(number) if field.enum is not None else number

    def flatten(self, value, out, path, texts):
        field = self.field
        if field.is_entity:
            out.extend(entity_value(value, path))
        elif self.base == OBJECT:
            codec_of(field.of).flatten(value, out, path, texts)
        elif field.is_text:
            out.append(text_value(value, path, texts))
        elif field.enum is not None and isinstance(value, str):
            try:
                out.append(field.enum.number(value))
            except Mistaken as error:
                raise Mistaken(f"{path}: {error}") from None
        else:
            out.append(number_of(self.base, value, path))


class Part:
    """Reads and writes a whole field of a struct, which may be an array."""

    def __init__(self, field):
        self.field = field
        self.leaf = Leaf(field, field.element if field.base == ARRAY else field.base)
        self.count = field.length if field.base == ARRAY else None
        self.size = self.leaf.size * (self.count or 1)
        self.form = self.leaf.form * (self.count or 1)

    def read(self, numbers, words):
        if self.count is None:
            return self.leaf.read(numbers, words)
        return [self.leaf.read(numbers, words) for _ in range(self.count)]

    def flatten(self, value, out, path, texts):
        if self.count is None:
            return self.leaf.flatten(value, out, path, texts)
        if isinstance(value, bytes) and self.leaf.base == UBYTE and len(value) == self.count and not self.field.enum:
            out.extend(value)
            return
        values = list(value) if not isinstance(value, (str, bytes, dict)) and hasattr(value, "__iter__") else None
        if values is None or len(values) != self.count:
            found = shown(value) if values is None else f"{len(values)}"
            raise Mistaken(f"{path}: {self.count} values are expected, and {found} was given")
        for i, each in enumerate(values):
            self.leaf.flatten(each, out, f"{path}[{i}]", texts)


# ---- whole types
# ----------------------------------------------------------------------------------


def codec_of(type_):
    if type_.codec is None:
        type_.codec = StructCodec(type_) if type_.is_struct else TableCodec(type_)
    return type_.codec


def _class_of(type_):
    names = tuple(field.attribute for field in type_.fields)
    doc = type_.doc or f"{type_.name}, a {'struct' if type_.is_struct else 'table'} of the world's schema."
    return type(type_.short, (Value,), {"__slots__": names, "_type": type_, "__doc__": doc, "__module__": "muster.types"})


class StructCodec:
    def __init__(self, type_):
        self.type, self.cls = type_, _class_of(type_)
        self.parts, form, at = [], "", 0
        for field in type_.fields:
            part = Part(field)
            form += "x" * (field.offset - at) + part.form
            at = field.offset + part.size
            self.parts.append(part)
        self.form = form + "x" * (type_.size - at)
        self.packed = struct.Struct("<" + self.form)
        self._defaults = None

    def defaults(self):
        """Returns the leaves of a value that has only defaults. A text is a `str` there."""
        if self._defaults is None:
            leaves = []
            for part in self.parts:
                leaves.extend(_default_leaves(part))
            self._defaults = leaves
        return self._defaults

    def fill(self, value):
        numbers = iter(self.defaults())
        for part in self.parts:
            setattr(value, part.field.attribute, part.read(numbers, {}))

    def build(self, numbers, words):
        value = self.cls.__new__(self.cls)
        for part in self.parts:
            setattr(value, part.field.attribute, part.read(numbers, words))
        return value

    def read(self, data, at, words):
        try:
            leaves = self.packed.unpack_from(data, at)
        except struct.error:
            raise ProtocolError(f"a value of {self.type.name} exceeds its {len(data)} bytes") from None
        return self.build(iter(leaves), words)

    def flatten(self, value, out, path, texts):
        type_ = self.type
        if isinstance(value, Value):
            if value._type.name != type_.name:
                raise Mistaken(f"{path}: a value of {value._type.name} is not one of {type_.name}")
            if value._type is not type_ and value._type.layout() != type_.layout():
                raise Mistaken(f"{path}: {type_.name} has another layout in this world")
        elif isinstance(value, dict):
            value = self.cls(**{str(name): each for name, each in value.items()})
        elif isinstance(value, (list, tuple)) and not isinstance(value, Entity):
            names = [field.name for field in type_.fields]
            if len(value) != len(names):
                raise Mistaken(f"{path}: {len(names)} values are expected ({', '.join(names)}), and {len(value)} were given")
            value = self.cls(*value)
        else:
            names = ", ".join(field.name for field in type_.fields)
            raise Mistaken(f"{path}: {shown(value)} is not a {type_.short} with the fields {names}")
        for part in self.parts:
            field = part.field
            part.flatten(getattr(value, field.attribute), out, f"{path}.{field.name}", texts)

    def write(self, value, texts):
        """Returns the bytes of a value. Raises Mistaken. Adds to `texts` the texts that it refers
        to."""
        out = []
        self.flatten(value, out, self.type.name, texts)
        return self.packed.pack(*out)


def _default_leaves(part):
    """Returns the leaves of a field's default. docs/schema.md describes the text of a default."""
    field, count = part.field, part.count or 1
    if field.is_entity:
        return [0, 0] * count
    given = field.attributes.get("default")
    if field.is_text:
        return [given or ""] * count
    kinds = _leaf_fields(part)
    if given is None:
        if field.of is not None:
            return codec_of(field.of).defaults() * count
        return [False if part.leaf.base == BOOL else 0] * count
    words = [each.strip() for each in given.split(",")]
    if len(words) == 1 and field.of is None:
        words *= count
    if len(words) * count == len(kinds):
        words *= count
    if len(words) != len(kinds):
        raise ProtocolError(f"the default of {field.name} has {len(words)} values, not {len(kinds)}")
    return [_default_leaf(word, base, enum) for word, (base, enum) in zip(words, kinds)]


def _leaf_fields(part):
    if part.leaf.base != OBJECT:
        return [(part.leaf.base, part.field.enum)] * (part.count or 1)
    return [leaf for each in codec_of(part.field.of).parts for leaf in _leaf_fields(each)] * (part.count or 1)


def _default_leaf(word, base, enum):
    try:
        if base == BOOL:
            return word in ("true", "1")
        if base in (FLOAT, DOUBLE):
            return float(word)
        if enum is None:
            return int(word, 0)
        total = 0
        for name in word.split("|"):
            total |= enum.values[name.strip()] if name.strip() in enum.values else int(name, 0)
        return total
    except ValueError:
        raise ProtocolError(f"the default '{word}' of a field is not a number") from None


class TableCodec:
    def __init__(self, type_):
        self.type, self.cls = type_, _class_of(type_)
        self.leaves = {}  # by slot, of what has numbers
        for field in type_.fields:
            inner = field.element if field.base == VECTOR else field.base
            if inner in SCALARS or (inner == OBJECT and field.of.is_struct):
                self.leaves[field.slot] = Leaf(field, inner)

    def fill(self, value):
        for field in self.type.fields:
            setattr(value, field.attribute, self._absent(field))

    @staticmethod
    def _absent(field):
        if field.base == STRING:
            return ""
        if field.base == VECTOR:
            return b"" if field.element == UBYTE and field.enum is None else []
        if field.is_entity:
            return nil
        if field.base == OBJECT or field.optional:
            return None
        if field.base == BOOL:
            return bool(field.default)
        return field.enum.read(field.default) if field.enum is not None else field.default

    def read(self, data, words):
        """Reads a whole FlatBuffer. Raises ProtocolError."""
        return self.read_table(Buffer(data).root(), words)

    def read_table(self, table, words):
        value, buffer = self.cls.__new__(self.cls), table.buffer
        for field in self.type.fields:
            at = table.place(field.slot)
            if at is None:
                read = self._absent(field)
            elif field.base == STRING:
                read = buffer.string(at)
            elif field.base == VECTOR:
                read = self._read_vector(field, table, at, words)
            elif field.base == OBJECT and not field.of.is_struct:
                read = codec_of(field.of).read_table(table.below(at), words)
            else:
                leaf = self.leaves[field.slot]
                read = leaf.read(iter(_unpack(leaf.form, buffer, at)), words)
            setattr(value, field.attribute, read)
        return value

    def _read_vector(self, field, table, at, words):
        buffer = table.buffer
        if field.element == STRING or (field.element == OBJECT and not field.of.is_struct):
            begin, count = buffer.vector(at, 4)
            places = range(begin, begin + 4 * count, 4)
            if field.element == STRING:
                return [buffer.string(each) for each in places]
            return [codec_of(field.of).read_table(table.below(each), words) for each in places]
        leaf = self.leaves[field.slot]
        begin, count = buffer.vector(at, leaf.size)
        if field.element == UBYTE and field.enum is None:
            return bytes(buffer.data[begin:begin + count])
        if field.is_entity:
            numbers = _unpack(f"{2 * count}I", buffer, begin)
            return [Entity(numbers[i], numbers[i + 1]) for i in range(0, 2 * count, 2)]
        if field.element == OBJECT:
            return [codec_of(field.of).read(buffer.data, begin + i * leaf.size, words) for i in range(count)]
        numbers = iter(_unpack(f"{count}{leaf.form}", buffer, begin))
        return [leaf.read(numbers, words) for _ in range(count)]

    # -- writing

    def write(self, value, texts):
        """Returns a whole FlatBuffer, to be laid where 8 divides the address."""
        out = bytearray(4)
        struct.pack_into("<I", out, 0, self._write_table(value, out, self.type.name, texts))
        return bytes(out)

    def _write_table(self, value, out, path, texts):
        if isinstance(value, dict):
            value = self.cls(**{str(name): each for name, each in value.items()})
        if not isinstance(value, Value) or value._type.name != self.type.name:
            raise Mistaken(f"{path}: {shown(value)} is not a {self.type.short}")
        present = []
        for field in self.type.fields:
            if field.deprecated:
                continue
            each = getattr(value, field.attribute)
            if each is None or (not field.required and (field.base in (STRING, VECTOR) or field.is_entity)
                                and not _has_parts(each, field, path)):
                if each is None and field.required:
                    raise Mistaken(f"{path}.{field.name} is required")
                continue
            present.append((field, each))
        slots = 1 + max((field.slot for field, _ in present), default=-1)
        places, end = {}, 4
        for field, _ in present:
            leaf = self.leaves.get(field.slot) if field.is_inline else None
            size, align = (leaf.size, leaf.align) if leaf else (4, 4)
            end = _padded(end, min(align, 8))
            places[field.slot] = end
            end += size
        vtable_bytes = 4 + 2 * slots
        # The table begins where 8 divides the address, so every field of it is aligned.
        at = _padded(len(out) + vtable_bytes, 8)
        out.extend(bytes(at - vtable_bytes - len(out)))
        out.extend(struct.pack(f"<HH{slots}H", vtable_bytes, end, *(places.get(i, 0) for i in range(slots))))
        out.extend(bytes(end))
        struct.pack_into("<i", out, at, vtable_bytes)
        for field, each in present:
            begin, where = at + places[field.slot], f"{path}.{field.name}"
            if field.is_inline:
                leaf, numbers = self.leaves[field.slot], []
                leaf.flatten(each, numbers, where, texts)
                struct.pack_into("<" + leaf.form, out, begin, *numbers)
            else:
                child = self._write_child(field, each, out, where, texts)
                struct.pack_into("<I", out, begin, child - begin)
        return at

    def _write_child(self, field, value, out, path, texts):
        if field.base == STRING:
            return _write_string(value, out, path)
        if field.base == OBJECT:
            return codec_of(field.of)._write_table(value, out, path, texts)
        if field.element == UBYTE and isinstance(value, (bytes, bytearray, memoryview)):
            out.extend(bytes(-len(out) % 4))
            at = len(out)
            out.extend(struct.pack("<I", len(value)))
            out.extend(value)
            return at
        values = list(value)
        leaf = self.leaves.get(field.slot)
        step, align = (leaf.size, max(4, leaf.align)) if leaf else (4, 4)
        out.extend(bytes(_padded(len(out) + 4, align) - 4 - len(out)))
        at = len(out)
        out.extend(struct.pack("<I", len(values)))
        if leaf:
            numbers = []
            for i, each in enumerate(values):
                leaf.flatten(each, numbers, f"{path}[{i}]", texts)
            out.extend(struct.pack("<" + leaf.form * len(values), *numbers))
            return at
        out.extend(bytes(4 * len(values)))
        for i, each in enumerate(values):
            where = f"{path}[{i}]"
            child = _write_string(each, out, where) if field.element == STRING \
                else codec_of(field.of)._write_table(each, out, where, texts)
            struct.pack_into("<I", out, at + 4 + 4 * i, child - (at + 4 + 4 * i))
        return at


def _padded(at, align):
    return (at + align - 1) // align * align


def _unpack(form, buffer, at):
    try:
        return struct.unpack_from("<" + form, buffer.data, at)
    except struct.error:
        raise ProtocolError(f"a FlatBuffer of {len(buffer.data)} bytes refers to byte {at}") from None


def _has_parts(value, field, path):
    """Returns False for an empty string or vector and for nil, which need not be written."""
    if field.is_entity and field.base != VECTOR:
        return bool(entity_value(value, path))
    if field.base == STRING:
        if not isinstance(value, str):
            raise Mistaken(f"{path}.{field.name}: {shown(value)} is not a text")
        return bool(value)
    if isinstance(value, (str, dict)) or not hasattr(value, "__len__"):
        raise Mistaken(f"{path}.{field.name}: {shown(value)} is not a list")
    return len(value) > 0


def _write_string(value, out, path):
    if not isinstance(value, str):
        raise Mistaken(f"{path}: {shown(value)} is not a text")
    data = utf8(value, path)
    out.extend(bytes(-len(out) % 4))
    at = len(out)
    out.extend(struct.pack("<I", len(data)) + data + b"\0")
    return at


# ---- a part of a struct
# ---------------------------------------------------------------------------


class Place:
    """A part of a struct that a path names, such as "position.x" or "slots[2].count"."""

    def __init__(self, type_, path):
        self.type, self.path = type_, path
        reader, offset, names, within = None, 0, [], type_
        for word in path.split("."):
            name, bracket, index = word.partition("[")
            if within is None:
                raise Mistaken(f"{type_.name}.{'.'.join(names)} has no fields")
            field = within.field(name)
            part = next(each for each in codec_of(within).parts if each.field is field)
            offset, reader = offset + field.offset, part
            if bracket:
                digits = index[:-1]
                if not index.endswith("]") or not digits.isascii() or not digits.isdigit():
                    raise Mistaken(f"'{path}' is not the path of a field")
                if part.count is None or int(digits) >= part.count:
                    raise Mistaken(f"{type_.name}.{path}: {field.name} has no element {digits}")
                offset, reader = offset + int(digits) * part.leaf.size, part.leaf
            names.append(field.name + (f"[{int(index[:-1])}]" if bracket else ""))
            is_one = isinstance(reader, Leaf) or reader.count is None
            within = field.of if is_one and field.of is not None and not field.is_entity else None
        self.path, self.offset, self.reader, self.size = ".".join(names), offset, reader, reader.size
        self.packed = struct.Struct("<" + reader.form)

    def write(self, value, texts):
        numbers = []
        self.reader.flatten(value, numbers, f"{self.type.name}.{self.path}", texts)
        return self.packed.pack(*numbers)

    def read(self, data, words):
        """Reads the part from its own bytes."""
        return self.reader.read(iter(self.packed.unpack(data)), words)
