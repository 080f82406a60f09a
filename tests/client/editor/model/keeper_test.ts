// The connection of the page: made, watched, made again, and what is said of it meanwhile. Time passes when the test says so.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { ClientError, session } from 'muster-client';
import type { Client } from 'muster-client';

import { LinkKeeper, open_stream_here, token_here, token_in } from '../../../../client/editor/src/model/link.js';
import { Scripted } from '../../ts/scripted.js';
import { test } from '../../ts/support.js';
import { Hands } from '../../ts/hands.js';

/** What browsers have around a page. */
function page(t: TestContext, href = 'http://here:7717/#token=abc') {
  const heard = new Map<string, () => void>();
  const listen = (name: string, call: () => void) => void heard.set(name, call);
  const url = new URL(href);
  const around = { document: { visibilityState: 'visible', addEventListener: listen }, addEventListener: listen, location: url };
  const before = Object.fromEntries(Object.keys(around).map((key) => [key, (globalThis as Record<string, unknown>)[key]]));
  t.after(() => void Object.assign(globalThis, before));
  Object.assign(globalThis, around);
  return { heard, document: around.document };
}

/** A keeper whose servers the test plays, one for each time that a stream is opened; null: nobody answers. */
function kept(t: TestContext) {
  const around = page(t);
  const hands = new Hands(t);
  const servers: Scripted[] = [];
  const plan: (Scripted | null)[] = [];
  const opened: Client[] = [];
  const lost: string[] = [];
  let tried = 0;
  let refuses: Error | null = null;
  const keeper = new LinkKeeper({
    open_stream: () => {
      ++tried;
      const server = plan.shift();
      if (!server) return Promise.reject(new ClientError('lost', 'there is no answer'));
      servers.push(server);
      return Promise.resolve(server.stream);
    },
    token: 'abc',
    name: 'the page',
    opened: (client) => {
      opened.push(client);
      assert.notEqual(keeper.link.value.kind, 'live');
      return refuses ? Promise.reject(refuses) : Promise.resolve();
    },
    lost: (error) => void lost.push(error.message),
  });
  const server = (answers = true, welcome: object = {}): Scripted => {
    const made = Scripted.serve(welcome);
    if (answers) made.answers.set(session.GetInfo.name, () => [session.Info, { hz: 20, clock_ns: made_clock }]);
    plan.push(made);
    return made;
  };
  let made_clock = 0n;
  return {
    ...around, hands, keeper, server, servers, opened, lost,
    tried: () => tried,
    refuse: (error: Error | null) => void (refuses = error),
    clock: (ns: bigint) => void (made_clock = ns),
    asked: (of: Scripted) => of.sent.filter(({ name }) => name === session.GetInfo.name).length,
  }; // prettier-ignore
}

test('a page is live once it was opened, and says hello as what it is', async (t) => {
  const { hands, keeper, server, opened } = kept(t);
  const played = server();
  assert.deepEqual([keeper.link.value, keeper.client.value, keeper.status.value], [{ kind: 'connecting' }, null, null]);
  keeper.start();
  assert.deepEqual(keeper.link.value, { kind: 'connecting' });
  await hands.turn();
  assert.deepEqual(keeper.link.value, { kind: 'live' });
  assert.equal(keeper.client.value, opened[0]);
  const { token, name, kind } = played.sent[0].value as session.Hello;
  assert.deepEqual([token, name, kind], ['abc', 'the page', 'editor']);
});

test('who connects again says how far it came, and is told where the server was started anew', async (t) => {
  const { hands, keeper, server, opened } = kept(t);
  const said = ({ sent }: Scripted): unknown[] => {
    const { secret, last_sequence } = sent[0].value as session.Hello;
    return [secret, last_sequence];
  };
  const starts = [7n, 7n, 8n, 8n].map((epoch, i) => server(true, { epoch, secret: BigInt(i + 1), sequence: 40n }));
  keeper.start();
  await hands.turn();
  for (const played of starts.slice(0, -1)) {
    played.stream.end('gone');
    await hands.turn();
    hands.pass(500);
    await hands.turn();
  }
  assert.deepEqual(
    opened.map((client) => [client.epoch, client.is_started_anew]),
    [
      [7n, false],
      [7n, false],
      [8n, true],
      [8n, false],
    ],
  );
  assert.deepEqual(starts.map(said), [
    [0n, 0n],
    [1n, 40n],
    [2n, 40n],
    [3n, 40n],
  ]);
});

