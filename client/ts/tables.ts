// Converts FlatBuffers tables to plain objects and back, by their descriptors.
import { BadBytes, GrowingBytes, utf8 } from './bytes.js';
import { mistaken } from './client_error.js';
import { FlatBuffer } from './flatbuffer.js';
import type { FlatTable } from './flatbuffer.js';
import { scalar_bytes } from './schema_loader.js';
import { is_nil } from './types.js';
import type { Entity, FieldDescriptor, TypeDescriptor } from './types.js';
import { array_length, element_codec, scalar_default, shown, write_whole_struct } from './values.js';
import type { StructValue, TextSink } from './values.js';

/** Reads the table in `bytes`. Throws BadBytes if the bytes are not such a table. */
export function read_table(type: TypeDescriptor, bytes: Uint8Array): StructValue {
  return read_fields(type, FlatBuffer.of(bytes).root());
}

function read_fields(type: TypeDescriptor, table: FlatTable): StructValue {
  const value: StructValue = {};
  for (const field of type.fields) {
    value[field.name] = read_field(field, table);
    if (field.required && table.place(field.slot, 1) === 0)
      throw new BadBytes('bad_table', `${type.name}.${field.name} is required and absent`, table.at);
  }
  return value;
}

function read_field(field: FieldDescriptor, table: FlatTable): unknown {
  switch (field.kind) {
    case 'string':
      return table.string(field.slot);
    case 'table': {
      const inner = table.table(field.slot);
      return inner && read_fields(field.type!, inner);
    }
    case 'vector':
      return read_vector(field, table);
    default: {
      const at = table.place(field.slot, field.size);
      if (at !== 0) return element_codec(field).read(table.buffer.view, at);
      if (field.kind === 'structure' || field.optional) return null;
      return scalar_default(field);
    }
  }
}

function read_vector(field: FieldDescriptor, table: FlatTable): unknown {
  if (field.element === 'string') return table.strings(field.slot);
  if (field.element === 'table') return table.tables(field.slot).map((inner) => read_fields(field.type!, inner));
  if (field.element === 'uint8' && !field.enumeration) {
    const at = table.pointed(field.slot);
    if (at === 0) return new Uint8Array(0);
    const { first, count } = table.buffer.vector(at, 1);
    return table.buffer.bytes.slice(first, first + count);
  }
  const { read } = element_codec(field);
  return table.vector(field.slot, field.size, (at) => read(table.buffer.view, at));
}

/**
 * Encodes a table as a FlatBuffer. Throws ClientError (mistaken) with the field if a value does not
 * fit.
 */
export function write_table(type: TypeDescriptor, value: unknown, texts: TextSink): Uint8Array {
  const out = new GrowingBytes();
  out.add(4);
  write_fields(out, type, value, 0, texts, type.name, 0);
  return out.take();
}

const depth_max = 64;

/** Appends a table and everything that it refers to, and sets the offset at `from` to the table. */
function write_fields(
  out: GrowingBytes,
  type: TypeDescriptor,
  value: unknown,
  from: number,
  texts: TextSink,
  path: string,
  depth: number,
): void {
  if (typeof value !== 'object' || value === null) throw mistaken(`${path}: ${shown(value)} is not an object with fields`);
  if (depth > depth_max) throw mistaken(`${path}: tables are nested more than ${depth_max} deep`);
  const given = value as StructValue;
  for (const name of Object.keys(given))
    if (given[name] !== undefined && !type.fields.some((field) => field.name === name))
      throw mistaken(`${path} has no field ${name}; it has ${type.fields.map((field) => field.name).join(', ')}`);
  const present = type.fields.filter((field) => is_present(field, given[field.name], path));

  // The vtable is before its table, and everything else after it, so all later offsets point
  // forward.
  out.align(2);
  const slots = present.length === 0 ? 0 : Math.max(...present.map((field) => field.slot)) / 2 - 1;
  const vtable = out.add(4 + 2 * slots);
  out.align(4);
  const at = out.add(4);
  out.view.setInt32(at, at - vtable, true);
  point(out, from, at);
  const places = new Map<FieldDescriptor, number>();
  for (const field of present) {
    const pointer = field.kind === 'string' || field.kind === 'vector' || field.kind === 'table';
    out.align(pointer ? 4 : alignment(field));
    const place = out.add(pointer ? 4 : field.size);
    places.set(field, place);
    out.view.setUint16(vtable + field.slot, place - at, true);
  }
  if (out.length - at > 0xffff) throw mistaken(`${path}: its fields take more than 65535 bytes`);
  out.view.setUint16(vtable, 4 + 2 * slots, true);
  out.view.setUint16(vtable + 2, out.length - at, true);
  for (const field of present)
    write_field(out, field, given[field.name], places.get(field)!, texts, `${path}.${field.name}`, depth);
}

