// Rotations as people see them: degrees about the axes. The order is YXZ: about Y first (yaw), then X (pitch), then Z (roll).

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

/** Each from -180 to 180, x from -90 to 90. Of a quaternion that is not of length 1: of its direction; of zero: no rotation. */
export function euler_of(given: Quat): Vec3 {
  const length = Math.hypot(given.x, given.y, given.z, given.w);
  if (!(length > 0)) return { x: 0, y: 0, z: 0 };
  const [x, y, z, w] = [given.x, given.y, given.z, given.w].map((each) => each / length);
  const sine = Math.max(-1, Math.min(1, 2 * (w * x - y * z)));
  // Straight up or down yaw and roll turn about one axis; all of it is told as yaw.
  const is_pole = Math.abs(sine) > 0.9999999;
  const yaw = is_pole
    ? Math.atan2(2 * (w * y - x * z), 1 - 2 * (y * y + z * z))
    : Math.atan2(2 * (x * z + w * y), 1 - 2 * (x * x + y * y));
  const roll = is_pole ? 0 : Math.atan2(2 * (x * y + w * z), 1 - 2 * (x * x + z * z));
  return { x: tidy(Math.asin(sine)), y: tidy(yaw), z: tidy(roll) };
}

/** Float32 of a saved 90 comes back as 90, not as 90.0000025. */
function tidy(radians: number): number {
  const degrees = Math.round((radians / to_radians) * 1e4) / 1e4;
  return degrees === 0 ? 0 : degrees;
}

/** The same rotation, whatever the signs. */
export function same_rotation(a: Quat, b: Quat): boolean {
  const dot = Math.abs(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
  const lengths = Math.hypot(a.x, a.y, a.z, a.w) * Math.hypot(b.x, b.y, b.z, b.w);
  return lengths > 0 && dot / lengths > 1 - 1e-6;
}

/** The degrees that were shown last for it, as long as they still are this rotation: what one types stays as it was typed. */
export function steady_euler(quat: Quat, shown: Vec3 | undefined): Vec3 {
  return shown && same_rotation(quat, quat_of(shown)) ? shown : euler_of(quat);
}
