// The values of one component in a local copy, packed as the server sent them. Objects are created
// only on request.
import { BadBytes, view_of } from './bytes.js';
import { FlatBuffer } from './flatbuffer.js';
import type { Entity, TypeDescriptor } from './types.js';
import { default_bytes, element_codec, read_struct } from './values.js';
import type { StructValue } from './values.js';

/** Changes of a packed component in one consistent state of the world, as indices of entities. */
export interface PackedChanges {
  /** Full name. */
  component: string;
  column: ReplicaColumn;
  /** Entities with a changed or new value, each once. Valid until the listener returns. */
  changed: Uint32Array;
  /** The changed entities that had no value before. */
  added: number[];
  /** Entities that lost the component, except those that were destroyed or left. */
  removed: number[];
}

const rows_min = 64;

export class ReplicaColumn {
  /**
   * Row r begins at byte r * row_bytes; rows from `count` on are invalid. Replaced by another array
   * when it grows.
   */
  bytes: Uint8Array;
  count = 0;
  /** Bytes from one row to the next: the type's size, rounded up to a multiple of 4. */
  readonly row_bytes: number;
  /** By row: index and generation of the entity. */
  private entities = new Uint32Array(2 * rows_min);
  /** By index of an entity: its row + 1, or 0. */
  private rows = new Int32Array(rows_min);
  /** `bytes` as 32-bit words, and as a view for reading values. */
  private words: Uint32Array;
  private view: DataView;
  private readonly words_each: number;
  /** By index: 1 if it is in `changed`. */
  private marks = new Uint8Array(rows_min);
  private changed = new Uint32Array(rows_min);
  private changed_count = 0;
  private added: number[] = [];
  private removed: number[] = [];
  private readonly choices: readonly Choice[];

  constructor(readonly type: TypeDescriptor) {
    this.words_each = Math.ceil(type.size / 4);
    this.row_bytes = this.words_each * 4;
    this.words = new Uint32Array(rows_min * this.words_each);
    this.bytes = new Uint8Array(this.words.buffer);
    this.view = view_of(this.bytes);
    this.choices = choices_of(type);
  }

  /** Returns the row of the entity with this index, or -1. */
  row(index: number): number {
    return index < this.rows.length ? this.rows[index] - 1 : -1;
  }
  has(entity: Entity): boolean {
    return this.row_of(entity) >= 0;
  }
  /** Returns an entity's value as a new object. */
  get(entity: Entity): StructValue | undefined {
    const row = this.row_of(entity);
    return row < 0 ? undefined : read_struct(this.type, this.view, row * this.row_bytes);
  }
  /** Returns the indices of all entities with a value. */
  indices(): Uint32Array {
    return Uint32Array.from({ length: this.count }, (_, row) => this.entities[2 * row]);
  }
  entity(row: number): Entity {
    return { index: this.entities[2 * row], generation: this.entities[2 * row + 1] };
  }
  private row_of(entity: Entity): number {
    const row = this.row(entity.index);
    return row >= 0 && this.entities[2 * row + 1] === entity.generation ? row : -1;
  }

  /**
   * Takes `count` values from the view; `entities` and `values` are the positions of the first
   * ones. Calls `missing` before an entity gets its first value. If a bool or enum is invalid,
   * throws BadBytes after taking the values before it.
   */
  take(view: DataView, entities: number, values: number, count: number, missing: (entity: Entity) => void): void {
    const { words_each, choices, type } = this;
    const size = type.tag ? 0 : type.size;
    const begin = view.byteOffset + values;
    // Copies word by word if the values begin on a word boundary.
    const from =
      size > 0 && size % 4 === 0 && begin % 4 === 0 ? new Uint32Array(view.buffer, begin, words_each * count) : null;
    for (let i = 0; i < count; ++i) {
      const index = view.getUint32(entities + 8 * i, true);
      const generation = view.getUint32(entities + 8 * i + 4, true);
      if (!type.tag) for (const choice of choices) choice.read(view, values + i * size + choice.offset);
      let row = index < this.rows.length ? this.rows[index] - 1 : -1;
      if (row < 0 || this.entities[2 * row + 1] !== generation) {
        missing({ index, generation });
        row = this.add(index, generation);
      } else if (this.marks[index] === 0) {
        this.mark(index);
      }
      if (from) {
        const { words } = this;
        for (let k = 0, to = row * words_each, at = i * words_each; k < words_each; ++k) words[to + k] = from[at + k];
      } else {
        this.bytes.set(
          type.tag ? default_bytes(type) : new Uint8Array(view.buffer, begin + i * size, size),
          row * this.row_bytes,
        );
      }
    }
  }
  /** Sets the value of one entity, which must be in the copy. Fails like take(). */
  put(entity: Entity, value: DataView): void {
    for (const choice of this.choices) choice.read(value, choice.offset);
    this.write(entity, new Uint8Array(value.buffer, value.byteOffset, this.type.size));
  }
  private write(entity: Entity, bytes: Uint8Array): void {
    let row = this.row_of(entity);
    if (row < 0) row = this.add(entity.index, entity.generation);
    else if (this.marks[entity.index] === 0) this.mark(entity.index);
    this.bytes.set(bytes, row * this.row_bytes);
  }

