import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';

import { ClientError, handler_rows, hash64, muster, nil, place_of, session } from 'muster-client';
import type { Received } from 'muster-client';
import { connect, read_address_file } from 'muster-client/node';

import * as game from './everything.js';
import { Random, random_value, test } from './support.js';
import { pause, unsaved, until, World } from './world.js';

/** The ClientError that the call fails with. */
async function error_of(call: Promise<unknown>): Promise<ClientError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ClientError) return error;
    throw error;
  }
  return assert.fail('nothing went wrong');
}

for (const kind of ['tcp', 'unix'] as const) {
  test(`over ${kind}: every field kind is set, got back the same, and shown so by others`, async (t) => {
    const world = await World.serve(t);
    const client = await world.connect(kind);
    assert.equal(client.welcome.world, 'town.muster');
    assert.equal(client.welcome.role, session.Role.admin);

    const plain = await client.create(nil, 'plain', [game.Health, {}]);
    const type = client.types.get('Health');
    const shown = world.json<{ components: Record<string, Record<string, unknown>> }>('show', 'plain').components[
      'golden.Health'
    ];
    assert.equal(shown.value, 100); // defaults are the same here and there
    assert.equal(shown.team, 'blue');
    assert.equal(shown.mesh, 'meshes/orc.glb');
    assert.deepEqual((await client.show(plain)).about.name, 'plain');

    for (let seed = 0; seed < 20; ++seed) {
      const random = new Random(seed);
      const value = { ...random_value(type, random), value: random.next(101), mesh: 0n } as unknown as game.Health;
      for (const slot of value.slots) Object.assign(slot, { count: random.next(100), item: 0n });
      value.target = plain;
      await client.set(plain, [game.Health, value]);
      assert.deepEqual((await client.show(plain)).components['golden.Health'], value, `seed ${seed}`);
      // And each field alone, where a message takes it whole.
      const single = await client.create(nil, `single${seed}`, [game.Health, {}]);
      for (const field of type.fields) {
        const { size } = place_of(type, field.name);
        if (size <= 64) await client.set_field(single, game.Health, field.name, value[field.name as keyof game.Health]);
        else
          assert.match(
            (await error_of(client.set_field(single, game.Health, field.name, []))).message,
            /at most 64 can be set at once/,
          );
      }
      await client.set_field(single, game.Health, 'slots[1].count', 7);
      const got = (await client.show(single)).components['golden.Health'] as unknown as game.Health;
      assert.deepEqual({ ...got, slots: value.slots }, value, `seed ${seed}`);
      assert.equal(got.slots[1].count, 7);
    }
  });
}

test('entities are created, renamed, hung elsewhere and destroyed', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const town = await client.create(nil, 'town');
  // Calls side by side are sent in the order in which they were made, texts and all.
  const [tower, gate, nameless] = await Promise.all([
    client.create(town, 'tower', [game.Health, { value: 80 }]),
    client.create(town, 'gate'),
    client.create(town, ''),
  ]);
  const inn = await client.create_before(town, tower, 'inn', [game.Dead, {}], [game.Config, { speed: 2.5 }]);
  assert.deepEqual((await client.ask(session.ListChildren, { entity: town })).names, ['inn', 'tower', 'gate', '']);
  await client.destroy(nameless);
  assert.deepEqual((await client.show(inn)).components['golden.Config'], { speed: 2.5 });
  assert.equal((await client.rename(inn, 'old inn')).handled, 1);
  await client.reparent(gate, tower);
  await client.reparent(tower, town, inn);
  assert.equal((await client.show(gate)).about.path, '/town/tower/gate');
  assert.deepEqual(world.json<{ path: string }>('show', '/town/tower/gate').path, '/town/tower/gate');
  await client.remove(inn, game.Config);
  assert.equal((await client.show(inn)).components['golden.Config'], undefined);
  await client.destroy(tower);
  assert.deepEqual((await client.ask(session.ListChildren, { entity: town })).names, ['old inn']);
  assert.equal((await error_of(client.show(gate))).fault?.code, session.FaultCode.dead_entity);
  assert.deepEqual(await client.entity('old inn'), inn);
  assert.match((await error_of(client.entity('nobody'))).message, /no entity is named 'nobody'/);
  const other = await client.create(nil, 'old inn');
  assert.deepEqual(await client.entity(`#${other.index}:${other.generation}`), other);
  assert.match((await error_of(client.entity('old inn'))).message, /matches several entities:\n.*\/old inn/s);
});

