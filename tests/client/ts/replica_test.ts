import assert from 'node:assert/strict';

import { default_bytes, id_text, nil, Replica, session } from 'muster-client';
import type { Client, Entity, FieldDescriptor, ReplicaChanges, StructValue, TypeDescriptor } from 'muster-client';

import * as game from './everything.js';
import { Scripted } from './scripted.js';
import { Random, random_value, test } from './support.js';
import { unsaved, until, World } from './world.js';

/** A value as `muster show --json` writes it. JSON has no 64-bit numbers, and its floats are the shortest that mean the same. */
function as_printed(client: Client, type: TypeDescriptor, value: StructValue): Record<string, unknown> {
  if (type.tag) return {};
  const one = (field: FieldDescriptor, value: unknown): unknown => {
    if (field.enumeration?.bit_flags)
      return (
        field.enumeration.values
          .filter((each) => (Number(value) & Number(each.value)) !== 0)
          .map((each) => each.name)
          .join('|') || '0'
      );
    if (field.enumeration) return field.enumeration.values.find((each) => each.value === value)?.name;
    if (field.element === 'entity') return (value as Entity).index === 0 ? null : id_text(value as Entity);
    if (field.element === 'text') return value === 0n ? null : client.text(value as bigint);
    if (field.element === 'structure') return as_printed(client, field.type!, value as StructValue);
    return typeof value === 'bigint' ? Number(value) : value;
  };
  return Object.fromEntries(
    type.fields.map((field) => [
      field.name,
      field.is_array ? (value[field.name] as unknown[]).map((each) => one(field, each)) : one(field, value[field.name]),
    ]),
  );
}

/** Floats of 32 bits as such. */
function rounded(value: unknown): unknown {
  if (typeof value === 'number') return Math.fround(value);
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, rounded(each)]));
  return value;
}

interface Node {
  id: string;
  name?: string;
  children?: Node[];
}