  /**
   * Removes a value. Returns false if there was none. If `is_gone`, the entity has left the copy
   * too, which is reported elsewhere.
   */
  remove(entity: Entity, is_gone: boolean): boolean {
    if (is_gone && this.removed.length > 0) this.removed = this.removed.filter((index) => index !== entity.index);
    const row = this.row_of(entity);
    if (row < 0) return false;
    const last = --this.count;
    if (row !== last) {
      this.entities.copyWithin(2 * row, 2 * last, 2 * last + 2);
      this.words.copyWithin(row * this.words_each, last * this.words_each, (last + 1) * this.words_each);
      this.rows[this.entities[2 * row]] = row + 1;
    }
    this.rows[entity.index] = 0;
    if (!is_gone) this.removed.push(entity.index);
    return true;
  }
  clear(): void {
    while (this.count > 0) this.remove(this.entity(this.count - 1), false);
  }

  /**
   * Takes over the values of `other`, which must have the same type. Entities that have left must
   * have been removed before.
   */
  become(other: ReplicaColumn): void {
    for (let row = this.count - 1; row >= 0; --row) {
      const entity = this.entity(row);
      if (!other.has(entity)) this.remove(entity, false);
    }
    for (let row = 0; row < other.count; ++row) {
      const entity = other.entity(row);
      const mine = this.row_of(entity);
      if (mine >= 0 && this.is_same(mine, other, row)) continue;
      this.write(entity, other.bytes.subarray(row * other.row_bytes, (row + 1) * other.row_bytes));
    }
  }
  private is_same(mine: number, other: ReplicaColumn, row: number): boolean {
    const { words_each } = this;
    for (let k = 0; k < words_each; ++k)
      if (this.words[mine * words_each + k] !== other.words[row * words_each + k]) return false;
    return true;
  }

  /** Returns the changes since the last call, or null. */
  take_changes(): PackedChanges | null {
    if (this.changed_count === 0 && this.removed.length === 0) return null;
    let count = 0;
    for (let i = 0; i < this.changed_count; ++i) {
      const index = this.changed[i];
      this.marks[index] = 0;
      if (this.rows[index] > 0) this.changed[count++] = index;
    }
    const changes: PackedChanges = {
      component: this.type.name,
      column: this,
      changed: this.changed.subarray(0, count),
      added: this.added.filter((index) => this.rows[index] > 0),
      removed: this.removed.filter((index) => this.rows[index] === 0),
    };
    this.changed_count = 0;
    this.added = [];
    this.removed = [];
    return changes;
  }

  private add(index: number, generation: number): number {
    if (index >= this.rows.length) {
      const length = 2 ** Math.ceil(Math.log2(index + 1));
      this.rows = grown(this.rows, new Int32Array(length));
      this.marks = grown(this.marks, new Uint8Array(length));
    }
    const row = this.count++;
    if (2 * row >= this.entities.length) {
      this.entities = grown(this.entities, new Uint32Array(this.entities.length * 2));
      this.words = grown(this.words, new Uint32Array(this.words.length * 2));
      this.bytes = new Uint8Array(this.words.buffer);
      this.view = view_of(this.bytes);
    }
    this.entities[2 * row] = index;
    this.entities[2 * row + 1] = generation;
    this.rows[index] = row + 1;
    this.added.push(index);
    if (this.marks[index] === 0) this.mark(index);
    return row;
  }
  private mark(index: number): void {
    this.marks[index] = 1;
    if (this.changed_count === this.changed.length)
      this.changed = grown(this.changed, new Uint32Array(this.changed.length * 2));
    this.changed[this.changed_count++] = index;
  }
}

function grown<A extends Uint8Array | Uint32Array | Int32Array>(from: A, to: A): A {
  to.set(from);
  return to;
}

/** A bool or an enum in a struct, for which some bytes are invalid. */
interface Choice {
  offset: number;
  /** Throws BadBytes for an invalid value. */
  read(view: DataView, at: number): unknown;
}
function choices_of(type: TypeDescriptor, begin = 0): Choice[] {
  return type.fields.flatMap((field) => {
    const is_choice = field.element === 'boolean' || field.enumeration !== null;
    if (!is_choice && field.type === null) return [];
    return Array.from({ length: field.is_array ? field.count : 1 }, (_, i) => begin + field.offset + i * field.size).flatMap(
      (offset) => (field.type ? choices_of(field.type, offset) : [{ offset, read: element_codec(field).read }]),
    );
  });
}

/** The positions of the parts of a Values message. */
export interface ValuesPlaces {
  component: number;
  value_bytes: number;
  count: number;
  view: DataView;
  /** Positions of the first entity and the first value. */
  entities: number;
  values: number;
  values_bytes: number;
}

/**
 * Reads the table in place, without creating an object per row. `type` is the descriptor of Values.
 * Throws BadBytes if the bytes are not a Values message.
 */
export function read_values(type: TypeDescriptor, bytes: Uint8Array): ValuesPlaces {
  const table = FlatBuffer.of(bytes).root();
  const { buffer } = table;
  const slot = (name: string): number => type.fields.find((field) => field.name === name)!.slot;
  const number = (name: string): number => {
    const at = table.place(slot(name), 4);
    return at === 0 ? 0 : buffer.view.getUint32(at, true);
  };
  const vector = (name: string, size: number): { first: number; count: number } => {
    const at = table.pointed(slot(name));
    return at === 0 ? { first: 0, count: 0 } : buffer.vector(at, size);
  };
  const entities = vector('entities', 8);
  const values = vector('values', 1);
  return {
    component: number('component'),
    value_bytes: number('value_bytes'),
    count: entities.count,
    view: buffer.view,
    entities: entities.first,
    values: values.first,
    values_bytes: values.count,
  };
}

export function wrong_length(type: TypeDescriptor, { count, values_bytes, value_bytes }: ValuesPlaces): BadBytes {
  return new BadBytes('wrong_size', `${count} values of ${type.name} in ${values_bytes} bytes, each of ${value_bytes}`);
}
