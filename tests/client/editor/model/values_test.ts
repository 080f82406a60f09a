// Values of components as objects: their parts by path, and copies of them for another session or with other references.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { hash64, nil } from 'muster-client';
import type { Entity } from 'muster-client';

import { at_path, default_value, last_name, same_value, with_path, with_references, with_texts, words } from '../../../../client/editor/src/model/values.js';
import { types_of } from '../../ts/support.js';

const health = types_of('everything.bfbs').get('golden.Health');
const orc: Entity = { index: 7, generation: 2 };
const elf: Entity = { index: 7, generation: 3 };

test('a part of a value is found by its path, and nothing where there is nothing of the kind', () => {
  const value = { at: { x: 1, y: 2 }, slots: [{ count: 3 }, { count: 4, item: 0n }], none: null };
  const cases: [string, unknown][] = [
    ['at.y', 2],
    ['at', value.at],
    ['slots[1].count', 4],
    ['slots[1].item', 0n],
    ['slots[0]', value.slots[0]],
    ['slots', value.slots],
    ['', value],
    ['at.z', undefined],
    ['slots[2].count', undefined],
    ['at.x.y', undefined],
    ['none.x', undefined],
    ['none', null],
  ];
  for (const [path, part] of cases) assert.equal(at_path(value, path), part, path);
  assert.equal(at_path(undefined, 'x'), undefined);
});

test('a copy has the other part where the path leads, shares the rest, and leaves the value as it was', () => {
  const value = { at: { x: 1, y: 2 }, slots: [{ count: 3 }, { count: 4 }] };
  const before = structuredClone(value);
  assert.deepEqual(with_path(value, 'at.y', 9), { at: { x: 1, y: 9 }, slots: [{ count: 3 }, { count: 4 }] });
  assert.deepEqual(with_path(value, 'slots[1].count', 9), { at: { x: 1, y: 2 }, slots: [{ count: 3 }, { count: 9 }] });
  assert.deepEqual(with_path(value, 'slots[0]', null), { at: { x: 1, y: 2 }, slots: [null, { count: 4 }] });
  assert.equal(with_path(value, '', 5), 5);
  assert.deepEqual(with_path(undefined, 'a.b', 5), { a: { b: 5 } });
  assert.ok(Array.isArray((with_path(value, 'slots[1]', 0) as typeof value).slots));
  assert.equal((with_path(value, 'at.y', 9) as typeof value).slots, value.slots);
  assert.deepEqual(value, before);
});

test('values are the same only where every part of them is', () => {
  const same: [unknown, unknown][] = [
    [1, 1],
    [NaN, NaN],
    [5n, 5n],
    ['a', 'a'],
    [null, null],
    [{ a: [1, { b: 2n }] }, { a: [1, { b: 2n }] }],
    [[], []],
    [new Uint8Array([1, 2]), new Uint8Array([1, 2])],
  ];
  const other: [unknown, unknown][] = [
    [0, -0],
    [1, 1n],
    [1, '1'],
    [null, {}],
    [{}, 5],
    [[], 5n],
    [{}, 'a'],
    [{}, null],
    [undefined, null],
    [{ a: 1 }, { a: 1, b: undefined }],
    [{ a: 1, b: undefined }, { a: 1 }],
    [{ a: undefined }, { b: undefined }],
    [[1, 2], [1, 3]],
    [[1], [1, 2]],
    [{ a: { b: 1 } }, { a: { b: 2 } }],
    [1, { valueOf: () => 1 }],
  ];
  for (const [a, b] of same) assert.ok(same_value(a, b), String(a));
  for (const [a, b] of other) {
    assert.ok(!same_value(a, b), `${String(a)} and ${String(b)}`);
    assert.ok(!same_value(b, a), `${String(b)} and ${String(a)}`);
  }
});

test('the default of a component is what its schema says, anew at each call', () => {
  const value = default_value(health);
  assert.deepEqual([value.value, value.at, value.flags, value.mesh], [100, { x: 1, y: 2, z: 3 }, [true, false, true], hash64('meshes/orc.glb')]);
  (value.at as { x: number }).x = 50;
  assert.deepEqual(default_value(health).at, { x: 1, y: 2, z: 3 });
});

test('texts stand for their hashes wherever they lie; one that is not known here stays a hash, and none is empty', () => {
  const slots = [1n, 0n].map((item) => ({ count: 1, item, owner: orc }));
  const value = { ...default_value(health), mesh: 2n, slots, big: 2n };
  const copy = with_texts(health, value, (hash) => (hash === 1n ? 'axe' : ''));
  assert.deepEqual(copy, { ...value, mesh: 2n, slots: [{ count: 1, item: 'axe', owner: orc }, { count: 1, item: '', owner: orc }] });
  assert.deepEqual(value.slots[0].item, 1n);
  assert.equal(with_texts(health, { ...value, mesh: 'already' }, () => 'other').mesh, 'already');
});

test('references to some become references to others wherever they lie, and all else stays', () => {
  const slots = [orc, elf].map((owner) => ({ count: 1, item: 0n, owner }));
  const value = { ...default_value(health), target: orc, slots };
  const now = { index: 1, generation: 1 };
  const copy = with_references(health, value, (entity) => (entity.index === 7 && entity.generation === 2 ? now : undefined));
  assert.deepEqual(copy, { ...value, target: now, slots: [{ ...slots[0], owner: now }, slots[1]] });
  assert.deepEqual(value.target, orc);
  assert.deepEqual(with_references(health, { ...value, target: nil }, () => undefined).target, nil);
});

test('names are shown by their last part and in words', () => {
  assert.deepEqual(['golden.Health', 'Health', 'a.b.C'].map(last_name), ['Health', 'Health', 'C']);
  assert.deepEqual(['ready_in', 'a_b_c', 'x'].map(words), ['ready in', 'a b c', 'x']);
});
