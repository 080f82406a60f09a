// Converts rotations to degrees about the axes. The order is YXZ: first about Y (yaw), then X
// (pitch), then Z (roll).

export interface Vec3 {
  x: number;
  y: number;
  z: number;
}
export interface Quat {
  x: number;
  y: number;
  z: number;
  w: number;
}

const to_radians = Math.PI / 180;

export function quat_of(euler: Vec3): Quat {
  const [cx, cy, cz] = [euler.x, euler.y, euler.z].map((each) => Math.cos((each * to_radians) / 2));
  const [sx, sy, sz] = [euler.x, euler.y, euler.z].map((each) => Math.sin((each * to_radians) / 2));
  return {
    x: sx * cy * cz + cx * sy * sz,
    y: cx * sy * cz - sx * cy * sz,
    z: cx * cy * sz - sx * sy * cz,
    w: cx * cy * cz + sx * sy * sz,
  };
}

/**
 * Returns angles from -180 to 180, or from -90 to 90 for x. Normalizes the quaternion first; a zero
 * quaternion means no rotation.
 */
export function euler_of(given: Quat): Vec3 {
  const length = Math.hypot(given.x, given.y, given.z, given.w);
  if (!(length > 0)) return { x: 0, y: 0, z: 0 };
  const [x, y, z, w] = [given.x, given.y, given.z, given.w].map((each) => each / length);
  const sine = Math.max(-1, Math.min(1, 2 * (w * x - y * z)));
  // At the poles, yaw and roll turn about the same axis, so the whole angle is given as yaw.
  const is_pole = Math.abs(sine) > 0.9999999;
  const yaw = is_pole
    ? Math.atan2(2 * (w * y - x * z), 1 - 2 * (y * y + z * z))
    : Math.atan2(2 * (x * z + w * y), 1 - 2 * (x * x + y * y));
  const roll = is_pole ? 0 : Math.atan2(2 * (x * y + w * z), 1 - 2 * (x * x + z * z));
  return { x: tidy(Math.asin(sine)), y: tidy(yaw), z: tidy(roll) };
}

/** Removes rounding errors of Float32, so that 90 is not shown as 90.0000025. */
function tidy(radians: number): number {
  const degrees = Math.round((radians / to_radians) * 1e4) / 1e4;
  return degrees === 0 ? 0 : degrees;
}

/** Returns true if the rotations are equal to 32-bit precision; q and -q are the same rotation. */
export function same_rotation(a: Quat, b: Quat): boolean {
  const lengths = Math.hypot(a.x, a.y, a.z, a.w) * Math.hypot(b.x, b.y, b.z, b.w);
  if (!(lengths > 0)) return false;
  const dot = Math.abs(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w) / lengths;
  return dot > 1 - 1e-12;
}

/**
 * Returns the equivalent triple of angles that is closer to `to`. Each rotation has two triples.
 */
function nearer_euler(euler: Vec3, to: Vec3): Vec3 {
  const turned = (degrees: number): number => (degrees > 0 ? degrees - 180 : degrees + 180);
  const other = { x: (euler.x >= 0 ? 180 : -180) - euler.x, y: turned(euler.y), z: turned(euler.z) };
  const away = (from: Vec3): number => Math.hypot(...(['x', 'y', 'z'] as const).map((axis) => from[axis] - to[axis]));
  return away(other) < away(euler) ? other : euler;
}

const owners_max = 1000;
const typed_max = 32;

/**
 * Remembers the degrees that the user typed, so that a rotation with these degrees is shown as
 * typed.
 */
export class TypedAngles {
  /** Keyed by the owner of the rotation; the newest comes first. */
  private readonly kept = new Map<string, Vec3[]>();

  shown(owner: string, rotation: Quat): Vec3 {
    const typed = this.kept.get(owner);
    if (!typed) return euler_of(rotation);
    return typed.find((each) => same_rotation(rotation, quat_of(each))) ?? nearer_euler(euler_of(rotation), typed[0]);
  }
  /** Records typed degrees. They replace `instead_of`, earlier degrees of the same drag. */
  typed(owner: string, euler: Vec3, instead_of?: Vec3): void {
    const before = (this.kept.get(owner) ?? []).filter((each) => each !== instead_of);
    this.kept.delete(owner);
    this.kept.set(owner, [euler, ...before].slice(0, typed_max));
    if (this.kept.size > owners_max) this.kept.delete(this.kept.keys().next().value!);
  }
}
