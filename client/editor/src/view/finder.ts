// Finds what is at a point of the picture, or in a rectangle of it.
import { Vector3 } from 'three';
import { marker_kinds, marker_size, place_px_min } from './markers.js';
import { pick, within } from './pick.js';
import type { Rect } from './pick.js';
import { meet_plane } from './sight.js';
import type { Point } from './sight.js';
import type { Stage } from './stage.js';
import type { Entity } from './world.js';

/** Returns the entity whose body or mark is under a point. */
export function entity_at(stage: Stage, point: Point): Entity | null {
  const { contents, sight } = stage;
  const skips = (slot: number): boolean => contents.is_locked(slot);
  const hit = pick(sight.ray(point), contents.bodies.pools, sight.camera.near, skips);
  const { markers } = contents;
  let best: { slot: number; distance: number } | null = null;
  const at = new Vector3();
  for (let row = 0; row < markers.count; ++row) {
    const slot = markers.slots[row];
    if (skips(slot)) continue;
    const seen = sight.project(contents.place_of(slot, at));
    if (seen.depth <= sight.camera.near) continue;
    if (markers.kinds[row] === 0 && sight.metres_per_pixel(at) * place_px_min > 1) continue;
    const reach = marker_size[marker_kinds[markers.kinds[row]]] / 2 + 2;
    const distance = Math.hypot(seen.x - point.x, seen.y - point.y);
    // A mark inside or behind a body is hidden.
    const away = at.distanceTo(sight.camera.position);
    if (distance <= reach && (!hit || away <= hit.distance * 1.0005) && (!best || away < best.distance))
      best = { slot, distance: away };
  }
  const slot = best ? (best as { slot: number }).slot : hit ? hit.pickable.slots[hit.row] : -1;
  return contents.records[slot]?.entity ?? null;
}

/**
 * Returns the entities in a rectangle: bodies, lights and cameras by their centers, or the marks
 * of groups if there are none of these.
 */
export function entities_in(stage: Stage, rect: Rect): Entity[] {
  const { contents, sight } = stage;
  const is_in = within(rect, sight.matrix(), sight.width, sight.height);
  const found: Entity[] = [];
  const groups: Entity[] = [];
  for (const { spheres, count, slots } of contents.bodies.pools)
    for (let row = 0; row < count; ++row)
      if (is_in(spheres[row * 4], spheres[row * 4 + 1], spheres[row * 4 + 2])) {
        const record = contents.records[slots[row]];
        if (record && !contents.is_locked(slots[row])) found.push(record.entity);
      }
  const { markers } = contents;
  const at = new Vector3();
  for (let row = 0; row < markers.count; ++row) {
    const { x, y, z } = contents.place_of(markers.slots[row], at);
    const record = contents.records[markers.slots[row]];
    if (record && is_in(x, y, z) && !contents.is_locked(markers.slots[row])) (markers.kinds[row] === 0 ? groups : found).push(record.entity);
  }
  return found.length > 0 ? found : groups;
}

/** Returns the point under the pointer: on a body, on the ground, or at the target's distance. */
export function zoom_target(stage: Stage, point: Point): Vector3 {
  const { contents, sight, rig } = stage;
  const ray = sight.ray(point);
  const hit = pick(ray, contents.bodies.pools, sight.camera.near);
  const far = rig.view.distance * 6;
  if (hit && hit.distance < far) return ray.origin.addScaledVector(ray.direction, hit.distance);
  const ground = meet_plane(ray, new Vector3(), new Vector3(0, 1, 0));
  if (ground && ground.distanceTo(ray.origin) < far) return ground;
  return meet_plane(ray, rig.view.target, rig.forward()) ?? rig.view.target.clone();
}
