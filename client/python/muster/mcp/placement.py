"""Where an entity is in the world: its scene.Transform, multiplied by those of its ancestors."""
import itertools

from ..errors import Refused
from .answers import short_number

TRANSFORM, SHAPE = "scene.Transform", "scene.Shape"
#: Ancestors that are asked for at most.
DEPTH_MAX = 64


class Placement:
    """Reads the ancestors of entities, each of them once."""

    def __init__(self, world):
        self._world, self._known = world, {}

    def of(self, shown):
        """Returns the position of a shown entity in the world, and between which corners its Shape
        lies. Returns None if the entity has no Transform, or if its own values say as much."""
        if TRANSFORM not in shown.components:
            return None
        above = self._above(shown.parent)
        if above is None or (not above and SHAPE not in shown.components):
            return None
        place = [shown.components[TRANSFORM], *above]
        found = {"position": _short(_moved((0, 0, 0), place))}
        if SHAPE in shown.components:
            corners = [_moved(each, place) for each in _corners(shown.components[SHAPE])]
            found.update(min=_short(map(min, zip(*corners))), max=_short(map(max, zip(*corners))))
        return found

    def _above(self, entity):
        """Returns the Transforms of an entity and its ancestors, or None if one of them cannot be
        seen."""
        found = []
        for _ in range(DEPTH_MAX):
            if not entity:
                return found
            if entity not in self._known:
                try:
                    shown = self._world.show(entity)
                except Refused:
                    return None
                self._known[entity] = shown.parent, shown.components.get(TRANSFORM)
            entity, transform = self._known[entity]
            if transform is not None:
                found.append(transform)
        return None


def _moved(point, transforms):
    """Returns a point after it was scaled, rotated and moved by each Transform."""
    for each in transforms:
        turn = each.rotation
        scaled = [part * factor for part, factor in zip(point, (each.scale.x, each.scale.y, each.scale.z))]
        axis = (turn.x, turn.y, turn.z)
        once = [2 * part for part in _cross(axis, scaled)]
        twice = _cross(axis, once)
        offset = (each.position.x, each.position.y, each.position.z)
        point = [sum(parts) for parts in zip(scaled, (turn.w * part for part in once), twice, offset)]
    return point


def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _corners(shape):
    ranges = [(center - size / 2, center + size / 2) for center, size in
              ((shape.center.x, shape.size.x), (shape.center.y, shape.size.y), (shape.center.z, shape.size.z))]
    return itertools.product(*ranges)


def _short(point):
    """Returns a point to a tenth of a millimeter."""
    return [short_number(round(each, 4) + 0.0, False) for each in point]