/** The whole world as the `muster` command sees it: path and components by id. */
function seen_by_others(world: World): Map<string, unknown> {
  const seen = new Map<string, unknown>();
  const walk = (node: Node): void => {
    for (const child of node.children ?? []) {
      const { path, components } = world.json<{ path: string; components: Record<string, unknown> }>('show', child.id);
      seen.set(child.id, { path, components: rounded(components) });
      walk(child);
    }
  };
  walk(world.json<Node>('tree'));
  return seen;
}
function seen_here(client: Client, replica: Replica): Map<string, unknown> {
  const seen = new Map<string, unknown>();
  for (const { entity, components } of replica) {
    const printed = Object.entries(components).map(([name, value]) => [
      name,
      as_printed(client, client.types.get(name), value),
    ]);
    seen.set(id_text(entity), { path: replica.path(entity), components: rounded(Object.fromEntries(printed)) });
  }
  return seen;
}
const by_id = (map: Map<string, unknown>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

/** Edits by chance; what the world refuses is refused. */
async function edit(client: Client, alive: Entity[], random: Random): Promise<void> {
  const one = random.pick(alive);
  const other = random.next(4) ? random.pick(alive) : nil;
  const health = () => {
    const value = random_value(client.types.get('Health'), random) as unknown as game.Health;
    for (const slot of value.slots)
      Object.assign(slot, { count: random.next(100), item: 0n, owner: random.pick(alive) });
    return { ...value, value: random.next(101), mesh: `mesh ${random.next(5)}` as unknown as bigint, target: one };
  };
  const call = {
    create: async () =>
      void alive.push(
        await client.create(other, random.next(3) ? `n${random.next(1000)}` : '', [game.Health, health()]),
      ),
    set: () => client.set(one, [game.Health, health()], [game.Dead, {}]),
    field: () => client.set_field(one, game.Health, 'at.y', random.next(1000)),
    config: () => client.set(one, [game.Config, { speed: random.next(50) }]),
    remove: () => client.remove(one, random.pick([game.Health, game.Config, game.Dead])),
    rename: () => client.rename(one, random.next(5) ? `n${random.next(1000)}` : ''),
    move: () => client.reparent(one, other),
    destroy: () => (random.next(4) || alive.length < 20 ? client.rename(one, 'spared') : client.destroy(one)),
  };
  try {
    await random.pick([
      call.create,
      call.create,
      call.set,
      call.field,
      call.config,
      call.remove,
      call.rename,
      call.move,
      call.destroy,
    ])();
  } catch (error) {
    assert.equal((error as { kind?: string }).kind, 'refused', String(error));
  }
}

test('copies by watches over both sockets become what others see, whatever is edited', async (t) => {
  const world = await World.serve(t);
  const editors = [await world.connect(), await world.connect('unix')];
  const alive = [await editors[0].create(nil, 'first')];
  const random = new Random(1);
  for (let i = 0; i < 40; ++i) await edit(editors[i % 2], alive, random);

  // One copy follows from the middle, and what it was told must add up to what it holds.
  const told = new Map<string, Record<string, unknown>>();
  const replica = new Replica({
    change: (changes: ReplicaChanges) => {
      for (const { entity, components } of changes.created) told.set(id_text(entity), { ...components });
      for (const { entity } of changes.destroyed) assert.ok(told.delete(id_text(entity)));
      for (const { entity, component, before } of changes.values) {
        assert.deepEqual(told.get(id_text(entity.entity))![component], before);
        told.get(id_text(entity.entity))![component] = entity.components[component];
      }
      for (const { entity, component } of changes.removed) delete told.get(id_text(entity.entity))![component];
    },
  });
  await replica.follow(editors[0]);
  const slow = new Replica();
  await slow.follow(editors[1], { rate_max: 50 });
  for (let round = 0; round < 4; ++round) {
    await Promise.all(
      editors.map(async (editor) => {
        for (let i = 0; i < 30; ++i) await edit(editor, alive, random);
      }),
    );
    const last = await editors[0]
      .set_field_if(alive[0], 'Config', 'speed', 0, 0)
      .catch(() => editors[0].set(alive[0], [game.Config, { speed: 100 + round }]));
    const { sequence } = last ?? (await editors[0].ask(session.GetInfo));
    await until('the copies are of now', () => replica.sequence >= sequence && slow.sequence >= sequence);
    const expected = by_id(seen_by_others(world));
    assert.ok(expected.length > 10);
    assert.deepEqual(by_id(seen_here(editors[0], replica)), expected, `round ${round}`);
    assert.deepEqual(by_id(seen_here(editors[1], slow)), expected, `round ${round}, at a bounded rate`);
    assert.deepEqual(new Map([...replica].map(({ entity, components }) => [id_text(entity), { ...components }])), told);
  }
  assert.deepEqual(
    replica
      .children(nil)
      .map(({ entity }) => id_text(entity))
      .sort(),
    (await editors[0].ask(session.ListChildren, { entity: nil })).entities.map(id_text).sort(),
  );
});

test('a copy of a part says who left it, and who came', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const [town, field] = [await client.create(nil, 'town'), await client.create(nil, 'field')];
  const orc = await client.create(town, 'orc', [game.Health, { value: 5 }], [game.Config, { speed: 1 }]);
  const all: ReplicaChanges[] = [];
  const replica = new Replica({ change: (changes) => void all.push(changes) });
  await replica.follow(client, { entities: [town], subtree: true, components: [game.Health] });
  assert.deepEqual([...replica].map((each) => each.name).sort(), ['orc', 'town']);
  assert.deepEqual(Object.keys(replica.get(orc)!.components), ['golden.Health']);
  assert.equal(replica.component(orc, game.Health)?.value, 5);
  assert.equal(replica.path(orc), '/town/orc');
  all.length = 0;
  await client.reparent(orc, field);
  await until('the orc left', () => replica.get(orc) === undefined);
  assert.deepEqual(
    all.flatMap((changes) => [...changes.left.map((each) => each.name), ...changes.destroyed]),
    ['orc'],
  );
  await client.set_field(orc, game.Health, 'value', 6);
  await client.reparent(orc, town);
  await until('the orc is back', () => replica.component(orc, game.Health)?.value === 6);
  await client.destroy(town);
  await until('nobody is left', () => replica.size === 0);
  await replica.stop();
  await client.create(field, 'another');
  assert.equal(replica.size, 0);
});

