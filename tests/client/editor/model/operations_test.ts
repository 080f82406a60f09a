// Operations as they are sent: in batches that servers take, runs of the same components together, ids of later ones known before.
import assert from 'node:assert/strict';

import { nil, session } from 'muster-client';
import type { Batch, Entity } from 'muster-client';

import { Aliases, apply, placeholder, written_by } from '../../../../client/editor/src/model/operations.js';
import type { Made } from '../../../../client/editor/src/model/operations.js';
import { default_value } from '../../../../client/editor/src/model/values.js';
import { test } from '../../ts/support.js';
import { entity, Played } from './played.js';

const config = 'golden.Config';
const health = 'golden.Health';
/** Of the edits that were sent: how many messages each batch has. */
const counts = (play: Played): [string, number][] =>
  play.server.batches.filter(({ type }) => /^muster\.(Set|SetField|SetFieldIf|Remove|Rename|Reparent|Create|Destroy)$/.test(type.name)).map(({ type, count }) => [type.name.slice(7), count]);

test('many of anything go in batches of two thousand, all of them and in their order', async (t) => {
  const all = Array.from({ length: 4001 }, (_, i) => entity(i + 1));
  const whom = (batch: Batch): number[] => Array.from({ length: batch.count }, (_, i) => batch.target(i).index);
  const cases = [
    { kind: 'fields', changes: all.map((each) => ({ entity: each, component: health, path: 'value', value: 1 })) },
    { kind: 'set', component: config, values: all.map((each) => ({ entity: each, value: { speed: 1 } })) },
    { kind: 'remove', component: config, entities: all },
    { kind: 'rename', names: all.map((each) => ({ entity: each, name: '' })) },
    { kind: 'reparent', places: all.map((each) => ({ entity: each, parent: nil, before: nil })) },
    { kind: 'destroy', entities: all },
  ] as const;
  const play = await Played.open(t);
  for (const operation of cases) {
    play.server.batches.length = 0;
    await apply(play.client, operation as never, new Aliases());
    assert.deepEqual(counts(play).map(([, count]) => count), [2000, 2000, 1], operation.kind);
    assert.deepEqual(play.server.batches.flatMap(whom), all.map(({ index }) => index), operation.kind);
  }
});

test('what is created goes in runs of the same components, no longer than a batch, parents before children', async (t) => {
  const play = await Played.open(t);
  const made: Made[] = [];
  const make = (count: number, components: Made['components']): void => {
    for (let i = 0; i < count; ++i) made.push({ entity: placeholder(), parent: made.at(-1)?.entity ?? nil, before: nil, name: '', components });
  };
  make(2, {});
  make(2, { [config]: { speed: 1 } });
  make(1, { [config]: { speed: 2 }, 'golden.Dead': { nothing: 0 } });
  make(2001, {});
  const aliases = new Aliases();
  await apply(play.client, { kind: 'create', made }, aliases);
  assert.deepEqual(counts(play), [['Create', 2], ['Create', 2], ['Create', 1], ['Create', 2000], ['Create', 1]]);
  const ids = made.map(({ entity: each }) => aliases.of(each).index);
  assert.deepEqual(ids, Array.from({ length: made.length }, (_, i) => 100 + i));
  const created = play.server.batches.filter(({ type }) => type.name === 'muster.Create');
  assert.deepEqual(created.flatMap((batch) => Array.from({ length: batch.count }, (_, i) => [batch.target(i).index, (batch.message(i).parent as Entity).index])),
    ids.map((index, i) => [index, i === 0 ? 0 : ids[i - 1]])); // prettier-ignore
});

