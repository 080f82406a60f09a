// Converts a drag of a handle to a translation, a rotation or scale factors, optionally in steps.
import { Matrix4, Quaternion, Vector3 } from 'three';
import type { TransformValue } from './contents.js';
import { axis_of, plane_of } from './gizmo.js';
import type { GizmoFrame, Handle, Tool } from './gizmo.js';
import type { Ray } from './pick.js';
import { is_flat_space } from './kept_place.js';
import { meet_plane, nearest_on_axis } from './sight.js';
import type { Point, Sight } from './sight.js';

export interface Steps {
  /** In meters. */
  move: number;
  /** In degrees. */
  turn: number;
  /** Step of the scale factor. */
  scale: number;
}

export interface Dragged {
  /** In world space. */
  move: Vector3;
  /** In world space, about the frame's origin. */
  turn: Quaternion;
  /** Along the frame's axes. */
  factors: Vector3;
  /** Numbers to display, each with the name of its axis. */
  text: { axis: Handle | ''; value: string }[];
  /** The rotation so far, in radians. */
  angle: number;
}

/** A drag from the moment when a handle was grabbed. The view must not change during it. */
export class GizmoDrag {
  private readonly begin: Ray;
  private angle = 0;
  private last_angle: number | null = null;

  constructor(
    readonly tool: Tool,
    readonly handle: Handle,
    readonly frame: GizmoFrame,
    private readonly sight: Sight,
    private readonly from: Point,
    /** If true, translations along world axes end on grid lines. */
    private readonly is_world: boolean,
  ) {
    this.begin = sight.ray(from);
    if (tool === 'rotate') this.last_angle = this.angle_at(from);
  }

  /** If `steps` is null, the drag is continuous. */
  to(point: Point, steps: Steps | null): Dragged {
    const result: Dragged = {
      move: new Vector3(),
      turn: new Quaternion(),
      factors: new Vector3(1, 1, 1),
      text: [],
      angle: 0,
    };
    if (this.tool === 'move') this.move(point, steps, result);
    else if (this.tool === 'rotate') this.turn(point, steps, result);
    else if (this.tool === 'scale') this.scale(point, steps, result);
    return result;
  }

  private move(point: Point, steps: Steps | null, result: Dragged): void {
    const { origin, axes } = this.frame;
    const ray = this.sight.ray(point);
    const axis = axis_of(this.handle);
    const along = [0, 0, 0];
    if (axis >= 0) {
      const [a, b] = [nearest_on_axis(this.begin, origin, axes[axis]), nearest_on_axis(ray, origin, axes[axis])];
      if (a === null || b === null) return;
      along[axis] = b - a;
    } else {
      const plane = plane_of(this.handle);
      const normal = plane >= 0 ? axes[plane] : this.sight.way_to(origin);
      const [a, b] = [meet_plane(this.begin, origin, normal), meet_plane(ray, origin, normal)];
      if (!a || !b) return;
      b.sub(a);
      for (let i = 0; i < 3; ++i) along[i] = b.dot(axes[i]);
    }
    for (let i = 0; i < 3; ++i) {
      const is_meant = axis >= 0 ? i === axis : i !== plane_of(this.handle);
      if (!is_meant) along[i] = 0;
      else if (steps) {
        const start = this.is_world ? origin.getComponent(i) : 0;
        along[i] = to_step(start + along[i], steps.move) - start;
      }
      result.move.addScaledVector(axes[i], along[i]);
      if (is_meant) result.text.push({ axis: (['x', 'y', 'z'] as const)[i], value: `${signed(along[i])} m` });
    }
  }

