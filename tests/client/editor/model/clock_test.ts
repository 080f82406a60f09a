// The world's clock, what of the world is in its file, and who writes which component, as the server tells them.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { session } from 'muster-client';

import { Clock } from '../../../../client/editor/src/model/clock.js';
import { Handlers } from '../../../../client/editor/src/model/handlers.js';
import { Scripted } from '../../ts/scripted.js';
import { test } from '../../ts/support.js';
import { settled } from './played.js';

async function opened(t: TestContext) {
  const { client, server } = await Scripted.open();
  t.after(() => client.close());
  server.answers.set(session.GetClock.name, () => [session.ClockState, { hz: 20, saved_sequence: 4n }]);
  server.answers.set(session.SetClock.name, () => [session.ClockState, { hz: 20, paused: 1, saved_sequence: 4n }]);
  const asked = () => server.sent.filter(({ name }) => name === session.SetClock.name).map(({ value }) => value);
  return { client, server, asked };
}

test('the newest state counts, whether it was asked for or came by itself, of the session that is followed', async (t) => {
  const { client, server } = await opened(t);
  const clock = new Clock();
  assert.deepEqual([clock.state.value, clock.saved.value, clock.paused.value], [null, null, false]);
  clock.follow(client);
  await settled();
  assert.deepEqual((server.sent.find(({ name }) => name === session.GetClock.name)?.value as session.GetClock).follow, 1);
  assert.deepEqual([clock.state.value?.hz, clock.paused.value], [20, false]);
  assert.deepEqual([clock.saved.value], [{ sequence: 4n, at: null }]); // when is not known
  server.tell(session.ClockState, { paused: 1, saved_sequence: 4n }, { request: 0n });
  assert.deepEqual([clock.paused.value, clock.saved.value], [true, { sequence: 4n, at: null }]);
  server.tell(session.ClockState, { paused: 2, saved_sequence: 5n }, { request: 0n });
  assert.equal(clock.paused.value, false);
  const { sequence, at } = clock.saved.value!;
  assert.deepEqual([sequence, at instanceof Date], [5n, true]);
  server.tell(session.ClockState, { saved_sequence: 5n }, { request: 0n });
  assert.equal(clock.saved.value!.at, at);

  const other = await opened(t);
  clock.follow(other.client);
  assert.deepEqual([clock.state.value], [null]); // nothing is known of it yet
  server.tell(session.ClockState, { hz: 1, saved_sequence: 9n }, { request: 0n }); // of the session before
  assert.deepEqual([clock.state.value], [null]);
  await settled();
  assert.equal(clock.state.value?.hz, 20);
  clock.lost();
  other.server.tell(session.ClockState, { hz: 2 }, { request: 0n });
  assert.equal(clock.state.value?.hz, 20);
});

test('pause, play, steps and speed are asked for as such, and what is answered is shown', async (t) => {
  const { client, asked } = await opened(t);
  const clock = new Clock();
  await clock.pause(); // there is no session
  clock.follow(client);
  await settled();
  await clock.pause();
  assert.equal(clock.paused.value, true);
  await clock.play();
  await clock.step(3);
  await clock.set_speed(0.5);
  assert.deepEqual(asked(), [
    { speed: 0, paused: 1, steps: 0 },
    { speed: 0, paused: 0, steps: 0 },
    { speed: 0, paused: 1, steps: 3 },
    { speed: 0.5, paused: 2, steps: 0 },
  ]);
  clock.lost();
  await clock.play();
  assert.equal(asked().length, 4);
});

test('a save says that it is under way, and when it was; one that is refused says so and is not under way', async (t) => {
  const { client, server } = await opened(t);
  const clock = new Clock();
  await clock.save();
  assert.deepEqual([clock.saved.value], [null]);
  clock.follow(client);
  await settled();
  const saving = clock.save();
  assert.deepEqual([clock.is_saving.value], [true]);
  server.tell(session.Saved, { sequence: 12n }, { request: server.request_of(session.Save) });
  await saving;
  assert.deepEqual([clock.is_saving.value, clock.saved.value?.sequence, clock.saved.value?.at instanceof Date], [false, 12n, true]);
  server.answers.set(session.Save.name, () => [session.Fault, { code: session.FaultCode.refused, text: 'the disk is full' }]);
  await assert.rejects(clock.save(), { message: 'the disk is full' });
  assert.deepEqual([clock.is_saving.value, clock.saved.value?.sequence], [false, 12n]);
});

test('a server that does not tell its clock leaves it unknown', async (t) => {
  const { client, server } = await opened(t);
  server.answers.set(session.GetClock.name, () => [session.Fault, { code: session.FaultCode.refused, text: 'no' }]);
  const clock = new Clock();
  clock.follow(client);
  await settled();
  assert.deepEqual([clock.state.value, clock.paused.value], [null, false]);
});

test('every component says which handlers write it, those that are switched off too', async (t) => {
  const { client, server } = await opened(t);
  const id = (name: string): number => client.types.get('golden.' + name).id;
  server.answers.set(session.ListHandlers.name, () => [
    session.HandlerList,
    {
      handlers: [1n, 2n, 3n],
      names: ['hurt', '', 'read'],
      messages: [id('Damage'), id('Chat'), 5],
      changes: new Uint8Array(3),
      enabled: Uint8Array.of(1, 0, 1),
      write_counts: [2, 1, 1],
      writes: [id('Health'), id('Config'), id('Health'), id('Dead')],
      read_counts: [0, 1, 1],
      reads: [id('Dead'), id('Config')],
    },
  ]);
  const handlers = new Handlers();
  assert.equal(handlers.writers.value.size, 0);
  await handlers.read(client);
  const hurt = { handler: 'hurt', message: 'golden.Damage', enabled: true };
  assert.deepEqual(Object.fromEntries(handlers.writers.value), {
    'golden.Health': [hurt, { handler: '', message: 'golden.Chat', enabled: false }],
    'golden.Config': [hurt],
    'golden.Dead': [{ handler: 'read', message: '', enabled: true }],
  });
  server.answers.set(session.ListHandlers.name, () => [session.HandlerList, {}]);
  await handlers.read(client);
  assert.equal(handlers.writers.value.size, 0);
});
