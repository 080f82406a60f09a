// What is known of types at run time, as schema/descriptor.h has it. All of it is read from binary schemas (schema_loader.ts).
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

/** Who may send a message from outside; each includes the ones before it. */
export const rights = ['none', 'view', 'edit', 'control', 'admin'] as const;
export type Right = (typeof rights)[number];

/** The id of an entity. Index and generation 0: nil, no entity. An id never names two entities. */
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
/** "12:1", as the command line and the server write it. */
export function id_text(entity: Entity): string {
  return `${entity.index}:${entity.generation}`;
}

export interface EnumValue {
  name: string;
  /** Of the underlying type: a bigint where that has 64 bits. */
  value: number | bigint;
  doc: string;
}

export interface EnumDescriptor {
  /** Full name, "game.Team". */
  name: string;
  underlying: FieldKind;
  /** Values are masks, and any combination is valid. */
  bit_flags: boolean;
  values: EnumValue[];
  doc: string;
}

/** One field. Of structs: at `offset`, `count` elements of `size` bytes. Of tables: `slot` is its place in the vtable. */
export interface FieldDescriptor {
  name: string;
  kind: FieldKind;
  /** Of a vector's elements; else as `kind`. */
  element: FieldKind;
  offset: number;
  /** Bytes of one element; 0 for string, vector of strings or tables, table. */
  size: number;
  count: number;
  is_array: boolean;
  slot: number;
  /** Of a struct or table, or of a vector's elements. */
  type: TypeDescriptor | null;
  enumeration: EnumDescriptor | null;
  /** As written in the schema ("100", "1, 0, 0", "red"); empty: zero. */
  default_text: string;
  unit: string;
  range: { min: number; max: number } | null;
  color: boolean;
  asset: boolean;
  /** Of tables: absence is refused. */
  required: boolean;
  /** Of tables: a number without default; null says that it is absent. */
  optional: boolean;
  was: string;
  doc: string;
}

export interface TypeDescriptor {
  /** hash32 of the full name. */
  id: number;
  /** Full name with namespace, "game.Health". */
  name: string;
  /** hash64 of the layout as text; equal ones mean equal bytes. */
  fingerprint: bigint;
  role: TypeRole;
  is_table: boolean;
  /** A component without data. */
  tag: boolean;
  /** A component that comes and goes without its row moving; a part of the fingerprint. */
  enableable: boolean;
  /** Bytes of a struct, padding included; 0 for tables. */
  size: number;
  align: number;
  /** By offset (structs) or slot (tables). */
  fields: FieldDescriptor[];
  /** Least right that sends the message or writes the component. */
  remote: Right;
  was: string;
  doc: string;
  /** Where it is declared: "//game.fbs". */
  file: string;
}

/** What schemac --ts writes for a type: names it, and ties T, what its values are, to the name. */
export interface TypeKey<T> {
  readonly name: string;
  readonly id: number;
  readonly fingerprint: bigint;
  readonly role: TypeRole;
  readonly value?: T;
}

/** A type, in any of the ways to name one: schemac's key, a descriptor, or the name, full or its last part. */
export type TypeRef<T = unknown> = TypeKey<T> | TypeDescriptor | string;

/**
 * A value to be sent: what is left out has its default. A `text` field takes the text itself too. Of types that the compiler does not
 * know, any object.
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

/** hash64 of the layout as text, which schema/layout.h draws. The types of its fields must have theirs. */
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
