// The lines of the console's messages: of which inputs, how many of a batch, and what is asked of the server for them.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { ClientError, encode_batch, encode_frame, muster, nil, session, timed_batch } from 'muster-client';
import type { BatchPlan } from 'muster-client';

import { Messages, chain_of } from '../../../../client/editor/src/model/messages.js';
import { built, test } from '../../ts/support.js';
import { Scripted } from '../../ts/scripted.js';
import { Hands } from '../../ts/hands.js';
import { entity, settled } from './played.js';

async function opened(t: TestContext) {
  const hands = new Hands(t);
  const { client, server } = await Scripted.open();
  t.after(() => client.close());
  server.answers.set(session.Follow.name, (batch) => {
    const { watch } = batch.message(0) as { watch: bigint };
    return watch === 0n ? [session.Watching, {}] : [session.Followed, {}];
  });
  const failed: ClientError[] = [];
  const messages = new Messages((error) => void failed.push(error));
  const asked = () => server.sent.filter(({ name }) => name === session.Follow.name).map(({ value }) => value as session.Follow);
  const watch = (): bigint => server.sent.find(({ name }) => name === session.Follow.name)!.request;
  /** An input as it came: flags of frame.ts. */
  const event = (plan: BatchPlan | Uint8Array, sequence = 5n, flags = 4): void => {
    const batch = plan instanceof Uint8Array ? plan : encode_batch(plan);
    server.stream.receive(encode_frame(batch, watch(), flags, { sequence, session: 3n, sender_request: 0n, clock_ns: sequence * 10n }));
  };
  const damage = client.types.get('golden.Damage');
  return { hands, client, server, messages, failed, asked, event, damage };
}
type Opened = Awaited<ReturnType<typeof opened>>;
const lines = ({ messages, hands }: Opened) => {
  hands.pass(100);
  return messages.lines.value.map(({ number, at: _, ...line }) => line);
};

test('inputs are asked for of every type that the world has, but for those of every tick and those of sessions', async (t) => {
  const { client, messages, asked } = await opened(t);
  await messages.follow(client);
  const [question] = asked();
  const names = question.input_types.map((id) => client.types.find(id)!.name);
  for (const name of ['golden.Damage', 'golden.Chat', 'muster.Create', 'muster.SetField']) assert.ok(names.includes(name), name);
  for (const name of ['muster.Update', 'muster.Advance', 'golden.Health', 'golden.Vec3', session.Hello.name]) assert.ok(!names.includes(name), name);
  const { world, values, structure, inputs, pushed, rate_max, entities } = question;
  assert.deepEqual([world, values, structure, inputs, pushed, rate_max, entities], [true, false, false, true, [], 20, []]);
});

test('what handlers post is asked for where it is wanted, and types that the world learns', async (t) => {
  const { client, server, messages, asked, failed } = await opened(t);
  messages.show_pushed(true); // nobody is asked yet
  messages.learned();
  assert.deepEqual([asked().length, messages.with_pushed.value], [0, true]);
  await messages.follow(client);
  assert.deepEqual(asked()[0].pushed, asked()[0].input_types);
  messages.show_pushed(false);
  await settled();
  assert.deepEqual([asked().length, asked()[1].pushed, asked()[1].watch !== 0n], [2, [], true]);
  server.tell(session.Schema, { bytes: built('test_types.bfbs') }, { request: 0n });
  messages.learned();
  await settled();
  assert.ok(asked()[2].input_types.length > asked()[1].input_types.length);
  server.answers.set(session.Follow.name, () => [session.Fault, { code: session.FaultCode.busy, text: 'no' }]);
  messages.learned();
  await settled();
  assert.deepEqual(failed.map(({ message }) => message), ['no']);
  server.answers.delete(session.Follow.name);
  messages.learned();
  await settled();
  client.close();
  await settled();
  const before = asked().length;
  messages.learned();
  assert.deepEqual([failed.length, asked().length], [1, before]); // a session that is over is no refusal, and is not asked
});

test('what became another while the watch was opened is asked for then, and nothing twice', async (t) => {
  const { client, messages, asked } = await opened(t);
  const following = messages.follow(client);
  messages.show_pushed(true);
  await following;
  await settled();
  assert.deepEqual(asked().map(({ pushed }) => pushed.length > 0), [false, true]);
});