test('a field is set only where it holds what was expected, and the refusal says what it holds', async (t) => {
  const world = await World.serve(t);
  const [ann, bob] = [await world.connect(), await world.connect('unix')];
  const orc = await ann.create(nil, 'orc', [game.Health, { value: 50 }]);
  await bob.set_field_if(orc, 'Health', 'value', 40, 50);
  const late = await error_of(ann.set_field_if(orc, game.Health, 'value', 60, 50));
  assert.equal(late.kind, 'refused');
  assert.match(late.message, /golden\.Health\.value of .*orc.* is not what was expected/);
  assert.deepEqual(
    [late.fault?.code, late.fault?.field, late.fault?.entity],
    [session.FaultCode.refused, 'value', orc],
  );
  assert.equal(ann.fault_value(late.fault!), 40);
  await ann.set_field(orc, game.Health, 'at.y', 9);
  const place = await error_of(bob.set_field_if(orc, game.Health, 'at', { x: 1, y: 1, z: 1 }, { x: 1, y: 2, z: 3 }));
  assert.deepEqual(bob.fault_value(place.fault!), { x: 1, y: 9, z: 3 });
  assert.equal((await ann.show(orc)).components['golden.Health'].value, 40);
});

test('many fields of many entities are set by one batch, and those that are refused do not hinder the others', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const orcs = [1, 2, 3].map((value) => client.create(nil, `orc ${value}`, [game.Health, { value }]));
  const [first, second, third] = await Promise.all(orcs);
  const values = async () =>
    Promise.all([first, second, third].map(async (orc) => (await client.show(orc)).components['golden.Health'].value));
  await client.intern('a shield'); // an input of its own
  const before = (await client.ask(session.GetInfo)).sequence;
  const ack = await client.set_fields([
    { entity: first, component: game.Health, path: 'value', value: 10 },
    { entity: second, component: 'Health', path: 'at.x', value: 4 },
    { entity: second, component: 'Health', path: 'value', value: 20 },
    { entity: third, component: game.Health, path: 'slots[1].item', value: 'a shield' },
  ]);
  assert.equal(ack.handled, 4);
  assert.equal(ack.sequence, before + 1n);
  assert.deepEqual(await values(), [10, 20, 3]);
  assert.equal(((await client.show(second)).components['golden.Health'] as unknown as game.Health).at.x, 4);

  const late = await error_of(
    client.set_fields([
      { entity: first, component: game.Health, path: 'value', value: 11, expected: 10 },
      { entity: second, component: game.Health, path: 'value', value: 21, expected: 19 },
      { entity: third, component: game.Health, path: 'value', value: 13, expected: 3 },
    ]),
  );
  assert.deepEqual([late.fault?.entity, late.fault?.refused, client.fault_value(late.fault!)], [second, 1, 20]);
  assert.deepEqual(await values(), [11, 20, 13]);
  const half = [
    { entity: first, component: 'Health', path: 'value', value: 1, expected: 11 },
    { entity: second, component: 'Health', path: 'value', value: 2 },
  ];
  for (const edits of [half, [half[1], half[0]]])
    assert.equal((await error_of(client.set_fields(edits))).kind, 'mistaken');
  assert.deepEqual(await values(), [11, 20, 13]);
});

test('a struct that is given in part has the defaults of the schema for the rest, alone and in its component', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const orc = await client.create(nil, 'orc', [game.Health, { at: { y: 7 } }]);
  const health = async () => (await client.show(orc)).components['golden.Health'] as unknown as game.Health;
  assert.deepEqual((await health()).at, { x: 1, y: 7, z: 3 });
  await client.set_field(orc, game.Health, 'at', { z: 9 });
  assert.deepEqual((await health()).at, { x: 1, y: 2, z: 9 });
  await client.set_field(orc, game.Health, 'slots[1]', { owner: orc });
  assert.deepEqual((await health()).slots[1], { count: 2, item: 0n, owner: orc });
});

