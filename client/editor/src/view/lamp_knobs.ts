// The knobs of the selected light, with which its range and its cone are pulled.
import { MathUtils, Vector3 } from 'three';
import type { Contents } from './contents.js';
import { to_step } from './gizmo_drag.js';
import type { Steps } from './gizmo_drag.js';
import { placed, reach_of } from './lamps.js';
import type { LightValue } from './lamps.js';
import type { Ray } from './pick.js';
import { meet_plane, nearest_on_axis } from './sight.js';
import type { Point, Sight } from './sight.js';
import type { Entity } from './world.js';

export interface Knob {
  entity: Entity;
  field: 'range' | 'inner_angle' | 'outer_angle';
  /** In world space. */
  at: Vector3;
  /** The place of the light. */
  origin: Vector3;
  /** The direction of the range, or the middle of the cone. */
  axis: Vector3;
  /** Points from the middle of the cone to the knob of an angle. */
  side: Vector3;
}

const near_px = 9;
const range_min = 0.01;
const angle_max = 178;

/** Returns the knobs of a light that is selected alone. */
export function lamp_knobs(contents: Contents, selection: readonly Entity[], sight: Sight): Knob[] {
  const slot = selection.length === 1 ? contents.slot(selection[0]) : undefined;
  const light = slot === undefined ? undefined : (contents.records[slot]?.components['scene.Light'] as unknown as LightValue);
  if (!light || contents.is_locked(slot!)) return [];
  const place = placed(contents, slot!);
  const [x, y, z] = [0, 1, 2].map((i) => new Vector3().setFromMatrixColumn(place, i).negate());
  const origin = new Vector3().setFromMatrixPosition(place);
  const length = reach_of(light);
  const knob = (field: Knob['field'], axis: Vector3, side: Vector3, angle: number): Knob => {
    const half = MathUtils.degToRad(MathUtils.clamp(angle / 2, 0, 89));
    const at = origin.clone().addScaledVector(axis, Math.cos(half) * length).addScaledVector(side, Math.sin(half) * length);
    return { entity: selection[0], field, at, origin, axis, side };
  };
  // The handles of a translation are on the positive axes, and the knobs on the negative ones.
  if (light.kind === 0 || light.kind === 4) return [knob('range', x, y, 0)];
  if (light.kind !== 1) return [];
  const toward = sight.way_to(origin);
  // The angles lie in the plane that faces the camera more.
  const side = Math.abs(y.dot(toward)) > Math.abs(x.dot(toward)) ? x : y;
  const knobs = [knob('range', z, side, 0), knob('outer_angle', z, side, light.outer_angle)];
  if (light.inner_angle > 0) knobs.push(knob('inner_angle', z, side, light.inner_angle));
  return knobs;
}

export function knob_at(knobs: readonly Knob[], sight: Sight, point: Point): Knob | null {
  return knobs.find(({ at }) => {
    const { x, y, depth } = sight.project(at);
    return depth > 0 && Math.hypot(x - point.x, y - point.y) <= near_px;
  }) ?? null;
}

/** Returns the value for a knob that is pulled to a ray, or null if there is none. */
export function pulled({ field, origin, axis, side }: Knob, ray: Ray, steps: Steps | null): number | null {
  if (field === 'range') {
    const along = nearest_on_axis(ray, origin, axis);
    return along === null ? null : Math.max(range_min, steps ? to_step(along, steps.move) : along);
  }
  const on = meet_plane(ray, origin, axis.clone().cross(side))?.sub(origin);
  if (!on) return null;
  const degrees = MathUtils.radToDeg(Math.atan2(on.dot(side), on.dot(axis))) * 2;
  return MathUtils.clamp(steps ? to_step(degrees, steps.turn) : degrees, 0, angle_max);
}