test('a line says whose message it was, to whom, and what is in it with its components', async (t) => {
  const play = await opened(t);
  const { client, messages, event, damage } = play;
  await messages.follow(client);
  const value = { amount: 7, from: entity(2) };
  event({ kind: 'each', type: damage, messages: [{ target: entity(1), value }] });
  event({ kind: 'world', type: damage, values: [value] }, 6n);
  event({ kind: 'each', type: damage, messages: [{ target: nil, value }] }, 7n, 4 | 8);
  const rows = [{ type: client.types.get('golden.Config'), value: { speed: 2 } }];
  event({ kind: 'each', type: client.types.get('muster.Create'), messages: [{ target: entity(9), value: { parent: entity(1) }, rows }] }, 8n);
  const about = { session: 3n, request: 0n, due_ns: 0n, is_pushed: false, more: 0, type: 'golden.Damage', value };
  const [first, second, third, create] = lines(play);
  assert.deepEqual(first, { ...about, sequence: 5n, clock_ns: 50n, target: entity(1) });
  assert.deepEqual(second, { ...about, sequence: 6n, clock_ns: 60n, target: null });
  assert.deepEqual(third, { ...about, sequence: 7n, clock_ns: 70n, target: null, is_pushed: true });
  assert.deepEqual([create.type, create.target, create.value.parent, create.value.Config], ['muster.Create', entity(9), entity(1), { speed: 2 }]);
  assert.deepEqual(messages.lines.value.map(({ number }) => number), [1, 2, 3, 4]);
});

test('an input is linked to the messages of handlers that came with it, and each of them to the input', async (t) => {
  const play = await opened(t);
  const { client, messages, event, damage, hands } = play;
  await messages.follow(client);
  const send = (amount: number, sequence: bigint, flags = 4): void =>
    event({ kind: 'each', type: damage, messages: [{ target: entity(1), value: { amount, from: nil } }] }, sequence, flags);
  send(1, 5n);
  send(2, 6n);
  for (let i = 0; i < 25; ++i) send(10 + i, 6n, 4 | 8);
  event(timed_batch(encode_batch({ kind: 'each', type: damage, messages: [{ target: entity(1), value: {} }] }), 1000n), 7n);
  send(3, 7n, 4 | 8); // of a timer; the input is the one that set another
  hands.pass(100);
  const all = messages.lines.value;
  const chain = (number: number): unknown[] => chain_of(all[number - 1], all).map((line) => line.value.amount);
  assert.deepEqual(chain(1), []);
  assert.deepEqual(chain(2), Array.from({ length: 20 }, (_, i) => 10 + i));
  assert.deepEqual(chain(3), [2]);
  assert.deepEqual([chain(28), chain(29)], [[], []]);
});

test('what was refused is known by its request, in this session only', async (t) => {
  const { client, messages } = await opened(t);
  await messages.follow(client);
  const refused = (request: bigint, handled: number): void =>
    messages.was_refused(new ClientError('refused', 'no', { handled, unhandled: 0, refused: 1 } as never, request));
  refused(7n, 0);
  refused(8n, 2);
  refused(0n, 0);
  messages.was_refused(new ClientError('late', 'no answer'));
  assert.deepEqual([...messages.refused.value], [[7n, 'all'], [8n, 'some']]);
  await messages.follow(client);
  assert.equal(messages.refused.value.size, 0);
});

test('of a batch of many twenty lines are shown and the rest is counted; one message for several is one line', async (t) => {
  const play = await opened(t);
  const { client, messages, event, damage } = play;
  await messages.follow(client);
  const some = (count: number) => Array.from({ length: count }, (_, i) => ({ target: entity(i + 1), value: { amount: i } }));
  event({ kind: 'each', type: damage, messages: some(20) });
  event({ kind: 'each', type: damage, messages: some(25) });
  event({ kind: 'shared', type: damage, targets: [3, 4, 5].map((index) => entity(index)), value: { amount: 1 } });
  event({ kind: 'shared', type: damage, targets: [entity(3)], value: { amount: 1 } });
  const all = lines(play);
  assert.equal(all.length, 42);
  assert.deepEqual(all.map(({ more }) => more), [...new Array<number>(39).fill(0), 5, 2, 0]);
  assert.deepEqual([all[19].value.amount, all[39].value.amount, all[40].target], [19, 19, entity(3)]);
});

test('the messages of a step are listed one by one, no more than twenty of them', async (t) => {
  const play = await opened(t);
  const { client, messages, event, damage } = play;
  await messages.follow(client);
  const step = (...counts: number[]): void => {
    const some = (count: number) => Array.from({ length: count }, (_, i) => ({ target: entity(i + 1), value: { amount: i } }));
    const parts = counts.map((count) => encode_batch({ kind: 'each', type: damage, messages: some(count) }));
    const batches = new Uint8Array(Buffer.concat(parts));
    event({ kind: 'table', type: client.types.get(muster.Step), messages: [{ target: nil, value: { batches, label: 'Hurt' } }] });
  };
  step(1, 2);
  step(15, 4, 30, 2);
  const all = lines(play);
  assert.deepEqual(all.slice(0, 3).map(({ type, target }) => [type, target]), [1, 1, 2].map((index) => ['golden.Damage', entity(index)]));
  assert.deepEqual([all.length, all.at(-1)!.more], [23, 31]);
});