test('where nobody answers it is tried again after half a second, and then after twice as long each time, up to eight seconds', async (t) => {
  const { hands, keeper, tried } = kept(t);
  keeper.start();
  await hands.turn();
  for (const [i, wait] of [500, 1000, 2000, 4000, 8000, 8000, 8000].entries()) {
    const link = keeper.link.value;
    assert.ok(link.kind === 'offline');
    assert.deepEqual([tried(), link.why, link.next], [i + 1, 'there is no answer', performance.now() + wait]);
    hands.pass(wait - 1);
    await hands.turn();
    assert.equal(tried(), i + 1);
    hands.pass(1);
    const now = keeper.link.value;
    assert.ok(now.kind === 'reconnecting' && now.why === link.why && now.since === link.since);
    await hands.turn();
  }
});

test('a session that is lost is told once, nothing is asked of it any more, and the next one begins to count anew', async (t) => {
  const { hands, keeper, server, servers, lost, asked, tried } = kept(t);
  keeper.start(); // nobody answers twice
  await hands.turn();
  hands.pass(500);
  await hands.turn();
  server();
  hands.pass(1000);
  await hands.turn();
  assert.deepEqual([keeper.link.value.kind], ['live']);
  const before = Date.now();
  servers[0].stream.end('the server closed the connection');
  await hands.turn();
  const link = keeper.link.value;
  assert.ok(link.kind === 'offline' && link.since.getTime() >= before);
  assert.deepEqual([link.why, link.next, keeper.client.value, lost], ['the server closed the connection', performance.now() + 500, null, ['the server closed the connection']]);
  assert.equal(hands.open_timers, 1); // until it is tried again: nothing else is waited for
  const times = asked(servers[0]);
  server();
  hands.pass(500);
  await hands.turn();
  assert.deepEqual([keeper.link.value.kind, tried(), asked(servers[0])], ['live', 4, times]);
  assert.equal(keeper.client.value, keeper.client.peek());
});

test('a line that is cut is told, and the same session goes on with the next one', async (t) => {
  const { hands, keeper, server, servers, opened, lost } = kept(t);
  const welcome = { session: 7n, epoch: 3n, resume: new Uint8Array([1, 2]), resume_ns_max: 60_000_000_000n };
  server(true, welcome);
  keeper.start();
  await hands.turn();
  assert.equal(keeper.link.value.kind, 'live');
  server(true, { ...welcome, resumed: true });
  servers[0].stream.end('the line was cut');
  await hands.turn();
  const link = keeper.link.value;
  assert.ok(link.kind === 'away' && link.why === 'the line was cut');
  assert.equal(keeper.client.value, opened[0]);
  hands.pass(10);
  await hands.turn();
  assert.deepEqual([keeper.link.value, keeper.client.value === opened[0], opened.length, lost], [{ kind: 'live' }, true, 1, []]);
  const { session: number, resume, resumable } = servers[1].sent[0].value as session.Hello;
  assert.deepEqual([number, [...resume], resumable], [7n, [1, 2], true]);
});

test('a page that cannot be opened closes its session and is tried again', async (t) => {
  const { hands, keeper, server, servers, opened, refuse } = kept(t);
  server();
  refuse(new Error('no room'));
  keeper.start();
  await hands.turn();
  assert.ok(keeper.link.value.kind === 'offline' && keeper.link.value.why === 'no room');
  assert.deepEqual([servers[0].stream.closed, opened[0].ended !== null, keeper.client.value], [true, true, null]);
  refuse(null);
  server();
  hands.pass(500);
  await hands.turn();
  assert.equal(keeper.link.value.kind, 'live');
});

