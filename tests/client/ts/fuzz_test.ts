// Bytes that were cut off or changed give values or a BadBytes, never another error, and never take long.
import assert from 'node:assert/strict';

import { BadBytes, Batch, Client, encode_batch, encode_frame, FrameDecoder, session, TypeTable } from 'muster-client';

import { built, Random, random_value, test, TestStream, types_of } from './support.js';

const types = types_of('test_types.bfbs', 'everything.bfbs');

function good_batches(): Uint8Array[] {
  const batches: Uint8Array[] = [];
  const random = new Random(3);
  const target = { index: 3, generation: 1 };
  for (const type of types) {
    if (type.name.startsWith('muster')) continue;
    const values = [0, 1].map(() => random_value(type, random));
    if (type.role === 'component') {
      const rows = [{ type, value: values[0] }];
      batches.push(
        encode_batch({ kind: 'each', type: types.get('muster.Set'), messages: [{ target, value: {}, rows }] }),
      );
      batches.push(
        encode_batch({ kind: 'shared', type: types.get('muster.Set'), targets: [target, target], value: {}, rows }),
      );
    }
    const messages = values.map((value) => ({ target, value }));
    if (type.role === 'message')
      batches.push(encode_batch({ kind: 'each', type, messages }), encode_batch({ kind: 'world', type, values }));
    if (type.role === 'table_message') batches.push(encode_batch({ kind: 'table', type, messages }));
  }
  return batches;
}

/** Some bytes changed, inserted, taken out, or put elsewhere. */
function damaged(bytes: Uint8Array, random: Random): Uint8Array {
  let changed = bytes.slice();
  for (let count = 1 + random.next(4); count > 0; --count) {
    const at = random.next(changed.length);
    switch (random.next(6)) {
      case 0:
        changed[at] ^= 1 << random.next(8);
        break;
      case 1:
        changed[at] = random.next(256);
        break;
      case 2:
        changed[at] = random.pick([0, 1, 127, 128, 255]);
        break;
      case 3:
        changed = changed.slice(0, Math.max(1, at));
        break;
      case 4:
        changed.copyWithin(at & ~3, random.next(changed.length) & ~3, changed.length);
        break;
      case 5:
        new DataView(changed.buffer).setUint32(
          Math.min(at & ~3, Math.max(0, changed.length - 4)) & ~3,
          random.next(changed.length),
          true,
        );
        break;
    }
    if (changed.length < 4) return changed;
  }
  return changed;
}

/** Everything that can be read of it. */
function read_all(bytes: Uint8Array): boolean {
  try {
    let batch: Batch | null = Batch.read(bytes, types);
    if (batch.inner) batch = batch.inner;
    for (let i = 0; i < batch.count; ++i) {
      batch.target(i);
      batch.message(i);
      batch.cause(i);
      batch.rows.forEach((_, k) => batch!.component(i, k));
    }
    return true;
  } catch (error) {
    if (error instanceof BadBytes) return false;
    throw error;
  }
}

test('damaged batches are refused or read, whatever was damaged', () => {
  const batches = good_batches();
  assert.ok(batches.every(read_all));
  let refused = 0;
  for (let seed = 0; seed < 20_000; ++seed) {
    const random = new Random(seed);
    if (!read_all(damaged(random.pick(batches), random))) ++refused;
  }
  assert.ok(refused > 5_000, `only ${refused} refused`);
});

test('a batch that was cut off anywhere is refused', () => {
  for (const bytes of good_batches())
    for (let end = 0; end < bytes.length; end += 1 + (bytes.length >> 6))
      assert.equal(read_all(bytes.slice(0, end)), false);
});

test('a damaged schema is refused or read', () => {
  const good = built('everything.bfbs');
  const random = new Random(11);
  let refused = 0;
  for (let i = 0; i < 600; ++i) {
    try {
      new TypeTable().add_schema(damaged(good, random));
    } catch (error) {
      if (!(error instanceof BadBytes)) throw error;
      ++refused;
    }
  }
  assert.ok(refused > 50, `only ${refused} refused`);
});

test('a table whose parts are named over and over is given up', () => {
  // Each vector of tables names the same table many times, which does so in turn: 32 to the power of 8 tables to read.
  const tree = types.get('golden.Tree');
  const width = 32;
  const bytes = new Uint8Array(8 * (12 + 4 + 4 * width) + 64);
  const view = new DataView(bytes.buffer);
  // One vtable for all: { bytes 10, table 8, value absent, left absent, rest at 4 }.
  view.setUint32(0, 16, true);
  [10, 8, 0, 0, 4].forEach((word, i) => view.setUint16(4 + 2 * i, word, true));
  let table = 16;
  for (let level = 0; level < 8; ++level) {
    view.setInt32(table, table - 4, true);
    view.setUint32(table + 4, 4, true);
    const vector = table + 8;
    const next = vector + 4 + 4 * width;
    view.setUint32(vector, level === 7 ? 0 : width, true);
    for (let i = 0; i < width; ++i) view.setUint32(vector + 4 + 4 * i, next - (vector + 4 + 4 * i), true);
    table = next;
  }
  const batch = new Uint8Array(48 + Math.ceil(bytes.length / 16) * 16);
  const head = new DataView(batch.buffer);
  head.setUint32(0, batch.length, true);
  head.setUint32(4, tree.id, true);
  batch.set([3, 0, 2, 16, 1], 8);
  head.setUint32(40, bytes.length, true);
  batch.set(bytes, 48);
  assert.throws(() => Batch.read(batch, types).message(0), { reason: 'bad_table' });
});

test('a damaged stream ends the session with a sentence, and every call of it fails', async () => {
  const types = new TypeTable();
  types.add_schema(new Uint8Array(Buffer.from(session.schema, 'base64')));
  const answer = (key: { name: string }, value: unknown, request: bigint) => {
    const type = types.get(key.name);
    const batch = type.is_table
      ? encode_batch({ kind: 'table', type, messages: [{ target: { index: 0, generation: 0 }, value }] })
      : encode_batch({ kind: 'world', type, values: [value] });
    return encode_frame(batch, request);
  };
  let lost = 0;
  for (let seed = 0; seed < 300; ++seed) {
    const random = new Random(seed);
    const stream = new TestStream();
    stream.on_send = (bytes) => {
      new FrameDecoder(1 << 20).receive(bytes.slice(), ({ request, batch }) => {
        const { name } = Batch.read(batch, types).type;
        let frame = answer(session.Ack, {}, request);
        if (name === session.Hello.name) frame = answer(session.Welcome, { frame_bytes_max: 1 << 20 }, request);
        if (name === session.GetSchema.name)
          frame = answer(session.Schema, { bytes: Buffer.from(session.schema, 'base64') }, request);
        queueMicrotask(() => stream.receive(damaged(frame, random)));
        queueMicrotask(() => stream.end('the test ends'));
      });
    };
    try {
      const client = await Client.open(stream, { time_max_ms: 2000 });
      await client.ask(session.GetInfo);
    } catch (error) {
      assert.ok(error instanceof Error && error.name === 'ClientError', String(error));
      ++lost;
    }
  }
  assert.equal(lost, 300);
});
