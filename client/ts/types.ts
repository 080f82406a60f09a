// Descriptions of types at run time, as in schema/descriptor.h, read from binary schemas
// (schema_loader.ts).
import { hash64 } from './bytes.js';

export type TypeRole = 'plain' | 'component' | 'message' | 'table_message';
export type FieldKind =
  | 'boolean'
  | 'int8'
  | 'uint8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'float32'
  | 'float64'
  | 'entity'
  | 'text'
  | 'structure'
  | 'string'
  | 'vector'
  | 'table';

/** The right that a client needs to send a message. Each right includes those before it. */
export const rights = ['none', 'view', 'edit', 'control', 'admin'] as const;
export type Right = (typeof rights)[number];

/**
 * The id of an entity. Index 0 with generation 0 is nil, which means no entity. An id is never
 * reused.
 */
export interface Entity {
  index: number;
  generation: number;
}
export const nil: Readonly<Entity> = Object.freeze({ index: 0, generation: 0 });
export function is_nil(entity: Entity): boolean {
  return entity.index === 0 && entity.generation === 0;
}
export function same_entity(a: Entity, b: Entity): boolean {
  return a.index === b.index && a.generation === b.generation;
}
/** Returns "12:1", as the command line and the server write ids. */
export function id_text(entity: Entity): string {
  return `${entity.index}:${entity.generation}`;
}

export interface EnumValue {
  name: string;
  /** A number, or a bigint if the underlying type has 64 bits. */
  value: number | bigint;
  doc: string;
}

export interface EnumDescriptor {
  /** Full name, "game.Team". */
  name: string;
  underlying: FieldKind;
  /** True if values are masks, so that any combination is valid. */
  bit_flags: boolean;
  values: EnumValue[];
  doc: string;
}

/**
 * One field. In a struct, it has `count` elements of `size` bytes at `offset`. In a table, `slot`
 * is its index in the vtable.
 */
export interface FieldDescriptor {
  name: string;
  kind: FieldKind;
  /** Kind of a vector's elements; otherwise equal to `kind`. */
  element: FieldKind;
  offset: number;
  /** Size of one element in bytes; 0 for strings, tables, and vectors of these. */
  size: number;
  count: number;
  is_array: boolean;
  slot: number;
  /** Type of a struct or table, or of a vector's elements. */
  type: TypeDescriptor | null;
  enumeration: EnumDescriptor | null;
  /** As in the schema ("100", "1, 0, 0", "red"); empty for zero. */
  default_text: string;
  unit: string;
  range: { min: number; max: number } | null;
  color: boolean;
  asset: boolean;
  /** For tables: true if the field must be present. */
  required: boolean;
  /** For tables: true for a number without a default, which is null if absent. */
  optional: boolean;
  was: string;
  doc: string;
}

export interface TypeDescriptor {
  /** hash32 of the full name. */
  id: number;
  /** Full name with namespace, "game.Health". */
  name: string;
  /** hash64 of the layout as text. Equal fingerprints mean equal bytes. */
  fingerprint: bigint;
  role: TypeRole;
  is_table: boolean;
  /** True for a component without data. */
  tag: boolean;
  /**
   * True for a component that is added and removed without moving its row. Part of the fingerprint.
   */
  enableable: boolean;
  /** Bytes of a struct, padding included; 0 for tables. */
  size: number;
  align: number;
  /** Ordered by offset (structs) or slot (tables). */
  fields: FieldDescriptor[];
  /** The right needed to send the message or write the component. */
  remote: Right;
  was: string;
  doc: string;
  /** Path of the declaring file: "//game.fbs". */
  file: string;
}

/** The key of a type, written by schemac --ts. Connects the name with T, the type of its values. */
export interface TypeKey<T> {
  readonly name: string;
  readonly id: number;
  readonly fingerprint: bigint;
  readonly role: TypeRole;
  readonly value?: T;
}

/**
 * Names a type by its key from schemac, its descriptor, its full name, or the last part of the
 * name.
 */
export type TypeRef<T = unknown> = TypeKey<T> | TypeDescriptor | string;

/**
 * A value to send. Omitted fields have their defaults. A `text` field also accepts the text itself.
 * For types unknown to the compiler, any object is accepted.
 */
export type Init<T> = unknown extends T
  ? Record<string, unknown>
  : T extends bigint
    ? bigint | string
    : T extends Uint8Array | number | string | boolean | null
      ? T
      : T extends (infer E)[]
        ? Init<E>[]
        : { [K in keyof T]?: Init<T[K]> };

/**
 * Returns hash64 of the layout as text (schema/layout.h). The types of its fields must already have
 * their fingerprints.
 */
export function layout_fingerprint(type: TypeDescriptor): bigint {
  let text = type.is_table ? 'table\n' : `struct ${type.size} ${type.align}${type.enableable ? ' enableable' : ''}\n`;
  for (const field of type.fields) {
    text += `${type.is_table ? field.slot : field.offset} ${field.kind} `;
    if (field.kind === 'vector') text += field.element + ' ';
    if (!type.is_table) text += field.count + ' ';
    text += field.name;
    if (field.element === 'table') text += ' ' + field.type!.name;
    if (field.element === 'structure') text += ' ' + field.type!.fingerprint.toString(16).padStart(16, '0');
    text += '\n';
  }
  return hash64(text);
}