test('a session that ends while the page is opened is none', async (t) => {
  const { hands, keeper, server, lost } = kept(t);
  const played = server();
  played.answers.set(session.GetSchema.name, () => {
    queueMicrotask(() => queueMicrotask(() => played.stream.end('gone')));
    return null;
  });
  keeper.start();
  await hands.turn();
  assert.ok(keeper.link.value.kind === 'offline');
  assert.deepEqual([keeper.client.value, lost], [null, []]);
});

test('a server that does not want this page is not asked again, but one that is busy is', async (t) => {
  for (const [reason, kind] of [
    ['bad_token', 'refused'],
    ['bad_protocol', 'refused'],
    ['busy', 'offline'],
  ]) {
    await t.test(reason, async (t) => {
      const { hands, keeper, server, tried } = kept(t);
      const played = server();
      played.answers.set(session.Hello.name, () => [session.Fault, { code: session.FaultCode.bad_token, closes: true, text: 'not here', reason }]);
      keeper.start();
      await hands.turn();
      const link = keeper.link.value;
      assert.equal(link.kind, kind);
      assert.ok('why' in link && link.why === 'not here');
      keeper.try_now();
      hands.pass(500);
      await hands.turn();
      assert.equal(tried(), kind === 'refused' ? 1 : 2);
    });
  }
});

test('a page that was refused is let in with another token, which it then keeps; nobody else is asked for one', async (t) => {
  const { hands, keeper, server, servers } = kept(t);
  const refuses = server();
  refuses.answers.set(session.Hello.name, () => [session.Fault, { code: session.FaultCode.bad_token, closes: true, text: 'no', reason: 'bad_token' }]);
  keeper.start();
  await hands.turn();
  assert.deepEqual(keeper.link.value, { kind: 'refused', why: 'no', wants_token: true });
  server();
  keeper.use_token('another');
  await hands.turn();
  assert.equal(keeper.link.value.kind, 'live');
  assert.equal((servers[1].sent[0].value as session.Hello).token, 'another');
  keeper.use_token('a third');
  await hands.turn();
  assert.equal(servers.length, 2);
});

test('a token is pasted as it is, or within the address that was printed', () => {
  assert.equal(token_in(' abc+1 '), 'abc+1');
  assert.equal(token_in('http://127.0.0.1:7717/#token=a%2Bb'), 'a+b');
  assert.equal(token_in('#token=abc'), 'abc');
  assert.equal(token_in('token=abc'), 'abc');
  assert.equal(token_in('  '), '');
});

test('the server is asked every second; after two without an answer the page is behind, until it answers', async (t) => {
  const { hands, keeper, server, servers, asked } = kept(t);
  const played = server(false);
  keeper.start();
  await hands.turn();
  const begun = performance.now();
  assert.equal(asked(played), 1); // at once
  const answer = async (): Promise<void> => {
    played.tell(session.Info, { entities: 3 }, { request: played.request_of(session.GetInfo) });
    await hands.turn();
  };
  hands.pass(40);
  await answer();
  assert.deepEqual([keeper.status.value?.latency_ms, keeper.status.value?.entities, keeper.status.value?.at], [40, 3, begun + 40]);
  hands.pass(960);
  assert.equal(asked(played), 2);
  hands.pass(1000);
  await hands.turn();
  assert.deepEqual([asked(played), keeper.link.value.kind], [2, 'live']); // one question at a time
  hands.pass(1000);
  assert.equal(keeper.link.value.kind, 'live'); // two seconds are not more than two
  hands.pass(1000);
  assert.deepEqual(keeper.link.value, { kind: 'behind', since: begun + 1000 });
  hands.pass(1000);
  assert.deepEqual(keeper.link.value, { kind: 'behind', since: begun + 1000 });
  await answer();
  assert.deepEqual([keeper.link.value, keeper.status.value?.latency_ms], [{ kind: 'live' }, 4000]);
  hands.pass(1000);
  assert.equal(asked(played), 3);
  assert.equal(servers.length, 1);
});

