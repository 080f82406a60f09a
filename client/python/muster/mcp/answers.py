"""Answers of tools: short JSON that is never longer than a limit, and that says how to go on."""
import json
import math
import struct

from ..errors import Mistaken
from ..ids import Entity
from ..schema import FLOAT
from ..values import Value, enum_text

#: The most characters of one answer.
CHARACTERS_MAX = 20_000
#: Room that is kept for what surrounds the rows: total, cursor and hint.
AROUND = 600


def short_number(value, is_float):
    """Returns the number that has the fewest digits and is read back as the same value."""
    if not math.isfinite(value):
        return str(value)
    if is_float:
        packed = struct.pack("<f", value)
        value = next(each for each in (float(f"{value:.{digits}g}") for digits in range(6, 10))
                     if struct.pack("<f", each) == packed)
    return int(value) if value.is_integer() and abs(value) < 1e15 and str(value) != "-0.0" else value


def shortest(value):
    """Returns a value as plain() does, if its field is not known."""
    is_float = isinstance(value, float) and abs(value) < 3e38 and struct.unpack("<f", struct.pack("<f", value))[0] == value
    return short_number(value, True) if is_float else plain(value)


def plain(value, field=None):
    """Returns a value as dicts, lists, numbers and texts. Entities become texts such as "12:1"."""
    if isinstance(value, Value):
        return {each.name: plain(getattr(value, each.attribute), each) for each in value._type.fields
                if each.name != "reserved"}
    if isinstance(value, Entity):
        return str(value)
    if isinstance(value, list):
        return [plain(each, field) for each in value]
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, float):
        return short_number(value, field is not None and FLOAT in (field.base, field.element))
    if field is not None and field.enum is not None and isinstance(value, int):
        return enum_text(field.enum, value)
    return value


def text_of(answer):
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def cut(text, length):
    """Returns a text that ends in an ellipsis if it was longer than this."""
    return text if len(text) <= length else text[:length - 1].rstrip() + "…"


def offset_of(cursor):
    """Returns the row at which a cursor says to go on. Raises Mistaken."""
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 9:
        raise Mistaken(f"the cursor {cursor[:40]!r} is not one that this tool has returned; leave it out to begin anew")
    return int(cursor)


def page(head, name, rows, total, offset=0, hint="", limit=CHARACTERS_MAX, less=""):
    """Returns the text of an answer with the rows from `offset` on, as far as they fit.

    `rows` yields them. A row that is too long on its own is shortened. `less` says how to ask for
    less, if there are more."""
    taken, room = [], limit - AROUND - len(text_of(head)) - len(hint) - len(less)
    for row in rows:
        text = text_of(row)
        if len(text) > room:
            if taken:
                break
            row = shortened(row, text, room)
            text = text_of(row)
        taken.append(row)
        room -= len(text) + 1
        if room < 0:
            break
    end = offset + len(taken)
    answer = {**head, name: taken, "total": total}
    if end < total:
        answer["cursor"] = str(end)
        hint = f"{end} of {total}: call again with this cursor for more, or ask for less{less}. {hint}"
    if hint:
        answer["hint"] = hint.strip()
    return text_of(answer)


def shortened(row, text, room):
    """Returns a row that is known by its short members, with the beginning of the rest as a
    text."""
    kept = {name: each for name, each in row.items() if len(text_of(each)) < 200} if isinstance(row, dict) else {}
    if len(text_of(kept)) > room // 2:
        kept = {}
    begin = room
    # Quotes take more room within a text.
    while begin and len(text_of({**kept, "shortened": text[:begin]})) > room:
        begin = begin * 3 // 4
    return {**kept, "shortened": text[:begin]}