test('a copy of those with a component and without another follows them, and becomes a copy of others by the difference', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const orc = await client.create(nil, 'orc', [game.Health, { value: 5 }], [game.Dead, {}]);
  const elf = await client.create(nil, 'elf', [game.Health, { value: 6 }], [game.Config, { speed: 3 }]);
  const rock = await client.create(nil, 'rock', [game.Config, { speed: 1 }]);
  const all: ReplicaChanges[] = [];
  const replica = new Replica({ change: (changes) => void all.push(changes) });
  const names = () => [...replica].map((each) => each.name).sort();
  await replica.follow(client, { with: [game.Health], without: [game.Dead] });
  assert.deepEqual(names(), ['elf']);
  await client.remove(orc, game.Dead);
  await client.remove(elf, game.Health);
  await until('they changed places', () => names().join() === 'orc');
  assert.deepEqual(
    all.at(-1)!.left.map((each) => each.name),
    ['elf'],
  );

  all.length = 0;
  await replica.change({ entities: [orc, elf, rock], components: [game.Config] });
  assert.deepEqual(names(), ['elf', 'orc', 'rock']);
  assert.deepEqual(replica.get(orc)!.components, {});
  assert.equal(replica.component(elf, game.Config)?.speed, 3);
  assert.deepEqual(all.flatMap((changes) => changes.created.map((each) => each.name)).sort(), ['elf', 'rock']);
  await replica.change({ entities: [rock], components: [game.Config, game.Dead] });
  assert.deepEqual(names(), ['rock']);
  await client.set(rock, [game.Dead, {}]);
  await until('it is dead', () => replica.component(rock, game.Dead) !== undefined);
  await assert.rejects(new Replica().change({}), { kind: 'mistaken' });
  await assert.rejects(replica.change({ rate_max: -1 }), { kind: 'refused' });
});

test('after a server was killed, following its successor tells only what is different', async (t) => {
  const world = await World.serve(t, 'everything.bfbs', ...unsaved);
  const client = await world.connect();
  const kept = await client.create(nil, 'kept', [game.Health, { value: 1 }]);
  const same = await client.create(nil, 'same', [game.Health, { value: 2 }]);
  await client.ask(session.Save);
  const lost: string[] = [];
  const all: ReplicaChanges[] = [];
  const replica = new Replica({
    change: (changes) => void all.push(changes),
    lost: (error) => void lost.push(error.kind),
  });
  await replica.follow(client);
  await client.set_field(kept, game.Health, 'value', 9);
  await client.create(kept, 'unsaved');
  await client.rename(kept, 'renamed');
  await until('all came', () => replica.get(kept)?.name === 'renamed' && replica.size === 3);
  const record = replica.get(kept);
  await world.kill();
  await client.closed;
  assert.deepEqual(lost, ['lost']);
  assert.equal(replica.size, 3); // kept as it was, for as long as there is no other
  all.length = 0;

  await world.start();
  const again = await world.connect();
  await replica.follow(again);
  assert.equal(all.length, 1);
  const [{ created, destroyed, moved, renamed, values, removed }] = all;
  assert.deepEqual([created, moved, removed], [[], [], []]);
  assert.deepEqual(
    destroyed.map((each) => each.name),
    ['unsaved'],
  );
  assert.deepEqual(
    renamed.map(({ entity, from }) => [entity.name, from]),
    [['kept', 'renamed']],
  );
  assert.deepEqual(
    values.map(({ entity, component, before }) => [entity.name, component, before?.value]),
    [['kept', 'golden.Health', 9]],
  );
  assert.equal(replica.get(kept), record);
  assert.equal(replica.component(same, game.Health)?.value, 2);
  await again.set_field(same, game.Health, 'value', 3);
  await until('it goes on', () => replica.component(same, game.Health)?.value === 3);
});

test('what was moved and renamed between two calls of follow is told as that', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const [town, orc] = [await client.create(nil, 'town'), await client.create(nil, 'orc')];
  const all: ReplicaChanges[] = [];
  const replica = new Replica({ change: (changes) => void all.push(changes) });
  await replica.follow(client);
  await replica.stop();
  await client.reparent(orc, town);
  await client.rename(orc, 'elf');
  all.length = 0;
  await replica.follow(client);
  assert.deepEqual(
    all.map(({ created, moved, renamed }) => [created.length, moved.map(({ from }) => from), renamed.map(({ from }) => from)]),
    [[0, [nil], ['orc']]],
  );
  assert.deepEqual([replica.path(orc), replica.children(town).length], ['/town/elf', 1]);
});