  private turn(point: Point, steps: Steps | null, result: Dragged): void {
    const now = this.angle_at(point);
    if (now === null || this.last_angle === null) return;
    // Rotations may exceed a full turn.
    let change = now - this.last_angle;
    change -= 2 * Math.PI * Math.round(change / (2 * Math.PI));
    this.angle += change;
    this.last_angle = now;
    const degrees = (this.angle * 180) / Math.PI;
    const meant = steps ? to_step(degrees, steps.turn) : degrees;
    result.angle = (meant * Math.PI) / 180;
    result.turn.setFromAxisAngle(this.turn_axis(), result.angle);
    result.text.push({ axis: this.handle === 'view' ? '' : this.handle, value: `${signed(meant, 1)}°` });
  }

  private scale(point: Point, steps: Steps | null, result: Dragged): void {
    const axis = axis_of(this.handle);
    let factor = 1;
    if (axis >= 0) {
      const { origin, axes } = this.frame;
      const [a, b] = [
        nearest_on_axis(this.begin, origin, axes[axis]),
        nearest_on_axis(this.sight.ray(point), origin, axes[axis]),
      ];
      if (a === null || b === null || Math.abs(a) < 1e-9) return;
      factor = b / a;
    } else factor = Math.exp((point.x - this.from.x - (point.y - this.from.y)) / 140);
    if (steps) factor = to_step(factor, steps.scale);
    // Keep the object large enough to be grabbed again. Negative factors, which mirror it, can only
    // be typed.
    factor = Math.max(factor, 0.001);
    if (axis >= 0) result.factors.setComponent(axis, factor);
    else result.factors.setScalar(factor);
    result.text.push({ axis: axis >= 0 ? this.handle : '', value: `×${factor.toFixed(factor < 0.1 ? 3 : 2)}` });
  }

  /** Returns the outline of the swept angle in the picture. */
  pie(angle: number): { center: Point; edge: Point[] } {
    const { origin } = this.frame;
    const axis = this.turn_axis();
    const radius = this.sight.metres_per_pixel(origin) * 84;
    const begin = meet_plane(this.begin, origin, axis)?.sub(origin) ?? across(axis)[0];
    begin.setLength(radius);
    const steps = Math.max(2, Math.ceil(Math.min(Math.abs(angle), 2 * Math.PI) * 16));
    const edge: Point[] = [];
    for (let i = 0; i <= steps; ++i) {
      const turned = begin.clone().applyAxisAngle(axis, (angle * i) / steps);
      edge.push(this.sight.project(turned.add(origin)));
    }
    return { center: this.sight.project(origin), edge };
  }

  /** Returns the axis of the rotation, in world space. */
  turn_axis(): Vector3 {
    const axis = axis_of(this.handle);
    return axis >= 0 ? this.frame.axes[axis].clone() : this.sight.way_to(this.frame.origin).negate();
  }

  /** Returns the angle of a point around the axis, or null if there is none. */
  private angle_at(point: Point): number | null {
    const { origin } = this.frame;
    const axis = this.turn_axis();
    const toward = this.sight.way_to(origin);
    const facing = axis.dot(toward);
    if (Math.abs(facing) > 0.12) {
      const on = meet_plane(this.sight.ray(point), origin, axis);
      if (!on) return null;
      on.sub(origin);
      const [u, v] = across(axis);
      return Math.atan2(on.dot(v), on.dot(u));
    }
    // Seen edge-on, a ring is a line, so a movement along the line turns the ring.
    const way = axis.clone().cross(toward).normalize();
    const center = this.sight.project(origin);
    const end = this.sight.project(origin.clone().addScaledVector(way, this.sight.metres_per_pixel(origin) * 100));
    const length = Math.hypot(end.x - center.x, end.y - center.y) || 1;
    return -((point.x - center.x) * (end.x - center.x) + (point.y - center.y) * (end.y - center.y)) / length / 84;
  }
}

/** Returns two directions perpendicular to an axis and to each other. */
export function across(axis: Vector3): [Vector3, Vector3] {
  const u = new Vector3(Math.abs(axis.y) < 0.9 ? 0 : 1, Math.abs(axis.y) < 0.9 ? 1 : 0, 0).cross(axis).normalize();
  return [u, axis.clone().cross(u)];
}