test('what the world refuses fails with its words, and the session goes on', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const orc = await client.create(nil, 'orc');
  const taken = await error_of(client.create(nil, 'orc'));
  assert.deepEqual([taken.kind, taken.fault?.reason], ['refused', 'name_taken']);
  const nobody = { index: 99_999, generation: 1 };
  assert.equal((await client.push(nobody, game.Damage, { amount: 1 })).dead, 1);
  const range = await error_of(client.set_field(orc, game.Health, 'value', 50));
  assert.equal(range.kind, 'refused'); // it has no Health
  assert.equal((await error_of(client.push(orc, 'Nothing like it', {}))).kind, 'mistaken');
  assert.equal((await error_of(client.push(orc, game.Health as never, {}))).kind, 'mistaken');
  // A server ends the session for these; the client knows better.
  const inner = await error_of(client.push('world', 'muster.Update', { dt: 1 }));
  assert.deepEqual([inner.kind, inner.message], ['mistaken', 'muster.Update may not be sent from outside']);
  assert.equal((await error_of(client.post('world', 'muster.Update', { dt: 1 }))).kind, 'mistaken');
  assert.equal(client.ended, null);
  assert.match(
    (await error_of(client.push(orc, game.Damage, { amunt: 1 } as never))).message,
    /golden\.Damage has no field amunt/,
  );
  assert.equal((await client.ask(session.GetInfo)).entities, 1);
  assert.equal(client.ended, null);
});

test('messages go to one entity, to several, to the world, and at a time; tables as structs do', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const watcher = await world.connect('unix');
  const came: Received[] = [];
  await watcher.follow(
    { world: true, inputs: true, input_types: ['Damage', 'Chat'].map((name) => client.types.get(name).id) },
    { frame: (received) => void came.push(received) },
  );
  const orcs = [];
  for (let i = 0; i < 5; ++i) orcs.push(await client.create(nil, `orc${i}`));
  await client.push(orcs[0], game.Damage, { amount: 1, from: orcs[1] });
  await client.push(orcs, game.Damage, { amount: 2 });
  await client.push('world', game.Damage, { amount: 3 });
  const chat = {
    text: 'Grüße',
    home: { x: 1, y: 2, z: 3 },
    last: { text: 'end' },
    words: ['a', ''],
    lines: [{ text: 'b', at: 2 }],
    bytes: new Uint8Array([1, 2]),
  };
  await client.push(orcs[2], game.Chat, { ...chat, channel: 'all' });
  await client.post('world', game.Chat, chat);
  await client.push_at(5n, orcs[3], game.Damage, { amount: 4 });
  const ack = await client.push('world', game.Damage, { amount: 5 });
  await until('all events came', () => came.some((each) => each.envelope?.sequence === ack.sequence));
  const events = came.filter((each) => each.is_event).map(({ batch }) => batch);
  assert.deepEqual(
    events.map((batch) => [batch.kind, batch.count]),
    [
      [1, 1],
      [2, 5],
      [4, 1],
      [3, 1],
      [3, 1],
      [6, 1],
      [4, 1],
    ],
  );
  assert.deepEqual(events[0].message(0), { amount: 1, from: orcs[1] });
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((i) => events[1].target(i)),
    orcs,
  );
  const said = events[3].message(0) as unknown as game.Chat;
  assert.deepEqual(
    [said.text, said.last, said.lines, said.words, said.bytes],
    ['Grüße', { text: 'end', at: 0.25 }, [{ text: 'b', at: 2 }], ['a', ''], new Uint8Array([1, 2])],
  );
  assert.equal(said.channel, hash64('all'));
  assert.equal(await watcher.fetch_text(said.channel), 'all');
  assert.deepEqual([events[5].argument, events[5].inner?.message(0)], [5n, { amount: 4, from: nil }]);
  assert.equal(came.find((each) => each.is_event)?.envelope?.session, client.welcome.session);
});

test('texts are told before what mentions them, many and long ones too, and once', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const health = client.types.get('Health');
  const messages = [];
  for (let i = 0; i < 300; ++i) {
    const mesh = i < 30 ? `${i}`.padStart(60_000, 'm') : 'a short one';
    const rows = [{ type: health, value: { mesh } }];
    messages.push({ target: await client.next_id(), value: { name: `orc ${i}` }, rows });
  }
  const { sequence } = await client.ask(session.GetInfo);
  await client.push_plan({ kind: 'each', type: client.types.get('muster.Create'), messages });
  assert.ok((await client.ask(session.GetInfo)).sequence - sequence > 4n, 'texts of more than a frame came in one');
  const page = await client.ask(session.ListChildren, { entity: nil });
  assert.deepEqual(
    page.names,
    messages.map((message) => message.value.name),
  );
  const other = await world.connect('unix');
  const { mesh } = (await other.show(page.entities[29])).components['golden.Health'] as unknown as game.Health;
  assert.equal(await other.fetch_text(mesh), '29'.padStart(60_000, 'm'));
  const before = (await client.ask(session.GetInfo)).sequence;
  await client.set_field(page.entities[0], game.Health, 'mesh', 'a short one');
  assert.equal((await client.ask(session.GetInfo)).sequence, before + 1n);
  // One that the world refuses is mentioned nowhere; who came behind is not held up.
  const [long] = await Promise.all([
    error_of(client.set_field(page.entities[0], game.Health, 'mesh', 'x'.repeat(70_000))),
    client.rename(page.entities[0], 'behind'),
  ]);
  assert.deepEqual([long.kind, long.fault?.reason], ['refused', 'text_bytes_max']);
  const { about, components } = await other.show(page.entities[0]);
  assert.equal(about.name, 'behind');
  assert.equal(components['golden.Health'].mesh, hash64('a short one'));
  assert.equal(client.ended, null);
});