test('a scope that the server refuses leaves the copy as it was', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  await client.create(nil, 'orc');
  const replica = new Replica();
  await replica.follow(client);
  await assert.rejects(replica.follow(client, { rate_max: -1 }), { kind: 'refused' });
  assert.equal(replica.size, 1);
  assert.equal(client.ended, null);
  await replica.follow(client);
  assert.equal(replica.size, 1);
});

test('of calls of follow that overlap the last one counts, and the server keeps one watch', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const orc = await client.create(nil, 'orc');
  const elf = await client.create(nil, 'elf');
  const replica = new Replica();
  await replica.follow(client);
  const first = assert.rejects(replica.follow(client, { entities: [orc] }), { kind: 'mistaken' });
  await replica.follow(client, { entities: [elf] });
  await first;
  assert.deepEqual([replica.size, replica.get(elf)?.name], [1, 'elf']);
  await client.rename(elf, 'a tall elf');
  await until('it is told', () => replica.get(elf)?.name === 'a tall elf');
  const metrics = await (await fetch(`http://${world.where().address}/metrics`)).text();
  assert.match(metrics, /^muster_watches 1$/m);
});

test('a state of several frames shows when it is whole, events and gaps are told as they come', async () => {
  const { client, server } = await Scripted.open();
  const heard: string[] = [];
  const replica = new Replica({
    change: ({ sequence, created }) => void heard.push(`change ${sequence}: ${created.length}`),
    event: (batch, received) => void heard.push(`event ${batch.type.name} ${received.envelope?.sequence}`),
    gap: ({ after, through, lost }) => void heard.push(`gap ${after}-${through}: ${lost}`),
  });
  let whole = false;
  const following = replica.follow(client, { events: true }).then(() => (whole = true));
  await until('the watch was sent', () => server.request_of(session.Follow) !== 0n);
  const request = server.request_of(session.Follow);
  const [a, b] = [
    { index: 1, generation: 1 },
    { index: 2, generation: 1 },
  ];
  server.tell(session.Watching, { sequence: 5n }, { request, flags: 2 });
  server.tell({ name: 'muster.Create' }, {}, { request, flags: 2, sequence: 5n, target: a });
  server.tell({ name: 'muster.Create' }, { parent: a }, { request, flags: 2, sequence: 5n, target: b });
  server.tell(game.Damage, { amount: 1 }, { request, flags: 4, sequence: 6n, target: a });
  assert.deepEqual([replica.size, whole], [0, false]);
  server.tell(
    { name: 'muster.Set' },
    {},
    { request, sequence: 5n, target: b, rows: [['golden.Health', { value: 3 }]] },
  );
  await following;
  assert.deepEqual([replica.size, replica.sequence, replica.clock_ns], [2, 5n, 50n]);
  assert.equal(replica.component(b, game.Health)?.value, 3);
  assert.equal(replica.path(b), '/#1:1/#2:1');
  server.tell(session.Gap, { after: 6n, through: 9n, lost: 3n }, { request, flags: 4 });
  server.tell({ name: 'muster.Destroy' }, {}, { request, flags: 2, sequence: 9n, target: b });
  // The index is somebody else's at once.
  server.tell({ name: 'muster.Create' }, {}, { request, sequence: 9n, target: { index: 2, generation: 2 } });
  assert.deepEqual(heard, ['event golden.Damage 6', 'change 5: 2', 'gap 6-9: 3', 'change 9: 1']);
  assert.equal(replica.get(b), undefined);
  const stopped = replica.stop();
  server.tell({ name: 'muster.Destroy' }, {}, { request, sequence: 10n, target: a }); // it was on its way
  await stopped;
  server.tell({ name: 'muster.Destroy' }, {}, { request, sequence: 10n, target: a });
  assert.equal(replica.size, 2);
  client.close();
});

