// Values of a packed component as objects. Equal values that occur close together share one object,
// because most worlds use a few shapes and colors many times.
import type { ReplicaColumn } from './world.js';

const kept_max = 8;

export class SharedValues<T extends object> {
  private readonly kept: { words: Uint32Array; value: T }[] = [];
  private next = 0;
  private column: ReplicaColumn | null = null;
  private words = new Uint32Array();

  /** Returns the value of the entity with this index, or undefined. Do not change it. */
  get(column: ReplicaColumn, index: number): T | undefined {
    const row = column.row(index);
    if (row < 0) return undefined;
    if (this.column !== column) this.kept.length = this.next = 0;
    this.column = column;
    if (this.words.buffer !== column.bytes.buffer)
      this.words = new Uint32Array(column.bytes.buffer as ArrayBuffer);
    const each = column.row_bytes / 4;
    const known = this.kept.find(({ words }) => this.is_same(words, row * each));
    if (known) return known.value;
    const value = column.get(column.entity(row)) as T;
    this.kept[this.next] = { words: this.words.slice(row * each, (row + 1) * each), value };
    this.next = (this.next + 1) % kept_max;
    return value;
  }
  private is_same(words: Uint32Array, at: number): boolean {
    for (let i = 0; i < words.length; ++i) if (words[i] !== this.words[at + i]) return false;
    return true;
  }
}