test('what refers to one that is created later, or was created again, has its id', async (t) => {
  const play = await Played.open(t);
  const [first, later] = [placeholder(), placeholder()];
  const aliases = new Aliases();
  const known = entity(7);
  const value = { ...default_value(play.client.types.get(health)), mesh: 0n };
  const slots = [{ count: 1, item: 0n, owner: first }, { count: 1, item: 0n, owner: known }];
  const made: Made[] = [
    { entity: first, parent: nil, before: known, name: 'a', components: { [health]: { ...value, target: later, slots } } },
    { entity: later, parent: nil, before: nil, name: 'b', components: {} },
  ];
  await apply(play.client, { kind: 'create', made }, aliases);
  const [batch] = play.server.batches.filter(({ type }) => type.name === 'muster.Create');
  const { target, slots: now } = batch.component(0, 0) as unknown as { target: Entity; slots: { owner: Entity }[] };
  assert.deepEqual([target, now.map(({ owner }) => owner), batch.message(0).before], [entity(101), [entity(100), known], known]);

  const set = async (before: Entity): Promise<void> => {
    await apply(play.client, { kind: 'reparent', places: [{ entity: first, parent: later, before }] }, aliases);
    await apply(play.client, { kind: 'fields', changes: [{ entity: later, component: health, path: 'value', value: 1 }] }, aliases);
    await apply(play.client, { kind: 'set', component: config, values: [{ entity: later, value: { speed: 1 } }] }, aliases);
    await apply(play.client, { kind: 'remove', component: config, entities: [later] }, aliases);
    await apply(play.client, { kind: 'destroy', entities: [first, later] }, aliases);
  };
  play.sent();
  await set(later);
  assert.deepEqual(play.sent(), [
    'Reparent 100:1 under 101:1 before 101:1',
    'SetField 101:1 golden.Health.value=1',
    'Set 101:1 mode 0 golden.Config={"speed":1}',
    'Remove 101:1 golden.Config',
    'Destroy 100:1',
    '  Destroy 101:1',
  ]);
  await apply(play.client, { kind: 'create', made }, aliases); // again
  play.sent();
  await set(nil);
  assert.equal(play.sent()[0], 'Reparent 102:1 under 103:1 before 0:0');
  // And of a root of a template.
  const root = placeholder();
  await apply(play.client, { kind: 'spawn', entity: root, template: 't', parent: first, name: 'n' }, aliases);
  assert.deepEqual([play.sent(), aliases.of(root)], [["Spawn 104:1+105:1 't' under 102:1 name 'n'"], entity(104)]);
});

test('what an operation writes is shown of those whom its ids mean now, and refers to them', async (t) => {
  const play = await Played.open(t);
  const [made, now] = [placeholder(), entity(9)];
  const aliases = new Aliases();
  aliases.set(made, now);
  const changes = [{ entity: made, component: health, path: 'target', value: made }];
  assert.deepEqual(written_by(play.client, { kind: 'fields', changes }, aliases), [{ entity: now, component: health, path: 'target', value: now }]);
  const values = [{ entity: made, value: { ...default_value(play.client.types.get(health)), target: made } }];
  const [whole, ...more] = written_by(play.client, { kind: 'set', component: health, values }, aliases);
  assert.deepEqual([whole.entity, whole.path, (whole.value as { target: Entity }).target, more], [now, '', now, []]);
  assert.deepEqual(written_by(play.client, { kind: 'remove', component: health, entities: [made] }, aliases), []);
});

test('an id that was never given another stands for itself, a chain is followed to its end, and itself is no other', () => {
  const aliases = new Aliases();
  const [a, b, c] = [1, 2, 3].map((index) => entity(index));
  assert.equal(aliases.of(a), a);
  aliases.set(a, b);
  aliases.set(a, c);
  assert.deepEqual([aliases.of(a), aliases.of(b), aliases.of(c), aliases.of(entity(1, 2))], [c, c, c, entity(1, 2)]);
  aliases.set(a, c); // it is that already: no ring
  assert.deepEqual(aliases.of(a), c);
});

test('a placeholder is another one at each call, and no id of a world', () => {
  const made = Array.from({ length: 5 }, placeholder);
  assert.equal(new Set(made.map(({ index }) => index)).size, 5);
  assert.ok(made.every(({ index, generation }) => index > 0 && generation === 0xffffffff));
});

test('a batch that is refused ends the operation with the words of the world', async (t) => {
  const play = await Played.open(t);
  play.faults.push({ code: session.FaultCode.refused, text: 'no' });
  const all = Array.from({ length: 2001 }, (_, i) => entity(i + 1));
  await assert.rejects(apply(play.client, { kind: 'destroy', entities: all }, new Aliases()), { kind: 'refused', message: 'no' });
  assert.deepEqual(counts(play), [['Destroy', 2000]]);
  play.faults.push({ code: session.FaultCode.refused, text: 'no' });
  const changes = all.map((each) => ({ entity: each, component: health, path: 'value', value: 1 }));
  await assert.rejects(apply(play.client, { kind: 'fields', changes }, new Aliases()), { kind: 'refused', message: 'no' });
  assert.deepEqual(counts(play).slice(1), [['SetField', 2000]]);
});
