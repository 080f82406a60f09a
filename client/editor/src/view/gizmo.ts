// The handles of the selection: their kinds, their places in the picture, and hit testing.
import { Vector3 } from 'three';
import type { Point, Sight } from './sight.js';

export type Tool = 'none' | 'move' | 'rotate' | 'scale';
/** An axis, a plane of two axes, the plane of the picture, or all axes equally. */
export type Handle = 'x' | 'y' | 'z' | 'yz' | 'zx' | 'xy' | 'view' | 'all';

export interface GizmoFrame {
  origin: Vector3;
  /** Unit vectors. */
  axes: readonly [Vector3, Vector3, Vector3];
}

export type GizmoPart = {
  handle: Handle;
  /** Opacity from 0 to 1. Below 0.2, the handle cannot be grabbed. */ clear: number;
} & (
  | { form: 'arrow' | 'stick'; from: Point; to: Point }
  | { form: 'patch'; corners: Point[] }
  | { form: 'ring'; line: (Point & { front: boolean })[] }
  | { form: 'circle'; center: Point; radius: number }
  | { form: 'knob'; center: Point; radius: number }
);

/** In CSS pixels. */
export const arm_px = 92;
const arm_from_px = 16;
const ring_px = 84;
const view_ring_px = 104;
const near_px = 9;

export const axis_names = ['x', 'y', 'z'] as const;
export const plane_names = ['yz', 'zx', 'xy'] as const;

export function axis_of(handle: Handle): number {
  return axis_names.indexOf(handle as 'x');
}
/** Returns the axis that is perpendicular to a plane. */
export function plane_of(handle: Handle): number {
  return plane_names.indexOf(handle as 'yz');
}

/** Returns the handles in drawing order. Empty if the origin is behind the camera. */
export function gizmo_parts(tool: Tool, frame: GizmoFrame, sight: Sight): GizmoPart[] {
  const center = sight.project(frame.origin);
  if (tool === 'none' || center.depth <= sight.camera.near) return [];
  const metre = sight.metres_per_pixel(frame.origin);
  const toward = sight.way_to(frame.origin);
  if (tool === 'rotate') return rings(frame, sight, metre, toward, center);
  const parts: GizmoPart[] = [];
  // The farther arm comes first, so that the closer one is drawn over it.
  const order = [0, 1, 2].sort((a, b) => frame.axes[b].dot(toward) - frame.axes[a].dot(toward));
  for (const i of order) {
    const along = Math.abs(frame.axes[i].dot(toward));
    const to = sight.project(frame.origin.clone().addScaledVector(frame.axes[i], metre * arm_px));
    const from = sight.project(frame.origin.clone().addScaledVector(frame.axes[i], metre * arm_from_px));
    parts.push({
      handle: axis_names[i],
      form: tool === 'move' ? 'arrow' : 'stick',
      from,
      to,
      clear: fade(along, 0.985, 0.93),
    });
  }
  if (tool === 'move') {
    for (let i = 0; i < 3; ++i) {
      const [a, b] = [frame.axes[(i + 1) % 3], frame.axes[(i + 2) % 3]];
      const facing = Math.abs(frame.axes[i].dot(toward));
      const corner = (u: number, v: number): Point =>
        sight.project(
          frame.origin
            .clone()
            .addScaledVector(a, metre * u)
            .addScaledVector(b, metre * v),
        );
      parts.push({
        handle: plane_names[i],
        form: 'patch',
        corners: [corner(26, 26), corner(46, 26), corner(46, 46), corner(26, 46)],
        clear: fade(1 - facing, 0.88, 0.75),
      });
    }
    parts.push({ handle: 'view', form: 'knob', center, radius: 6, clear: 1 });
  } else parts.push({ handle: 'all', form: 'knob', center, radius: 8, clear: 1 });
  return parts;
}

function rings(frame: GizmoFrame, sight: Sight, metre: number, toward: Vector3, center: Point): GizmoPart[] {
  const parts: GizmoPart[] = [{ handle: 'view', form: 'circle', center, radius: view_ring_px, clear: 1 }];
  for (let i = 0; i < 3; ++i) {
    const [a, b] = [frame.axes[(i + 1) % 3], frame.axes[(i + 2) % 3]];
    const line: (Point & { front: boolean })[] = [];
    const steps = 72;
    const out = new Vector3();
    for (let k = 0; k <= steps; ++k) {
      const turn = (k / steps) * 2 * Math.PI;
      out.set(0, 0, 0).addScaledVector(a, Math.cos(turn)).addScaledVector(b, Math.sin(turn));
      const front = out.dot(toward) <= 0.02;
      line.push({ ...sight.project(out.multiplyScalar(metre * ring_px).add(frame.origin)), front });
    }
    parts.push({ handle: axis_names[i], form: 'ring', line, clear: 1 });
  }
  return parts;
}

/** Interpolates from 1 at `whole` to 0 at `gone`. */
function fade(value: number, gone: number, whole: number): number {
  return Math.min(Math.max((gone - value) / (gone - whole), 0), 1);
}

/** Returns the handle under a point, or null. */
export function handle_at(parts: readonly GizmoPart[], point: Point): Handle | null {
  let best: { handle: Handle; distance: number } | null = null;
  const offer = (handle: Handle, distance: number): void => {
    if (distance <= near_px && (!best || distance < best.distance)) best = { handle, distance };
  };
  for (const part of parts) {
    if (part.clear < 0.2) continue;
    switch (part.form) {
      case 'arrow':
      case 'stick':
        // The head of an arrow is wider than its shaft.
        offer(part.handle, Math.min(to_segment(point, part.from, part.to), to_point(point, part.to) - 5));
        break;
      case 'patch':
        if (inside(point, part.corners)) offer(part.handle, 1);
        break;
      case 'ring':
        for (let i = 1; i < part.line.length; ++i)
          if (part.line[i].front && part.line[i - 1].front)
            offer(part.handle, to_segment(point, part.line[i - 1], part.line[i]));
        break;
      case 'circle':
        offer(part.handle, Math.abs(to_point(point, part.center) - part.radius));
        break;
      case 'knob':
        if (to_point(point, part.center) <= part.radius + 4) offer(part.handle, 0);
        break;
    }
  }
  return (best as { handle: Handle } | null)?.handle ?? null;
}

function to_point(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
export function to_segment(point: Point, a: Point, b: Point): number {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const length = dx * dx + dy * dy;
  const part = length > 0 ? Math.min(Math.max(((point.x - a.x) * dx + (point.y - a.y) * dy) / length, 0), 1) : 0;
  return Math.hypot(point.x - a.x - part * dx, point.y - a.y - part * dy);
}
function inside(point: Point, corners: readonly Point[]): boolean {
  let odd = false;
  for (let i = 0, j = corners.length - 1; i < corners.length; j = i++) {
    const [a, b] = [corners[i], corners[j]];
    if (a.y > point.y !== b.y > point.y && point.x < ((b.x - a.x) * (point.y - a.y)) / (b.y - a.y) + a.x) odd = !odd;
  }
  return odd;
}