test('who comes and goes within one change is told of in none of its lists', async () => {
  const { client, server } = await Scripted.open();
  const all: ReplicaChanges[] = [];
  const replica = new Replica({ change: (changes) => void all.push(changes) });
  const following = replica.follow(client, {});
  await until('the watch was sent', () => server.request_of(session.Follow) !== 0n);
  const request = server.request_of(session.Follow);
  const entity = (index: number, generation = 1): Entity => ({ index, generation });
  server.tell(session.Watching, { sequence: 5n }, { request, flags: 2 });
  server.tell({ name: 'muster.Create' }, {}, { request, sequence: 5n, target: entity(1) });
  await following;
  all.length = 0;
  const health: [string, unknown][] = [['golden.Health', { value: 3 }]];
  for (const [name, generation] of [['muster.Destroy', 1], [session.Left.name, 2]] as const) {
    const passing = entity(2, generation);
    server.tell({ name: 'muster.Create' }, {}, { request, flags: 2, sequence: 6n, target: passing });
    server.tell({ name: 'muster.Set' }, {}, { request, flags: 2, sequence: 6n, target: passing, rows: health });
    server.tell({ name: 'muster.Reparent' }, { parent: entity(1) }, { request, flags: 2, sequence: 6n, target: passing });
    server.tell({ name }, {}, { request, flags: 2, sequence: 6n, target: passing });
  }
  server.tell({ name: 'muster.Create' }, {}, { request, sequence: 6n, target: entity(3) });
  await until('it was told', () => all.length > 0);
  const [{ created, destroyed, left, moved, renamed, values, removed }] = all;
  assert.deepEqual(
    created.map((each) => each.entity),
    [entity(3)],
  );
  assert.deepEqual([destroyed, left, moved, renamed, values, removed], [[], [], [], [], [], []]);
  assert.equal(replica.size, 2);
  client.close();
});

test('a listener that throws does not disturb the session', async (t) => {
  const { client, server } = await Scripted.open();
  const thrown: unknown[] = [];
  const catch_one = (error: unknown): void => void thrown.push(error);
  const before = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', catch_one);
  t.after(() => {
    process.removeAllListeners('uncaughtException');
    for (const each of before) process.on('uncaughtException', each);
  });
  const replica = new Replica({
    change: () => {
      throw new Error('of the program');
    },
  });
  const following = replica.follow(client);
  await until('the watch was sent', () => server.request_of(session.Follow) !== 0n);
  server.tell(session.Watching, { sequence: 5n }, { request: server.request_of(session.Follow) });
  await following;
  server.tell(
    { name: 'muster.Create' },
    {},
    { request: server.request_of(session.Follow), sequence: 6n, target: { index: 1, generation: 1 } },
  );
  await until('both were thrown', () => thrown.length === 2);
  assert.equal(replica.size, 1);
  assert.equal(client.ended, null);
  client.close();
});

test('packed components say the same as others, whatever is edited, and are told by index', async (t) => {
  const world = await World.serve(t);
  const [editor, viewer] = [await world.connect(), await world.connect('unix')];
  const alive = [await editor.create(nil, 'first')];
  const random = new Random(3);
  for (let i = 0; i < 30; ++i) await edit(editor, alive, random);

  // What was told of the packed ones must add up to what they hold.
  const told = new Map<number, unknown>();
  const at_index = (replica: Replica) => new Map([...replica].map(({ entity }) => [entity.index, entity]));
  const packed: Replica = new Replica({
    change: ({ destroyed, packed: changes }) => {
      for (const { entity } of destroyed) told.delete(entity.index);
      for (const { component, column, changed, added, removed } of changes) {
        if (component !== 'golden.Health') continue;
        for (const index of added) assert.ok(!told.has(index) && changed.includes(index));
        for (const index of removed) assert.ok(told.delete(index));
        const entities = at_index(packed);
        for (const index of changed) told.set(index, column.get(entities.get(index)!));
      }
    },
  });
  const plain = new Replica();
  const scope = { packed: [game.Health, game.Config, game.Dead] };
  await packed.follow(viewer, scope);
  await plain.follow(viewer);
  const agree = async (sequence: bigint): Promise<void> => {
    await until('the copies are of now', () => packed.sequence >= sequence && plain.sequence >= sequence);
    const values = (replica: Replica) =>
      [...replica]
        .map(({ entity, name }) => [
          id_text(entity),
          name,
          ...scope.packed.map((key) => replica.component(entity, key as typeof game.Health)),
        ])
        .sort();
    assert.deepEqual(values(packed), values(plain));
    const healths = [...packed].map(({ entity }) => [entity.index, packed.component(entity, game.Health)] as const);
    assert.deepEqual(told, new Map(healths.filter(([, value]) => value !== undefined)));
    for (const { components } of packed) assert.deepEqual(components, {});
  };
  for (let round = 0; round < 4; ++round) {
    for (let i = 0; i < 30; ++i) await edit(editor, alive, random);
    await agree((await editor.set(alive[0], [game.Config, { speed: round }])).sequence);
  }
  // Followed again, only what is different is told; values that were packed may come as others, and the other way round.
  const before = packed.column('golden.Health');
  for (let i = 0; i < 30; ++i) await edit(editor, alive, random);
  await packed.follow(viewer, scope);
  assert.equal(packed.column('golden.Health'), before);
  await agree((await editor.set(alive[0], [game.Config, { speed: 9 }])).sequence);
  await packed.follow(viewer);
  assert.equal(packed.column('golden.Health'), undefined);
  await plain.follow(viewer, scope);
  const others = (replica: Replica) => [...replica].map((each) => replica.component(each.entity, game.Health));
  assert.deepEqual(others(packed), others(plain));
});

