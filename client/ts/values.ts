// Converts structs to plain objects and back, by their descriptors. docs/schema.md lists the
// TypeScript type of each kind of field.
import { BadBytes, hash64 } from './bytes.js';
import { mistaken } from './client_error.js';
import { scalar_bytes } from './schema_loader.js';
import type { FieldPlace } from './type_table.js';
import type { Entity, EnumDescriptor, FieldDescriptor, FieldKind, TypeDescriptor } from './types.js';

export type StructValue = Record<string, unknown>;
/** Called with each text that was given as a string, when its hash is written. */
export type TextSink = (text: string) => void;

type Read = (view: DataView, at: number) => unknown;
type Write = (view: DataView, at: number, value: unknown, path: string, texts: TextSink) => void;
interface Codec {
  read: Read;
  write: Write;
}

const codecs = new WeakMap<FieldDescriptor, Codec>();
const element_codecs = new WeakMap<FieldDescriptor, Codec>();
const defaults = new WeakMap<TypeDescriptor, Uint8Array>();

/**
 * Reads a whole struct, which must be within the view. Throws BadBytes for an invalid bool or enum.
 */
export function read_struct(type: TypeDescriptor, view: DataView, at: number): StructValue {
  const value: StructValue = {};
  for (const field of type.fields) value[field.name] = codec_of(field).read(view, at + field.offset);
  return value;
}

/**
 * Writes the given fields and leaves the others unchanged; see default_bytes. If a value does not
 * fit, throws ClientError (mistaken) that names the field; some fields may then have been written.
 */
export function write_struct(
  type: TypeDescriptor,
  view: DataView,
  at: number,
  value: unknown,
  texts: TextSink,
  path = type.name,
): void {
  if (typeof value !== 'object' || value === null) throw mistaken(`${path}: ${shown(value)} is not an object with fields`);
  const given = value as StructValue;
  for (const name of Object.keys(given)) {
    if (given[name] === undefined) continue;
    const field = type.fields.find((each) => each.name === name);
    if (!field)
      throw mistaken(`${path} has no field ${name}; it has ${type.fields.map((each) => each.name).join(', ')}`);
    codec_of(field).write(view, at + field.offset, given[name], `${path}.${name}`, texts);
  }
}

/** Writes the given fields, and defaults for the others. */
export function write_whole_struct(
  type: TypeDescriptor,
  view: DataView,
  at: number,
  value: unknown,
  texts: TextSink,
  path = type.name,
): void {
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(default_bytes(type), at);
  write_struct(type, view, at, value, texts, path);
  tell_default_texts(type, value, texts);
}

/** Passes on the texts of defaults, because the world may not know their hashes. */
function tell_default_texts(type: TypeDescriptor, value: unknown, texts: TextSink): void {
  for (const field of type.fields) {
    const given = (value as StructValue | undefined)?.[field.name];
    if (field.kind === 'text' && field.default_text !== '' && given === undefined) texts(field.default_text);
    if (field.kind === 'structure')
      for (const each of field.is_array ? ((given as unknown[] | undefined) ?? [undefined]) : [given])
        tell_default_texts(field.type!, each, texts);
  }
}

/** Returns the bytes of a struct with its defaults and zero padding. Do not change them. */
export function default_bytes(type: TypeDescriptor): Uint8Array {
  let bytes = defaults.get(type);
  if (!bytes) {
    bytes = new Uint8Array(type.size);
    const view = new DataView(bytes.buffer);
    for (const field of type.fields) fill_default(field, view, field.offset);
    defaults.set(type, bytes);
  }
  return bytes;
}

/** Reads one part of the struct that begins at `at`. */
export function read_place(place: FieldPlace, view: DataView, at: number): unknown {
  const codec = place.field.is_array && !place.whole_array ? element_codec(place.field) : codec_of(place.field);
  return codec.read(view, at + place.offset);
}
export function write_place(
  place: FieldPlace,
  view: DataView,
  at: number,
  value: unknown,
  path: string,
  texts: TextSink,
): void {
  const codec = place.field.is_array && !place.whole_array ? element_codec(place.field) : codec_of(place.field);
  codec.write(view, at + place.offset, value, path, texts);
}

export function read_entity(view: DataView, at: number): Entity {
  return { index: view.getUint32(at, true), generation: view.getUint32(at + 4, true) };
}
export function write_entity(view: DataView, at: number, entity: Entity): void {
  view.setUint32(at, entity.index, true);
  view.setUint32(at + 4, entity.generation, true);
}

export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return String(value);
}

function codec_of(field: FieldDescriptor): Codec {
  let codec = codecs.get(field);
  if (!codec) codecs.set(field, (codec = field.is_array ? array_codec(field) : element_codec(field)));
  return codec;
}

/**
 * Returns the codec of one number, flag, entity, text or struct, whether it is a struct's field, an
 * element, or inline in a table.
 */