test('answers with many rows come page by page', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const town = await client.create(nil, 'town');
  // More children than one answer holds, two hundred to a batch.
  const count = 10_300;
  const create = client.types.get(muster.Create as never);
  const sent: Promise<unknown>[] = [];
  for (let made = 0; made < count;) {
    const messages = [];
    for (let i = 0; i < 200 && made < count; ++i, ++made)
      messages.push({
        target: await client.next_id(),
        value: { parent: town, name: made % 1000 === 0 ? `milestone ${made}` : '' },
      });
    sent.push(client.push_plan({ kind: 'each', type: create, messages }));
  }
  await Promise.all(sent);
  let rows = 0;
  let pages = 0;
  for await (const page of client.children_all(town)) {
    rows += page.entities.length;
    ++pages;
    assert.equal(page.total, count);
  }
  assert.equal(rows, count);
  assert.ok(pages > 1);
  const found = [];
  for await (const page of client.find_all({ name: 'milestone', under: town, limit: 4 })) {
    assert.ok(page.entities.length <= 4);
    found.push(...page.paths);
  }
  assert.deepEqual(found.sort(), Array.from({ length: 11 }, (_, i) => `/town/milestone ${i * 1000}`).sort());
  const one = await client.ask(session.Find, { components: [client.types.get('Health').id] });
  assert.deepEqual([one.entities, one.more], [[], false]);
});

test('the clock is paused, stepped and set to a speed, and who follows it is told', async (t) => {
  const world = await World.serve(t, 'everything.bfbs', '--hz', '200', '--autosave', '0');
  const [client, follower] = [await world.connect(), await world.connect('unix')];
  const told: session.ClockState[] = [];
  const first = await follower.follow_clock((state) => told.push(state));
  assert.deepEqual([first.hz, first.speed, first.paused, first.session], [200, 1, 0, 0n]);

  const paused = await client.set_clock({ paused: true });
  assert.equal(paused.paused, 1);
  const orc = await client.create(nil, 'orc', [game.Health, {}]); // edits are applied
  assert.equal((await client.ask(session.GetClock)).tick, paused.tick);
  await client.set_clock({ steps: 30 });
  await until('the steps are made', async () => (await client.ask(session.GetClock)).steps === 0);
  assert.equal((await client.ask(session.GetClock)).tick, paused.tick + 30n);
  assert.equal((await client.ask(session.GetClock)).clock_ns, paused.clock_ns + 150_000_000n);
  await until('the follower is told so', () => told.some((state) => state.tick === paused.tick + 30n));
  assert.ok(told.every((state) => state.session === client.welcome.session));
  assert.deepEqual(told[0].paused, 1);

  assert.equal((await client.set_clock({ speed: 0.5 })).paused, 1); // it stays paused
  const runs = await client.set_clock({ paused: false });
  assert.deepEqual([runs.paused, runs.speed], [0, 0.5]); // and as fast as it was
  await client.set_clock({ paused: true });
  const saved = (await client.ask(session.Save)).sequence;
  await until('the follower is told of the save', () => told.at(-1)?.saved_sequence === saved);
  await client.destroy(orc);
  const after = await client.ask(session.GetClock);
  assert.ok(after.sequence > after.saved_sequence);

  for (const [what, field, reason] of [
    [{ speed: 101 }, 'speed', 'out_of_range'],
    [{ speed: NaN }, 'speed', 'not_finite'],
    [{ steps: 100_001 }, 'steps', 'out_of_range'],
    [{ paused: false, steps: 1 }, 'steps', 'not_paused'],
  ] as const) {
    const { fault } = await error_of(client.set_clock(what));
    assert.deepEqual([fault?.field, fault?.reason], [field, reason]);
  }
  assert.match((await error_of(client.set_clock({ speed: 0 }))).message, /cannot have speed 0/);
  assert.equal((await client.ask(session.GetClock)).paused, 1);
});

