"""Conditions on the values of components, such as "Health.value<10 and Unit.team=red"."""
import operator
import re
import struct

from ..errors import Mistaken
from ..ids import entity_of
from ..schema import ARRAY, BOOL, DOUBLE, FLOAT

EXAMPLE = "a condition such as Health.value<10, or several that are joined by and"
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "==": operator.eq,
            "!=": operator.ne}
_ONE = re.compile(r"""\s*(?P<path>[A-Za-z_][\w.\[\]]*)\s*(?P<how><=|>=|!=|==|[=<>~])\s*
                  (?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'<>=~!]+)\s*""", re.VERBOSE)
_JOIN = re.compile(r"(?P<word>and|or|&&|\|\||,)(?:\s|$)|(?P<end>$)", re.IGNORECASE)


class Condition:
    """One comparison of a part of a component (values.Place) with a value."""

    def __init__(self, type_, place, how, is_met):
        self.type, self.place, self.how, self._is_met = type_, place, how, is_met

    def holds(self, data, words):
        """Returns True if the bytes of the component meet the condition."""
        begin = self.place.offset
        return self._is_met(self.place.read(data[begin:begin + self.place.size], words))


def read_conditions(text, place_of, entity):
    """Returns the conditions of a text. `place_of` returns the component and the Place that a path
    names, and `entity` the entity that a name or a path names. Raises Mistaken."""
    found, at = [], 0
    while True:
        one = _ONE.match(text, at)
        if one is None:
            raise Mistaken(f"where: {_rest(text, at)} is not {EXAMPLE}")
        found.append(_condition(one["path"], one["how"], one["value"], place_of, entity))
        joined = _JOIN.match(text, one.end())
        if joined is None:
            raise Mistaken(f"where: {_rest(text, one.end())} is not expected after a condition; a value with spaces needs quotes")
        if joined["end"] is not None:
            return found
        if joined["word"].lower() not in ("and", "&&"):
            raise Mistaken(f"where: conditions are joined only by and, not by '{joined['word']}'; call once for each alternative")
        at = joined.end()


def _rest(text, at):
    rest = text[at:].strip()
    return f"'{rest[:60]}{'…' if len(rest) > 60 else ''}'" if rest else "the end of the text" if text.strip() else "an empty text"


def _condition(path, how, value, place_of, entity):
    type_, place = place_of(path)
    said = f"where: {path}"
    if place is None:
        names = ", ".join(each.name for each in type_.fields) or "no fields"
        raise Mistaken(f"{said} is a whole component, and a field of it is expected; it has {names}")
    field, is_text = place.reader.field, value[0] in "\"'"
    if is_text:
        value = re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] == '"' else value[1:-1]
    if getattr(place.reader, "count", None) is not None or (field.of is not None and not field.is_entity):
        raise Mistaken(f"{said} has several values; name one of them, such as {path}{_part_of(place)}")
    try:
        return Condition(type_, place, how, _test_of(field, how, value, entity))
    except Mistaken as error:
        raise Mistaken(f"{said}: {error}") from None


def _part_of(place):
    return "[0]" if getattr(place.reader, "count", None) is not None else f".{place.reader.field.of.fields[0].name}"


def _test_of(field, how, value, entity):
    """Returns a function that says of a value whether it meets a condition. Raises Mistaken."""
    if field.is_text:
        return _text_test(how, value)
    if field.is_entity:
        wanted = entity_of(value)
        if wanted is None:
            wanted = entity(value)
        return _equality(how, wanted, "an entity")
    if field.enum is not None:
        wanted = field.enum.number(value) if not _is_number(value) else int(float(value))
        if field.enum.bit_flags and how == "~":
            return lambda found: int(found) & wanted == wanted
        return _equality(how, wanted, "an enum")
    base = field.element if field.base == ARRAY else field.base
    if base == BOOL:
        if value not in ("true", "false"):
            raise Mistaken(f"'{value}' is not true or false")
        return _equality(how, value == "true", "true or false")
    if how == "~":
        raise Mistaken("~ is for texts; compare a number with <, <=, =, !=, >= or >")
    if not _is_number(value):
        raise Mistaken(f"'{value}' is not a number")
    compare = _COMPARE[how]
    wanted = _nearest(float(value), base) if base in (FLOAT, DOUBLE) or not _is_whole(value) else int(value)
    return lambda found: compare(found, wanted)


def _text_test(how, value):
    if how == "~":
        part = value.lower()
        return lambda found: isinstance(found, str) and part in found.lower()
    return _equality(how, value, "a text")


def _equality(how, wanted, what):
    if how not in ("=", "==", "!="):
        raise Mistaken(f"{what} is compared with = or !=" + (", or with ~ for a part of it" if what == "a text" else ""))
    compare = _COMPARE[how]
    return lambda found: compare(found, wanted)


def _is_number(text):
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def _is_whole(text):
    return re.fullmatch(r"[+-]?\d+", text) is not None


def _nearest(number, base):
    """Returns the number that a field holds after this one was written to it."""
    if base != FLOAT or abs(number) > 3.4e38:
        return number
    return struct.unpack("<f", struct.pack("<f", number))[0]
