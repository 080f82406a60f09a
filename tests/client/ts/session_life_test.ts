// The life of a session: hello, heartbeats, questions that are answered late or never, its end; time passes when the test says so.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { Client, ClientError, encode_batch, encode_frame, hash64, muster, nil, session } from 'muster-client';
import type { Received } from 'muster-client';

import * as game from './everything.js';
import { Hands } from './hands.js';
import { Scripted } from './scripted.js';
import type { How } from './scripted.js';
import { built, test } from './support.js';

async function opened(t: TestContext, welcome: object = {}, silence_max_ms = 0) {
  const hands = new Hands(t);
  const { client, server } = await Scripted.open(welcome, undefined, silence_max_ms);
  t.after(() => client.close());
  server.sent.length = 0;
  const beats = () => server.sent.filter(({ name }) => name === session.Heartbeat.name).length;
  return { hands, client, server, beats };
}
const error_of = (call: Promise<unknown>): Promise<ClientError> => call.then(() => assert.fail('nothing went wrong'), (error: unknown) => error as ClientError);

test('hello says who comes, with which token, and which versions of the protocol it knows', async () => {
  for (const [options, said] of [
    [{}, { token: '', name: '', kind: 'client' }],
    [{ token: 'secret', name: 'ann', kind: 'editor' }, { token: 'secret', name: 'ann', kind: 'editor' }],
  ]) {
    const server = Scripted.serve({ epoch: 5n, role: session.Role.edit });
    const client = await Client.open(server.stream, options);
    const [hello, schema] = server.sent;
    assert.deepEqual([hello.name, schema.name, server.sent.length], [session.Hello.name, session.GetSchema.name, 2]);
    const { protocol, protocol_oldest, token, name, kind } = hello.value as session.Hello;
    assert.deepEqual([protocol, protocol_oldest, { token, name, kind }], [1, 1, said]);
    assert.deepEqual([client.welcome.epoch, client.welcome.role, client.ended], [5n, session.Role.edit, null]);
    client.close();
  }
});

