"""Finds fields in structs, and computes fingerprints as schema/layout.h describes them."""
from flat import ARRAY, size_of
from session import hash64

KINDS = {2: "boolean", 3: "int8", 4: "uint8", 5: "int16", 6: "uint16", 7: "int32", 8: "uint32", 9: "int64", 10: "uint64",
         11: "float32", 12: "float64"}


def located(types, name, path):
    """The offset and size of a field, such as "slots[1].count"."""
    first, *rest = path.split(".", 1)
    array, *index = first.removesuffix("]").split("[")
    field = next(each for each in types[name].fields if each.name == array)
    base = field.element if field.base == ARRAY else field.base
    size = size_of(types, base, field.of)
    offset = field.offset + (int(index[0]) * size if index else 0)
    if rest:
        inner, size = located(types, field.of, rest[0])
        return offset + inner, size
    return offset, size * (field.length if field.base == ARRAY and not index else 1)


def fingerprint(types, name):
    kind = types[name]
    lines = [f"struct {kind.bytes} {kind.align}" + (" enableable" if "enableable" in kind.attributes else "")]
    for field in sorted(kind.fields, key=lambda field: field.offset):
        base, count = (field.element, field.length) if field.base == ARRAY else (field.base, 1)
        line = KINDS.get(base, "structure")
        line = "entity" if field.of == "muster.Entity" else "text" if "text" in field.attributes else line
        line = f"{field.offset} {line} {count} {field.name}"
        lines.append(line + (f" {fingerprint(types, field.of):016x}" if " structure " in line else ""))
    return hash64("\n".join(lines) + "\n")