test('parts of a state are told as they come, once, where they are asked for and the copy was whole', async () => {
  for (const parts of [true, false]) {
    const { client, server } = await Scripted.open();
    const told: unknown[] = [];
    const replica = new Replica({
      change: ({ is_whole, sequence, created, values, packed }) =>
        void told.push([is_whole, sequence, created.length, values.length, packed.flatMap(({ changed }) => [...changed])]),
    });
    const following = replica.follow(client, { packed: ['golden.Health'], parts });
    await until('the watch was sent', () => server.request_of(session.Follow) !== 0n);
    const request = server.request_of(session.Follow);
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const entity = (index: number) => ({ index, generation: 1 });
    const create = (index: number, sequence: bigint, flags = 0) =>
      server.tell({ name: 'muster.Create' }, {}, { request, flags, sequence, target: entity(index) });
    const health = (index: number, value: number, sequence: bigint, flags = 0) =>
      server.tell(
        { name: 'muster.Set' },
        {},
        { request, flags, sequence, target: entity(index), rows: [['golden.Health', { value }]] },
      );
    server.tell(session.Watching, { sequence: 5n }, { request, flags: 2 });
    create(1, 5n, 2);
    await turn();
    create(2, 5n);
    await following;
    health(1, 3, 6n, 2);
    health(1, 4, 6n, 2);
    await turn();
    assert.equal(replica.component(entity(1), game.Health)?.value, 4);
    create(3, 7n, 2);
    health(2, 5, 7n, 2);
    await turn();
    health(1, 6, 8n, 2);
    health(3, 7, 8n);
    await turn();
    const first = [true, 5n, 2, 0, []];
    assert.deepEqual(
      told,
      parts
        ? [first, [false, 5n, 0, 0, [1]], [false, 5n, 1, 0, [2]], [true, 8n, 0, 0, [1, 3]]]
        : [first, [true, 8n, 1, 0, [1, 2, 3]]],
    );
    client.close();
  }
});

test('a packed value that cannot be ends the session, and so does a Values of another length', async () => {
  for (const bad of ['choice', 'length']) {
    const { client, server } = await Scripted.open();
    const replica = new Replica();
    const following = replica.follow(client, { packed: ['golden.Health'] });
    await until('the watch was sent', () => server.request_of(session.Follow) !== 0n);
    const type = client.types.get('golden.Health');
    const values = default_bytes(type).slice();
    const choice = type.fields.find((field) => field.enumeration && !field.enumeration.bit_flags)!;
    if (bad === 'choice') values[choice.offset] = 0xee;
    const value = {
      component: type.id,
      value_bytes: type.size,
      entities: [{ index: 1, generation: 1 }],
      values: bad === 'length' ? values.slice(1) : values,
    };
    server.tell(session.Values, value, { request: server.request_of(session.Follow), sequence: 5n });
    await assert.rejects(following, { kind: 'lost' });
    assert.equal((await client.closed).kind, 'lost');
  }
});
