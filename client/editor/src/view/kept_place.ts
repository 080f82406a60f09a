// Computes Transforms that keep entities in place when their parent changes.
import { Matrix4, Quaternion, Vector3 } from 'three';
import type { TransformValue } from './contents.js';
import type { Entity, TransformPut } from './world.js';

const axes = ['x', 'y', 'z'] as const;

export function matrix_of({ position, rotation, scale }: TransformValue): Matrix4 {
  const { x, y, z, w } = rotation;
  return new Matrix4().compose(
    new Vector3(position.x, position.y, position.z),
    new Quaternion(x, y, z, w).normalize(),
    new Vector3(scale.x, scale.y, scale.z),
  );
}

/**
 * Returns true if a scale of 0 has made the space flat, so that places in it cannot be converted.
 */
export function is_flat_space(space: Matrix4): boolean {
  const inverse = space.clone().invert().elements;
  return inverse.every((each) => each === 0) || !inverse.every((each) => Number.isFinite(each));
}

/**
 * Converts a Transform from the space `from` to the space `to`. Mirrored axes stay mirrored if
 * possible. Drops shear, which a Transform cannot represent. Returns null if one of the spaces is
 * flat.
 */
export function moved_to(before: TransformValue, from: Matrix4, to: Matrix4): TransformValue | null {
  if (is_flat_space(from) || is_flat_space(to)) return null;
  return changed_by(before, to.clone().invert().multiply(from));
}
/** Applies a change of the space to a Transform, without shear; see moved_to. */
export function changed_by(before: TransformValue, change: Matrix4): TransformValue {
  const local = change.clone().multiply(matrix_of(before));
  const columns = [0, 1, 2].map((i) => new Vector3().setFromMatrixColumn(local, i));
  const place = new Vector3().setFromMatrixPosition(local);
  const signs = axes.map((axis) => (before.scale[axis] < 0 ? -1 : 1));
  if (change.determinant() < 0) signs[0] *= -1;
  const scale = columns.map((column, i) => column.length() * signs[i]);
  if (scale.some((each) => each === 0)) return { ...before, position: { x: place.x, y: place.y, z: place.z } };
  columns.forEach((column, i) => column.divideScalar(scale[i]));
  const basis = new Matrix4().makeBasis(columns[0], columns[1], columns[2]);
  const { x, y, z, w } = new Quaternion().setFromRotationMatrix(basis).normalize();
  return {
    position: { x: place.x, y: place.y, z: place.z },
    rotation: { x, y, z, w },
    scale: { x: scale[0], y: scale[1], z: scale[2] },
  };
}

export interface PlacedTree {
  transform(entity: Entity): TransformValue | undefined;
  /** Nil for a root. */
  parent(entity: Entity): Entity;
  children(entity: Entity): readonly Entity[];
}

/**
 * Returns the fields of Transforms that keep these entities and their descendants in place under
 * `parent`.
 */
export function kept_places(tree: PlacedTree, entities: readonly Entity[], parent: Entity): TransformPut[] {
  const space = (of: Entity): Matrix4 => {
    const all = new Matrix4();
    for (let at = of; at.index !== 0; at = tree.parent(at)) {
      const own = tree.transform(at);
      if (own) all.premultiply(matrix_of(own));
    }
    return all;
  };
  const to = space(parent);
  const puts: TransformPut[] = [];
  const put = (entity: Entity, from: Matrix4): void => {
    const before = tree.transform(entity);
    // An entity without a Transform cannot be adjusted, so adjust its children instead.
    if (!before) return tree.children(entity).forEach((child) => put(child, from));
    const after = moved_to(before, from, to);
    if (!after) return;
    const parts: TransformPut = { entity };
    if (differ(before.position, after.position, 1)) parts.position = after.position;
    if (turned(before.rotation, after.rotation)) parts.rotation = after.rotation;
    if (differ(before.scale, after.scale, 0)) parts.scale = after.scale;
    if (parts.position || parts.rotation || parts.scale) puts.push(parts);
  };
  for (const entity of entities) put(entity, space(tree.parent(entity)));
  return puts;
}

function differ(a: TransformValue['position'], b: TransformValue['position'], least: number): boolean {
  return axes.some((axis) => Math.abs(a[axis] - b[axis]) > 1e-6 * Math.max(least, Math.abs(a[axis])));
}
function turned(a: TransformValue['rotation'], b: TransformValue['rotation']): boolean {
  const [from, to] = [a, b].map(({ x, y, z, w }) => new Quaternion(x, y, z, w).normalize());
  return 1 - Math.abs(from.dot(to)) > 1e-12;
}
