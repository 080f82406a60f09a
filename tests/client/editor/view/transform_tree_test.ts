import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Matrix4, Quaternion, Vector3 } from 'three';
import { TransformTree } from '../../../../client/editor/src/view/transform_tree.js';

const still = { x: 0, y: 0, z: 0, w: 1 };
const one = { x: 1, y: 1, z: 1 };
const quarter_about_y = { x: 0, y: Math.SQRT1_2, z: 0, w: Math.SQRT1_2 };

function place(tree: TransformTree, slot: number): number[] {
  return [...tree.world.subarray(slot * 16 + 12, slot * 16 + 15)].map((each) => Math.round(each * 1e4) / 1e4 + 0);
}
function moved(tree: TransformTree): number[] {
  const slots: number[] = [];
  tree.update((slot) => slots.push(slot));
  return slots.sort((a, b) => a - b);
}

test('a child is where scale, rotation and position of those above put it', () => {
  const tree = new TransformTree();
  const [above, below] = [tree.add(), tree.add()];
  tree.hang(below, above);
  tree.place(above, { x: 10, y: 0, z: 0 }, quarter_about_y, { x: 2, y: 2, z: 2 });
  tree.place(below, { x: 1, y: 3, z: 0 }, still, one);
  tree.update(() => {});
  assert.deepEqual(place(tree, below), [10, 6, -2]);
});

test('an entity without a Transform is where its nearest ancestor with one is', () => {
  const tree = new TransformTree();
  const [top, between, leaf] = [tree.add(), tree.add(), tree.add()];
  tree.hang(between, top);
  tree.hang(leaf, between);
  tree.place(top, { x: 1, y: 2, z: 3 }, still, one);
  tree.place(leaf, { x: 1, y: 0, z: 0 }, still, one);
  tree.update(() => {});
  assert.deepEqual(place(tree, between), [1, 2, 3]);
  assert.deepEqual(place(tree, leaf), [2, 2, 3]);
  tree.unplace(top);
  tree.update(() => {});
  assert.deepEqual(place(tree, leaf), [1, 0, 0]);
});

test('only what moved and what is below it is told, once, parents first', () => {
  const tree = new TransformTree();
  const slots = [0, 1, 2, 3, 4].map(() => tree.add());
  tree.hang(slots[1], slots[0]);
  tree.hang(slots[2], slots[1]);
  tree.hang(slots[3], slots[0]);
  tree.update(() => {});
  tree.place(slots[2], { x: 1, y: 0, z: 0 }, still, one);
  tree.place(slots[1], { x: 1, y: 0, z: 0 }, still, one);
  const told: number[] = [];
  tree.update((slot) => told.push(slot));
  assert.deepEqual(told, [slots[1], slots[2]]);
  assert.deepEqual(moved(tree), []);
  tree.hang(slots[1], slots[4]);
  assert.deepEqual(moved(tree), [slots[1], slots[2]]);
});

test('when a parent goes its children are roots, and its slot can be another entity’s', () => {
  const tree = new TransformTree();
  const [above, below] = [tree.add(), tree.add()];
  tree.hang(below, above);
  tree.place(above, { x: 5, y: 0, z: 0 }, still, one);
  tree.place(below, { x: 1, y: 0, z: 0 }, still, one);
  tree.update(() => {});
  tree.remove(above);
  assert.equal(tree.parent[below], -1);
  tree.update(() => {});
  assert.deepEqual(place(tree, below), [1, 0, 0]);
  const again = tree.add();
  assert.equal(again, above);
  tree.update(() => {});
  assert.deepEqual(place(tree, again), [0, 0, 0]);
  assert.equal(tree.is_placed(again), false);
});

test('a circle is not hung', () => {
  const tree = new TransformTree();
  const [a, b, c] = [tree.add(), tree.add(), tree.add()];
  tree.hang(b, a);
  tree.hang(c, b);
  tree.hang(a, c);
  assert.equal(tree.parent[a], -1);
  assert.deepEqual(moved(tree), [a, b, c]);
});

