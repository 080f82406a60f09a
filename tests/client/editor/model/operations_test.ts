// Operations as the parts of one step: runs of the same components together, ids of later ones known before.
import assert from 'node:assert/strict';

import { id_text, nil } from 'muster-client';
import type { BatchPlan, Entity, StepPart } from 'muster-client';

import { placeholder, prepared, written_by } from '../../../../client/editor/src/model/operations.js';
import type { Made, Operation } from '../../../../client/editor/src/model/operations.js';
import { default_value } from '../../../../client/editor/src/model/values.js';
import { test } from '../../ts/support.js';
import { entity, Played } from './played.js';

const config = 'golden.Config';
const health = 'golden.Health';
type Each = BatchPlan & { kind: 'each' };
const parts_of = async (play: Played, operation: Operation): Promise<StepPart[]> => (await prepared(play.client, [operation])).parts;

test('many of anything are one part, in their order', async (t) => {
  const all = Array.from({ length: 4001 }, (_, i) => entity(i + 1));
  const cases: Operation[] = [
    { kind: 'set', component: config, values: all.map((each) => ({ entity: each, value: { speed: 1 } })) },
    { kind: 'remove', component: config, entities: all },
    { kind: 'rename', names: all.map((each) => ({ entity: each, name: '' })) },
    { kind: 'reparent', places: all.map((each) => ({ entity: each, parent: nil, before: nil })) },
    { kind: 'destroy', entities: all },
  ];
  const play = await Played.open(t);
  for (const operation of cases) {
    const [part, ...more] = await parts_of(play, operation);
    assert.deepEqual([more, (part as Each).messages.map(({ target }) => target)], [[], all], operation.kind);
  }
});

test('fields of which something is expected are a part of their own', async (t) => {
  const play = await Played.open(t);
  const change = (index: number, expected?: number) => ({ entity: entity(index), component: health, path: 'value', value: 1, ...(expected !== undefined && { expected }) });
  const parts = await parts_of(play, { kind: 'fields', changes: [change(1, 5), change(2), change(3, 6), change(4)] });
  const indices = parts.map((part) => part.kind === 'fields' && part.edits.map((edit) => edit.entity.index));
  assert.deepEqual(indices, [[2, 4], [1, 3]]);
  assert.equal((await parts_of(play, { kind: 'fields', changes: [change(1)] })).length, 1);
});

test('what is created goes in runs of the same components, parents before children', async (t) => {
  const play = await Played.open(t);
  const made: Made[] = [];
  const make = (count: number, components: Made['components']): void => {
    for (let i = 0; i < count; ++i) made.push({ entity: placeholder(), parent: made.at(-1)?.entity ?? nil, before: nil, name: '', components });
  };
  make(2, {});
  make(2, { [config]: { speed: 1 } });
  make(1, { [config]: { speed: 2 }, 'golden.Dead': { nothing: 0 } });
  make(300, {});
  const { parts, issued } = await prepared(play.client, [{ kind: 'create', made }]);
  const runs = parts as Each[];
  assert.deepEqual(runs.map(({ type, messages }) => [type.name, messages.length]), [2, 2, 1, 300].map((count) => ['muster.Create', count]));
  const ids = made.map(({ entity: each }) => issued.get(id_text(each))!.index);
  assert.deepEqual(ids, Array.from({ length: made.length }, (_, i) => 100 + i));
  const targets = runs.flatMap(({ messages }) => messages.map(({ target, value }) => [target.index, (value as { parent: Entity }).parent.index]));
  assert.deepEqual(targets, ids.map((index, i) => [index, i === 0 ? 0 : ids[i - 1]]));
});

test('what refers to one that is created later has its id; each preparation issues new ones', async (t) => {
  const play = await Played.open(t);
  const [first, later] = [placeholder(), placeholder()];
  const known = entity(7);
  const value = { ...default_value(play.client.types.get(health)), mesh: 0n };
  const slots = [{ count: 1, item: 0n, owner: first }, { count: 1, item: 0n, owner: known }];
  const made: Made[] = [
    { entity: first, parent: nil, before: known, name: 'a', components: { [health]: { ...value, target: later, slots } } },
    { entity: later, parent: nil, before: nil, name: 'b', components: {} },
  ];
  for (const index of [100, 102]) {
    const [part] = (await parts_of(play, { kind: 'create', made })) as Each[];
    const [{ value: message, rows }] = part.messages;
    const { target, slots: now } = rows![0].value as { target: Entity; slots: { owner: Entity }[] };
    assert.deepEqual([target, now.map(({ owner }) => owner), (message as { before: Entity }).before], [entity(index + 1), [entity(index), known], known]);
  }
  const root = placeholder();
  const { parts, issued } = await prepared(play.client, [{ kind: 'spawn', entity: root, template: 't', parent: known, name: 'n' }]);
  assert.deepEqual([issued.get(id_text(root)), (parts[0] as BatchPlan & { kind: 'shared' }).targets], [entity(104), [entity(104), entity(105)]]);
});

test('what an operation writes to existing components is known', () => {
  const changes = [{ entity: entity(9), component: health, path: 'value', value: 3, expected: 2 }];
  assert.deepEqual(written_by({ kind: 'fields', changes }), [{ entity: entity(9), component: health, path: 'value', value: 3 }]);
  const value = { speed: 1 };
  assert.deepEqual(written_by({ kind: 'set', component: config, values: [{ entity: entity(9), value }] }), [{ entity: entity(9), component: config, path: '', value }]);
  assert.deepEqual(written_by({ kind: 'remove', component: health, entities: [entity(9)] }), []);
});

test('a placeholder is another one at each call, and no id of a world', () => {
  const made = Array.from({ length: 5 }, placeholder);
  assert.equal(new Set(made.map(({ index }) => index)).size, 5);
  assert.ok(made.every(({ index, generation }) => index > 0 && generation === 0xffffffff));
});
