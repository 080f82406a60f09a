// A session whose stream is lost goes on with another one: each edit is applied once, and copies
// stay equal to the world.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect as connect_socket } from 'node:net';
import type { TestContext } from 'node:test';
import { join } from 'node:path';

import { muster, nil, Replica, session } from 'muster-client';
import type { Client, StepPart } from 'muster-client';

import { test } from './support.js';
import { until, World } from './world.js';

/** Forwards frames, and loses a connection after as many as `left` says. */
class Line {
  left = Infinity;
  frames = 0;
  cuts = 0;
  private readonly sockets = new Set<Socket>();
  private silent = { now: false }; // of the present connections
  private readonly server: Server;

  constructor(t: TestContext, target: string) {
    const at = target.lastIndexOf(':');
    this.server = createServer((near) => {
      const far = connect_socket({ host: target.slice(0, at), port: Number(target.slice(at + 1)), noDelay: true });
      near.setNoDelay(true);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        let held = Buffer.alloc(0);
        const { silent } = this;
        this.sockets.add(from);
        const end = (): void => void (near.destroy(), far.destroy());
        from.on('data', (bytes) => {
          if (silent.now) return;
          held = Buffer.concat([held, bytes]);
          while (held.length >= 4 && held.length >= held.readUInt32LE(0)) {
            if (--this.left < 0) {
              this.left = Infinity;
              ++this.cuts;
              return this.cuts % 2 === 0 ? end() : void (near.resetAndDestroy(), far.destroy());
            }
            const size = held.readUInt32LE(0);
            ++this.frames;
            to.write(held.subarray(0, size));
            held = held.subarray(size);
          }
        });
        from.on('error', end);
        from.on('close', end);
      }
    });
    t.after(() => {
      this.server.close();
      for (const socket of this.sockets) socket.destroy();
    });
  }
  /** Forwards nothing any more on the present connections, and does not end them. */
  fall_silent(): void {
    this.silent.now = true;
    this.silent = { now: false };
  }
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }
}

/** Steps that would count twice in the history if they were applied twice. */
async function play(client: Client, name: string): Promise<void> {
  const replica = new Replica();
  await replica.follow(client);
  const { undo_steps } = await client.ask(session.GetHistory, { limit: 1 });
  const entity = await client.create(nil, name);
  const rename = (to: string): StepPart => ({
    kind: 'each',
    type: client.types.get(muster.Rename),
    messages: [{ target: entity, value: { name: to } }],
  });
  const acks = await Promise.all([1, 2, 3, 4].map((i) => client.push_step([rename(`${name} ${i}`)], { gesture: client.next_gesture() })));
  assert.equal(new Set(acks.map(({ sequence }) => sequence)).size, 4);
  assert.equal((await client.ask(session.GetHistory, { limit: 1 })).undo_steps, undo_steps + 5);
  await until('the replica has the name', () => replica.get(entity)?.name === `${name} 4`);
  await replica.stop();
}

test('a session that is cut at any message boundary does each step once, and its replica misses nothing', async (t) => {
  const world = await World.serve(t);
  const line = new Line(t, world.where().address);
  const address = await line.listen();
  const again = async (): Promise<Client> => world.connect('tcp', { address, resumes: true });
  const whole = await again();
  const before = line.frames;
  await play(whole, 'whole');
  const frames = line.frames - before;
  whole.close();
  let resumed = 0;
  for (let left = 0; left < frames; ++left) {
    const client = await again();
    client.on_resumed(() => ++resumed);
    line.left = left;
    await play(client, `cut ${left}`);
    line.left = Infinity;
    client.close();
  }
  assert.ok(frames > 15);
  assert.ok(resumed > frames / 2, `${resumed} of ${frames}`);
});