/** A dragged object: its Transform at the start, and the matrix of its parent's space. */
export interface Held {
  before: TransformValue;
  /** Null for world space. */
  parent: Matrix4 | null;
}

/**
 * Returns the object's new Transform, or null if its parent's space is flat. `frame` is the frame
 * from the start of the drag.
 */
export function applied(held: Held, dragged: Dragged, frame: GizmoFrame, own_axes: boolean): TransformValue | null {
  const { before } = held;
  const parent = held.parent ?? new Matrix4();
  if (is_flat_space(parent)) return null;
  const inverse = parent.clone().invert();
  const place = new Vector3(before.position.x, before.position.y, before.position.z).applyMatrix4(parent);
  const rotation = new Quaternion(before.rotation.x, before.rotation.y, before.rotation.z, before.rotation.w);
  const around = place.clone().sub(frame.origin);
  const { x: fx, y: fy, z: fz } = dragged.factors;
  if (fx !== 1 || fy !== 1 || fz !== 1) {
    // With several objects, scaling also changes their distances from the common center.
    const parts = frame.axes.map((axis, i) => around.dot(axis) * dragged.factors.getComponent(i));
    around.set(0, 0, 0);
    frame.axes.forEach((axis, i) => around.addScaledVector(axis, parts[i]));
  }
  around.applyQuaternion(dragged.turn);
  const position = around.add(frame.origin).add(dragged.move).applyMatrix4(inverse);
  const after = seen_from_within(parent, dragged.turn).multiply(rotation).normalize();
  const factors = own_axes ? [fx, fy, fz] : along_own_axes(dragged.factors, frame, parent, rotation);
  return {
    position: { x: position.x, y: position.y, z: position.z },
    rotation: { x: after.x, y: after.y, z: after.z, w: after.w },
    scale: { x: before.scale.x * factors[0], y: before.scale.y * factors[1], z: before.scale.z * factors[2] },
  };
}

/**
 * Converts a rotation from world space to another space. A mirrored space mirrors the axis and
 * reverses the angle.
 */
function seen_from_within(space: Matrix4, turn: Quaternion): Quaternion {
  const [x, y, z] = directions(space);
  const mirrored = x.clone().cross(y).dot(z) < 0 ? -1 : 1;
  const axis = new Vector3(turn.x, turn.y, turn.z);
  return new Quaternion(mirrored * axis.dot(x), mirrored * axis.dot(y), mirrored * axis.dot(z), turn.w);
}

/** Returns the directions of a space's axes: orthogonal unit vectors, mirrored if the space is. */
function directions(space: Matrix4): [Vector3, Vector3, Vector3] {
  const [x, y, z] = [0, 1, 2].map((i) => new Vector3().setFromMatrixColumn(space, i));
  const mirrored = x.clone().cross(y).dot(z) < 0;
  x.normalize();
  y.addScaledVector(x, -y.dot(x)).normalize();
  z.crossVectors(x, y);
  return [x, y, mirrored ? z.negate() : z];
}

/**
 * Scale applies along an object's own axes, so each axis gets the factor of the closest axis of the
 * frame.
 */
function along_own_axes(factors: Vector3, frame: GizmoFrame, parent: Matrix4, rotation: Quaternion): number[] {
  const space = new Matrix4().makeBasis(...directions(parent));
  return [0, 1, 2].map((i) => {
    const own = new Vector3().setComponent(i, 1).applyQuaternion(rotation).applyMatrix4(space);
    const near = frame.axes.map((axis) => Math.abs(axis.dot(own)));
    return factors.getComponent(near.indexOf(Math.max(...near)));
  });
}

export function to_step(value: number, step: number): number {
  return step > 0 ? Math.round(value / step) * step : value;
}
function signed(value: number, digits = 2): string {
  const text = Math.abs(value).toFixed(digits);
  return (Number(text) === 0 ? '' : value < 0 ? '−' : '+') + text;
}
