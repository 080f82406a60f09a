import assert from 'node:assert/strict';

import { Batch, BatchKind, encode_batch, timed_batch } from 'muster-client';
import type { BatchPlan, Row, TypeTable } from 'muster-client';

import { from_hex, hex_blocks, Random, random_value, source, test, to_hex, two_with_rows, types_of } from './support.js';

const types = types_of('test_types.bfbs', 'everything.bfbs');

/** The golden batches that the tests in C++ have written out. */
function golden_batches(): Uint8Array[] {
  const text = source('tests/messages/batch_bytes_test.cc');
  const found = [...text.matchAll(/check_golden\(\s*((?:"[^"]*"\s*(?:\/\/[^\n]*\s*)?)+)/g)];
  return found.map((match) => from_hex([...match[1].matchAll(/"([^"]*)"/g)].map((each) => each[1]).join('')));
}

/** The same batch, made anew from what was read of it. */
function rebuilt(batch: Batch, types: TypeTable): Uint8Array {
  if (batch.kind === BatchKind.timed) {
    const bytes = timed_batch(rebuilt(batch.inner!, types), batch.argument);
    new DataView(bytes.buffer).setBigUint64(32, batch.timer, true);
    return bytes;
  }
  const { type } = batch;
  const items = Array.from({ length: batch.kind === BatchKind.shared ? 1 : batch.count }, (_, i) => {
    const rows: Row[] = batch.rows.map((row, k) => ({ type: row.type, value: batch.component(i, k) }));
    return { target: batch.target(i), value: batch.message(i), ...(rows.length > 0 && { rows }) };
  });
  const targets = Array.from({ length: batch.count }, (_, i) => batch.target(i));
  const plans: Record<number, BatchPlan> = {
    [BatchKind.each]: { kind: 'each', type, messages: items },
    [BatchKind.shared]: {
      kind: 'shared',
      type,
      targets,
      value: items[0].value,
      ...(items[0].rows && { rows: items[0].rows }),
    },
    [BatchKind.world]: { kind: 'world', type, values: items.map((item) => item.value) },
    [BatchKind.subtree]: { kind: 'subtree', type, parts: Number(batch.argument), messages: items },
    [BatchKind.table]: { kind: 'table', type, parts: Number(batch.argument), messages: items },
  };
  return encode_batch(plans[batch.kind]);
}

test('the golden batches of every kind are read, and made anew are the same bytes', () => {
  const golden = golden_batches();
  assert.ok(golden.length >= 9, `only ${golden.length}`);
  const kinds = new Set<number>();
  for (const bytes of golden) {
    const batch = Batch.read(bytes, types);
    kinds.add(batch.kind);
    if (batch.has_causes) {
      assert.ok(batch.cause(0) > 0n);
      continue; // the server alone writes causes
    }
    const again = rebuilt(batch, types);
    if (batch.kind === BatchKind.table)
      for (let i = 0; i < batch.count; ++i) {
        const other = Batch.read(again, types); // a FlatBuffer's parts may be laid out in many ways
        assert.deepEqual([other.target(i), other.message(i)], [batch.target(i), batch.message(i)]);
      }
    else assert.equal(to_hex(again), to_hex(bytes));
  }
  assert.deepEqual([...kinds].sort(), [1, 2, 3, 4, 5, 6]);
});

test('the batches that docs/batches.md shows say what the page says', () => {
  const [damage, make] = hex_blocks(source('docs/batches.md')).map((bytes) => Batch.read(bytes, types));
  assert.deepEqual(
    [0, 1].map((i) => [damage.target(i).index, damage.message(i)]),
    [
      [7, { amount: 3, kind: 0, from: { index: 9, generation: 2 } }],
      [8, { amount: 1, kind: 0, from: { index: 0, generation: 0 } }],
    ],
  );
  assert.deepEqual(
    make.rows.map((row) => [row.type.name, row.offset]),
    [
      ['test.Health', 8],
      ['test.Matrix', 16],
    ],
  );
  assert.deepEqual([make.component(0, 0), make.component(0, 1)], [{ value: 1 }, { m: [1, 2, 3, 4] }]);
});

test('any value of any struct and table is read as it was written', () => {
  for (const type of types) {
    if (type.role === 'plain' || type.name.startsWith('muster')) continue;
    for (let seed = 0; seed < 50; ++seed) {
      const random = new Random(seed);
      const value = random_value(type, random);
      const target = { index: 1 + seed, generation: 1 };
      if (type.role === 'component') {
        const plan: BatchPlan = {
          kind: 'each',
          type: types.get('muster.Set'),
          messages: [
            {
              target,
              value: {},
              rows: [
                { type, value },
                { type: types.get('test.Lamp'), value: {} },
              ],
            },
          ],
        };
        if (type.name === 'test.Lamp') continue;
        const batch = Batch.read(encode_batch(plan), types);
        const row = batch.rows.findIndex((each) => each.type === type);
        assert.deepEqual(batch.component(0, row), value, `${type.name}, seed ${seed}`);
      } else {
        const messages = [{ target, value }];
        const batch = Batch.read(encode_batch({ kind: type.is_table ? 'table' : 'each', type, messages }), types);
        assert.deepEqual(batch.message(0), value, `${type.name}, seed ${seed}`);
        assert.deepEqual(batch.target(0), target);
      }
    }
  }
});

test('what is left out of a table has its default, and what says nothing is not written', () => {
  const chat = types.get('golden.Chat');
  const read = (value: unknown) => {
    const bytes = encode_batch({
      kind: 'table',
      type: chat,
      messages: [{ target: { index: 0, generation: 0 }, value }],
    });
    return { length: bytes.length, value: Batch.read(bytes, types).message(0) };
  };
  const little = read({ text: '', home: {}, last: {} });
  assert.deepEqual(little.value, {
    text: '',
    from: { index: 0, generation: 0 },
    channel: 0n,
    volume: 1.5,
    count: -3,
    loud: true,
    team: 2,
    traits: 0,
    big: 9223372036854775807n,
    maybe: null,
    maybe_team: null,
    place: null,
    home: { x: 0, y: 0, z: 0 },
    bytes: new Uint8Array(0),
    path: [],
    readers: [],
    teams: [],
    switches: [],
    words: [],
    precise: [],
    first: null,
    last: { text: '', at: 0.25 },
    lines: [],
    decode: 0,
  });
  assert.equal(read({ ...little.value, words: [] }).length, little.length);
  assert.equal(read({ ...little.value, maybe: 0 }).value.maybe, 0);
  assert.throws(() => read({ text: '', home: {} }), /golden\.Chat\.last is required and was left out/);
});

test('a table that lacks what it must have is refused by the name of the field', () => {
  const nothing = encode_batch({
    kind: 'table',
    type: types.get('golden.Nothing'),
    messages: [{ target: { index: 0, generation: 0 }, value: {} }],
  });
  new DataView(nothing.buffer).setUint32(4, types.get('golden.Chat').id, true);
  const batch = Batch.read(nothing, types);
  assert.throws(() => batch.message(0), { reason: 'bad_table', message: /golden\.Chat\.text is required and absent/ });
});

test('a bool and an enum that have no such value are refused when they are read', () => {
  const rows = [{ type: types.get('test.Lamp'), value: { lit: true, color: 'blue' } }];
  const target = { index: 1, generation: 1 };
  const good = encode_batch({ kind: 'each', type: types.get('muster.Set'), messages: [{ target, value: {}, rows }] });
  const lamp = good.length - 16 + 9; // behind the target and Set's one byte
  assert.deepEqual([good[lamp], good[lamp + 1]], [1, 5]);
  good[lamp] = 2;
  assert.throws(() => Batch.read(good, types).component(0, 0), { reason: 'bad_bool' });
  good[lamp] = 0;
  good[lamp + 1] = 3;
  assert.throws(() => Batch.read(good, types).component(0, 0), {
    reason: 'bad_enum',
    message: /3 is not a value of test\.Color/,
  });
});

test('values that do not fit are refused by the name of their field', () => {
  const health = types.get('golden.Health');
  const write = (value: unknown) =>
    encode_batch({
      kind: 'each',
      type: types.get('muster.Set'),
      messages: [{ target: { index: 1, generation: 1 }, value: {}, rows: [{ type: health, value }] }],
    });
  const cases: [unknown, RegExp][] = [
    [{ valeu: 1 }, /^golden\.Health has no field valeu; it has value, regen/],
    [{ value: 1.5 }, /^golden\.Health\.value: 1\.5 is not a whole number/],
    [{ value: '1' }, /^golden\.Health\.value: '1' is not a whole number/],
    [{ tiny: 128 }, /^golden\.Health\.tiny: 128 is not a whole number from -128 to 127/],
    [{ alive: 1 }, /^golden\.Health\.alive: 1 is not true or false/],
    [{ team: 9 }, /^golden\.Health\.team: 9 is not a value of golden\.Team/],
    [{ team: 'green' }, /^golden\.Health\.team: 'green' is not a value of golden\.Team/],
    [{ traits: 8 }, /^golden\.Health\.traits: 8 is not a value of golden\.Trait/],
    [{ big: -1n }, /^golden\.Health\.big: -1 is not a bigint from 0 to 18446744073709551615/],
    [{ big: 2n ** 64n }, /^golden\.Health\.big: 18446744073709551616 is not a bigint from 0 to 18446744073709551615/],
    [{ low: 2n ** 63n }, /^golden\.Health\.low: 9223372036854775808 is not a bigint from -9223372036854775808 to 9223372036854775807/],
    [{ big: 1.5 }, /^golden\.Health\.big: 1\.5 is not a bigint/],
    [{ at: { x: 'a' } }, /^golden\.Health\.at\.x: 'a' is not a number/],
    [{ at: 3 }, /^golden\.Health\.at: 3 is not an object with fields/],
    [{ flags: [true] }, /^golden\.Health\.flags: expected 3 values, got 1/],
    [{ slots: [{}, { count: -1 }] }, /^golden\.Health\.slots\[1\]\.count: -1 is not a whole number/],
    [{ target: 5 }, /^golden\.Health\.target: 5 is not an entity/],
    [{ target: { index: -1, generation: 0 } }, /^golden\.Health\.target: an object is not an entity/],
    [7, /^golden\.Health: 7 is not an object with fields/],
  ];
  for (const [value, message] of cases) assert.throws(() => write(value), { kind: 'mistaken', message });
  write({ team: 'red', traits: 'fire|class', gate: 'broken', mesh: 'a text', big: 5 }); // names and safe integers do
});

test('a batch whose numbers do not agree is refused with the reason that servers give', () => {
  const good = two_with_rows(types);
  Batch.read(good, types);
  const with_byte = (at: number, value: number) => {
    const bytes = good.slice();
    bytes[at] = value;
    return bytes;
  };
  const cases: [Uint8Array, string][] = [
    [good.subarray(0, 16), 'truncated'],
    [good.subarray(0, good.length - 16), 'truncated'],
    [new Uint8Array([...good, ...new Uint8Array(16)]), 'wrong_size'],
    [with_byte(4, 1), 'unknown_type'],
    [with_byte(8, 7), 'unknown_kind'],
    [with_byte(9, 6), 'unknown_flag'],
    [with_byte(8, 3), 'unknown_flag'],
    [with_byte(10, 9), 'bad_row_set'],
    [with_byte(11, 0), 'wrong_offset'],
    [with_byte(12, 0), 'wrong_count'],
    [with_byte(12, 3), 'wrong_count'],
    [with_byte(15, 0x80), 'wrong_count'],
    [with_byte(16, 1), 'wrong_size'],
    [with_byte(20, 1), 'wrong_size'],
    [with_byte(32, 1), 'bad_row_set'],
    [with_byte(33, 255), 'bad_row_set'],
    [with_byte(40, 0), 'bad_row_set'],
    [with_byte(44, 12), 'bad_row_set'],
  ];
  for (const [bytes, reason] of cases) assert.throws(() => Batch.read(bytes, types), { name: 'BadBytes', reason });
});
