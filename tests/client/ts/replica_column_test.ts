// Packed components: values side by side as they came.
import assert from 'node:assert/strict';

import { default_bytes, nil, Replica, session } from 'muster-client';
import type { Entity, PackedChanges } from 'muster-client';

import * as game from './everything.js';
import * as odd from './odd.js';
import { Scripted } from './scripted.js';
import { test } from './support.js';
import { until, World } from './world.js';

const entity = (index: number, generation = 1): Entity => ({ index, generation });

/** A replica of a server that the test plays, and what it is told of packed values. */
async function scripted(packed: string, schema?: string) {
  const { client, server } = await Scripted.open({}, schema);
  const told: Pick<PackedChanges, 'added' | 'removed'>[] = [];
  const changed: number[][] = [];
  const replica = new Replica({
    change: (changes) => {
      for (const each of changes.packed) {
        told.push({ added: [...each.added], removed: [...each.removed] });
        changed.push([...each.changed]);
      }
    },
  });
  const following = replica.follow(client, { packed: [packed] });
  await until('the watch was sent', () => server.request_of(session.Follow) !== 0n);
  const request = server.request_of(session.Follow);
  const type = client.types.get(packed);
  const values = (to: Entity, bytes: Uint8Array, sequence: bigint): void =>
    server.tell(
      session.Values,
      { component: type.id, value_bytes: type.size, entities: [to], values: bytes },
      { request, sequence },
    );
  return { client, server, replica, following, request, type, values, told, changed };
}

test('packed values of a size that is no multiple of four are what was sent, of many entities', async (t) => {
  const world = await World.serve(t, 'odd.bfbs');
  const [editor, viewer] = [await world.connect(), await world.connect('unix')];
  const value = (i: number) => ({
    pair: [
      { lit: i % 2 === 0, shade: i % 3 === 0 ? odd.Shade.light : odd.Shade.dark },
      { lit: i % 5 === 0, shade: odd.Shade.light },
    ],
    weight: i * 400,
  });
  const all: Entity[] = [];
  for (let i = 0; i < 150; ++i) all.push(await editor.create(nil, '', [odd.Lamps, value(i)], [odd.Other, { number: i }]));
  const replica = new Replica();
  await replica.follow(viewer, { packed: [odd.Lamps] });
  const column = replica.column('odd.Lamps')!;
  assert.deepEqual([column.count, column.row_bytes, column.bytes.length >= 150 * 8], [150, 8, true]);
  all.forEach((each, i) => assert.deepEqual(replica.component(each, odd.Lamps), value(i)));

  // Who comes while it is followed, and who goes.
  for (let i = 150; i < 300; ++i) all.push(await editor.create(nil, '', [odd.Lamps, value(i % 160)]));
  await editor.destroy(all[3]);
  const { sequence } = await editor.remove(all[5], odd.Lamps);
  await until('the copy is of now', () => replica.sequence >= sequence);
  assert.equal(column.count, 298);
  all.forEach((each, i) =>
    assert.deepEqual(replica.component(each, odd.Lamps), i === 3 || i === 5 ? undefined : value(i < 150 ? i : i % 160)),
  );

  await replica.change({ components: [odd.Other] });
  assert.deepEqual([column.count, replica.component(all[0], odd.Lamps)], [0, undefined]);
  assert.equal(replica.component(all[7], odd.Other)?.number, 7);
});

test('a packed value that went and came with one state is told as another, not as gone', async () => {
  const { client, server, replica, following, request, told, changed } = await scripted('golden.Health');
  const health = (value: number, sequence: bigint): void =>
    server.tell(
      { name: 'muster.Set' },
      {},
      { request, sequence, target: entity(1), rows: [['golden.Health', { value }]] },
    );
  server.tell(session.Watching, { sequence: 5n }, { request, flags: 2 });
  server.tell({ name: 'muster.Create' }, {}, { request, flags: 2, sequence: 5n, target: entity(1) });
  health(3, 5n);
  await following;
  const component = client.types.get('golden.Health').id;
  server.tell({ name: 'muster.Remove' }, { component }, { request, flags: 2, sequence: 6n, target: entity(1) });
  health(4, 6n);
  server.tell({ name: 'muster.Remove' }, { component }, { request, sequence: 7n, target: entity(1) });
  assert.deepEqual(told, [
    { added: [1], removed: [] },
    { added: [1], removed: [] },
    { added: [], removed: [1] },
  ]);
  assert.deepEqual(changed, [[1], [1], []]);
  assert.equal(replica.component(entity(1), game.Health), undefined);
  client.close();
});

test('a packed value of the next entity of an index is not one of the entity before', async () => {
  const { client, replica, following, type, values } = await scripted('golden.Health');
  values(entity(1), default_bytes(type), 5n);
  await following;
  assert.equal(replica.component(entity(1), game.Health)?.value, 100);
  values(entity(1, 2), default_bytes(type), 6n);
  assert.equal(replica.component(entity(1), game.Health), undefined);
  assert.equal(replica.component(entity(1, 2), game.Health)?.value, 100);
  assert.deepEqual([replica.size, replica.column('golden.Health')?.count], [1, 1]);
  client.close();
});

test('a bool or an enum that cannot be ends the session wherever in a packed value it lies', async () => {
  for (const place of [0, 1, 2, 3]) {
    const { client, following, type, values } = await scripted('odd.Lamps', 'odd.bfbs');
    const bytes = default_bytes(type).slice();
    bytes[place] = 9;
    values(entity(1), bytes, 5n);
    await assert.rejects(following, { kind: 'lost' }, `byte ${place}`);
    assert.equal((await client.closed).kind, 'lost');
  }
});

test('of calls of follow that overlap only the last one says what is packed, and changes go on from its copy', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const orc = await client.create(nil, 'orc', [game.Health, { value: 7 }]);
  const replica = new Replica();
  await replica.follow(client);
  const first = assert.rejects(replica.follow(client, { packed: [game.Health] }), { kind: 'mistaken' });
  await replica.follow(client);
  await first;
  const elf = await client.create(nil, 'elf');
  await until('the change is told', () => replica.get(elf) !== undefined);
  assert.equal(replica.size, 2);
  assert.equal(replica.column('golden.Health'), undefined);
  assert.equal(replica.component(orc, game.Health)?.value, 7);
});

test('of a component that is packed from now on it is told what is another, and not that it is gone', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const orc = await client.create(nil, 'orc', [game.Health, { value: 7 }]);
  const removed: string[] = [];
  const replica = new Replica({ change: (changes) => void removed.push(...changes.removed.map(({ component }) => component)) });
  await replica.follow(client);
  await replica.follow(client, { packed: [game.Health] });
  assert.notEqual(replica.column('golden.Health'), undefined);
  assert.equal(replica.component(orc, game.Health)?.value, 7);
  assert.deepEqual(removed, []);
});
