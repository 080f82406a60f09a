// The ends of what is taken and the words of what is refused: numbers, batches, places, answers in pages, what a scope asks for.
import assert from 'node:assert/strict';

import { Batch, ClientError, encode_batch, encode_frame, FrameDecoder, muster, nil, place_of, Replica, session } from 'muster-client';
import type { Client, StructValue } from 'muster-client';

import { Scripted } from './scripted.js';
import { test, two_with_rows, types_of } from './support.js';

const types = types_of('everything.bfbs', 'test_types.bfbs');
const orc = { index: 1, generation: 1 };
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const ids = (...indices: number[]) => indices.map((index) => ({ index, generation: 1 }));

/** What a call comes to where the server answers its question so: several answers are one after the other. */
async function answered<T>(server: Scripted, call: Promise<T>, key: { name: string }, ...answers: unknown[][]): Promise<T> {
  call.catch(() => {});
  for (const answer of answers) {
    await soon();
    const request = server.request_of(key);
    const [type, value] = answer as [{ name: string }, unknown];
    server.tell(type, value, { request });
  }
  return call;
}
function asked(server: Scripted, key: { name: string }, which = -1): Record<string, unknown> {
  return server.sent.filter((each) => each.name === key.name).at(which)!.value as Record<string, unknown>;
}

test('a number of each kind is written up to both of its ends, and not beyond', () => {
  const health = types.get('golden.Health');
  const write = (value: unknown): StructValue =>
    Batch.read(
      encode_batch({ kind: 'each', type: types.get('muster.Set'), messages: [{ target: orc, value: {}, rows: [{ type: health, value }] }] }),
      types,
    ).component(0, 0);
  const ends: [string, unknown, unknown, unknown, unknown][] = [
    ['tiny', -128, 127, -129, 128],
    ['class', 0, 255, -1, 256],
    ['value', -(2 ** 31), 2 ** 31 - 1, -(2 ** 31) - 1, 2 ** 31],
    ['low', -(2n ** 63n), 2n ** 63n - 1n, -(2n ** 63n) - 1n, 2n ** 63n],
    ['big', 0n, 2n ** 64n - 1n, -1n, 2n ** 64n],
  ];
  for (const [field, low, high, below, above] of ends) {
    assert.equal(write({ [field]: low })[field], low, field);
    assert.equal(write({ [field]: high })[field], high, field);
    assert.throws(() => write({ [field]: below }), { kind: 'mistaken' }, field);
    assert.throws(() => write({ [field]: above }), { kind: 'mistaken' }, field);
  }
  const slots = (count: number) => (write({ slots: [{ count }, {}] }).slots as StructValue[])[0].count;
  assert.deepEqual([slots(0), slots(65535)], [0, 65535]);
  assert.throws(() => slots(65536), { message: /slots\[0\]\.count: 65536 is not a whole number from 0 to 65535/ });
  assert.equal(write({ low: -5 }).low, -5n); // a safe integer for a bigint
  assert.equal(write({ gate: 'broken' }).gate, -2);
  assert.equal(write({ gate: '7' }).gate, 7);
  assert.equal(write({ traits: 'fire | class' }).traits, 5);
  assert.deepEqual(write({ flags: new Array(3).fill(false) }).flags, [false, false, false]);
  assert.throws(() => write({ target: { index: 2 ** 32, generation: 0 } }), { message: /is not an entity/ });
  assert.deepEqual(write({ target: { index: 2 ** 32 - 1, generation: 2 ** 32 - 1 } }).target, { index: 2 ** 32 - 1, generation: 2 ** 32 - 1 });
});