test('who is not welcome has a closed stream, and the words of the server', async () => {
  for (const answer of [
    [session.Fault, { code: session.FaultCode.bad_token, closes: true, text: 'not with this token', reason: 'bad_token' }, 'not with this token'],
    [session.Ack, {}, 'the server answered with muster.session.Ack, not with muster.session.Welcome'],
  ] as const) {
    const server = Scripted.serve();
    server.answers.set(session.Hello.name, () => [answer[0], answer[1]]);
    const error = await error_of(Client.open(server.stream));
    assert.deepEqual([error.kind, error.message, server.stream.closed], ['lost', answer[2], true]);
  }
  const server = Scripted.serve();
  server.answers.set(session.GetSchema.name, () => [session.Schema, { bytes: new Uint8Array(40) }]);
  const error = await error_of(Client.open(server.stream));
  assert.match(error.message, /^the world's schema does not match: this is not a binary schema/);
  assert.equal(server.stream.closed, true);
});

test('a beat is sent where nothing was said for a third of what is allowed, and only then', async (t) => {
  const { hands, client, server, beats } = await opened(t, { silence_ns_max: 9_000_000_000n });
  hands.pass(3000);
  assert.equal(beats(), 0); // it has said hello
  hands.pass(2999);
  assert.equal(beats(), 0);
  hands.pass(1);
  assert.equal(beats(), 1);
  assert.deepEqual(server.sent.at(-1), { name: session.Heartbeat.name, request: 0n, value: { number: 0n, time_ns: 0n, answer: 0 } });
  hands.pass(3000);
  assert.equal(beats(), 2); // a beat is not what keeps the next one from being sent
  await client.post('world', game.Damage, {});
  hands.pass(3000);
  assert.equal(beats(), 2);
  hands.pass(3000);
  assert.equal(beats(), 3);
  client.close();
  hands.pass(60_000);
  assert.equal(beats(), 3);
});

test('a server that allows any silence is sent no beats, and one that allows none at all is sent one a millisecond', async (t) => {
  const any = await opened(t);
  any.hands.pass(10_000_000);
  assert.equal(any.beats(), 0);
  const none = await opened(t, { silence_ns_max: 1n });
  none.hands.pass(4);
  assert.equal(none.beats(), 3);
  const long = await opened(t, { silence_ns_max: 2n ** 63n }); // more than a timer can wait
  long.hands.pass(10_000_000);
  assert.equal(long.beats(), 0);
});

test('a server that is silent is asked for a beat, and is lost if it sends nothing for as long as is allowed', async (t) => {
  const { hands, client, server, beats } = await opened(t, {}, 30_000);
  hands.pass(10_000); // it has said welcome
  assert.equal(beats(), 0);
  hands.pass(10_000);
  assert.equal(beats(), 1);
  server.tell(session.Heartbeat, { answer: 1 }, { request: 0n });
  hands.pass(10_000);
  assert.equal(beats(), 1);
  hands.pass(29_999);
  assert.deepEqual([beats(), client.ended], [3, null]);
  hands.pass(1);
  assert.equal(client.ended?.message, 'nothing has come from the server for 30 s');
  assert.equal(server.stream.closed, true);
});

test('a beat of the server is answered with its number, and the answer to a beat with nothing', async (t) => {
  const { client, server } = await opened(t);
  server.tell(session.Heartbeat, { number: 4n, time_ns: 9n, answer: 1 }, { request: 3n });
  assert.deepEqual(server.sent, []);
  server.tell(session.Heartbeat, { number: 4n, time_ns: 9n }, { request: 3n });
  assert.deepEqual(server.sent, [{ name: session.Heartbeat.name, request: 3n, value: { number: 4n, time_ns: 9n, answer: 1 } }]);
  assert.equal(client.ended, null);
});

test('a question that is not answered in time is late; its answer means nothing then, and others wait for theirs', async (t) => {
  const { hands, client, server } = await opened(t);
  const first = error_of(client.ask(session.GetInfo));
  const request = server.request_of(session.GetInfo);
  hands.pass(6000);
  const second = client.ask(session.GetInfo, { hash: 1 });
  hands.pass(3999);
  server.tell(session.Info, { entities: 1 }, { request, flags: 2 }); // a part is no answer
  hands.pass(1);
  const late = await first;
  assert.deepEqual([late.kind, late.message, late.fault], ['late', 'the server did not answer within 10000 ms', null]);
  server.tell(session.Info, { entities: 7 }, { request });
  server.tell(session.Info, { entities: 8 }, { request: server.request_of(session.GetInfo) });
  assert.equal((await second).entities, 8);
  assert.deepEqual(server.sent.map(({ value }) => (value as session.GetInfo).hash), [0, 1]);
  assert.deepEqual([client.ended, hands.open_timers], [null, 0]);
});

test('answers go to whoever asked, in whatever order they come; each question has its own number', async (t) => {
  const { client, server } = await opened(t);
  const calls = Array.from({ length: 5 }, () => client.ask(session.GetInfo));
  const requests = server.sent.map(({ request }) => request);
  assert.equal(new Set(requests).size, 5);
  for (const i of [3, 0, 4, 2, 1]) server.tell(session.Info, { entities: i }, { request: requests[i] });
  server.tell(session.Info, { entities: 99 }, { request: requests[0] }); // again: nobody waits
  assert.deepEqual((await Promise.all(calls)).map(({ entities }) => entities), [0, 1, 2, 3, 4]);
  type Inside = { connection: { requests: { waiting: Map<bigint, unknown> } } };
  const { waiting } = (client as unknown as Inside).connection.requests;
  assert.equal(waiting.size, 0);
});

test('of frames that came together none is heard behind the one after which the session was closed', async (t) => {
  const { client, server } = await opened(t);
  let told = 0;
  const clock = client.follow_clock(() => {
    ++told;
    client.close();
  });
  server.tell(session.ClockState, {}, { request: server.request_of(session.GetClock) });
  await clock;
  const batch = encode_batch({ kind: 'world', type: client.types.get(session.ClockState.name), values: [{}] });
  const frame = encode_frame(batch, 0);
  server.stream.receive(Uint8Array.from([...frame, ...frame]));
  assert.deepEqual([told, client.ended?.message], [1, 'the session was closed']);
});

test('the end is told to all that wait and to every watch, once, and nothing is sent or heard after it', async (t) => {
  const { hands, client, server } = await opened(t);
  const told: string[] = [];
  const frames: Received[] = [];
  const watching = client.follow({}, { frame: (frame) => void frames.push(frame), ended: (error) => void told.push(error.message) });
  server.tell(session.Watching, {}, { request: server.request_of(session.Follow) });
  await watching;
  const never = error_of(client.follow({}, { frame: () => assert.fail('it was not opened'), ended: () => assert.fail('it was not opened') }));
  const asked = error_of(client.ask(session.GetInfo));
  client.on_types(() => assert.fail('nothing is learned any more'));
  server.stream.receive(encode_frame(new Uint8Array(32), 0).slice(0, 20)); // the beginning of a frame
  server.stream.end('the network is gone');
  const text = 'the network is gone: the stream ended 20 bytes into a frame';
  assert.deepEqual([(await asked).message, (await never).message, (await client.closed).message, client.ended?.message], [text, text, text, text]);
  assert.deepEqual([(await asked).kind, told, frames.length, hands.open_timers], ['lost', [text], 1, 0]);
  client.close();
  assert.equal(client.ended?.message, text); // the first reason counts
  server.sent.length = 0;
  await assert.rejects(client.ask(session.GetInfo), { kind: 'lost', message: text });
  await assert.rejects(client.post_batch(new Uint8Array(48)), { kind: 'lost' });
  assert.deepEqual([server.sent, told.length], [[], 1]);
});

test('a stream that ends between two frames ends the session in its own words', async (t) => {
  const { client, server } = await opened(t);
  const asked = error_of(client.ask(session.GetInfo));
  server.stream.end('the network is gone');
  assert.deepEqual([(await asked).message, (await client.closed).message], ['the network is gone', 'the network is gone']);
});

test('bytes that are no frame, and a batch that cannot be, end the session in words', async (t) => {
  for (const [bytes, text] of [
    [new Uint8Array(16).fill(255), 'the server sent a frame of 4294967295 bytes; the size must be a multiple of 16'],
    [encode_frame(new Uint8Array(32), 1), 'the server sent a bad batch: batch declares 0 bytes; the frame holds 32'],
  ] as const) {
    const { client, server } = await opened(t);
    server.stream.receive(bytes.slice());
    const { kind, message } = await client.closed;
    assert.deepEqual([kind, message, server.stream.closed], ['lost', text, true]);
  }
});

test('frames may be as long as the server says, to it, and much longer, from it', async (t) => {
  const { client, server } = await opened(t, { frame_bytes_max: 4096 });
  const sent: number[] = [];
  server.stream.on_send = (bytes) => void sent.push(bytes.length);
  await client.post_batch(new Uint8Array(4080));
  await assert.rejects(client.post_batch(new Uint8Array(4096)), {
    kind: 'mistaken',
    message: 'a batch of 4096 bytes; the server accepts frames of at most 4096',
  });
  assert.deepEqual(sent, [4096]);
  const text = 'x'.repeat(5 << 20);
  server.tell(muster.InternText, { text }, { request: 0n });
  assert.equal(client.text(hash64(text)), text);
  // Before the welcome nothing long is believed.
  const before = Scripted.serve();
  before.answers.set(session.Hello.name, () => [muster.InternText, { text }]);
  await assert.rejects(Client.open(before.stream), { kind: 'lost', message: /^the server sent a frame of \d+ bytes; the limit is 1048576$/ });
});

test('a fault that closes is the end, whatever it answers; one that does not is for its question or watch alone', async (t) => {
  const { client, server } = await opened(t);
  const heard: string[] = [];
  const watching = client.follow({}, { frame: ({ batch }) => void heard.push(batch.type.name), ended: ({ message, kind }) => void heard.push(`${kind} ${message}`) });
  const request = server.request_of(session.Follow);
  server.tell(session.Watching, {}, { request });
  await watching;
  const fault = { code: session.FaultCode.busy, text: 'too much' };
  server.tell(session.Fault, fault, { request: 9999n }); // of a question that nobody waits for
  server.tell(session.Fault, fault, { request });
  server.tell(session.Watching, {}, { request });
  server.tell(session.Fault, fault, { request });
  assert.deepEqual([heard, client.ended], [[session.Watching.name, 'refused too much'], null]);
  const asked = error_of(client.ask(session.GetInfo));
  server.tell(session.Fault, { ...fault, closes: true, text: 'the end' }, { request: server.request_of(session.GetInfo) });
  const { kind, message, fault: said } = await asked;
  assert.deepEqual([kind, message, said?.code, server.stream.closed], ['lost', 'the end', session.FaultCode.busy, true]);
});

test('what comes by itself goes to those who asked for such news, and an answer of the same type to whoever asked', async (t) => {
  const { client, server } = await opened(t);
  const heard: string[] = [];
  const clock = client.follow_clock((state) => void heard.push(`clock ${state.tick}`));
  server.tell(session.ClockState, { tick: 1n }, { request: server.request_of(session.GetClock) });
  assert.equal((await clock).tick, 1n);
  const durable = client.durable((state) => void heard.push(`durable ${state.sequence}`));
  server.tell(session.Durable, { sequence: 2n }, { request: server.request_of(session.FollowDurable) });
  assert.equal((await durable).sequence, 2n);
  client.on_types(() => void heard.push('types'));
  server.tell(session.ClockState, { tick: 3n }, { request: 0n });
  server.tell(session.Durable, { sequence: 4n }, { request: 0n });
  server.tell(session.Schema, { bytes: built('test_types.bfbs') }, { request: 0n });
  assert.deepEqual(heard, ['clock 3', 'durable 4', 'types']);
  const more = client.ask(session.GetClock);
  assert.equal((server.sent.at(-1)!.value as session.GetClock).follow, 0);
  server.tell(session.ClockState, { tick: 5n }, { request: server.request_of(session.GetClock) });
  assert.equal((await more).tick, 5n);
  assert.equal(heard.length, 3);
  // A text that answers a question is told to it.
  const text = client.fetch_text(hash64('five'));
  server.tell(muster.InternText, { text: 'five' }, { request: server.request_of(session.GetText) });
  assert.deepEqual([await text, client.text(hash64('five'))], ['five', 'five']);
});

test('a watch is resolved by Watching, hears all of its frames, and none after unwatch; what it says of a change is heard by that', async (t) => {
  const { client, server } = await opened(t);
  const heard: string[] = [];
  const following = client.follow({ world: true }, { frame: ({ batch, is_last, is_event, is_pushed }) => void heard.push([batch.type.name, is_last, is_event, is_pushed].join()) });
  const request = server.request_of(session.Follow);
  assert.equal((server.sent.at(-1)!.value as session.Follow).watch, 0n);
  const frame = (flags: number): void => server.tell(session.Watching, {}, { request, flags });
  frame(2);
  const watch = await following;
  assert.equal(watch.id, request);
  for (const flags of [0, 4, 12, 6]) frame(flags);
  const name = session.Watching.name;
  assert.deepEqual(heard.splice(0), [`${name},false,false,false`, `${name},true,false,false`, `${name},false,true,false`, `${name},false,true,true`, `${name},false,true,false`]);

  const change = watch.change({ values: false });
  const { watch: of, values } = server.sent.at(-1)!.value as session.Follow;
  assert.deepEqual([of, values, change.id], [request, false, server.request_of(session.Follow)]);
  server.tell(session.Followed, {}, { request: change.id });
  await change.done;
  const more = watch.more({ open: [nil] });
  assert.equal((server.sent.at(-1)!.value as session.FollowMore).watch, request);
  server.tell(session.Fault, { code: session.FaultCode.refused, text: 'no more' }, { request: more.id });
  await assert.rejects(more.done, { kind: 'refused', message: 'no more' });
  const wrong = watch.more({});
  server.tell(session.Ack, {}, { request: wrong.id });
  await assert.rejects(wrong.done, { kind: 'lost', message: /^the server answered with muster\.session\.Ack/ });
  assert.deepEqual(heard, []);

  const over = watch.unwatch();
  assert.deepEqual(server.sent.at(-1)!.value, { watch: request });
  frame(0); // it was on its way
  await over;
  frame(0);
  assert.equal(heard.length, 1);
  const lost = watch.change({});
  client.close();
  await assert.rejects(lost.done, { kind: 'lost', message: 'the session was closed' });
});

test('ids are asked for again where they were refused', async (t) => {
  const { client, server } = await opened(t);
  const refused = Promise.all([error_of(client.next_id()), error_of(client.next_id())]);
  server.tell(session.Fault, { code: session.FaultCode.busy, text: 'not now' }, { request: server.request_of(session.RequestGrant) });
  assert.deepEqual((await refused).map(({ message }) => message), ['not now', 'not now']);
  const next = client.next_id();
  server.tell(session.Granted, { first: 9, count: 1 }, { request: server.request_of(session.RequestGrant) });
  assert.deepEqual(await next, { index: 9, generation: 1 });
});

test('a trace is one text, in however many pieces it comes and wherever they were cut', async (t) => {
  const { client, server } = await opened(t);
  const text = '{"name":"Grüße 🧌"}';
  const bytes = new TextEncoder().encode(text);
  for (let cut = 0; cut <= bytes.length; ++cut) {
    const trace = client.end_trace();
    const request = server.request_of(session.EndTrace);
    server.tell(session.TraceText, { bytes: bytes.slice(0, cut) }, { request, flags: 2 });
    server.tell(session.TraceText, { bytes: bytes.slice(cut) }, { request });
    assert.equal(await trace, text, `cut at ${cut}`);
  }
  const begun = client.ask(session.BeginTrace);
  server.tell(session.TraceBegun, {}, { request: server.request_of(session.BeginTrace) });
  await begun;
});

test('plain questions ask for what they are called with', async (t) => {
  const { client, server } = await opened(t);
  const orc = { index: 5, generation: 2 };
  const asked = async (call: Promise<unknown>, answer: { name: string }, value: unknown, how: Partial<How> = {}): Promise<unknown> => {
    const { request, value: question } = server.sent.at(-1)!;
    server.tell(answer, value, { request, ...how });
    await call;
    return question;
  };
  assert.deepEqual(await asked(client.ask(session.ListChildren, { entity: orc }), session.Children, {}), { entity: orc, offset: 0, limit: 0 });
  assert.deepEqual(await asked(client.ask(session.ListChildren, { entity: orc, offset: 3, limit: 4 }), session.Children, {}), { entity: orc, offset: 3, limit: 4 });
  assert.deepEqual(await asked(client.ask(session.Resolve, { path: 'a' }), session.Found, {}), { path: 'a', limit: 0 });
  assert.deepEqual(await asked(client.show(orc), session.Shown, {}), { entity: orc });
  assert.deepEqual(await asked(client.ask(session.Reload), session.Reloaded, {}), { plugin: '' });
  assert.deepEqual(await asked(client.ask(session.Reload, { plugin: 'orcs' }), session.Reloaded, {}), { plugin: 'orcs' });
  assert.deepEqual(await asked(client.ask(session.GetTemplate, { name: 't' }), muster.DefineTemplate, { name: 't' }), { name: 't' });
  assert.deepEqual(await asked(client.read_templates('{}', 'a.json'), session.Templates, {}), { text: '{}', file: 'a.json' });
  assert.deepEqual(await asked(client.ask(session.AddSchema, { bytes: Uint8Array.of(1, 2) }), session.SchemaAdded, { types: 3 }), { bytes: Uint8Array.of(1, 2) });
  assert.deepEqual(await asked(client.fetch_text(8n), muster.InternText, { text: 'eight' }), { hash: 8n });
});

test('a value that a manager holds is a struct if the world knows its type and it fits, otherwise bytes', async (t) => {
  const { client, server } = await opened(t);
  const type = client.types.get('golden.Damage');
  const answer = client.show({ index: 5, generation: 2 });
  const values = [
    { manager: 'm', name: 'a', instance: 7n, value: Uint8Array.of(1, 2) },
    { manager: 'm', name: 'b', type: type.id, value: new Uint8Array(type.size) },
    { manager: 'n', name: 'short', type: type.id, value: Uint8Array.of(1) },
    { manager: 'n', name: 'later', type: 987654321, value: Uint8Array.of(3) },
  ];
  server.tell(session.Shown, { held: values }, { request: server.request_of(session.Show) });
  const { held } = await answer;
  assert.deepEqual(held.map(({ manager, name, instance, bytes }) => [manager, name, instance, bytes]),
    values.map(({ manager, name, instance, value }) => [manager, name, instance ?? 0n, value]));
  assert.deepEqual(held.map((each) => each.type?.name ?? null), [null, 'golden.Damage', null, null]);
  assert.deepEqual(held.map(({ value }) => value !== null), [false, true, false, false]);
  assert.deepEqual(Object.keys(held[1].value!), type.fields.map(({ name }) => name));
});

test('posts wait while more than a mebibyte has not left, and fail where the session ends meanwhile', async (t) => {
  const { hands, client, server } = await opened(t);
  const batch = encode_batch({ kind: 'world', type: client.types.get('golden.Damage'), values: [{}] });
  server.stream.unsent_bytes = 1 << 20;
  await client.post_batch(batch); // not more
  server.stream.unsent_bytes = (1 << 20) + 1;
  let is_done = false;
  const post = client.post_batch(batch).then(() => (is_done = true));
  for (let i = 0; i < 3; ++i) {
    hands.pass(1);
    await hands.turn();
  }
  assert.equal(is_done, false);
  server.stream.unsent_bytes = 0;
  hands.pass(1);
  await post;
  server.stream.unsent_bytes = 2 << 20;
  const lost = error_of(client.post_batch(batch));
  hands.pass(1);
  await hands.turn();
  client.close();
  hands.pass(1);
  assert.equal((await lost).message, 'the session was closed');
  // Nobody waits for what becomes of a post: it has no number.
  assert.deepEqual(server.sent.filter(({ name }) => name === 'golden.Damage').map(({ request }) => request), [0n, 0n, 0n]);
});

test('who watches says how many bytes it has room for, and again whenever half of that came', async (t) => {
  const { client, server } = await opened(t);
  const said = () => server.sent.filter(({ name }) => name === session.Credit.name).map(({ value, request }) => [(value as session.Credit).through, request]);
  server.answers.set(session.Follow.name, () => [session.Watching, {}]);
  assert.deepEqual(said(), []);
  const watch = await client.follow({ world: true, values: true }, { frame: () => {} });
  assert.equal(said().length, 1);
  const [[first, request]] = said();
  assert.equal(request, 0n);
  const window = 512n << 10n;
  assert.ok(first > window && first < window + 100_000n, `${first}`);
  // A frame has 16 bytes of header, 32 of batch and 16 of items, or a little more.
  const text = 'x'.repeat(10_000);
  const tell = () => server.tell(muster.InternText, { text }, { request: 0n });
  for (let i = 0; i < 20; ++i) tell();
  assert.equal(said().length, 1);
  for (let i = 0; i < 20; ++i) tell();
  assert.equal(said().length, 2);
  const grown = (said()[1][0] as bigint) - (first as bigint);
  assert.ok(grown >= window / 2n && grown < window / 2n + 20_000n, `${grown}`);
  for (let i = 0; i < 100; ++i) tell();
  assert.ok(said().length >= 5 && said().length <= 7, `${said().length}`);
  await watch.unwatch();
  await client.follow({ world: true, values: true }, { frame: () => {} });
  assert.ok(said().length <= 7);
});