test('what is to come says when, gaps have no type, and a state is no input', async (t) => {
  const play = await opened(t);
  const { client, server, messages, event, damage } = play;
  await messages.follow(client);
  event(timed_batch(encode_batch({ kind: 'each', type: damage, messages: [{ target: entity(1), value: { amount: 4 } }] }), 77n));
  const request = server.request_of(session.Follow);
  server.tell(session.Gap, { after: 5n, through: 9n, lost: 4n }, { request, flags: 4 });
  server.tell(muster.Create, { parent: nil }, { request, flags: 2, sequence: 9n, target: entity(8) });
  const [timed, gap, ...rest] = lines(play);
  assert.deepEqual([timed.due_ns, timed.type, timed.target, timed.value.amount], [77n, 'golden.Damage', entity(1), 4]);
  assert.deepEqual([gap.type, gap.target, gap.sequence, gap.session, gap.due_ns, gap.more, gap.value], ['', null, 0n, 0n, 0n, 0, { after: 5n, through: 9n, lost: 4n }]);
  assert.deepEqual(rest, []);
});

test('lists are drawn a few times a second, two thousand lines are kept, and none are added while they are held', async (t) => {
  const play = await opened(t);
  const { hands, client, messages, event, damage } = play;
  await messages.follow(client);
  let drawn = -1;
  const end = messages.lines.subscribe(() => void ++drawn);
  const one = (amount: number) => event({ kind: 'each', type: damage, messages: [{ target: entity(1), value: { amount } }] });
  one(0);
  hands.pass(99);
  one(1);
  assert.deepEqual([drawn, messages.lines.value.length], [0, 0]);
  hands.pass(1);
  assert.deepEqual([drawn, messages.lines.value.length], [1, 2]);
  hands.pass(1000);
  assert.equal(drawn, 1); // nothing came
  messages.held.value = true;
  one(2);
  messages.held.value = false;
  one(3);
  hands.pass(100);
  assert.deepEqual(messages.lines.value.map(({ value }) => value.amount), [0, 1, 3]);
  for (let i = 0; i < 101; ++i) event({ kind: 'each', type: damage, messages: Array.from({ length: 20 }, (_, k) => ({ target: entity(1), value: { amount: 20 * i + k } })) });
  hands.pass(100);
  assert.deepEqual([messages.lines.value.length, messages.lines.value[0].value.amount, messages.lines.value.at(-1)!.value.amount], [2000, 20, 2019]);
  messages.clear();
  assert.deepEqual(messages.lines.value, []);
  one(9);
  hands.pass(100);
  assert.equal(messages.lines.value.length, 1);
  end();
});

test('of two sessions the later one is listened to', async (t) => {
  const play = await opened(t);
  const { hands, client, messages, event, damage } = play;
  await messages.follow(client);
  const other = await Scripted.open();
  t.after(() => other.client.close());
  other.server.answers.set(session.Follow.name, () => [session.Watching, {}]);
  const one: BatchPlan = { kind: 'each', type: damage, messages: [{ target: entity(1), value: { amount: 1 } }] };
  const asked = play.asked().length;
  const following = messages.follow(other.client);
  event(one); // of the session before
  messages.learned(); // and that one is not asked any more
  await following;
  assert.equal(play.asked().length, asked);
  event(one);
  hands.pass(100);
  assert.deepEqual(messages.lines.value, []);
  other.server.stream.receive(encode_frame(encode_batch(one), other.server.request_of(session.Follow), 4));
  hands.pass(100);
  assert.deepEqual(messages.lines.value.map(({ sequence, clock_ns, session }) => [sequence, clock_ns, session]), [[0n, 0n, 0n]]);
});

test('a session that answers when another one is followed already is not the one that is asked', async (t) => {
  const first = await opened(t);
  const second = await opened(t);
  const { messages } = second;
  first.server.answers.delete(session.Follow.name);
  const late = messages.follow(first.client);
  await messages.follow(second.client);
  first.server.tell(session.Watching, {}, { request: first.server.request_of(session.Follow) });
  await late;
  messages.show_pushed(true);
  await settled();
  assert.deepEqual([first.asked().length, second.asked().length], [1, 2]);
});