function alignment(field: FieldDescriptor): number {
  return field.element === 'structure' ? field.type!.align : scalar_bytes[field.element];
}

function point(out: GrowingBytes, from: number, to: number): void {
  out.view.setUint32(from, to - from, true);
}

/** Returns false for empty values that are not required, like schemac's classes. */
function is_present(field: FieldDescriptor, value: unknown, path: string): boolean {
  if (value === undefined || value === null) {
    if (field.required && (field.kind === 'table' || field.kind === 'structure'))
      throw mistaken(`${path}.${field.name} is required and was left out`);
    return field.required;
  }
  if (field.required || field.optional) return true;
  if (field.kind === 'string') return value !== '';
  if (field.kind === 'vector') return array_length(value) !== 0;
  if (field.kind === 'entity') return !is_nil(value as Entity);
  if (field.kind === 'table' || field.kind === 'structure') return true;
  return value !== scalar_default(field);
}

function write_field(
  out: GrowingBytes,
  field: FieldDescriptor,
  value: unknown,
  place: number,
  texts: TextSink,
  path: string,
  depth: number,
): void {
  switch (field.kind) {
    case 'string':
      return write_string(out, value ?? '', place, path);
    case 'table':
      return write_fields(out, field.type!, value, place, texts, path, depth + 1);
    case 'vector':
      return write_vector(out, field, value ?? [], place, texts, path, depth);
    default:
      write_inline(out, field, value, place, texts, path);
  }
}

function write_inline(
  out: GrowingBytes,
  field: FieldDescriptor,
  value: unknown,
  place: number,
  texts: TextSink,
  path: string,
): void {
  if (field.element === 'structure') {
    write_whole_struct(field.type!, out.view, place, value, texts, path);
  } else {
    element_codec(field).write(out.view, place, value, path, texts);
  }
}

function write_string(out: GrowingBytes, value: unknown, from: number, path: string): void {
  if (typeof value !== 'string') throw mistaken(`${path}: ${shown(value)} is not a string`);
  const bytes = utf8(value);
  out.align(4);
  const at = out.add(4 + bytes.length + 1);
  point(out, from, at);
  out.view.setUint32(at, bytes.length, true);
  out.bytes.set(bytes, at + 4);
}

function write_vector(
  out: GrowingBytes,
  field: FieldDescriptor,
  value: unknown,
  from: number,
  texts: TextSink,
  path: string,
  depth: number,
): void {
  const count = array_length(value);
  if (count < 0) throw mistaken(`${path}: ${shown(value)} is not an array`);
  const values = value as unknown[];
  const pointers = field.element === 'string' || field.element === 'table';
  const size = pointers ? 4 : field.size;
  const align = pointers ? 4 : Math.max(4, alignment(field));
  // The count is directly before the first element, which has the required alignment.
  out.align(4);
  while ((out.length + 4) % align !== 0) out.add(4);
  const at = out.add(4 + count * size);
  point(out, from, at);
  out.view.setUint32(at, count, true);
  if (value instanceof Uint8Array && field.element === 'uint8') return out.bytes.set(value, at + 4);
  for (let i = 0; i < count; ++i) {
    const place = at + 4 + i * size;
    if (field.element === 'string') write_string(out, values[i], place, `${path}[${i}]`);
    else if (field.element === 'table')
      write_fields(out, field.type!, values[i], place, texts, `${path}[${i}]`, depth + 1);
    else write_inline(out, field, values[i], place, texts, `${path}[${i}]`);
  }
}
