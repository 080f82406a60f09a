"""FlatBuffers without a library: binary schemas (.bfbs) are read into types, structs and tables are dicts.

Fields that are left out of a dict are zero in a struct, absent in a table. Vectors of ubyte are bytes."""
import dataclasses
import struct

SCALARS = {1: "B", 2: "?", 3: "b", 4: "B", 5: "h", 6: "H", 7: "i", 8: "I", 9: "q", 10: "Q", 11: "f", 12: "d"}
UBYTE, STRING, VECTOR, OBJECT, ARRAY = 4, 13, 14, 15, 17


@dataclasses.dataclass
class Field:
    name: str
    slot: int
    offset: int  # in a struct
    base: int
    element: int
    of: str  # the full name, where it is made of a struct or table
    length: int  # of an array
    default: int | float
    attributes: dict


@dataclasses.dataclass
class Type:
    name: str
    is_struct: bool
    align: int
    bytes: int
    attributes: dict
    fields: list


def padded(at, align):
    return (at + align - 1) // align * align


# ---- tables without a schema, as which a binary schema itself is read ----------------------------------------------


class Table:
    def __init__(self, data, at):
        self.data, self.at = data, at
        self.vtable = at - struct.unpack_from("<i", data, at)[0]

    def place(self, slot):
        """Where field number `slot` lies; None where it is absent."""
        entry = 4 + 2 * slot
        if entry >= struct.unpack_from("<H", self.data, self.vtable)[0]:
            return None
        offset = struct.unpack_from("<H", self.data, self.vtable + entry)[0]
        return self.at + offset if offset else None

    def scalar(self, slot, form, default=0):
        at = self.place(slot)
        return default if at is None else struct.unpack_from("<" + form, self.data, at)[0]

    def table(self, slot):
        at = self.place(slot)
        return None if at is None else Table(self.data, follow(self.data, at))

    def string(self, slot):
        at = self.place(slot)
        return "" if at is None else string_at(self.data, at)

    def tables(self, slot):
        at = self.place(slot)
        if at is None:
            return []
        begin, count = vector_at(self.data, at)
        return [Table(self.data, follow(self.data, begin + 4 * i)) for i in range(count)]


def root(data):
    return Table(data, follow(data, 0))


def follow(data, at):
    return at + struct.unpack_from("<I", data, at)[0]


def vector_at(data, at):
    at = follow(data, at)
    return at + 4, struct.unpack_from("<I", data, at)[0]


def string_at(data, at):
    begin, count = vector_at(data, at)
    return bytes(data[begin:begin + count]).decode()


def read_schema(data):
    """The types of a binary schema, by full name."""
    objects = root(data).tables(0)
    names = [each.string(0) for each in objects]
    types = {}
    for each in objects:
        fields = []
        for field in each.tables(1):
            kind = field.table(1)
            index = kind.scalar(2, "i", -1)
            base, element = kind.scalar(0, "B"), kind.scalar(1, "B")
            default = field.scalar(5, "d") if base in (11, 12) else field.scalar(4, "q")
            of = names[index] if index >= 0 and OBJECT in (base, element) else ""
            fields.append(Field(field.string(0), field.scalar(2, "H"), field.scalar(3, "H"), base, element, of,
                                kind.scalar(3, "H"), default, attributes(field.tables(9))))
        fields.sort(key=lambda field: field.slot)
        types[each.string(0)] = Type(each.string(0), bool(each.scalar(2, "B")), each.scalar(3, "i"), each.scalar(4, "i"),
                                     attributes(each.tables(5)), fields)
    return types


def attributes(pairs):
    return {pair.string(0): pair.string(1) for pair in pairs}


# ---- values -------------------------------------------------------------------------------------------------------------


def align_of(types, base, of):
    if base == OBJECT:
        return types[of].align
    return struct.calcsize(SCALARS[base])


def size_of(types, base, of):
    return types[of].bytes if base == OBJECT else struct.calcsize(SCALARS[base])


def read_part(types, base, of, data, at):
    """A scalar or a struct where it lies."""
    if base == OBJECT:
        return read_struct(types, of, data, at)
    return struct.unpack_from("<" + SCALARS[base], data, at)[0]


def read_struct(types, name, data, at=0):
    value = {}
    for field in types[name].fields:
        begin = at + field.offset
        if field.base == ARRAY:
            step = size_of(types, field.element, field.of)
            value[field.name] = [read_part(types, field.element, field.of, data, begin + i * step)
                                 for i in range(field.length)]
        else:
            value[field.name] = read_part(types, field.base, field.of, data, begin)
    return value


def write_part(types, base, of, value, out, at):
    if base == OBJECT:
        write_struct(types, of, value, out, at)
    else:
        struct.pack_into("<" + SCALARS[base], out, at, value)


