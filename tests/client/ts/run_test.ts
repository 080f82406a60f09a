// Runs: a session enters the epoch that begins with a run or its end, and no edit that was made
// before gets into it.
import assert from 'node:assert/strict';

import { Client, muster, nil, Replica, session, Tree } from 'muster-client';
import type { ByteStream, ClientError, Entity, SoFar } from 'muster-client';
import { connect_stream } from 'muster-client/node';

import * as game from './everything.js';
import { Scripted } from './scripted.js';
import { test } from './support.js';
import { until, World } from './world.js';

const one: Entity = { index: 1, generation: 1 };
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const over = (error: ClientError): boolean => error.kind === 'refused' && error.fault?.reason === 'epoch_over';

/** A session in epoch 7. Ids 100 to 103 are granted, then 200 to 203. */
async function opened(before?: SoFar, epoch = 7n): Promise<{ client: Client; server: Scripted; names: () => string[] }> {
  const server = Scripted.serve({ epoch, secret: 5n, sequence: 40n });
  let sequence = 40n;
  let first = 0;
  for (const name of ['muster.Destroy', 'muster.Create', 'muster.Rename', 'muster.InternText', 'muster.Step'])
    server.answers.set(name, () => [session.Ack, { sequence: ++sequence, handled: 1 }]);
  server.answers.set(session.RequestGrant.name, () => [session.Granted, { first: (first += 100), count: 4 }]);
  server.answers.set(session.FollowDurable.name, () => [session.Durable, { sequence: 100n }]);
  const client = await Client.open(server.stream, before ? { before } : {});
  server.sent.length = 0;
  return { client, server, names: () => server.sent.splice(0).map(({ name }) => name.replace(/^muster\.(session\.)?/, '')) };
}
const begin = (server: Scripted, epoch: bigint, playing: boolean, sequence = 0n): void =>
  server.tell(session.NewEpoch, { epoch, playing, sequence }, { request: 0n });

test('a session enters a new epoch before it sends anything else, and says so to its program', async () => {
  const { client, server, names } = await opened();
  assert.deepEqual([client.epoch, client.playing], [7n, false]);
  const told: unknown[] = [];
  client.on_epoch(({ epoch, playing, tick }) => {
    told.push([epoch, playing, tick, client.epoch, client.playing]);
    void client.destroy(one);
  });
  server.tell(session.NewEpoch, { epoch: 8n, playing: true, sequence: 50n, tick: 3n }, { request: 0n });
  assert.deepEqual(told, [[8n, true, 3n, 8n, true]]);
  assert.deepEqual([server.sent[0].request, (server.sent[0].value as session.EnterEpoch).epoch], [0n, 8n]);
  assert.deepEqual(names(), ['EnterEpoch', 'Destroy']);
  assert.deepEqual(client.so_far, { epoch: 8n, secret: 5n, sequence: 50n });
  assert.equal((await client.destroy(one)).epoch, 8n);
  client.close();
});

test('a run that begins with the Welcome is not forgotten when the session opens', async () => {
  const server = Scripted.serve();
  server.answers.set(session.Hello.name, () => {
    queueMicrotask(() => begin(server, 8n, true));
    return [session.Welcome, { epoch: 7n, frame_bytes_max: 1 << 20 }];
  });
  const client = await Client.open(server.stream);
  assert.deepEqual([client.epoch, client.playing, client.is_comparable(7n)], [8n, true, true]);
  client.close();
});

test('acks of earlier epochs of a session are waited for; a session is not started anew by a run', async () => {
  const first = await opened();
  const before = first.client.so_far;
  const old = await first.client.destroy(one);
  const answered = first.client.destroy(one);
  await soon();
  begin(first.server, 8n, true); // after the answer, before its caller hears of it
  assert.deepEqual([old.epoch, (await answered).epoch], [7n, 7n]);
  assert.equal((await first.client.wait_durable(old)).sequence, 100n);
  assert.deepEqual([first.client.is_comparable(7n), first.client.is_comparable(8n), first.client.is_comparable(9n)], [true, true, false]);
  first.client.close();

  const again = await opened(before);
  begin(again.server, 8n, true);
  assert.equal(again.client.is_started_anew, false);
  again.client.close();
  const later = await opened(before, 8n); // it cannot know whether it missed a run or a restart
  assert.equal(later.client.is_started_anew, true);
  await assert.rejects(later.client.wait_durable(old), { kind: 'mistaken' });
  later.client.close();
});