export function element_codec(field: FieldDescriptor): Codec {
  let codec = element_codecs.get(field);
  if (!codec) element_codecs.set(field, (codec = make_element_codec(field)));
  return codec;
}

function make_element_codec(field: FieldDescriptor): Codec {
  const kind = field.element;
  if (kind === 'structure') {
    const type = field.type!;
    return {
      read: (view, at) => read_struct(type, view, at),
      write: (view, at, value, path, texts) => write_struct(type, view, at, value, texts, path),
    };
  }
  if (kind === 'entity') return { read: read_entity, write: write_reference };
  if (kind === 'boolean') return { read: read_bool, write: write_bool };
  if (kind === 'text') return { read: (view, at) => view.getBigUint64(at, true), write: write_text };
  const number = number_codec(kind);
  return field.enumeration ? enum_codec(field.enumeration, number) : number;
}

function array_codec(field: FieldDescriptor): Codec {
  const { count, size } = field;
  const { read, write } = element_codec(field);
  return {
    read: (view, at) => {
      const values = new Array<unknown>(count);
      for (let i = 0; i < count; ++i) values[i] = read(view, at + i * size);
      return values;
    },
    write: (view, at, value, path, texts) => {
      const length = array_length(value);
      if (length !== count)
        throw mistaken(`${path}: expected ${count} values, got ${length < 0 ? shown(value) : length}`);
      for (let i = 0; i < count; ++i) write(view, at + i * size, (value as unknown[])[i], `${path}[${i}]`, texts);
    },
  };
}

/** Returns the length of an array, or -1 for other values. */
export function array_length(value: unknown): number {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))
    ? (value as unknown[]).length
    : -1;
}

function write_reference(view: DataView, at: number, value: unknown, path: string): void {
  const entity = (value ?? { index: 0, generation: 0 }) as Entity;
  for (const number of [entity.index, entity.generation])
    if (!Number.isInteger(number) || number < 0 || number > 0xffffffff)
      throw mistaken(`${path}: ${shown(value)} is not an entity`);
  write_entity(view, at, entity);
}

function read_bool(view: DataView, at: number): boolean {
  const byte = view.getUint8(at);
  if (byte > 1) throw new BadBytes('bad_bool', `a bool is ${byte}, expected 0 or 1`, at);
  return byte === 1;
}
function write_bool(view: DataView, at: number, value: unknown, path: string): void {
  if (typeof value !== 'boolean') throw mistaken(`${path}: ${shown(value)} is not true or false`);
  view.setUint8(at, value ? 1 : 0);
}

function write_text(view: DataView, at: number, value: unknown, path: string, texts: TextSink): void {
  if (typeof value === 'string') {
    if (value !== '') texts(value);
    view.setBigUint64(at, value === '' ? 0n : hash64(value), true);
  } else {
    number_codec('uint64').write(view, at, value, path, texts);
  }
}

function integer(
  bytes: number,
  signed: boolean,
  read: Read,
  set: (view: DataView, at: number, value: number) => void,
): Codec {
  const min = signed ? -(2 ** (8 * bytes - 1)) : 0;
  const max = 2 ** (8 * bytes - (signed ? 1 : 0)) - 1;
  return {
    read,
    write: (view, at, value, path) => {
      if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
        throw mistaken(`${path}: ${shown(value)} is not a whole number from ${min} to ${max}`);
      set(view, at, value as number);
    },
  };
}

function wide(signed: boolean, read: Read): Codec {
  const min = signed ? -(2n ** 63n) : 0n;
  const max = signed ? 2n ** 63n - 1n : 2n ** 64n - 1n;
  return {
    read,
    write: (view, at, value, path) => {
      const number = Number.isSafeInteger(value) ? BigInt(value as number) : value;
      if (typeof number !== 'bigint' || number < min || number > max)
        throw mistaken(`${path}: ${shown(value)} is not a bigint from ${min} to ${max}`);
      view.setBigInt64(at, number, true);
    },
  };
}

function real(read: Read, set: (view: DataView, at: number, value: number) => void): Codec {
  return {
    read,
    write: (view, at, value, path) => {
      if (typeof value !== 'number') throw mistaken(`${path}: ${shown(value)} is not a number`);
      set(view, at, value);
    },
  };
}