test('handlers are listed with what they write and read', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  assert.deepEqual(await client.handlers(), []); // a server without plugins has none

  const page: session.HandlerList = {
    sequence: 1n,
    total: 3,
    more: false,
    handlers: [1n, 4n, 5n],
    names: ['move', '', 'born'],
    messages: [7, 7, 20],
    changes: Uint8Array.of(0, 0, 1),
    enabled: Uint8Array.of(1, 0, 1),
    write_counts: [1, 0, 2],
    writes: [20, 21, 22],
    read_counts: [2, 0, 0],
    reads: [30, 31],
  };
  assert.deepEqual(handler_rows(page), [
    { handler: 1n, name: 'move', message: 7, follows: 'message', enabled: true, writes: [20], reads: [30, 31] },
    { handler: 4n, name: '', message: 7, follows: 'message', enabled: false, writes: [], reads: [] },
    { handler: 5n, name: 'born', message: 20, follows: 'added', enabled: true, writes: [21, 22], reads: [] },
  ]);
  const follows = [0, 1, 2, 3, 4].map((change) => handler_rows({ ...page, changes: Uint8Array.of(change, 0, 0) })[0].follows);
  assert.deepEqual(follows, ['message', 'added', 'removed', 'changed', 'message']);
  for (const broken of [
    { names: ['move'] },
    { messages: [7, 7] },
    { changes: Uint8Array.of(0, 0) },
    { enabled: Uint8Array.of(1, 0, 1, 1) },
    { write_counts: [1, 2] },
    { read_counts: [2] },
    { writes: [20, 21] },
    { read_counts: [2, 0, 1] },
  ])
    assert.throws(() => handler_rows({ ...page, ...broken }), { kind: 'lost', message: /do not fit together/ });
});

test('templates are read, listed and spawned', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const read = await error_of(client.read_templates('{ nonsense', 'orcs.json'));
  assert.equal(read.kind, 'refused');
  assert.match(read.message, /orcs\.json/);
  assert.deepEqual((await client.templates()).names, []);
  await client.push('world', muster.DefineTemplate, {
    name: 'orc',
    nodes: [{ parent: 0 }, { parent: 0, name: 'axe' }],
  });
  assert.deepEqual(await client.templates().then(({ names, nodes }) => [names, nodes]), [['orc'], [2]]);
  const orc = await client.spawn('orc', nil, 'grom');
  assert.deepEqual((await client.ask(session.ListChildren, { entity: orc })).names, ['axe']);
  assert.equal((await client.show(await client.spawn('orc', nil, 'grom'))).about.name, 'grom~2');
  assert.equal((await error_of(client.spawn('elf', nil))).fault?.code, session.FaultCode.not_found);
});

test('a wrong token, a wrong address and a server that is gone are told apart', async (t) => {
  const world = await World.serve(t);
  const where = world.where();
  const token = await error_of(connect({ ...where, token: 'guess' }));
  assert.deepEqual([token.kind, token.fault?.code], ['lost', session.FaultCode.bad_token]);
  for (const address of ['nowhere', '127.0.0.1', '127.0.0.1:x', '127.0.0.1:0', 'unix:'])
    assert.equal((await error_of(connect({ address }))).kind, 'mistaken', address);
  const beside = world.path + '-server.json';
  for (const bit of [0o040, 0o020, 0o010, 0o004, 0o002, 0o001]) {
    chmodSync(beside, 0o600 | bit);
    assert.throws(() => read_address_file(world.path), /can be read by others, so its token is not secret/);
  }
  chmodSync(beside, 0o600);
  await world.kill();
  assert.match((await error_of(connect(where))).message, /^cannot connect to 127\.0\.0\.1:\d+: /);
  assert.throws(() => read_address_file(world.path), /no server is running for .* \(process \d+ has ended\)/);
  assert.throws(() => read_address_file(world.path + 'x'), { kind: 'lost', message: /no server is running for/ });
});

