// Converts the pointer's movement on a handle to a move, a turn or factors, in steps on request.
import { Matrix4, Quaternion, Vector3 } from 'three';
import type { TransformValue } from './contents.js';
import { axis_of, plane_of } from './gizmo.js';
import type { GizmoFrame, Handle, Tool } from './gizmo.js';
import type { Ray } from './pick.js';
import { is_flat_space } from './kept_place.js';
import { meet_plane, nearest_on_axis } from './sight.js';
import type { Point, Sight } from './sight.js';

export interface Steps {
  /** Metres. */
  move: number;
  /** Degrees. */
  turn: number;
  /** Step of the scale factor. */
  scale: number;
}

export interface Dragged {
  /** In the world. */
  move: Vector3;
  /** In the world, about the frame's origin. */
  turn: Quaternion;
  /** Along the frame's axes. */
  factors: Vector3;
  /** Numbers for people, the axes' names before them. */
  text: { axis: Handle | ''; value: string }[];
  /** Radians that a turn has made so far. */
  angle: number;
}

/** From the moment that a handle was grabbed. The sight must not change meanwhile. */
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
    /** Moves along axes of the world end on the grid's lines. */
    private readonly is_world: boolean,
  ) {
    this.begin = sight.ray(from);
    if (tool === 'rotate') this.last_angle = this.angle_at(from);
  }

  /** `steps`: null: none. */
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
    // Turns add up beyond a whole one.
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
    // Nothing is made so small that it cannot be grabbed again; a mirror is what a negative factor
    // is for, by hand.
    factor = Math.max(factor, 0.001);
    if (axis >= 0) result.factors.setComponent(axis, factor);
    else result.factors.setScalar(factor);
    result.text.push({ axis: axis >= 0 ? this.handle : '', value: `×${factor.toFixed(factor < 0.1 ? 3 : 2)}` });
  }

  /** The swept angle of a turn, in the picture. */
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

  /** About which a turn goes, in the world. */
  turn_axis(): Vector3 {
    const axis = axis_of(this.handle);
    return axis >= 0 ? this.frame.axes[axis].clone() : this.sight.way_to(this.frame.origin).negate();
  }

  /** Where a point is on the way around; null: it cannot be said. */
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
    // Seen from its edge a ring is a line: along it the pointer winds the ring up.
    const way = axis.clone().cross(toward).normalize();
    const center = this.sight.project(origin);
    const end = this.sight.project(origin.clone().addScaledVector(way, this.sight.metres_per_pixel(origin) * 100));
    const length = Math.hypot(end.x - center.x, end.y - center.y) || 1;
    return -((point.x - center.x) * (end.x - center.x) + (point.y - center.y) * (end.y - center.y)) / length / 84;
  }
}

/** Two directions that stand on an axis and on each other. */
export function across(axis: Vector3): [Vector3, Vector3] {
  const u = new Vector3(Math.abs(axis.y) < 0.9 ? 0 : 1, Math.abs(axis.y) < 0.9 ? 1 : 0, 0).cross(axis).normalize();
  return [u, axis.clone().cross(u)];
}

/** A thing that is dragged: as it was, and whose space it is in. */
export interface Held {
  before: TransformValue;
  /** Null: the world's. */
  parent: Matrix4 | null;
}

/** Its new Transform. `frame`: as when the handle was grabbed. Null: its parent's space is flat. */
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
    // Several things move apart from their common middle.
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
 * A turn in the world as a space sees it. Mirrored, its axis is mirrored and it goes the other way.
 */
function seen_from_within(space: Matrix4, turn: Quaternion): Quaternion {
  const [x, y, z] = directions(space);
  const mirrored = x.clone().cross(y).dot(z) < 0 ? -1 : 1;
  const axis = new Vector3(turn.x, turn.y, turn.z);
  return new Quaternion(mirrored * axis.dot(x), mirrored * axis.dot(y), mirrored * axis.dot(z), turn.w);
}

/**
 * Where a space's axes point: of length 1, each upright on the others, mirrored if the space is.
 */
function directions(space: Matrix4): [Vector3, Vector3, Vector3] {
  const [x, y, z] = [0, 1, 2].map((i) => new Vector3().setFromMatrixColumn(space, i));
  const mirrored = x.clone().cross(y).dot(z) < 0;
  x.normalize();
  y.addScaledVector(x, -y.dot(x)).normalize();
  z.crossVectors(x, y);
  return [x, y, mirrored ? z.negate() : z];
}

/**
 * Scale is along a thing's own axes: each takes the factor of the frame's axis that it is nearest
 * to.
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
