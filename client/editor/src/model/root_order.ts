// The order of the entities at the top of the tree. The world orders them by their ids; those that
// were moved have a scene.RootOrder.
import { id_text } from 'muster-client';
import type { Entity, StructValue } from 'muster-client';

import type { Operation } from './operations.js';

export const root_order = 'scene.RootOrder';

/** Returns the place of a root with this value of scene.RootOrder. */
export function root_place(entity: Entity, value: StructValue | undefined): number {
  return value ? (value.place as number) : entity.index;
}

/**
 * Returns what moves roots before another one, or to the end without one. `roots` are all roots in
 * their order, which may contain the moved ones; `place` returns their places.
 */
export function moved_roots(
  roots: readonly Entity[],
  moved: readonly Entity[],
  before: Entity | null,
  place: (root: Entity) => number,
): Operation[] {
  const ids = new Set(moved.map(id_text));
  const rest = roots.filter((root) => !ids.has(id_text(root)));
  const found = before ? rest.findIndex((root) => id_text(root) === id_text(before)) : -1;
  const at = found < 0 ? rest.length : found;
  const low = at > 0 ? place(rest[at - 1]) : -Infinity;
  const high = at < rest.length ? place(rest[at]) : Infinity;
  const set = (values: readonly { entity: Entity; value: StructValue }[]): Operation[] => [
    { kind: 'set', component: root_order, values },
  ];
  const is_between = (places: readonly number[]): boolean =>
    [low, ...places].every((each, i) => each < (places[i] ?? high));
  if (is_between(moved.map(place))) return [];
  const step = Number.isFinite(low) && Number.isFinite(high) ? (high - low) / (moved.length + 1) : 1;
  const from = Number.isFinite(low) ? low : Number.isFinite(high) ? high - moved.length - 1 : 0;
  const places = moved.map((_, i) => from + step * (i + 1));
  if (is_between(places)) return set(moved.map((entity, i) => ({ entity, value: { place: places[i] } })));
  // There is no number left between the two.
  const all = [...rest.slice(0, at), ...moved, ...rest.slice(at)];
  return set(all.map((entity, i) => ({ entity, value: { place: i + 1 } })));
}
