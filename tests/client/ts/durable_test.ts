// Waiting until an input is on the server's disk: what ends it, and what nothing is left of.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { session } from 'muster-client';

import { Hands } from './hands.js';
import { Scripted } from './scripted.js';
import { test } from './support.js';

const { batched, checkpoint } = session.Durability;

async function waiting(t: TestContext, sequence: bigint) {
  const hands = new Hands(t);
  const { client, server } = await Scripted.open();
  t.after(() => client.close());
  const over: string[] = [];
  const call = client.wait_durable(sequence).then(
    (state) => over.push(`done ${state.sequence}`),
    (error: { kind: string; message: string }) => over.push(`${error.kind}: ${error.message}`),
  );
  void call;
  const tell = async (state: object, asked = false): Promise<string[]> => {
    server.tell(session.Durable, { durability: batched, ...state }, { request: asked ? server.request_of(session.FollowDurable) : 0n });
    await hands.turn();
    return over;
  };
  const listening = (): number => (client as unknown as { connection: { durable_listeners: Set<unknown> } }).connection.durable_listeners.size;
  return { hands, client, server, over, tell, listening };
}

test('what is durable already, or becomes so, is done as soon as that is told', async (t) => {
  const already = await waiting(t, 5n);
  assert.deepEqual(await already.tell({ sequence: 5n }, true), ['done 5']);
  const later = await waiting(t, 5n);
  await later.tell({ sequence: 3n }, true);
  assert.deepEqual(await later.tell({ sequence: 4n }), []);
  assert.deepEqual([await later.tell({ sequence: 6n }), later.listening(), later.hands.open_timers], [['done 6'], 0, 0]);
  assert.deepEqual(await later.tell({ sequence: 7n }), ['done 6']);
  const sooner = await waiting(t, 5n); // news came before the answer
  assert.deepEqual(await sooner.tell({ sequence: 5n }), ['done 5']);
  // On a server that writes nothing by itself what was saved is durable all the same.
  const saved = await waiting(t, 5n);
  assert.deepEqual(await saved.tell({ sequence: 5n, durability: checkpoint, error: 'once' }, true), ['done 5']);
});

test('a disk that fails and a server that writes nothing by itself are refused in words', async (t) => {
  const fails = await waiting(t, 5n);
  await fails.tell({ sequence: 3n }, true);
  assert.deepEqual(await fails.tell({ sequence: 4n, error: 'the disk is full' }), ['refused: not durable: the disk is full']);
  assert.deepEqual([fails.listening(), fails.hands.open_timers], [0, 0]);
  const never = await waiting(t, 5n);
  const words = 'refused: not durable until the world is saved: this server writes nothing by itself';
  assert.deepEqual(await never.tell({ sequence: 4n, durability: checkpoint }, true), [words]);
  const saves = await waiting(t, 5n);
  assert.deepEqual(await saves.tell({ sequence: 4n, durability: checkpoint, autosave_ns: 1n }, true), []);
  assert.deepEqual(await saves.tell({ sequence: 5n, durability: checkpoint, autosave_ns: 1n }), ['done 5']);
});

test('it is waited for as long as for any answer, and no longer than the session lasts', async (t) => {
  const late = await waiting(t, 5n);
  await late.tell({ sequence: 3n }, true);
  late.hands.pass(9999);
  await late.hands.turn();
  assert.deepEqual(late.over, []);
  late.hands.pass(1);
  await late.hands.turn();
  assert.deepEqual([late.over, late.listening(), late.client.ended], [['late: sequence 5 did not become durable within 10000 ms'], 0, null]);
  const lost = await waiting(t, 5n);
  await lost.tell({ sequence: 3n }, true);
  lost.server.stream.end('gone');
  await lost.hands.turn();
  assert.deepEqual([lost.over, lost.listening(), lost.hands.open_timers], [['lost: gone'], 0, 0]);
  const refused = await waiting(t, 5n);
  refused.server.tell(session.Fault, { code: session.FaultCode.refused, text: 'not here' }, { request: refused.server.request_of(session.FollowDurable) });
  await refused.hands.turn();
  assert.deepEqual([refused.over, refused.listening()], [['refused: not here'], 0]);
});