test('a server that is killed ends all that waits, and one that comes back is a new session with the saved world', async (t) => {
  const world = await World.serve(t, 'everything.bfbs', ...unsaved);
  const client = await world.connect();
  const orc = await client.create(nil, 'orc', [game.Health, { value: 70 }]);
  await client.ask(session.Save);
  await client.set_field(orc, game.Health, 'value', 10);
  const ended: ClientError[] = [];
  await client.follow({ world: true, values: true }, { frame: () => {}, ended: (error) => void ended.push(error) });
  world.signal('SIGSTOP');
  const waiting = [error_of(client.ask(session.GetInfo)), error_of(client.show(orc))];
  await pause(50);
  await world.kill();
  for (const error of await Promise.all(waiting)) assert.equal(error.kind, 'lost');
  assert.equal((await client.closed).kind, 'lost');
  assert.equal(ended.length, 1);
  assert.equal((await error_of(client.ask(session.GetInfo))).kind, 'lost');
  await world.start();
  const again = await world.connect();
  assert.equal((await again.show(orc)).components['golden.Health'].value, 70);
  assert.notEqual(again.welcome.epoch, client.welcome.epoch);
});

test('an edit that was waited for survives a server that is killed; who follows is told how much does', async (t) => {
  const world = await World.serve(t, 'everything.bfbs', '--autosave', '0');
  const [client, other] = [await world.connect(), await world.connect('unix')];
  const told: session.Durable[] = [];
  const first = await other.durable((state) => told.push(state));
  assert.deepEqual([first.durability, first.autosave_ns, first.error], [session.Durability.batched, 0n, '']);
  const orc = await client.create(nil, 'orc', [game.Health, { value: 70 }]);
  const { sequence } = await client.set_field(orc, game.Health, 'value', 10);
  const durable = await client.wait_durable(sequence);
  assert.ok(durable.sequence >= sequence && durable.saved_sequence < sequence);
  assert.ok((await client.wait_durable(sequence)).sequence >= sequence);
  assert.ok((await client.ask(session.GetInfo)).durable_sequence >= sequence);
  await until('the other is told', () => (told.at(-1)?.sequence ?? 0n) >= sequence);
  const last = (await client.ask(session.GetClock)).sequence;
  const waiting = error_of(client.wait_durable(last + 1000n));
  await world.kill();
  assert.equal((await waiting).kind, 'lost');
  await world.start(...unsaved);
  const again = await world.connect();
  assert.equal((await again.show(orc)).components['golden.Health'].value, 10);
  const lost = await again.set_field(orc, game.Health, 'value', 11);
  const refused = await error_of(again.wait_durable(lost.sequence));
  assert.deepEqual([refused.kind, refused.message.split(':')[0]], ['refused', 'not durable until the world is saved']);
  await again.ask(session.Save);
  await again.wait_durable(lost.sequence);
});

test('a server that stops in good order says so, and one that does not answer is late', async (t) => {
  const world = await World.serve(t);
  const hasty = await world.connect('tcp', { time_max_ms: 1500 });
  world.signal('SIGSTOP');
  const late = await error_of(hasty.ask(session.GetInfo));
  assert.equal(late.kind, 'late');
  assert.match(late.message, /the server did not answer within 1500 ms/);
  world.signal('SIGCONT');
  const patient = await world.connect();
  await until(
    'it answers again',
    async () =>
      (await error_of(hasty.ask(session.GetInfo).then(() => Promise.reject(new ClientError('late', 'fine'))))).message === 'fine',
  );
  await world.kill('SIGTERM');
  const stopped = await patient.closed;
  assert.equal(stopped.fault?.code, session.FaultCode.stopping);
  assert.equal((await error_of(patient.ask(session.GetInfo))).fault?.code, session.FaultCode.stopping);
});

test('types that the world learns later reach every session', async (t) => {
  const world = await World.serve(t);
  const [admin, other] = [await world.connect(), await world.connect('unix')];
  const { built } = await import('./support.js');
  assert.throws(() => other.types.get('test.Lamp'), /no type is called/);
  let told = 0;
  other.on_types(() => {
    ++told;
    other.types.get('test.Lamp');
  });
  other.on_types(() => ++told);
  assert.ok((await admin.ask(session.AddSchema, { bytes: built('test_types.bfbs') })).types > 5);
  await other.ask(session.GetInfo);
  assert.equal(told, 2); // each who asked, once
  const lamp = await other.create(nil, 'lamp', ['test.Lamp', { lit: true, color: 'blue' }]);
  assert.deepEqual((await admin.show(lamp)).components['test.Lamp'], { lit: true, color: 5 });
  assert.equal((await error_of(admin.ask(session.AddSchema, { bytes: new Uint8Array(64) }))).kind, 'refused');
});
