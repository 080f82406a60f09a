"""Ids of entities, and the hashes that the protocol uses as ids of types, fields and texts."""
import re
from typing import NamedTuple

_ID = re.compile(r"#?([0-9]{1,10}):([0-9]{1,10})")


class Entity(NamedTuple):
    """The id of an entity. `nil` is the id of none, and is false."""

    index: int
    generation: int

    def __bool__(self):
        return self.index != 0 or self.generation != 0

    def __str__(self):
        return f"{self.index}:{self.generation}" if self else "nil"


nil = Entity(0, 0)


def entity_of(text):
    """Returns the entity of a text such as "12:1", "#12:1" or "nil", or None for any other text."""
    if text == "nil":
        return nil
    found = _ID.fullmatch(text)
    if not found or max(int(found[1]), int(found[2])) > 0xffffffff:
        return None
    return Entity(int(found[1]), int(found[2]))


def hash32(text):
    value = 0x811c9dc5
    for byte in text.encode("utf-8"):
        value = (value ^ byte) * 0x01000193 & 0xffffffff
    return value


def hash64(text):
    """The hash of a text. The hash of the empty text is 0."""
    if not text:
        return 0
    value = 0xcbf29ce484222325
    for byte in text.encode("utf-8"):
        value = (value ^ byte) * 0x00000100000001b3 & 0xffffffffffffffff
    return value