test('granted ids end with their epoch, also those whose grant arrives together with the next epoch', async () => {
  const { client, server } = await opened();
  assert.equal((await client.next_id()).index, 100);
  begin(server, 8n, true);
  assert.equal((await client.next_id()).index, 200);
  begin(server, 9n, false);
  server.answers.delete(session.RequestGrant.name);
  const id = client.next_id();
  await soon();
  const request = server.request_of(session.RequestGrant);
  server.tell(session.Granted, { first: 300, count: 4 }, { request });
  begin(server, 10n, true);
  server.answers.set(session.RequestGrant.name, () => [session.Granted, { first: 400, count: 4 }]);
  assert.equal((await id).index, 400);
  client.close();
});

test('an edit that waits for an id, a text or its turn when another epoch begins is refused and never sent', async () => {
  const { client, server, names } = await opened();
  const refused = (edit: Promise<unknown>): Promise<void> => assert.rejects(edit, over);
  server.answers.set(session.GetTemplate.name, () => [muster.DefineTemplate, { name: 't', nodes: [{}] }]);
  const waited = [refused(client.create(nil, '')), refused(client.spawn('t', nil))];
  begin(server, 8n, true);
  await Promise.all(waited);

  names();
  server.answers.delete('muster.InternText');
  const waiting = [refused(client.rename(one, 'orc')), refused(client.destroy(one))];
  await soon();
  const request = server.request_of({ name: 'muster.InternText' });
  server.tell(session.Ack, { sequence: 60n }, { request });
  begin(server, 9n, false);
  await Promise.all(waiting);
  assert.deepEqual(names(), ['InternText', 'EnterEpoch']);

  // Texts are told again, because the level may lack them, and not together with those of the run.
  server.answers.set('muster.InternText', () => [session.Ack, { sequence: 61n }]);
  await client.rename(one, 'orc');
  await client.rename(one, 'orc');
  assert.deepEqual(names(), ['InternText', 'Rename', 'Rename']);
  server.answers.delete('muster.InternText');
  const late = refused(client.rename(one, 'elf'));
  await soon();
  const unheard = server.request_of({ name: 'muster.InternText' });
  begin(server, 10n, true);
  server.answers.set('muster.InternText', () => [session.Ack, { sequence: 62n }]);
  const next = client.rename(one, 'elf');
  await soon();
  server.tell(session.Fault, { code: session.FaultCode.refused, reason: 'epoch_over' }, { request: unheard });
  await Promise.all([late, next]);
  assert.deepEqual(names(), ['InternText', 'EnterEpoch', 'InternText', 'Rename']);
  client.close();
});

test('a step that was made for an earlier epoch is not sent, nor the rest of one that is sent in parts', async () => {
  const { client, server, names } = await opened();
  const destroy = client.types.get('muster.Destroy');
  const messages = (count: number) => Array.from({ length: count }, (_, i) => ({ target: { index: i + 1, generation: 1 }, value: {} }));
  const part = (count: number) => [{ kind: 'each' as const, type: destroy, messages: messages(count) }];
  const { epoch } = client;
  await client.push_step(part(1), { epoch });
  begin(server, 8n, true);
  await assert.rejects(client.push_step(part(1), { epoch }), over);
  await client.push_step(part(1));
  assert.deepEqual(names(), ['Step', 'EnterEpoch', 'Step']);
  const large = client.push_step(part(300_000));
  begin(server, 9n, false);
  await assert.rejects(large, over);
  assert.deepEqual(names(), ['Step', 'EnterEpoch']);
  client.close();
});

