// Reads FlatBuffers in place. Checks every offset against the buffer before following it, and
// rejects a buffer whose parts are referred to too often.
import { BadBytes, text_of } from './bytes.js';

const depth_max = 64;

/** One buffer, and a limit on the number of bytes that may be read. */
export class FlatBuffer {
  private left: number;

  constructor(
    readonly bytes: Uint8Array,
    readonly view: DataView,
  ) {
    // A normal buffer is read once; the limit allows some shared parts.
    this.left = 16 * bytes.length + 65536;
  }

  static of(bytes: Uint8Array): FlatBuffer {
    return new FlatBuffer(bytes, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }

  root(): FlatTable {
    this.need(0, 4);
    return this.table(this.view.getUint32(0, true), 0);
  }

  /** Checks that the buffer has `count` bytes at `at`, a position computed from its offsets. */
  need(at: number, count: number): void {
    if (!(at >= 0 && at + count <= this.bytes.length))
      throw new BadBytes(
        'bad_table',
        `an offset leads to ${at}, outside the ${this.bytes.length} bytes of the table`,
        at,
      );
    this.left -= count + 4;
    if (this.left < 0) throw new BadBytes('bad_table', 'the parts of the table are named too often', at);
  }

  table(at: number, depth: number): FlatTable {
    if (depth > depth_max) throw new BadBytes('bad_table', `tables are nested more than ${depth_max} deep`, at);
    this.need(at, 4);
    const vtable = at - this.view.getInt32(at, true);
    this.need(vtable, 4);
    const vtable_bytes = this.view.getUint16(vtable, true);
    const bytes = this.view.getUint16(vtable + 2, true);
    if (vtable_bytes < 4 || bytes < 4) throw new BadBytes('bad_table', 'a table says that it has no bytes', at);
    this.need(vtable, vtable_bytes);
    this.need(at, bytes);
    return new FlatTable(this, at, bytes, vtable, vtable_bytes, depth);
  }

  /** Returns the target of the offset at `at`. */
  follow(at: number): number {
    return at + this.view.getUint32(at, true);
  }

  string(at: number): string {
    this.need(at, 4);
    const length = this.view.getUint32(at, true);
    this.need(at + 4, length);
    return text_of(this.bytes.subarray(at + 4, at + 4 + length));
  }

  /**
   * Returns the position of the first element, and the number of elements, of the vector at `at`.
   */
  vector(at: number, element_bytes: number): { first: number; count: number } {
    this.need(at, 4);
    const count = this.view.getUint32(at, true);
    this.need(at + 4, count * element_bytes);
    return { first: at + 4, count };
  }
}

export class FlatTable {
  constructor(
    readonly buffer: FlatBuffer,
    readonly at: number,
    private readonly bytes: number,
    private readonly vtable: number,
    private readonly vtable_bytes: number,
    readonly depth: number,
  ) {}

  /**
   * Returns the position of the field in this slot, or 0 if it is absent. `size` is the number of
   * bytes to read.
   */
  place(slot: number, size: number): number {
    if (slot + 2 > this.vtable_bytes) return 0;
    const offset = this.buffer.view.getUint16(this.vtable + slot, true);
    if (offset === 0) return 0;
    if (offset < 4 || offset + size > this.bytes)
      throw new BadBytes('bad_table', `a field lies at ${offset} of a table of ${this.bytes} bytes`, this.at);
    return this.at + offset;
  }

  /** Returns the target of the field in this slot, or 0 if it is absent. */
  pointed(slot: number): number {
    const place = this.place(slot, 4);
    return place === 0 ? 0 : this.buffer.follow(place);
  }
  table(slot: number): FlatTable | null {
    const at = this.pointed(slot);
    return at === 0 ? null : this.buffer.table(at, this.depth + 1);
  }
  string(slot: number): string {
    const at = this.pointed(slot);
    return at === 0 ? '' : this.buffer.string(at);
  }
  strings(slot: number): string[] {
    return this.vector(slot, 4, (at) => this.buffer.string(this.buffer.follow(at)));
  }
  tables(slot: number): FlatTable[] {
    return this.vector(slot, 4, (at) => this.buffer.table(this.buffer.follow(at), this.depth + 1));
  }
  vector<T>(slot: number, element_bytes: number, read: (at: number) => T): T[] {
    const at = this.pointed(slot);
    if (at === 0) return [];
    const { first, count } = this.buffer.vector(at, element_bytes);
    const all: T[] = new Array(count);
    for (let i = 0; i < count; ++i) all[i] = read(first + i * element_bytes);
    return all;
  }
  int8(slot: number): number {
    const at = this.place(slot, 1);
    return at === 0 ? 0 : this.buffer.view.getInt8(at);
  }
  uint16(slot: number): number {
    const at = this.place(slot, 2);
    return at === 0 ? 0 : this.buffer.view.getUint16(at, true);
  }
  int32(slot: number, absent: number): number {
    const at = this.place(slot, 4);
    return at === 0 ? absent : this.buffer.view.getInt32(at, true);
  }
  int64(slot: number): bigint {
    const at = this.place(slot, 8);
    return at === 0 ? 0n : this.buffer.view.getBigInt64(at, true);
  }
  float64(slot: number): number {
    const at = this.place(slot, 8);
    return at === 0 ? 0 : this.buffer.view.getFloat64(at, true);
  }
}