const numbers: Partial<Record<FieldKind, Codec>> = {
  int8: integer(
    1,
    true,
    (v, at) => v.getInt8(at),
    (v, at, n) => v.setInt8(at, n),
  ),
  uint8: integer(
    1,
    false,
    (v, at) => v.getUint8(at),
    (v, at, n) => v.setUint8(at, n),
  ),
  int16: integer(
    2,
    true,
    (v, at) => v.getInt16(at, true),
    (v, at, n) => v.setInt16(at, n, true),
  ),
  uint16: integer(
    2,
    false,
    (v, at) => v.getUint16(at, true),
    (v, at, n) => v.setUint16(at, n, true),
  ),
  int32: integer(
    4,
    true,
    (v, at) => v.getInt32(at, true),
    (v, at, n) => v.setInt32(at, n, true),
  ),
  uint32: integer(
    4,
    false,
    (v, at) => v.getUint32(at, true),
    (v, at, n) => v.setUint32(at, n, true),
  ),
  int64: wide(true, (v, at) => v.getBigInt64(at, true)),
  uint64: wide(false, (v, at) => v.getBigUint64(at, true)),
  float32: real(
    (v, at) => v.getFloat32(at, true),
    (v, at, n) => v.setFloat32(at, n, true),
  ),
  float64: real(
    (v, at) => v.getFloat64(at, true),
    (v, at, n) => v.setFloat64(at, n, true),
  ),
};

function number_codec(kind: FieldKind): Codec {
  const codec = numbers[kind];
  if (!codec) throw new Error(`a ${kind} is not a number`);
  return codec;
}

/** Reads enums as numbers. Also writes names ("red", "fire|ice"). */
function enum_codec(type: EnumDescriptor, number: Codec): Codec {
  const mask = type.values.reduce((all, each) => all | BigInt(each.value), 0n);
  const known = new Set<unknown>(type.values.map((each) => each.value));
  const is_value = (value: unknown): boolean =>
    type.bit_flags ? (BigInt(value as number | bigint) & ~mask) === 0n : known.has(value);
  return {
    read: (view, at) => {
      const value = number.read(view, at);
      if (!is_value(value)) throw new BadBytes('bad_enum', `${String(value)} is not a value of ${type.name}`, at);
      return value;
    },
    write: (view, at, value, path, texts) => {
      const meant = typeof value === 'string' ? enum_value(type, value) : value;
      if (meant === undefined) throw mistaken(`${path}: ${shown(value)} is not a value of ${type.name}`);
      number.write(view, at, meant, path, texts);
      if (!is_value(number.read(view, at))) throw mistaken(`${path}: ${shown(value)} is not a value of ${type.name}`);
    },
  };
}

/** Returns the value of names ("red", "fire|ice") or of a number; undefined if it is invalid. */
function enum_value(type: EnumDescriptor, text: string): number | bigint | undefined {
  let value = 0n;
  for (const part of text.split('|').map((each) => each.trim())) {
    const named =
      type.values.find((each) => each.name === part)?.value ?? (/^-?\d+$/.test(part) ? BigInt(part) : undefined);
    if (named === undefined) return undefined;
    value |= BigInt(named);
  }
  return type.underlying === 'int64' || type.underlying === 'uint64' ? value : Number(value);
}

function parsed(field: FieldDescriptor, text: string): unknown {
  const trimmed = text.trim();
  const plain = trimmed.replace(/^\+/, '');
  if (field.enumeration) return enum_value(field.enumeration, trimmed);
  if (field.element === 'boolean') return trimmed === 'true' || trimmed === '1';
  if (field.element === 'int64' || field.element === 'uint64')
    return /^-?\d+$|^0x[0-9a-fA-F]+$/.test(plain) ? BigInt(plain) : undefined;
  return Number(plain);
}

/** Returns the default of a number in a table, which is zero if none is given. */
export function scalar_default(field: FieldDescriptor): unknown {
  if (field.default_text !== '') return parsed(field, field.default_text);
  const view = new DataView(new ArrayBuffer(scalar_bytes[field.element]));
  return field.enumeration ? number_codec(field.element).read(view, 0) : element_codec(field).read(view, 0);
}

const no_texts: TextSink = () => {};

function fill_default(field: FieldDescriptor, view: DataView, at: number): void {
  const text = field.default_text;
  if (text === '') {
    if (field.kind === 'structure')
      for (let i = 0; i < field.count; ++i)
        new Uint8Array(view.buffer, view.byteOffset).set(default_bytes(field.type!), at + i * field.size);
    return;
  }
  if (field.kind === 'text') return write_text(view, at, text, field.name, no_texts);
  let values = field.is_array || field.kind === 'structure' ? text.split(',') : [text];
  if (field.is_array && field.kind !== 'structure' && values.length === 1)
    values = new Array<string>(field.count).fill(values[0]);
  fill_leaves(field, values, view, at);
}

/** Fills all numbers of a field from `values` in order, including those in nested structs. */
function fill_leaves(field: FieldDescriptor, values: string[], view: DataView, at: number): void {
  for (let i = 0; i < field.count; ++i) {
    const place = at + i * field.size;
    if (field.kind === 'structure') {
      for (const inner of field.type!.fields) fill_leaves(inner, values, view, place + inner.offset);
    } else {
      const text = values.shift();
      if (text !== undefined) element_codec(field).write(view, place, parsed(field, text), field.name, no_texts);
    }
  }
}
