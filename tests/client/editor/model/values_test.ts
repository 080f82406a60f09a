// Values of components as objects: their parts by path, and copies of them for another session or with other references.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { hash64, nil } from 'muster-client';
import type { Entity } from 'muster-client';

import { clipboard_text, pasted_trees, pasted_value, trees_text } from '../../../../client/editor/src/model/clipboard.js';
import { at_path, default_value, last_name, same_value, with_path, with_references, with_texts, words } from '../../../../client/editor/src/model/values.js';
import { types_of } from '../../ts/support.js';

const types = types_of('everything.bfbs');
const health = types.get('golden.Health');
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

test('values come out of the clipboard as they went in, in the world that they are of; else references are none', () => {
  const value = {
    ...default_value(health),
    regen: NaN,
    precise: -0,
    big: 2n ** 64n - 1n,
    mesh: 'meshes/orc.glb',
    target: elf,
    slots: [0, 1].map((count) => ({ count, item: `item ${count}`, owner: orc })),
  };
  const text = clipboard_text(health, value, 'here');
  assert.deepEqual(pasted_value(health, text, 'here'), value);
  const far = pasted_value(health, text, 'there');
  assert.deepEqual([far.target, (far.slots as { owner: Entity }[]).map(({ owner }) => owner), far.big], [nil, [nil, nil], value.big]);
  const fails = (given: string, sentence: string): void => assert.throws(() => pasted_value(health, given, 'here'), { message: sentence });
  for (const none of ['', 'words', 'null', '[]', '{"golden.Config":{"speed":1}}', '{"golden.Health":5}'])
    fails(none, 'The clipboard does not contain values of Health.');
  const changed = (change: object): string => JSON.stringify({ ...JSON.parse(text), [health.name]: { ...JSON.parse(text)[health.name], ...change } });
  fails(changed({ value: 'many' }), 'The clipboard cannot be pasted: value is not a number.');
  fails(changed({ at: { x: 1, y: 2 } }), 'The clipboard cannot be pasted: at.z is not a number.');
  fails(changed({ slots: [] }), 'The clipboard cannot be pasted: slots is not a list of 2.');
  fails(changed({ target: 5 }), 'The clipboard cannot be pasted: target is not an entity.');
  fails(changed({ big: 1.5 }), 'The clipboard cannot be pasted: big is not a whole number.');
  fails(changed({ alive: 1 }), 'The clipboard cannot be pasted: alive is not true or false.');
});

test('entities come out of the clipboard as they went in; in another world references to what was not copied are none', () => {
  const bag = { index: 9, generation: 3 };
  const by_name = new Map([...types].map((type) => [type.name, type]));
  const value = { ...default_value(health), mesh: 'meshes/orc.glb', big: 2n ** 64n - 1n, regen: NaN, target: bag, slots: [orc, elf].map((owner) => ({ count: 1, item: '', owner })) };
  const copied = [
    { entity: orc, parent: { index: 1, generation: 1 }, name: 'orc', components: { [health.name]: value } },
    { entity: bag, parent: orc, name: '', components: {} },
  ];
  const text = trees_text(copied, 'here');
  const here = pasted_trees(by_name, text, 'here');
  assert.deepEqual(here, { copied, roots: [orc], is_from_here: true, unknown: [] });
  const far = pasted_trees(by_name, text, 'there');
  assert.equal(far.is_from_here, false);
  const of_orc = far.copied[0].components[health.name] as { target: Entity; slots: { owner: Entity }[] };
  assert.deepEqual([of_orc.target, of_orc.slots.map(({ owner }) => owner)], [bag, [orc, nil]]);

  const changed = (change: (all: { entities: Record<string, any>[] }) => void): string => {
    const all = JSON.parse(text);
    change(all);
    return JSON.stringify(all);
  };
  const unknown = pasted_trees(by_name, changed(({ entities }) => (entities[1].components = { 'game.Gun': {}, 'golden.Damage': {} })), 'here');
  assert.deepEqual([unknown.unknown, unknown.copied[1].components], [['game.Gun', 'golden.Damage'], {}]);
  const fails = (given: string, sentence: string): void => assert.throws(() => pasted_trees(by_name, given, 'here'), { message: sentence });
  const nothing = 'The clipboard does not contain entities.';
  const wrong = [
    '', 'words', 'null', '[]', '{}', '{"entities":5}', '{"entities":[]}', '{"entities":[null]}', clipboard_text(health, value, 'here'),
    changed(({ entities }) => (entities[1].id = entities[0].id)), changed(({ entities }) => delete entities[1].name),
    changed(({ entities }) => (entities[0].id = '7')), changed(({ entities }) => (entities[0].components = null)),
  ]; // prettier-ignore
  for (const each of wrong) fails(each, nothing);
  fails(changed(({ entities }) => (entities[0].components[health.name].at.y = 'up')), 'The clipboard cannot be pasted: Health.at.y is not a number.');
  fails(changed(({ entities }) => (entities[0].components[health.name] = 5)), 'The clipboard cannot be pasted: Health is not a group of values.');
  fails(JSON.stringify({ entities: Array(20_001).fill({}) }), 'Cannot paste 20,001 entities at once. The limit is 20,000.');
});