test('a session goes on with a server that was killed and started again, and its replica is told anew', async (t) => {
  const world = new World();
  t.after(() => world.end());
  const options = ['--token-file', join(world.folder, 'token')];
  await world.start(...options);
  const epochs: bigint[] = [];
  const client = await world.connect('unix', { resumes: true });
  client.on_epoch(({ epoch }) => void epochs.push(epoch));
  const entity = await client.create(nil, 'first');
  await client.wait_durable(await client.rename(entity, 'kept'));
  const replica = new Replica();
  await replica.follow(client);
  const { session: number } = client.welcome;
  for (let i = 0; i < 3; ++i) {
    const epoch = client.epoch;
    await world.kill();
    const renamed = client.rename(entity, `again ${i}`);
    await world.start(...options);
    await renamed;
    assert.notEqual(client.epoch, epoch);
    assert.equal(epochs.length, i + 1);
    await until('the replica has the name', () => replica.get(entity)?.name === `again ${i}`);
    // An edit that is not durable may be lost with the server.
    const made = await client.create(nil, `new ${i}`);
    await client.wait_durable(await client.rename(made, `made ${i}`));
  }
  const sessions = await client.ask(session.ListSessions);
  assert.ok(sessions.sessions.includes(number));
  await until('the replica has all', () => replica.size === 4);
});

test('a session goes to the address that a server names before it stops', async (t) => {
  const world = new World();
  t.after(() => world.end());
  const options = ['--token-file', join(world.folder, 'token')];
  await world.start(...options);
  const free = createServer();
  await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve));
  const elsewhere = `127.0.0.1:${(free.address() as AddressInfo).port}`;
  await new Promise((resolve) => free.close(resolve));
  const client = await world.connect('tcp', { resumes: true });
  const entity = await client.create(nil, 'first');
  const replica = new Replica();
  await replica.follow(client);
  const interrupted = new Promise<Error>((resolve) => client.on_interrupted(resolve));
  assert.equal((await client.ask(session.Drain, { time_ns: 0n, resume_at: elsewhere })).time_ns, 0n);
  assert.match((await interrupted).message, new RegExp(elsewhere));
  await until('the server has ended', () => world.has_ended);
  const renamed = client.rename(entity, 'elsewhere');
  await world.start(...options, '--listen', elsewhere);
  await renamed;
  await until('the replica has the name', () => replica.get(entity)?.name === 'elsewhere');
});

test('a request that was made without a stream is sent on the next one, even if it could not be sent twice', async (t) => {
  const world = new World();
  t.after(() => world.end());
  const options = ['--token-file', join(world.folder, 'token')];
  await world.start(...options);
  const client = await world.connect('unix', { resumes: true });
  const entity = await client.create(nil, 'first');
  await client.wait_durable(await client.rename(entity, 'second'));
  const interrupted = new Promise<void>((resolve) => client.on_interrupted(() => resolve()));
  await world.kill();
  await interrupted;
  const undone = client.ask(session.Undo, { act: session.UndoAct.undo });
  await world.start(...options);
  assert.equal((await undone).done, 1);
  assert.equal((await client.show(entity)).about.name, 'first');
});

test('a stream that falls silent without an end is replaced, and ends a session that cannot be resumed', async (t) => {
  const world = await World.serve(t);
  const line = new Line(t, world.where().address);
  const address = await line.listen();
  const client = await world.connect('tcp', { address, resumes: true, silence_max_ms: 600 });
  const plain = await world.connect('tcp', { address, silence_max_ms: 600 });
  const other = await world.connect('unix', { silence_max_ms: 600 });
  const replica = new Replica();
  await replica.follow(client);
  let resumed = 0;
  client.on_resumed(() => ++resumed);
  line.fall_silent();
  const entity = await other.create(nil, 'unheard');
  await until('the replica has what was not heard', () => replica.get(entity) !== undefined);
  assert.equal(resumed, 1);
  assert.match((await plain.closed).message, /nothing has come from the server for 0.6 s/);
  // A server that has nothing to tell answers heartbeats.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  assert.equal(resumed, 1);
  assert.equal(other.ended, null);
});

test('a session that cannot be resumed ends with the reason', async (t) => {
  const world = await World.serve(t, 'everything.bfbs', '--limit', 'resume_ns_max=200000000');
  const client = await world.connect('unix', { resumes: true });
  await world.kill();
  const error = await client.closed;
  assert.equal(error.kind, 'lost');
  await assert.rejects(client.rename({ index: 1, generation: 1 }, 'late'), { kind: 'lost' });
});