test('an edit that the server refuses because its epoch is over fails once, and is not sent again', async () => {
  const { client, server, names } = await opened();
  server.answers.set('muster.Destroy', () => [
    session.Fault,
    { code: session.FaultCode.refused, reason: 'epoch_over', text: 'a run began' },
  ]);
  const edit = assert.rejects(client.destroy(one), (error: ClientError) => over(error) && error.message === 'a run began');
  begin(server, 8n, true);
  await edit;
  await soon();
  assert.deepEqual(names(), ['Destroy', 'EnterEpoch']);
  client.close();
});

test('a replica goes on through runs with the watch that it has', async () => {
  const told: string[] = [];
  const replica = new Replica({
    anew: () => void told.push('anew'),
    change: ({ sequence, created, destroyed }) => void told.push(`${sequence}: +${created.length} -${destroyed.length}`),
  });
  const first = await opened();
  const whole = async (server: Scripted, sequence: bigint): Promise<void> => {
    await until('the watch was sent', () => server.request_of(session.Follow) !== 0n);
    const request = server.request_of(session.Follow);
    server.tell(session.Watching, { sequence }, { request, flags: 2 });
    server.tell({ name: 'muster.Create' }, {}, { request, sequence, target: one });
  };
  const following = replica.follow(first.client);
  await whole(first.server, 50n);
  await following;
  const request = first.server.request_of(session.Follow);
  begin(first.server, 8n, true);
  first.server.tell({ name: 'muster.Create' }, {}, { request, sequence: 51n, target: { index: 2, generation: 1 } });
  begin(first.server, 9n, false, 51n);
  first.server.tell({ name: 'muster.Destroy' }, {}, { request, sequence: 51n, target: { index: 2, generation: 1 } });
  assert.deepEqual(told.splice(0), ['50: +1 -0', '51: +1 -0', '51: +0 -1']);
  assert.equal(first.names().filter((name) => name === 'Follow').length, 1);
  begin(first.server, 10n, true);
  first.client.close();

  // It knows the last epoch of its session, although no state came in it.
  const second = await opened(undefined, 10n);
  const again = replica.follow(second.client);
  await whole(second.server, 52n);
  await again;
  assert.deepEqual(told.splice(0), ['52: +0 -0']);
  second.client.close();
  const third = await opened(undefined, 11n);
  const anew = replica.follow(third.client);
  await whole(third.server, 52n);
  await anew;
  assert.deepEqual(told, ['anew', '52: +0 -0']);
  third.client.close();
});

test('play, edits and stop: both clients have the level again, with ids, names, order and texts, through the same watches', async (t) => {
  const world = await World.serve(t);
  const [ann, bob] = [await world.connect(), await world.connect('unix')];
  const camp = await ann.create(nil, 'camp');
  const orc = await ann.create(camp, 'orc', [game.Health, { value: 50, target: camp }]);
  const elf = await ann.create(camp, 'elf', [game.Health, { value: 60 }]);
  const epochs: boolean[] = [];
  bob.on_epoch(({ playing }) => void epochs.push(playing));
  const copies = [new Replica(), new Replica()];
  const anew: string[] = [];
  const watched = new Replica({ anew: () => void anew.push('anew') });
  const tree = new Tree();
  await Promise.all([copies[0].follow(ann), copies[1].follow(bob), watched.follow(bob, { entities: [orc, elf] }), tree.follow(bob), tree.open(nil, camp)]);
  const seen = (copy: Replica): string[] =>
    [...copy].map(({ name, parent, components }) => JSON.stringify([name, parent.index, components], (_, each: unknown) => (typeof each === 'bigint' ? `${each}` : each))).sort();
  const rows = (): string => tree.children(camp).map(({ name }) => name).join();
  const level = seen(copies[0]);

  for (let round = 0; round < 3; ++round) {
    const played = await ann.play();
    assert.deepEqual([played.playing, played.epoch, ann.playing, played.level_sequence > 0n], [true, ann.epoch, true, true]);
    await assert.rejects(bob.play(), { kind: 'refused' });
    await bob.set_field(orc, game.Health, 'value', 7 + round);
    await bob.rename(orc, `chief ${round}`);
    await ann.destroy(elf);
    const dwarf = await ann.create_before(camp, orc, 'dwarf', [game.Health, { value: 1 }]);
    await ann.create(dwarf, 'bag');
    const in_run = ann.so_far.sequence;
    await until('all copies show the run', () => copies.every((copy) => copy.size === level.length + 1) && rows() === `dwarf,chief ${round}`);
    assert.equal(watched.component(orc, game.Health)?.value, 7 + round);

    const stopped = await bob.stop_playing();
    assert.deepEqual([stopped.playing, stopped.epoch, bob.playing, stopped.level_sequence], [false, bob.epoch, false, 0n]);
    assert.ok(stopped.sequence >= in_run, 'sequences go on');
    await until('all copies show the level', () => copies.every((copy) => seen(copy).join() === level.join()) && rows() === 'orc,elf');
    await until('its values are told', () => watched.component(orc, game.Health)?.value === 50);
    await assert.rejects(ann.show(dwarf), { kind: 'refused' });
  }
  assert.deepEqual([epochs, anew], [[true, false, true, false, true, false], []]);
  await until('both have heard', () => ann.epoch === bob.epoch);
  // Ids and texts that came in a run are new again.
  const next = await ann.create(camp, 'chief 2');
  assert.equal((await bob.show(next)).about.name, 'chief 2');
  assert.equal((await bob.ask(session.GetRun)).playing, false);
  const late = await world.connect();
  assert.equal(late.playing, false);
  await late.play();
  assert.equal((await world.connect()).playing, true);
});

