// Finds entities under a point or within a rectangle of the picture. Each body has a bounding
// sphere in flat arrays. Testing a hundred thousand spheres takes less than a millisecond, and no
// index has to be updated while bodies move.
import { Matrix4, Vector3 } from 'three';

/** Many bodies of the same form. */
export interface Pickable {
  /** Number of bodies. */
  readonly count: number;
  /** The slot of each body. */
  readonly slots: Int32Array;
  /** Center and radius in world space, 4 numbers per body. */
  readonly spheres: Float32Array;
  /** Column-major, 16 numbers per body. */
  readonly matrices: Float32Array;
  readonly form: Form;
  /** True if matrices were mirrored in x before they were stored. */
  readonly is_mirrored: boolean;
  /** Returns the part of a body's width by which its ends are pulled apart; null for none. */
  stretch(row: number): number;
}

/** Triangles in a body's local space. */
export interface Form {
  readonly positions: ArrayLike<number>;
  /** If null, every three consecutive vertices are a triangle. */
  readonly index: ArrayLike<number> | null;
  /** Direction in which a vertex moves if the body is stretched: 1 or -1; null if none does. */
  readonly ends: ArrayLike<number> | null;
  readonly both_sides: boolean;
}

export interface Ray {
  /** In world space. */
  origin: Vector3;
  /** A unit vector. */
  direction: Vector3;
}

export interface Hit {
  pickable: Pickable;
  row: number;
  distance: number;
}

interface Candidate {
  pickable: Pickable;
  row: number;
  near: number;
}

/**
 * Returns the closest body that the ray hits at a distance of at least `beyond`, or null. Bodies
 * for whose slot `skips` returns true are not there.
 */
export function pick(
  ray: Ray,
  pickables: Iterable<Pickable>,
  beyond = 0,
  skips?: (slot: number) => boolean,
): Hit | null {
  const candidates: Candidate[] = [];
  const { x: ox, y: oy, z: oz } = ray.origin;
  const { x: dx, y: dy, z: dz } = ray.direction;
  for (const pickable of pickables) {
    const { spheres, count } = pickable;
    for (let row = 0, at = 0; row < count; ++row, at += 4) {
      const x = spheres[at] - ox;
      const y = spheres[at + 1] - oy;
      const z = spheres[at + 2] - oz;
      const radius = spheres[at + 3];
      const along = x * dx + y * dy + z * dz;
      if (along < beyond - radius) continue;
      const off = x * x + y * y + z * z - along * along;
      if (off <= radius * radius) candidates.push({ pickable, row, near: along - Math.sqrt(radius * radius - off) });
    }
  }
  candidates.sort((a, b) => a.near - b.near);
  let best: Hit | null = null;
  for (const { pickable, row, near } of candidates) {
    if (best && near > best.distance) break;
    if (skips?.(pickable.slots[row])) continue;
    const distance = meet(ray, pickable, row, beyond, best?.distance ?? Infinity);
    if (distance !== null) best = { pickable, row, distance };
  }
  return best;
}

const matrix = new Matrix4();
const from = new Vector3();
const way = new Vector3();

/** Returns the distance to the closest triangle of a body between two distances, or null. */
function meet(ray: Ray, pickable: Pickable, row: number, beyond: number, before: number): number | null {
  const { positions, index, ends, both_sides } = pickable.form;
  matrix.fromArray(pickable.matrices, row * 16);
  if (pickable.is_mirrored) mirror(matrix);
  if (Math.abs(matrix.determinant()) < 1e-30) return null;
  matrix.invert();
  from.copy(ray.origin).applyMatrix4(matrix);
  // The direction is not normalized, so distances are those of world space.
  const e = matrix.elements;
  const { x, y, z } = ray.direction;
  way.set(e[0] * x + e[4] * y + e[8] * z, e[1] * x + e[5] * y + e[9] * z, e[2] * x + e[6] * y + e[10] * z);
  const pulled = ends ? pickable.stretch(row) : 0;
  const corners = index ? index.length : positions.length / 3;
  let found: number | null = null;
  for (let at = 0; at + 2 < corners; at += 3) {
    const a = index ? index[at] : at;
    const b = index ? index[at + 1] : at + 1;
    const c = index ? index[at + 2] : at + 2;
    const ax = positions[a * 3];
    const ay = positions[a * 3 + 1] + (pulled && ends ? ends[a] * pulled : 0);
    const az = positions[a * 3 + 2];
    const ux = positions[b * 3] - ax;
    const uy = positions[b * 3 + 1] + (pulled && ends ? ends[b] * pulled : 0) - ay;
    const uz = positions[b * 3 + 2] - az;
    const vx = positions[c * 3] - ax;
    const vy = positions[c * 3 + 1] + (pulled && ends ? ends[c] * pulled : 0) - ay;
    const vz = positions[c * 3 + 2] - az;
    const px = way.y * vz - way.z * vy;
    const py = way.z * vx - way.x * vz;
    const pz = way.x * vy - way.y * vx;
    const det = ux * px + uy * py + uz * pz;
    // Skip back faces, as seen in the body's local space.
    if (both_sides ? det === 0 : det <= 0) continue;
    const tx = from.x - ax;
    const ty = from.y - ay;
    const tz = from.z - az;
    const u = (tx * px + ty * py + tz * pz) / det;
    if (u < 0 || u > 1) continue;
    const qx = ty * uz - tz * uy;
    const qy = tz * ux - tx * uz;
    const qz = tx * uy - ty * ux;
    const v = (way.x * qx + way.y * qy + way.z * qz) / det;
    if (v < 0 || u + v > 1) continue;
    const distance = (vx * qx + vy * qy + vz * qz) / det;
    if (distance >= beyond && distance < before) found = before = distance;
  }
  return found;
}

/** Multiplies a matrix by a mirror in x from the left. */
export function mirror(of: Matrix4): Matrix4 {
  const e = of.elements;
  e[0] = -e[0];
  e[4] = -e[4];
  e[8] = -e[8];
  e[12] = -e[12];
  return of;
}

/** In CSS pixels. */
export interface Rect {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/**
 * Returns a function that tests whether a point in world space is in a rectangle of the picture and
 * in front of the camera.
 */
export function within(
  rect: Rect,
  seen: Matrix4,
  width: number,
  height: number,
): (x: number, y: number, z: number) => boolean {
  const e = seen.elements;
  const left = (rect.left / width) * 2 - 1;
  const right = (rect.right / width) * 2 - 1;
  const top = 1 - (rect.top / height) * 2;
  const bottom = 1 - (rect.bottom / height) * 2;
  return (x, y, z) => {
    const w = e[3] * x + e[7] * y + e[11] * z + e[15];
    if (!(w > 0)) return false;
    const across = e[0] * x + e[4] * y + e[8] * z + e[12];
    const up = e[1] * x + e[5] * y + e[9] * z + e[13];
    return across >= left * w && across <= right * w && up <= top * w && up >= bottom * w;
  };
}
