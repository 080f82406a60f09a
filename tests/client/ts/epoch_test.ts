// Each start of a server is an epoch: a client says with what it was told in which, and who comes back learns whether it is another.
import assert from 'node:assert/strict';

import { Client, Replica, session } from 'muster-client';
import type { Acknowledged, SoFar } from 'muster-client';

import { Scripted } from './scripted.js';
import { test } from './support.js';
import { unsaved, until, World } from './world.js';

const one = { index: 1, generation: 1 };

async function opened(epoch: bigint, before?: SoFar): Promise<{ client: Client; server: Scripted }> {
  const server = Scripted.serve({ epoch, secret: 5n, sequence: 40n });
  let sequence = 40n;
  server.answers.set('muster.Destroy', () => [session.Ack, { sequence: ++sequence, handled: 1 }]);
  server.answers.set(session.FollowDurable.name, () => [session.Durable, { sequence: 100n }]);
  return { client: await Client.open(server.stream, before ? { before } : {}), server };
}

test('acknowledgements and what watches bring have the epoch that Welcome named', async () => {
  const { client, server } = await opened(7n);
  assert.equal(client.epoch, 7n);
  const acks = [await client.destroy(one), await client.destroy(one)];
  assert.deepEqual(
    acks.map(({ epoch, sequence, handled }) => [epoch, sequence, handled]),
    [
      [7n, 41n, 1],
      [7n, 42n, 1],
    ],
  );
  const epochs: bigint[] = [];
  void client.follow({ world: true, values: true }, { frame: (received) => void epochs.push(received.epoch) });
  await until('the watch was sent', () => server.request_of(session.Follow) !== 0n);
  const request = server.request_of(session.Follow);
  server.tell(session.Watching, { sequence: 42n }, { request, flags: 2 });
  server.tell({ name: 'muster.Create' }, {}, { request, sequence: 43n, target: one });
  assert.deepEqual(epochs, [7n, 7n]);
  assert.deepEqual(client.so_far, { epoch: 7n, secret: 5n, sequence: 43n });
  client.close();
});

test('a client tells the next one how far it came, which says so and learns whether the server was started anew', async () => {
  const first = await opened(7n);
  const said = ({ sent }: Scripted): unknown[] => {
    const { secret, last_sequence } = sent[0].value as session.Hello;
    return [secret, last_sequence];
  };
  assert.deepEqual([first.client.is_started_anew, said(first.server)], [false, [0n, 0n]]);
  assert.deepEqual(first.client.so_far, { epoch: 7n, secret: 5n, sequence: 40n });
  await first.client.destroy(one);
  first.client.close();
  const before = first.client.so_far;
  for (const [epoch, anew] of [
    [7n, false],
    [8n, true],
  ] as const) {
    const { client, server } = await opened(epoch, before);
    assert.deepEqual([client.is_started_anew, said(server)], [anew, [5n, 41n]]);
    client.close();
  }
});

test('nobody waits for an Ack of another epoch: its sequence may be that of another input by now', async () => {
  const first = await opened(7n);
  const old: Acknowledged = await first.client.destroy(one);
  assert.equal((await first.client.wait_durable(old)).sequence, 100n);
  first.client.close();
  const { client, server } = await opened(8n);
  await assert.rejects(client.wait_durable(old), {
    kind: 'mistaken',
    message: 'sequence 41 belongs to an earlier run of the server: inputs that were not durable when it ended are lost',
  });
  assert.equal(server.request_of(session.FollowDurable), 0n);
  assert.equal((await client.wait_durable(await client.destroy(one))).sequence, 100n);
  client.close();
});

test('a replica is told that the server was started anew, before the state of the new start; not where it is the same', async () => {
  const told: string[] = [];
  const replica: Replica = new Replica({
    anew: () => void told.push(`anew ${replica.epoch}`),
    change: ({ sequence, created, destroyed }) => void told.push(`${sequence}: +${created.length} -${destroyed.length}`),
  });
  const follow = async (epoch: bigint, sequence: bigint, entities: number[]): Promise<void> => {
    const { client, server } = await opened(epoch);
    const following = replica.follow(client);
    await until('the watch was sent', () => server.request_of(session.Follow) !== 0n);
    const request = server.request_of(session.Follow);
    server.tell(session.Watching, { sequence }, { request, flags: 2 });
    entities.forEach((index, i) => {
      const flags = i + 1 < entities.length ? 2 : 0;
      server.tell({ name: 'muster.Create' }, {}, { request, sequence, flags, target: { index, generation: 1 } });
    });
    await following;
    client.close();
  };
  assert.equal(replica.epoch, 0n);
  await follow(7n, 50n, [1, 2]);
  await follow(7n, 60n, [1, 2, 3]); // another connection to the same start
  await follow(8n, 45n, [1, 4]); // what came after 45 was lost
  assert.deepEqual(told, ['50: +2 -0', '60: +1 -0', 'anew 8', '45: +1 -2']);
  assert.deepEqual([replica.epoch, replica.sequence, replica.size], [8n, 45n, 2]);
});

test('all sessions of one start are of one epoch, and those of the next start of another', async (t) => {
  const world = await World.serve(t, 'everything.bfbs', ...unsaved);
  const [client, other] = [await world.connect(), await world.connect('unix')];
  const [ack, others] = [await client.destroy(one), await other.destroy(one)];
  assert.deepEqual([ack.epoch, others.epoch, ack.epoch !== 0n], [client.epoch, client.epoch, true]);
  const before = client.so_far;
  assert.ok(before.sequence >= ack.sequence);
  await world.kill();
  await world.start();
  const again = await world.connect('tcp', { before });
  assert.notEqual((await again.destroy(one)).epoch, ack.epoch);
  assert.equal(again.is_started_anew, true);
  assert.equal((await world.connect('unix', { before: again.so_far })).is_started_anew, false);
});