test('what is wrong with a batch is said with its place and in figures', () => {
  const each = two_with_rows(types);
  const shared = encode_batch({ kind: 'shared', type: types.get('test.Nudge'), targets: ids(1, 2, 3), value: {} });
  const tables = encode_batch({ kind: 'table', type: types.get('test.Say'), messages: [1, 2].map((index) => ({ target: { index, generation: 1 }, value: { text: 'hi' } })) });
  const world = encode_batch({ kind: 'world', type: types.get('test.Tick'), values: [{}] });
  const timed = new Uint8Array(48 + world.length);
  timed.set(world.subarray(0, 32));
  timed.set([6, 0, 2, 16], 8);
  timed.set([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 12);
  timed.set(world, 48);
  new DataView(timed.buffer).setUint32(0, timed.length, true);
  for (const good of [each, shared, tables, world, timed]) Batch.read(good, types);
  const put = (bytes: Uint8Array, at: number, value: number): Uint8Array => {
    const made = bytes.slice();
    new DataView(made.buffer).setUint32(at, value, true);
    return made;
  };
  const put8 = (bytes: Uint8Array, at: number, value: number): Uint8Array => {
    const made = bytes.slice();
    made[at] = value;
    return made;
  };
  const cut = (bytes: Uint8Array, length: number): Uint8Array => put(bytes.slice(0, length), 0, length);
  const health = types.get('test.Health');
  const lamp = types.get('test.Lamp');
  const [first, second] = health.id < lamp.id ? [health, lamp] : [lamp, health];
  const one = (tables.length - 32) / 2;
  const cases: [Uint8Array, string, number, string][] = [
    [each.subarray(0, 31), 'truncated', 31, 'a batch has at least 32 bytes; the frame holds 31'],
    [put(each, 0, each.length + 16), 'truncated', 0, `batch declares ${each.length + 16} bytes; the frame holds ${each.length}`],
    [put(each, 0, each.length - 16), 'wrong_size', 0, `batch declares ${each.length - 16} bytes; the frame holds ${each.length}`],
    [cut(each, 40), 'misaligned', 0, 'batch declares 40 bytes, which is not a multiple of 16'],
    [put8(each, 8, 0), 'unknown_kind', 8, 'batch kind 0 is unknown'],
    [put8(world, 9, 2), 'unknown_flag', 9, 'batch flags are 2; this kind supports 1'],
    [put8(each, 9, 4), 'unknown_flag', 9, 'batch flags are 4; this kind supports 3'],
    [put8(timed, 9, 1), 'unknown_flag', 9, 'batch flags are 1; this kind supports 0'],
    [put8(timed, 48 + 8, 6), 'nested_timer', 8, 'a timed batch holds another timed batch'],
    [put(world, 12, 0), 'wrong_count', 12, 'batch declares no messages'],
    [put(world, 4, 1), 'unknown_type', 4, 'message type id 1 is unknown'],
    [put(world, 4, health.id), 'wrong_role', 4, 'test.Health is not a message, so it cannot be sent in a batch of this kind'],
    [put(tables, 4, types.get('test.Tick').id), 'wrong_role', 4, 'test.Tick is not a table_message, so it cannot be sent in a batch of this kind'],
    [cut(each, 32), 'bad_row_set', 32, 'a batch with a row set has at least 48 bytes'],
    [put(each, 32, 506), 'bad_row_set', 32, 'row set declares 506 components; batch header declares 4 units of 16 bytes'],
    [put8(each, 10, 5), 'bad_row_set', 32, 'row set declares 2 components; batch header declares 5 units of 16 bytes'],
    [put(each, 40, 1), 'bad_row_set', 40, 'row set: 1 is not a component'],
    [put(each, 40, types.get('test.Tick').id), 'bad_row_set', 40, `row set: ${types.get('test.Tick').id} is not a component`],
    [put(each, 48, first.id), 'bad_row_set', 48, `row set: ${first.name} is listed twice or out of order`],
    [put(each, 40, second.id), 'bad_row_set', 48, `row set: ${second.name} is listed twice or out of order`],
    [put(each, 44, 9), 'bad_row_set', 44, `row set: ${first.name} is at 9, expected 8`],
    [put8(world, 10, 3), 'wrong_size', 10, 'batch header declares 3 units of 16 bytes; without a row set it has 2'],
    [put8(world, 11, 8), 'wrong_offset', 11, 'payload offset is 8, expected 0'],
    [put(world, 16, 9), 'wrong_size', 16, 'payload of test.Tick declares 9 bytes, expected 8'],
    [put(world, 20, 16), 'wrong_size', 20, 'items declare 16 bytes, expected 8'],
    [put(world, 12, 3), 'wrong_count', 12, '3 messages need a batch of 64 bytes; the batch declares 48'],
    [put(shared, 12, 5), 'wrong_count', 12, '5 messages need a batch of 96 bytes; the batch declares 80'],
    [put(tables, 12, 3), 'truncated', tables.length, 'table 2 begins after the end of the batch'],
    [put(tables, 12, 1), 'wrong_count', 12, `1 messages need a batch of ${32 + one} bytes; the batch declares ${tables.length}`],
    [put(tables, 32 + one + 8, 9999), 'truncated', 32 + one + 8, `table 1 declares 9999 bytes; ${one - 16} are left in the batch`],
    [put(timed, 12, 2), 'wrong_count', 12, 'a timed batch holds one batch; this one declares 2'],
    [cut(timed, 64), 'truncated', 0, 'a timed batch has at least 80 bytes; this one has 64'],
    [put(timed, 4, types.get('test.Nudge').id), 'wrong_role', 4, 'a timed batch of test.Nudge holds a batch of test.Tick'],
  ];
  for (const [bytes, reason, offset, message] of cases) assert.throws(() => Batch.read(bytes, types), { name: 'BadBytes', reason, offset, message });
  assert.deepEqual([0, 1, 2].map((i) => Batch.read(shared, types).target(i)), ids(1, 2, 3));
  assert.deepEqual(Batch.read(timed, types).target(0), nil);
  assert.equal(Batch.read(timed, types).inner!.count, 1);
});

test('a plan that makes no batch is refused in words', () => {
  const make = types.get('test.Make');
  const health = { type: types.get('test.Health'), value: {} };
  const lamp = { type: types.get('test.Lamp'), value: {} };
  const say = types.get('test.Say');
  const message = (rows?: unknown) => ({ target: orc, value: {}, ...(rows ? { rows } : {}) }) as never;
  const cases: [() => unknown, string][] = [
    [() => encode_batch({ kind: 'world', type: say, values: [{}] }), 'test.Say is not a message struct'],
    [() => encode_batch({ kind: 'table', type: make, messages: [message()] }), 'test.Make is not a message table'],
    [() => encode_batch({ kind: 'world', type: make, values: [] }), 'a batch of test.Make needs at least one message'],
    [() => encode_batch({ kind: 'table', type: say, messages: [] }), 'a batch of test.Say needs at least one message'],
    [() => encode_batch({ kind: 'shared', type: make, targets: [], value: {} }), 'a batch of test.Make needs at least one message'],
    [() => encode_batch({ kind: 'each', type: make, messages: [message([{ type: make, value: {} }])] }), 'test.Make is not a component'],
    [() => encode_batch({ kind: 'each', type: make, messages: [message([health, health])] }), 'test.Health is named twice'],
    [() => encode_batch({ kind: 'each', type: make, messages: [message([health]), message()] }), 'all messages of a batch must have the same components'],
    [() => encode_batch({ kind: 'each', type: make, messages: [message([health]), message([lamp])] }), 'all messages of a batch must have the same components: test.Lamp differs'],
    [() => encode_batch({ kind: 'table', type: say, messages: [{ target: orc, value: { text: 5 } }] }), 'test.Say.text: 5 is not a string'],
    [() => encode_batch({ kind: 'table', type: say, messages: [{ target: orc, value: { text: 'a', names: 'b' } }] }), "test.Say.names: 'b' is not an array"],
    [() => encode_batch({ kind: 'table', type: say, messages: [{ target: orc, value: { text: 'a', names: ['b', 7] } }] }), 'test.Say.names[1]: 7 is not a string'],
    [() => encode_batch({ kind: 'table', type: say, messages: [{ target: orc, value: null }] }), 'test.Say: null is not an object with fields'],
  ];
  for (const [call, text] of cases) assert.throws(call, { kind: 'mistaken', message: text });
  const subtree = encode_batch({ kind: 'subtree', type: make, parts: 5, messages: [message()] });
  assert.deepEqual([Batch.read(subtree, types).argument, Batch.read(subtree, types).target(0)], [5n, orc]);
  const parts = encode_batch({ kind: 'table', type: say, parts: 4, messages: [{ target: orc, value: { text: 'a' } }] });
  assert.equal(Batch.read(parts, types).argument, 4n);
});

test('a frame as short and as long as may be is read, and what is wrong with one is said in figures', () => {
  const read = (bytes: Uint8Array, most: number, envelopes = true): number[] => {
    const lengths: number[] = [];
    new FrameDecoder(most, envelopes).receive(bytes, (frame) => lengths.push(frame.batch.length));
    return lengths;
  };
  const envelope = { sequence: 1n, session: 2n, sender_request: 3n, clock_ns: 4n };
  assert.deepEqual(read(encode_frame(new Uint8Array(32), 1), 48), [32]);
  assert.deepEqual(read(encode_frame(new Uint8Array(32), 1, 0, envelope), 80), [32]);
  const fault = (bytes: number, flags: number, envelopes = true): string => {
    const made = encode_frame(new Uint8Array(80), 1);
    new DataView(made.buffer).setUint32(0, bytes, true);
    new DataView(made.buffer).setUint32(4, flags, true);
    const decoder = new FrameDecoder(96, envelopes);
    let text = '';
    for (let again = 0; again < 2; ++again)
      assert.throws(
        () => decoder.receive(made.slice(), () => assert.fail('a frame')),
        (error: Error) => ((text = error.message), true),
      );
    return text;
  };
  assert.equal(fault(97, 0), 'a frame of 97 bytes; the size must be a multiple of 16');
  assert.equal(fault(32, 0), 'a frame of 32 bytes; the minimum is 48');
  assert.equal(fault(64, 1), 'a frame of 64 bytes; the minimum is 80');
  assert.equal(fault(112, 0), 'a frame of 112 bytes; the limit is 96');
  assert.equal(fault(96, 16), 'frame flags 16; this version supports 15');
  assert.equal(fault(96, 1, false), 'unexpected envelope in a frame to the server: only the server writes envelopes');
  assert.equal(fault(96, 2, false), 'frame flags 2; frames to the server have none');
  assert.equal(new DataView(encode_frame(new Uint8Array(32), 1, 1 | 4).buffer).getUint32(4, true), 4); // no envelope, no flag of one
  const decoder = new FrameDecoder(1 << 20);
  decoder.receive(new Uint8Array(15), () => {});
  assert.throws(() => decoder.finish(), { reason: 'ended_inside', message: 'the stream ended 15 bytes into a frame' });
});

test('a place that is none is told by the part that does not fit and what there is', () => {
  const health = types.get('golden.Health');
  const wrong = (path: string): string => {
    try {
      place_of(health, path);
    } catch (error) {
      return (error as Error).message;
    }
    return 'taken';
  };
  assert.equal(wrong('slots[1].amount'), "golden.Health has no place slots[1].amount: 'amount' does not fit; golden.Slot has count, item, owner");
  assert.equal(wrong('value.x'), "golden.Health has no place value.x: 'x' does not fit");
  assert.match(wrong('slots[2]'), /^golden\.Health has no place slots\[2\]: 'slots\[2\]' does not fit; golden\.Health has value, regen, /);
  assert.equal(wrong('slots[1]'), 'taken');
  assert.deepEqual([place_of(health, 'flags').size, place_of(health, 'flags').whole_array], [3, true]);
  assert.deepEqual([place_of(health, 'flags[2]').size, place_of(health, 'flags[2]').whole_array], [1, false]);
  assert.deepEqual([place_of(health, 'flags[2]').offset - place_of(health, 'flags').offset], [2]);
});

test('an entity is named by an id without being asked for, or by what is found', async () => {
  const { client, server } = await Scripted.open();
  assert.deepEqual(await client.entity('12:3'), { index: 12, generation: 3 });
  assert.deepEqual(await client.entity('#12:3'), { index: 12, generation: 3 });
  assert.equal(server.request_of(session.Resolve), 0n);
  const found = (indices: number[], more = false) =>
    answered(server, client.entity('x'), session.Resolve, [session.Found, { entities: ids(...indices), paths: indices.map((i) => '/' + i), more }]);
  assert.deepEqual(await found([7]), { index: 7, generation: 1 });
  assert.deepEqual(asked(server, session.Resolve), { path: 'x', limit: 20 });
  await assert.rejects(found([]), { kind: 'mistaken', message: "no entity is named 'x'" });
  await assert.rejects(found([7, 8]), { message: "'x' matches several entities:\n  7:1  /7\n  8:1  /8" });
  await assert.rejects(found([7, 8], true), { message: "'x' matches several entities:\n  7:1  /7\n  8:1  /8\n  ..." });
});

test('pages are asked for until there are no more, each behind the one before', async () => {
  const { client, server } = await Scripted.open();
  const all = async <T>(pages: AsyncGenerator<T>): Promise<T[]> => {
    const got: T[] = [];
    for await (const page of pages) got.push(page);
    return got;
  };
  const child_page = (offset: number, count: number, total: number) => [
    session.Children,
    { total, offset, entities: ids(...Array.from({ length: count }, (_, i) => offset + i + 1)) },
  ];
  let pages: unknown[] = await answered(server, all(client.children_all(orc)), session.ListChildren, child_page(0, 2, 3), child_page(2, 1, 3));
  assert.equal(pages.length, 2);
  assert.deepEqual([asked(server, session.ListChildren, -2).offset, asked(server, session.ListChildren).offset], [0, 2]);
  pages = await answered(server, all(client.children_all(orc)), session.ListChildren, child_page(0, 0, 3));
  assert.equal(pages.length, 1);
  const found = (more: boolean, ...indices: number[]) => [session.Found, { entities: ids(...indices), paths: indices.map(String), more }];
  pages = await answered(server, all(client.find_all({ name: 'x' })), session.Find, found(true, 4, 9), found(false, 12));
  assert.equal(pages.length, 2);
  assert.deepEqual(asked(server, session.Find).after, { index: 9, generation: 1 });
  assert.deepEqual([asked(server, session.Find).name, asked(server, session.Find, -2).after], ['x', nil]);
  assert.equal((await answered(server, all(client.find_all({})), session.Find, found(true))).length, 1);
});

test('ids come from a grant until it is used up, and calls side by side share one question', async () => {
  const { client, server } = await Scripted.open();
  const three = Promise.all([client.next_id(), client.next_id(), client.next_id()]);
  const got = await answered(server, three, session.RequestGrant, [session.Granted, { first: 10, count: 2 }], [session.Granted, { first: 40, count: 1 }]);
  assert.deepEqual(got, ids(10, 11, 40));
  assert.deepEqual(
    server.sent.filter((each) => each.name === session.RequestGrant.name).map((each) => (each.value as { count: number }).count),
    [256, 256],
  );
});

test('a text is asked for once, and none has no text', async () => {
  const { client, server } = await Scripted.open();
  assert.equal(await client.fetch_text(0n), '');
  assert.equal(server.request_of(session.GetText), 0n);
  assert.equal(client.text(5n), '');
  assert.equal(await answered(server, client.fetch_text(5n), session.GetText, [muster.InternText, { text: 'five' }]), 'five');
  assert.equal(await client.fetch_text(5n), 'five');
  assert.equal(client.text(5n), 'five');
  assert.equal(server.sent.filter((each) => each.name === session.GetText.name).length, 1);
});

test('a clock is set as it is said, and what is left out stays', async () => {
  const { client, server } = await Scripted.open();
  const set = async (what: Parameters<Client['set_clock']>[0]): Promise<unknown> => {
    await answered(server, client.set_clock(what), session.SetClock, [session.ClockState, {}]);
    return asked(server, session.SetClock);
  };
  assert.deepEqual(await set({}), { speed: 0, paused: 2, steps: 0 });
  assert.deepEqual(await set({ paused: true, steps: 3 }), { speed: 0, paused: 1, steps: 3 });
  assert.deepEqual(await set({ paused: false, speed: 2 }), { speed: 2, paused: 0, steps: 0 });
  await assert.rejects(client.set_clock({ speed: 0 }), { kind: 'mistaken', message: 'a clock cannot have speed 0: pause it with set_clock({ paused: true })' });
});

test('what a refused field holds is read from the fault, where it says so', async () => {
  const { client } = await Scripted.open();
  const health = client.types.get('golden.Health');
  const fault = (value: number[], field = 'at.y', type = health.id) => client.fault_value({ type, field, value: new Uint8Array(value) } as never);
  assert.equal(fault([0, 0, 128, 63]), 1);
  assert.equal(fault([0, 0, 128]), undefined);
  assert.equal(fault([]), undefined);
  assert.equal(fault([0, 0, 128, 63], 'at.y', 1), undefined);
  assert.deepEqual(fault([1, 0, 1], 'flags'), [true, false, true]);
});

test('an answer of another type, a fault, silence and too large a field are told apart', async () => {
  const { client, server } = await Scripted.open();
  await assert.rejects(answered(server, client.ask(session.Save), session.Save, [session.Unwatched, {}]), {
    kind: 'lost',
    message: 'the server answered with muster.session.Unwatched, not with muster.session.Saved',
  });
  await assert.rejects(answered(server, client.ask(session.Save), session.Save, [session.Fault, { code: 107, text: 'no' }]), { kind: 'refused', message: 'no' });
  await assert.rejects(client.set_field(orc, 'golden.Health', 'place.m', new Array(16).fill(1).concat(1)), { kind: 'mistaken' });
  await assert.rejects(client.set_field(orc, 'golden.Health', 'missing', 1), { kind: 'mistaken' });
  await assert.rejects(
    client.set_fields([
      { entity: orc, component: 'golden.Health', path: 'value', value: 1, expected: 2 },
      { entity: orc, component: 'golden.Health', path: 'tiny', value: 1 },
    ]),
    { kind: 'mistaken', message: 'tiny: either all of these edits have an expected value, or none of them' },
  );
  assert.equal(server.request_of(muster.SetField), 0n);
  client.close();
  await assert.rejects(client.ask(session.Save), { kind: 'lost', message: 'the session was closed' });
  assert.ok(client.ended instanceof ClientError);
  assert.equal(await client.closed, client.ended);
  assert.ok(server.stream.closed);
});

test('a scope is asked for as it says, and everything where it says nothing', async () => {
  const { client, server } = await Scripted.open();
  const none = { world: true, entities: [], subtree: false, with: [], without: [], values: true, components: [], structure: true, inputs: false,
                 input_types: [], inputs_except: [], pushed: [], rate_max: 0, bytes_max: 0, priority: 0, watch: 0n, open: [] }; // prettier-ignore
  const follow = async (scope: object): Promise<unknown> => {
    const replica = new Replica();
    const whole = replica.follow(client, scope);
    await soon();
    const request = server.request_of(session.Follow);
    server.tell(session.Watching, {}, { request });
    await whole;
    await replica.stop();
    return asked(server, session.Follow);
  };
  assert.deepEqual(await follow({}), none);
  const [health, config, damage, chat] = ['Health', 'Config', 'Damage', 'Chat'].map((name) => client.types.get('golden.' + name).id);
  assert.deepEqual(
    await follow({ entities: [orc], subtree: true, with: ['golden.Health'], without: ['golden.Config'], values: false, components: ['golden.Config'] }),
    { ...none, world: false, entities: [orc], subtree: true, with: [health], without: [config], values: false, components: [config] },
  );
  assert.deepEqual(await follow({ events: true, messages: ['golden.Damage'], except: ['golden.Chat'], pushed: ['golden.Damage', 'golden.Chat'], rate_max: 2.5, bytes_max: 5000, priority: 7 }), {
    ...none,
    inputs: true,
    input_types: [damage],
    inputs_except: [chat],
    pushed: [damage, chat],
    rate_max: 2.5,
    bytes_max: 5000,
    priority: 7,
  });
  await assert.rejects(new Replica().follow(client, { with: ['golden.Damage'] }), { kind: 'mistaken', message: 'golden.Damage is not a component' });
  await assert.rejects(new Replica().follow(client, { messages: ['golden.Health'] }), { kind: 'mistaken', message: 'golden.Health is not a message' });
  await assert.rejects(new Replica().change({}), { kind: 'mistaken', message: 'the replica follows nothing yet' });
});

test('a copy says who is whose child, and paths of those without a name or beyond it', async () => {
  const { client, server } = await Scripted.open();
  const replica = new Replica();
  const whole = replica.follow(client);
  await soon();
  const request = server.request_of(session.Follow);
  server.tell(session.Watching, {}, { request, flags: 2 });
  const [a, b, c] = ids(1, 2, 3);
  const create = (target: typeof a, parent: typeof a, name: string, last = false) =>
    server.tell(muster.Create, { parent, name }, { request, target, flags: last ? 0 : 2, sequence: 5n });
  server.tell(muster.InternText, { text: 'a' }, { request: 0n });
  create(a, nil, 'a');
  create(b, a, '');
  create(c, { index: 2, generation: 9 }, 'a', true);
  await whole;
  assert.deepEqual([replica.path(a), replica.path(b), replica.path(c), replica.path({ index: 4, generation: 1 })], ['/a', '/a/#2:1', '/a', '']);
  assert.deepEqual([nil, a, b, { index: 2, generation: 9 }].map((each) => replica.children(each).length), [1, 1, 0, 1]);
  assert.deepEqual([nil, a, { index: 2, generation: 9 }, { index: 77, generation: 1 }].map((each) => replica.child_count(each)), [1, 1, 1, 0]);
  assert.deepEqual([replica.sequence, replica.clock_ns, replica.size], [5n, 50n, 3]);
  assert.equal(replica.get({ index: 1, generation: 2 }), undefined);
  server.tell(muster.Reparent, { parent: nil }, { request, target: b, sequence: 6n });
  assert.deepEqual([replica.child_count(nil), replica.child_count(a), replica.path(b)], [2, 0, '/#2:1']);
});
