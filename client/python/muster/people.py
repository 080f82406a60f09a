"""Presence: the users who are in the world, and their selections. The world does not know of it."""
from typing import NamedTuple, Optional

from .core import Wait
from .values import entity_value


class Camera(NamedTuple):
    """The place of a camera, and the point at which it looks, as triples of numbers."""

    position: tuple
    target: tuple


class Person(NamedTuple):
    """One session. `locks` are the entities that others should leave alone for now.

    `gone` is true once the session has left. `camera` is None if the program has none."""

    session: int
    user: int
    name: str
    kind: str
    gone: bool
    selection: list
    dragged: list
    locks: list
    camera: Optional[Camera]


def person_of(present):
    numbers = tuple(present.camera)
    camera = Camera(numbers[:3], numbers[3:]) if len(numbers) == 6 else None
    return Person(present.session, present.user, present.name, present.kind, present.gone, present.selection,
                  present.dragged, present.locks, camera)


class People:
    """Who is there. Iterating it yields a list of those who have come, done something else or left.

    `here` has all by the numbers of their sessions, this session included."""

    def __init__(self, session):
        self._session, self._core = session, session.core
        self._stream, self.here, self._resumed = None, {}, 0

    async def _open(self):
        self._stream = self._core.follow("Presence", every=True)
        self._resumed = self._core.resumed
        for person in await self._session.presence(_follow=1):
            self.here[person.session] = person

    async def next(self, timeout=None):
        """Waits for the next change, for `timeout` seconds at most. Returns None if there was
        none."""
        while True:
            if self._resumed != self._core.resumed:
                changed = await self._look_again()
                if changed:
                    return changed
            frame = self._stream.take()
            if frame is not None:
                break
            if not await Wait((self._stream,), timeout):
                return None
        changed = [person_of(each) for each in frame.batch.message(0, self._core.words).people]
        for person in changed:
            if person.gone:
                self.here.pop(person.session, None)
            else:
                self.here[person.session] = person
        return changed

    async def _look_again(self):
        """Returns what has changed, after the session was resumed."""
        self._resumed = self._core.resumed
        before, self.here = self.here, {}
        for person in await self._session.presence(_follow=1):
            self.here[person.session] = person
        changed = [each for each in self.here.values() if before.get(each.session) != each]
        return changed + [each._replace(gone=True, selection=[], dragged=[], locks=[], camera=None)
                          for number, each in before.items() if number not in self.here]

    async def close(self):
        """Ends the iteration. Waits for nothing."""
        self._core.unfollow("Presence")

    def locked(self, entity):
        """Returns the other person who has locked an entity, or None."""
        entity = entity_value(entity, "locked()")
        own = self._core.welcome.session
        return next((each for each in self.here.values() if each.session != own and entity in each.locks), None)
