// What tests share: random numbers with a seed, bytes as pages show them, streams without a network.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import node_test from 'node:test';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

import { encode_batch, TypeTable } from 'muster-client';
import type { ByteStream, StructValue, TypeDescriptor } from 'muster-client';

/** One test, which fails where it takes longer than a minute. */
export function test(name: string, run: (t: TestContext) => void | Promise<void>): void {
  void node_test(name, { timeout: 60_000 }, run);
}

export function source(path: string): string {
  const root = process.env.MUSTER_SOURCES;
  if (!root) throw new Error('MUSTER_SOURCES says where the sources are');
  return readFileSync(join(root, path), 'utf8');
}

/** Where the binary schemas of the tests are: beside what this is built to, or where a bundle is told that they are. */
export function schema_path(name: string): string {
  const folder = process.env.MUSTER_TEST_SCHEMAS;
  return folder ? join(folder, name) : fileURLToPath(new URL('schemas/' + name, import.meta.url));
}
export function built(name: string): Uint8Array {
  return new Uint8Array(readFileSync(schema_path(name)));
}

export function types_of(...schemas: string[]): TypeTable {
  const types = new TypeTable();
  for (const name of schemas) types.add_schema(built(name));
  return types;
}

/** Numbers that are the same in every run. */
export class Random {
  constructor(private state: number) {}
  /** 0 ... below - 1. */
  next(below: number): number {
    // mulberry32
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  }
  pick<T>(of: readonly T[]): T {
    return of[this.next(of.length)];
  }
}

export function from_hex(text: string): Uint8Array {
  const digits = text.replace(/\s+/g, '');
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) => parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}
export function to_hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** The blocks of hexadecimal words that a page shows, comments behind them aside. */
export function hex_blocks(page: string): Uint8Array[] {
  const blocks: string[] = [];
  let open = false;
  for (const line of page.split('\n')) {
    const words = /^    ((?:[0-9a-f]{2}|[0-9a-f]{8})(?: {1,2}(?:[0-9a-f]{2}|[0-9a-f]{8}))*)(?: {3,}.*)?$/.exec(line);
    if (words && open) blocks[blocks.length - 1] += words[1];
    else if (words) blocks.push(words[1]);
    open = words !== null;
  }
  return blocks.map(from_hex);
}

/** A good batch of two messages that a Health and a Lamp of test_types.fbs follow. */
export function two_with_rows(types: TypeTable): Uint8Array {
  const rows = ['test.Health', 'test.Lamp'].map((name) => ({ type: types.get(name), value: {} }));
  const messages = [1, 2].map((index) => ({ target: { index, generation: 1 }, value: {}, rows }));
  return encode_batch({ kind: 'each', type: types.get('test.Make'), messages });
}

/** A stream whose other end is the test. */
export class TestStream implements ByteStream {
  sent: Uint8Array[] = [];
  closed = false;
  unsent_bytes = 0;
  on_send: (bytes: Uint8Array) => void = () => {};
  private handlers: { received(bytes: Uint8Array): void; ended(why: string): void } | null = null;

  start(handlers: { received(bytes: Uint8Array): void; ended(why: string): void }): void {
    this.handlers = handlers;
  }
  send(bytes: Uint8Array): void {
    this.sent.push(bytes);
    this.on_send(bytes);
  }
  close(): void {
    this.closed = true;
  }
  receive(bytes: Uint8Array): void {
    if (!this.closed) this.handlers?.received(bytes);
  }
  end(why: string): void {
    if (!this.closed) this.handlers?.ended(why);
  }
}

const bits = { int8: 8, uint8: 8, int16: 16, uint16: 16, int32: 32, uint32: 32, int64: 64, uint64: 64 };

/** Any value of a struct or table, its fields set or left out. */
export function random_value(type: TypeDescriptor, random: Random, depth = 0): StructValue {
  const value: StructValue = {};
  for (const field of type.fields) {
    const one = (): unknown => {
      const kind = field.element;
      if (field.enumeration?.bit_flags)
        return field.enumeration.values.reduce((all, each) => (random.next(2) ? all | Number(each.value) : all), 0);
      if (field.enumeration) return random.pick(field.enumeration.values).value;
      if (kind === 'boolean') return random.next(2) === 1;
      if (kind === 'entity') return { index: random.next(2 ** 32), generation: random.next(2 ** 32) };
      if (kind === 'string') return 'ü'.repeat(random.next(9)) + String(random.next(1000));
      if (kind === 'structure' || kind === 'table') return random_value(field.type!, random, depth + 1);
      if (kind === 'float32') return Math.fround(random.next(2 ** 32) / 7 - 2 ** 30);
      if (kind === 'float64') return random.next(2 ** 32) / 7 - 2 ** 30;
      if (kind === 'text') return BigInt.asUintN(64, (BigInt(random.next(2 ** 32)) << 33n) | 1n);
      const wide = (BigInt(random.next(2 ** 32)) << 32n) | BigInt(random.next(2 ** 32));
      const count = bits[kind as keyof typeof bits];
      const number = kind.startsWith('u') ? BigInt.asUintN(count, wide) : BigInt.asIntN(count, wide);
      return count === 64 ? number : Number(number);
    };
    const deep = depth > 3 && (field.element === 'table' || field.kind === 'vector');
    if (field.is_array) value[field.name] = Array.from({ length: field.count }, one);
    else if (field.kind === 'vector' && field.element === 'uint8' && !field.enumeration)
      value[field.name] = Uint8Array.from({ length: random.next(20) }, () => random.next(256));
    else if (field.kind === 'vector') value[field.name] = Array.from({ length: deep ? 0 : random.next(4) }, one);
    else if (
      !field.required &&
      type.is_table &&
      (field.optional || field.element === 'table' || field.element === 'structure')
    )
      value[field.name] = deep || random.next(2) ? null : one();
    else value[field.name] = one();
  }
  return value;
}
