import assert from 'node:assert/strict';

import { BadBytes, Batch, encode_batch, encode_frame, FrameDecoder, muster, session, TypeTable } from 'muster-client';
import type { Frame } from 'muster-client';

import { hex_blocks, joined, Random, source, test, to_hex } from './support.js';

function session_types(): TypeTable {
  const types = new TypeTable();
  types.add_schema(new Uint8Array(Buffer.from(session.schema, 'base64')));
  return types;
}

function frames_of(pieces: readonly Uint8Array[], frame_bytes_max = 1 << 20): Frame[] {
  const decoder = new FrameDecoder(frame_bytes_max);
  const frames: Frame[] = [];
  // A copy of each piece: frames may point into it.
  for (const piece of pieces) decoder.receive(piece.slice(), (frame) => frames.push(frame));
  decoder.finish();
  return frames;
}

const plain = (frame: Frame) => ({ ...frame, batch: to_hex(frame.batch) });

/** Frames of many lengths, some with an envelope. */
function some_stream(): { bytes: Uint8Array; frames: Frame[] } {
  const random = new Random(7);
  const frames: Frame[] = [];
  for (let i = 0; i < 12; ++i) {
    const batch = Uint8Array.from({ length: 32 + 16 * random.next(9) }, () => random.next(256));
    const number = BigInt(random.next(2 ** 32));
    const envelope =
      i % 3 === 0 ? { sequence: number, session: 1n, sender_request: 2n ** 63n, clock_ns: number * 5n } : null;
    frames.push({
      flags: envelope ? 1 + 2 * random.next(2) : 2 * random.next(2),
      request: number << 20n,
      envelope,
      batch,
    });
  }
  return {
    bytes: joined(frames.map((each) => encode_frame(each.batch, each.request, each.flags, each.envelope))),
    frames,
  };
}

test('the frames that docs/protocol.md shows are read, and written as the same bytes', () => {
  const types = session_types();
  const shown = hex_blocks(source('docs/protocol.md'));
  assert.equal(shown.length, 3);
  const [heartbeat, destroy, ack] = frames_of(shown);
  const beat = { number: 1n, time_ns: 2n, answer: 0 };
  const done = { sequence: 300n, durable_through: 290n, handled: 1, unhandled: 0, dead: 0, cut_short: 0 };
  assert.deepEqual([heartbeat.request, destroy.request, ack.request], [9n, 10n, 10n]);
  assert.deepEqual(Batch.read(heartbeat.batch, types).message(0), beat);
  assert.deepEqual(Batch.read(destroy.batch, types).target(0), { index: 12, generation: 1 });
  assert.equal(Batch.read(destroy.batch, types).type.name, 'muster.Destroy');
  assert.deepEqual(Batch.read(ack.batch, types).message(0), done);

  const world = (type: { name: string }, value: unknown) =>
    encode_batch({ kind: 'world', type: types.get(type.name), values: [value] });
  const target = { index: 12, generation: 1 };
  const written = [
    encode_frame(world(session.Heartbeat, beat), 9),
    encode_frame(
      encode_batch({ kind: 'each', type: types.get(muster.Destroy as never), messages: [{ target, value: {} }] }),
      10,
    ),
    encode_frame(world(session.Ack, done), 10),
  ];
  assert.deepEqual(written.map(to_hex), shown.map(to_hex));
});

test('a stream gives the same frames wherever it is split in two', () => {
  const { bytes, frames } = some_stream();
  const expected = frames.map(plain);
  for (let at = 0; at <= bytes.length; ++at)
    assert.deepEqual(frames_of([bytes.subarray(0, at), bytes.subarray(at)]).map(plain), expected, `split at ${at}`);
});

test('a stream gives the same frames in pieces of any length, single bytes among them', () => {
  const { bytes, frames } = some_stream();
  const expected = frames.map(plain);
  for (let seed = 0; seed < 200; ++seed) {
    const random = new Random(seed);
    const longest = 1 + random.next(seed % 4 === 0 ? 2 : 300);
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = Math.min(bytes.length, at + 1 + random.next(longest));
      pieces.push(bytes.subarray(at, end));
      at = end;
    }
    assert.deepEqual(frames_of(pieces).map(plain), expected, `seed ${seed}`);
  }
});

test('a frame header that cannot be is named, and nothing is read after it', () => {
  const header = (bytes: number, flags: number) => {
    const made = encode_frame(new Uint8Array(80), 1);
    new DataView(made.buffer).setUint32(0, bytes, true);
    new DataView(made.buffer).setUint32(4, flags, true);
    return made;
  };
  const cases: [Uint8Array, string, boolean][] = [
    [header(97, 0), 'misaligned', true],
    [header(32, 0), 'too_short', true],
    [header(64, 1), 'too_short', true],
    [header(0, 0), 'too_short', true],
    [header(4096, 0), 'oversized', true],
    [header(96, 16), 'unknown_flag', true],
    [header(96, 1), 'unexpected_envelope', false],
    [header(96, 2), 'unknown_flag', false],
  ];
  for (const [bytes, reason, envelopes] of cases) {
    const decoder = new FrameDecoder(1024, envelopes);
    const good = encode_frame(new Uint8Array(32), 5);
    const frames: Frame[] = [];
    assert.throws(() => decoder.receive(joined([good, bytes]), (frame) => frames.push(frame)), {
      name: 'BadBytes',
      reason,
    });
    assert.equal(frames.length, 1);
    assert.throws(() => decoder.receive(good, (frame) => frames.push(frame)), { reason });
    assert.throws(() => decoder.finish(), { reason });
    assert.equal(frames.length, 1);
  }
});

test('a stream that ends inside a frame says how far it came', () => {
  const bytes = encode_frame(new Uint8Array(64), 5);
  for (const end of [1, 15, 16, 17, 79]) {
    const decoder = new FrameDecoder(1024);
    decoder.receive(bytes.slice(0, end), () => assert.fail('a frame'));
    assert.throws(
      () => decoder.finish(),
      (error) =>
        error instanceof BadBytes && error.reason === 'ended_inside' && error.message.includes(` ${end} bytes`),
    );
  }
});