test('random trees that change at random are as matrices multiplied one by one say', () => {
  let seed = 11;
  const random = (): number => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const tree = new TransformTree();
  const local = new Map<number, Matrix4 | null>();
  const parents = new Map<number, number>();
  const world = (slot: number): Matrix4 => {
    const above = parents.get(slot)!;
    const base = above >= 0 ? world(above) : new Matrix4();
    const own = local.get(slot);
    return own ? base.multiply(own) : base;
  };
  const is_above = (slot: number, of: number): boolean => of >= 0 && (of === slot || is_above(slot, parents.get(of)!));
  for (let step = 0; step < 3000; ++step) {
    const slots = [...local.keys()];
    const any = slots[Math.floor(random() * slots.length)];
    const what = random();
    if (what < 0.3 || slots.length < 3) {
      const slot = tree.add();
      local.set(slot, null);
      parents.set(slot, -1);
    } else if (what < 0.55) {
      const position = new Vector3(random() * 4, random() * 4, random() * 4);
      const rotation = new Quaternion(random() - 0.5, random() - 0.5, random() - 0.5, random() + 0.1).normalize();
      const scale = new Vector3(0.5 + random(), 0.5 + random(), random() < 0.2 ? -1 : 1);
      tree.place(any, position, rotation, scale);
      local.set(any, new Matrix4().compose(position, rotation, scale));
    } else if (what < 0.6) {
      tree.unplace(any);
      local.set(any, null);
    } else if (what < 0.9) {
      const to = random() < 0.2 ? -1 : slots[Math.floor(random() * slots.length)];
      tree.hang(any, to);
      if (!is_above(any, to)) parents.set(any, to);
    } else {
      tree.remove(any);
      local.delete(any);
      parents.delete(any);
      for (const [slot, above] of parents) if (above === any) parents.set(slot, -1);
    }
    if (step % 50 !== 0) continue;
    tree.update(() => {});
    for (const slot of local.keys()) {
      const wanted = world(slot).elements;
      wanted.forEach((value, i) => {
        const found = tree.world[slot * 16 + i];
        assert.ok(
          Math.abs(found - value) <= 1e-3 * Math.max(1, Math.abs(value)),
          `step ${step} slot ${slot} element ${i}: ${found}, not ${value}`,
        );
      });
    }
  }
});

test('what may wait comes behind the rest, but first in one of four turns, and all of it in the end', () => {
  const tree = new TransformTree();
  const slots = Array.from({ length: 1000 }, () => tree.add());
  tree.update(() => {});
  const told: number[] = [];
  const one_more = (slot: number): void => void told.push(slot);
  const is_odd = (slot: number): boolean => slots.indexOf(slot) % 2 === 1;
  const turn = (): number[] => {
    told.length = 0;
    for (const slot of slots) tree.moved(slot);
    tree.update(one_more, () => true, is_odd);
    return [...told];
  };
  // A turn is over after 128 were looked at: of the even ones all of its share are done, of the odd ones in the fourth turn.
  const turns = [1, 2, 3, 4, 5, 6, 7, 8].map(turn);
  const odd = turns.map((each) => each.filter(is_odd).length);
  assert.deepEqual([odd[3], odd[7]], [128, 128]);
  assert.deepEqual([odd[0], odd[1], odd[2], odd[4], odd[5], odd[6]], [0, 0, 0, 0, 0, 0]);
  assert.ok([0, 1, 2, 4, 5, 6].every((each) => turns[each].length >= 64));
  told.length = 0;
  tree.recall();
  while (!tree.is_settled) tree.update(one_more, () => true, is_odd);
  assert.equal(new Set(told).size, told.length);
  for (const slot of slots) tree.moved(slot);
  tree.update(() => {}, () => true, is_odd);
  told.length = 0;
  tree.update(one_more);
  assert.ok(tree.is_settled && told.length > 870);
});