def write_struct(types, name, value, out, at):
    unknown = set(value) - {field.name for field in types[name].fields}
    assert not unknown, f"{name} has no {unknown}"
    for field in types[name].fields:
        if field.name not in value:
            continue
        part, begin = value[field.name], at + field.offset
        if field.base == ARRAY:
            step = size_of(types, field.element, field.of)
            for i, each in enumerate(part):
                write_part(types, field.element, field.of, each, out, begin + i * step)
        else:
            write_part(types, field.base, field.of, part, out, begin)


def struct_bytes(types, name, value):
    out = bytearray(types[name].bytes)
    write_struct(types, name, value, out, 0)
    return bytes(out)


def is_table(types, of):
    return not types[of].is_struct


def read_table(types, name, data):
    """The root of a FlatBuffer. Strings and vectors that are absent are empty, structs and tables None."""
    return read_table_at(types, name, root(data))


def read_table_at(types, name, table):
    data, value = table.data, {}
    for field in types[name].fields:
        at = table.place(field.slot)
        if field.base == STRING:
            value[field.name] = "" if at is None else string_at(data, at)
        elif field.base == VECTOR:
            value[field.name] = b"" if at is None and field.element == UBYTE else [] if at is None \
                else read_vector(types, field, data, at)
        elif at is None:
            value[field.name] = None if field.base == OBJECT else field.default
        elif field.base == OBJECT and is_table(types, field.of):
            value[field.name] = read_table_at(types, field.of, Table(data, follow(data, at)))
        else:
            value[field.name] = read_part(types, field.base, field.of, data, at)
    return value


def read_vector(types, field, data, at):
    begin, count = vector_at(data, at)
    if field.element == UBYTE:
        return bytes(data[begin:begin + count])
    if field.element == STRING:
        return [string_at(data, begin + 4 * i) for i in range(count)]
    if field.element == OBJECT and is_table(types, field.of):
        return [read_table_at(types, field.of, Table(data, follow(data, begin + 4 * i))) for i in range(count)]
    step = size_of(types, field.element, field.of)
    return [read_part(types, field.element, field.of, data, begin + i * step) for i in range(count)]


def table_bytes(types, name, value):
    """A whole FlatBuffer; to be laid where 8 divides the address."""
    out = bytearray(4)
    struct.pack_into("<I", out, 0, write_table(types, name, value, out))
    return bytes(out)


def is_inline(types, field):
    return field.base in SCALARS or field.base == OBJECT and not is_table(types, field.of)


def write_table(types, name, value, out):
    """Appends it, and what it refers to behind it; where it lies."""
    unknown = set(value) - {field.name for field in types[name].fields}
    assert not unknown, f"{name} has no {unknown}"
    present = [field for field in types[name].fields if value.get(field.name) is not None]
    slots = 1 + max((field.slot for field in present), default=-1)
    places, end = {}, 4
    for field in present:
        align = align_of(types, field.base, field.of) if is_inline(types, field) else 4
        places[field.name] = padded(end, align)
        end = places[field.name] + (size_of(types, field.base, field.of) if is_inline(types, field) else 4)
    vtable_bytes = 4 + 2 * slots
    # The table begins where 8 divides the address, so that every field of it is aligned.
    at = padded(len(out) + vtable_bytes, 8)
    out.extend(bytes(at - vtable_bytes - len(out)))
    offsets = [0] * slots
    for field in present:
        offsets[field.slot] = places[field.name]
    out.extend(struct.pack(f"<HH{slots}H", vtable_bytes, end, *offsets))
    out.extend(bytes(end))
    struct.pack_into("<i", out, at, vtable_bytes)
    for field in present:
        begin = at + places[field.name]
        if is_inline(types, field):
            write_part(types, field.base, field.of, value[field.name], out, begin)
        else:
            child = write_child(types, field, value[field.name], out)
            struct.pack_into("<I", out, begin, child - begin)
    return at


def write_child(types, field, value, out):
    if field.base == STRING:
        return write_string(value, out)
    if field.base == OBJECT:
        return write_table(types, field.of, value, out)
    refers = field.element == STRING or field.element == OBJECT and is_table(types, field.of)
    align = 4 if refers else max(4, align_of(types, field.element, field.of))
    step = 4 if refers else size_of(types, field.element, field.of)
    out.extend(bytes(padded(len(out) + 4, align) - 4 - len(out)))
    at = len(out)
    out.extend(struct.pack("<I", len(value)) + bytes(step * len(value)))
    for i, each in enumerate(value):
        begin = at + 4 + i * step
        if refers:
            child = write_string(each, out) if field.element == STRING else write_table(types, field.of, each, out)
            struct.pack_into("<I", out, begin, child - begin)
        else:
            write_part(types, field.element, field.of, each, out, begin)
    return at


def write_string(text, out):
    out.extend(bytes(padded(len(out), 4) - len(out)))
    at = len(out)
    data = text.encode()
    out.extend(struct.pack("<I", len(data)) + data + b"\0")
    return at