test('a question that is answered too late does not end the asking', async (t) => {
  const { hands, keeper, server, asked } = kept(t);
  const played = server(false);
  keeper.start();
  await hands.turn();
  hands.pass(10_000); // as long as an answer may take
  await hands.turn();
  assert.equal(keeper.link.value.kind, 'behind');
  hands.pass(1000);
  assert.equal(asked(played), 2);
  played.tell(session.Info, {}, { request: played.request_of(session.GetInfo) });
  await hands.turn();
  assert.equal(keeper.link.value.kind, 'live');
});

test('how fast the world ticks is measured over the last answers, from half a second on', async (t) => {
  const { hands, keeper, server, clock } = kept(t);
  server();
  clock(1_000_000_000n);
  keeper.start();
  await hands.turn();
  const rates = [keeper.status.value?.ticks_per_second];
  for (const ns of [2_000_000_000n, 2_500_000_000n, 2_500_000_000n, 2_500_000_000n, 2_500_000_000n, 2_500_000_000n]) {
    clock(ns);
    hands.pass(1000);
    await hands.turn();
    rates.push(keeper.status.value?.ticks_per_second);
  }
  assert.deepEqual(rates, [0, 20, 15, 10, 7.5, 2.5, 0]);
});

test('of answers that came within half a second no speed is made', async (t) => {
  for (const [late, rate] of [
    [500, 0],
    [450, 20],
  ]) {
    await t.test(`${late} ms late`, async (t) => {
      const { hands, keeper, server } = kept(t);
      const played = server(false);
      keeper.start();
      await hands.turn();
      const answer = async (clock_ns: bigint): Promise<void> => {
        played.tell(session.Info, { hz: 20, clock_ns }, { request: played.request_of(session.GetInfo) });
        await hands.turn();
      };
      hands.pass(late);
      await answer(0n);
      hands.pass(1000 - late);
      await answer(BigInt(1000 - late) * 1_000_000n);
      assert.equal(keeper.status.value?.ticks_per_second, rate);
    });
  }
});

test('who is offline tries at once when the network is there again or the page is looked at, and nobody else does', async (t) => {
  const { hands, keeper, server, heard, document, tried } = kept(t);
  keeper.start();
  await hands.turn();
  document.visibilityState = 'hidden';
  heard.get('online')!();
  heard.get('visibilitychange')!();
  await hands.turn();
  assert.equal(tried(), 1);
  document.visibilityState = 'visible';
  heard.get('visibilitychange')!();
  await hands.turn();
  assert.equal(tried(), 2);
  heard.get('online')!();
  await hands.turn();
  assert.equal(tried(), 3);
  server();
  keeper.try_now();
  keeper.try_now(); // it is being tried
  await hands.turn();
  assert.deepEqual([tried(), keeper.link.value.kind], [4, 'live']);
  keeper.try_now();
  heard.get('online')!();
  hands.pass(60_000); // the times that were planned mean nothing any more
  await hands.turn();
  assert.equal(tried(), 4);
});

test('the socket is where the page came from, and the token what its address says', async (t) => {
  const made: string[] = [];
  class Socket {
    onopen: (() => void) | null = null;
    constructor(url: string) {
      made.push(url);
      queueMicrotask(() => this.onopen?.());
    }
  }
  const before = (globalThis as { WebSocket?: unknown }).WebSocket;
  t.after(() => void ((globalThis as { WebSocket?: unknown }).WebSocket = before));
  (globalThis as { WebSocket: unknown }).WebSocket = Socket;
  page(t, 'http://here:7717/deep/page?x=1#token=a%2Bb');
  await open_stream_here();
  assert.equal(token_here(), 'a+b');
  page(t, 'https://here/#other=1');
  await open_stream_here();
  assert.equal(token_here(), '');
  assert.deepEqual(made, ['ws://here:7717/deep/session', 'wss://here/session']);
});
