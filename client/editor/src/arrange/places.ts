// Computes movements that align, distribute and drop boxes. Everything is in world space.
import { Box3, Vector3 } from 'three';

export type Side = 'min' | 'middle' | 'max';

const along = (box: Box3, axis: number, side: Side): number => {
  const [low, high] = [box.min.getComponent(axis), box.max.getComponent(axis)];
  return side === 'min' ? low : side === 'max' ? high : (low + high) / 2;
};
const by = (axis: number, distance: number): Vector3 => new Vector3().setComponent(axis, distance);

/** Returns the movements that bring one side of each box to that of the last one. */
export function aligned(boxes: readonly Box3[], axis: number, side: Side): Vector3[] {
  const to = along(boxes[boxes.length - 1], axis, side);
  return boxes.map((box) => by(axis, to - along(box, axis, side)));
}

/**
 * Returns the movements that leave equal gaps between boxes along an axis. The first and the last
 * one along the axis stay.
 */
export function distributed(boxes: readonly Box3[], axis: number): Vector3[] {
  const size = (box: Box3): number => along(box, axis, 'max') - along(box, axis, 'min');
  const order = boxes.map((_, i) => i);
  order.sort((a, b) => along(boxes[a], axis, 'middle') - along(boxes[b], axis, 'middle') || a - b);
  const moves = boxes.map(() => new Vector3());
  if (order.length < 3) return moves;
  const [first, last] = [boxes[order[0]], boxes[order[order.length - 1]]];
  const inner = order.slice(1, -1);
  const room = along(last, axis, 'min') - along(first, axis, 'max');
  const gap = (room - inner.reduce((sum, i) => sum + size(boxes[i]), 0)) / (inner.length + 1);
  let at = along(first, axis, 'max');
  for (const i of inner) {
    moves[i].setComponent(axis, at + gap - along(boxes[i], axis, 'min'));
    at += gap + size(boxes[i]);
  }
  return moves;
}

/**
 * Returns the points from which rays look for the ground below a box: its middle and its corners.
 */
export function points_above(box: Box3): Vector3[] {
  const middle = box.getCenter(new Vector3());
  const points = [new Vector3(middle.x, box.max.y, middle.z)];
  for (const x of [box.min.x, box.max.x])
    for (const z of [box.min.z, box.max.z])
      // Slightly inside, so that walls beside the box do not count.
      points.push(new Vector3(x + (middle.x - x) * 0.02, box.max.y, z + (middle.z - z) * 0.02));
  return points;
}

/** Moves a box along a direction until it is beside all others, and no farther than needed. */
export function beside(box: Box3, others: readonly Box3[], way: Vector3, gap: number): Vector3 {
  const axis = Math.abs(way.x) >= Math.abs(way.z) ? 0 : 2;
  const sign = way.getComponent(axis) < 0 ? -1 : 1;
  const move = new Vector3();
  for (let tries = 0; tries < 50; ++tries) {
    const now = box.clone().translate(move);
    const hit = others.find((other) => overlap(now, other));
    if (!hit) break;
    const distance = sign > 0 ? hit.max.getComponent(axis) - now.min.getComponent(axis) : now.max.getComponent(axis) - hit.min.getComponent(axis);
    move.setComponent(axis, move.getComponent(axis) + sign * (distance + gap));
  }
  return move;
}
/** Boxes that only touch do not overlap. */
function overlap(a: Box3, b: Box3): boolean {
  const least = 1e-4;
  return ([0, 1, 2] as const).every(
    (i) => a.min.getComponent(i) < b.max.getComponent(i) - least && a.max.getComponent(i) > b.min.getComponent(i) + least,
  );
}