test('who has children does not wait, nor who waits for one that has', () => {
  const tree = new TransformTree();
  const [above, below] = [tree.add(), tree.add()];
  tree.hang(below, above);
  tree.update(() => {});
  tree.moved(above);
  tree.moved(below);
  const told: number[] = [];
  tree.update((slot) => told.push(slot), () => false, () => true);
  assert.deepEqual(told, [above, below]);
});

test('what is put off is done later, once, in its turn; one that is asked for comes before', () => {
  const read: number[] = [];
  const tree = new TransformTree((slot, to, at) => {
    read.push(slot);
    to.set([7, 0, 0, 0, 0, 0, 1, 1, 1, 1], at);
  });
  const slots = Array.from({ length: 1000 }, () => tree.add());
  tree.update(() => {});
  slots.forEach((slot, i) => tree.place(slot, { x: i, y: 0, z: 0 }, still, one));
  const told: number[] = [];
  const one_more = (slot: number): void => void told.push(slot);
  tree.settle(slots[900], one_more);
  tree.update(one_more, () => true);
  assert.ok(!tree.is_settled && told.length < 1000);
  assert.deepEqual(told.slice(0, 2), [slots[900], slots[0]]);
  // It moves again while it waits: then the newest place is what counts.
  tree.place(slots[999], { x: 5, y: 0, z: 0 }, still, one);
  for (const slot of [slots[0], slots[0], slots[500]]) tree.moved(slot);
  tree.place(slots[500], { x: 500, y: 0, z: 0 }, still, one);
  assert.deepEqual(read, []);
  while (!tree.is_settled) tree.update(one_more, () => true);
  assert.deepEqual([told.length, new Set(told).size], [1001, 1000]);
  assert.deepEqual(read, [slots[0]]);
  assert.deepEqual(
    [place(tree, slots[999]), place(tree, slots[0]), place(tree, slots[500])],
    [
      [5, 0, 0],
      [7, 0, 0],
      [500, 0, 0],
    ],
  );
});

test('where one that moved is gone its place is not read, and what does not wait is not computed', () => {
  const read: number[] = [];
  const tree = new TransformTree((slot, to, at) => {
    read.push(slot);
    to.set([slot, 0, 0, 0, 0, 0, 1, 1, 1, 1], at);
  });
  const [a, b, c] = [tree.add(), tree.add(), tree.add()];
  tree.update(() => {});
  for (const slot of [a, b, c]) tree.moved(slot);
  tree.remove(b);
  assert.deepEqual(moved(tree).filter((slot) => slot !== b), [a, c]);
  assert.deepEqual(read, [a, c]);
  assert.deepEqual([place(tree, a), place(tree, c)], [[a, 0, 0], [c, 0, 0]]);
  const told: number[] = [];
  tree.settle(a, (slot) => told.push(slot));
  tree.moved(c);
  tree.settle(a, (slot) => told.push(slot));
  tree.settle(c, (slot) => told.push(slot));
  tree.settle(c, (slot) => told.push(slot));
  assert.deepEqual([told, tree.is_settled], [[c], false]);
  tree.update((slot) => told.push(slot));
  assert.deepEqual([told, tree.is_settled], [[c], true]);
});

test('those that were put off are all asked again after a recall, however many of them were done', () => {
  const tree = new TransformTree();
  const slots = Array.from({ length: 1000 }, () => tree.add());
  tree.update(() => {});
  for (const slot of slots) tree.place(slot, { x: slot, y: 0, z: 0 }, still, one);
  const told: number[] = [];
  const never = (): boolean => false;
  tree.update((slot) => told.push(slot), never, () => true); // put off and done behind the rest
  for (const slot of slots) tree.place(slot, { x: -slot, y: 0, z: 0 }, still, one);
  let turns = 0;
  while (!tree.is_settled) {
    tree.update((slot) => told.push(slot), () => true, (slot) => slot % 2 === 0);
    if (++turns % 3 === 0) tree.recall();
    assert.ok(turns < 1000);
  }
  assert.deepEqual(told.sort((a, b) => a - b), [...slots, ...slots].sort((a, b) => a - b));
  for (const slot of slots) assert.deepEqual(place(tree, slot), [-slot + 0, 0, 0]);
});