/** What the server says is held back from when the test wants it. */
class HeldStream implements ByteStream {
  private held: Uint8Array[] | null = null;
  private received: (bytes: Uint8Array) => void = () => {};
  constructor(private readonly stream: ByteStream) {}
  start(handlers: Parameters<ByteStream['start']>[0]): void {
    this.received = (bytes) => handlers.received(bytes);
    const received = (bytes: Uint8Array): void => void (this.held ? this.held.push(bytes) : handlers.received(bytes));
    this.stream.start({ ...handlers, received });
  }
  hold(): void {
    this.held = [];
  }
  let_go(): void {
    const held = this.held ?? [];
    this.held = null;
    for (const bytes of held) this.received(bytes);
  }
  send(bytes: Uint8Array): void {
    this.stream.send(bytes);
  }
  get unsent_bytes(): number {
    return this.stream.unsent_bytes;
  }
  close(): void {
    this.stream.close();
  }
}

test('edits of a client that has not heard of a stop are refused, as is its undo; later ones are not', async (t) => {
  const world = await World.serve(t);
  const { address, token } = world.where();
  const stream = new HeldStream(await connect_stream(address, 10_000));
  const deaf = await Client.open(stream, { token });
  t.after(() => deaf.close());
  const client = await world.connect();
  const orc = await client.create(nil, 'orc', [game.Health, { value: 50 }]);
  await client.set_field(orc, game.Health, 'value', 51);
  await client.play();
  await until('it has heard of the run', () => deaf.playing);
  await deaf.set_field(orc, game.Health, 'value', 1);
  stream.hold();
  await client.stop_playing();
  const value = async (): Promise<unknown> => (await client.show(orc)).components['golden.Health'].value;
  assert.equal(await value(), 51);
  const edits = [
    deaf.set_field(orc, game.Health, 'value', 2),
    deaf.rename(orc, 'ogre'),
    deaf.create(nil, 'made'),
    deaf.ask(session.Undo, { act: session.UndoAct.undo }),
  ].map((edit) => assert.rejects(edit, over));
  await client.ask(session.GetInfo);
  assert.equal(await value(), 51);
  stream.let_go();
  await Promise.all(edits);
  assert.equal(deaf.playing, false);
  assert.deepEqual([await value(), (await client.show(orc)).about.name], [51, 'orc']);
  await deaf.set_field(orc, game.Health, 'value', 3);
  assert.equal(await value(), 3);
  const undone = await deaf.ask(session.Undo, { act: session.UndoAct.undo });
  assert.deepEqual([undone.done > 0, await value()], [true, 51]);
  await deaf.ask(session.Undo, { act: session.UndoAct.undo });
  assert.equal(await value(), 50, 'the history is that of the level');
});
