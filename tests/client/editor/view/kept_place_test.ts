// Transforms in the space of another parent: the same place in the world.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Matrix4, Quaternion, Vector3 } from 'three';

import { kept_places, matrix_of, moved_to } from '../../../../client/editor/src/view/kept_place.js';
import type { TransformValue } from '../../../../client/editor/src/view/contents.js';

const space = (turn: Quaternion, scale: Vector3): Matrix4 => new Matrix4().compose(new Vector3(4, -2, 7), turn, scale);
const turned = (x: number, y: number, z: number, w: number): Quaternion => new Quaternion(x, y, z, w).normalize();
const still: TransformValue = { position: { x: 0, y: 0, z: 0 }, rotation: { x: 0, y: 0, z: 0, w: 1 }, scale: { x: 1, y: 1, z: 1 } };
const own = turned(0.1, -0.4, 0.2, 0.8);
const value: TransformValue = {
  position: { x: 1, y: 2, z: 3 },
  rotation: { x: own.x, y: own.y, z: own.z, w: own.w },
  scale: { x: 1, y: 2, z: 0.5 },
};
function same(a: Matrix4, b: Matrix4): void {
  a.elements.forEach((each, i) => assert.ok(Math.abs(each - b.elements[i]) < 1e-9, `${each}, not ${b.elements[i]}`));
}

test('a thing is where it was, whatever the turns, sizes and mirrors of both spaces and its own', () => {
  const spaces = [new Vector3(1, 1, 1), new Vector3(2, 2, 2), new Vector3(-1, -1, -1), new Vector3(-3, 3, 3)].map((scale, i) =>
    space(turned(0.3, 0.2 * i, -0.1, 0.9), scale),
  );
  for (const from of spaces)
    for (const to of spaces)
      for (const scale of [value.scale, { x: 1, y: 1, z: -1 }, { x: -1, y: -2, z: 1 }]) {
        const before = { ...value, scale };
        same(to.clone().multiply(matrix_of(moved_to(before, from, to)!)), from.clone().multiply(matrix_of(before)));
      }
});

test('axes that are mirrored stay the mirrored ones; what has no size keeps its turn and its size', () => {
  const from = space(turned(0.3, 0.2, -0.1, 0.9), new Vector3(1, 1, 1));
  const { scale } = moved_to({ ...value, scale: { x: 1, y: 2, z: -3 } }, from, new Matrix4())!;
  assert.deepEqual(['x', 'y', 'z'].map((axis) => Math.round(scale[axis as 'x'] * 1e6) / 1e6), [1, 2, -3]);
  const flat = { ...value, scale: { x: 1, y: 0, z: 1 } };
  const moved = moved_to(flat, from, new Matrix4())!;
  assert.deepEqual([moved.rotation, moved.scale], [flat.rotation, flat.scale]);
  assert.equal(moved_to(value, from, new Matrix4().makeScale(1, 0, 1)), null);
  assert.equal(moved_to(value, new Matrix4().makeScale(0, 0, 0), from), null);
});

test('only what becomes another is written, also of those below one that has no place itself', () => {
  const entity = (index: number) => ({ index, generation: 1 });
  const [root, house, group, crate, lamp] = [0, 1, 2, 3, 4].map(entity);
  const values = new Map<number, TransformValue>([
    [1, { ...still, position: { x: 5, y: 0, z: 0 } }],
    [3, value],
    [4, still],
  ]);
  const parents = new Map([[1, root], [2, root], [3, group], [4, house]]);
  const tree = {
    transform: ({ index }: { index: number }) => values.get(index),
    parent: ({ index }: { index: number }) => parents.get(index)!,
    children: ({ index }: { index: number }) => [...parents].filter(([, parent]) => parent.index === index).map(([child]) => entity(child)),
  };
  assert.deepEqual(kept_places(tree, [group], house), [{ entity: crate, position: { x: -4, y: 2, z: 3 } }]);
  assert.deepEqual(kept_places(tree, [lamp], root), [{ entity: lamp, position: { x: 5, y: 0, z: 0 } }]);
  assert.deepEqual(kept_places(tree, [crate], root), []);
});
