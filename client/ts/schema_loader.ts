// Reads binary schemas (.bfbs), in the format of FlatBuffers' reflection.fbs, into descriptors.
import { BadBytes, hash32, plain_bytes, text_of } from './bytes.js';
import { FlatBuffer, FlatTable } from './flatbuffer.js';
import { layout_fingerprint, rights } from './types.js';
import type { EnumDescriptor, FieldDescriptor, FieldKind, Right, TypeDescriptor } from './types.js';

// From reflection.fbs of FlatBuffers 2: BaseType, and the slots of the fields that this file reads.
const base_string = 13;
const base_vector = 14;
const base_object = 15;
const base_array = 17;
const kinds: readonly FieldKind[] = [
  'boolean',
  'int8',
  'uint8',
  'int16',
  'uint16',
  'int32',
  'uint32',
  'int64',
  'uint64',
  'float32',
  'float64',
]; // for the base types from 2 on
const struct_bytes_max = 65535;
const struct_depth_max = 32;
const name_bytes_max = 255;

export const scalar_bytes: Readonly<Record<FieldKind, number>> = {
  boolean: 1,
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
  float32: 4,
  float64: 8,
  entity: 8,
  text: 8,
  structure: 0,
  string: 0,
  vector: 0,
  table: 0,
};

/** Reads all types and enums of a binary schema. Throws a BadBytes that names type and field. */
export function load_schema(given: Uint8Array): { types: TypeDescriptor[]; enums: EnumDescriptor[] } {
  const bytes = plain_bytes(given);
  if (bytes.length < 16 || text_of(bytes.subarray(4, 8)) !== 'BFBS')
    throw new BadBytes('bad_schema', 'this is not a binary schema (.bfbs)');
  try {
    return new Loader(FlatBuffer.of(bytes).root()).load();
  } catch (error) {
    if (error instanceof BadBytes && error.reason === 'bad_table')
      throw new BadBytes('bad_schema', 'this binary schema (.bfbs) is damaged or cut off: ' + error.message);
    throw error;
  }
}

function fail(type: string, field: string, what: string): never {
  throw new BadBytes('bad_schema', [type + (field && '.' + field), what].filter((part) => part).join(': '));
}

function check_name(name: string, dots: boolean, type: string, what: string): string {
  const pattern = dots ? /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/ : /^[A-Za-z_]\w*$/;
  // A field with that name would set the prototype of its object.
  if (!pattern.test(name) || name.length > name_bytes_max || name === '__proto__')
    fail(type, '', what + ' is no identifier');
  return name;
}

function documentation(lines: string[]): string {
  return lines.map((line) => (line.startsWith(' ') ? line.slice(1) : line)).join('\n');
}

function attributes(tables: FlatTable[]): Map<string, string> {
  return new Map(tables.map((table) => [table.string(4), table.string(6)]));
}

/** Formats a number like the C++ code. */
function real_text(value: number, kind: FieldKind): string {
  if (kind !== 'float32') return String(value);
  for (let digits = 1; digits < 10; ++digits) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === Math.fround(value)) return String(Number(text));
  }
  return String(value);
}

interface Declared {
  type: TypeDescriptor;
  from: FlatTable;
  progress: 'declared' | 'open' | 'complete';
}

class Loader {
  private enums: EnumDescriptor[] = [];
  private unions: boolean[] = [];
  private declared: Declared[] = [];

  constructor(private readonly schema: FlatTable) {}

  load(): { types: TypeDescriptor[]; enums: EnumDescriptor[] } {
    for (const from of this.schema.tables(6)) this.load_enum(from);
    for (const from of this.schema.tables(4)) this.declare(from);
    for (const each of this.declared) if (!each.type.is_table) this.complete_struct(each, 0);
    for (const each of this.declared) if (each.type.is_table) this.complete_table(each);
    return { types: this.declared.map((each) => each.type), enums: this.enums };
  }

  private load_enum(from: FlatTable): void {
    const name = check_name(from.string(4), true, '', "an enum's name");
    const union = from.int8(8) !== 0;
    const made: EnumDescriptor = {
      name,
      underlying: 'int32',
      bit_flags: false,
      values: [],
      doc: documentation(from.strings(14)),
    };
    this.enums.push(made);
    this.unions.push(union);
    if (union) return; // fields of this type are refused later
    const base = from.table(10)?.int8(4) ?? 0;
    if (base < 3 || base > 10) fail(name, '', 'underlying type is not an integer');
    made.underlying = kinds[base - 2];
    made.bit_flags = attributes(from.tables(12)).has('bit_flags');
    for (const value of from.tables(6)) {
      const number = value.int64(6);
      made.values.push({
        name: check_name(value.string(4), false, name, "a value's name"),
        value:
          made.underlying === 'uint64'
            ? BigInt.asUintN(64, number)
            : made.underlying === 'int64'
              ? number
              : Number(number),
        doc: documentation(value.strings(12)),
      });
    }
  }

  private declare(from: FlatTable): void {
    const name = check_name(from.string(4), true, '', "a type's name");
    const is_table = from.int8(8) === 0;
    const marks = attributes(from.tables(14));
    const tag = marks.has('tag');
    const component = marks.has('component') || tag;
    const enableable = marks.has('enableable');
    const message = marks.has('message');
    if (component && (message || is_table)) fail(name, '', 'a component must be a struct, and cannot be a message');
    if (enableable && !component) fail(name, '', "attribute 'enableable' needs a component");
    const remote = (marks.get('remote') ?? 'edit') as Right;
    if (!rights.includes(remote)) fail(name, '', `remote '${remote}' is not one of ${rights.join(', ')}`);
    const type: TypeDescriptor = {
      id: hash32(name),
      name,
      fingerprint: 0n,
      is_table,
      tag,
      enableable,
      size: 0,
      align: 16,
      fields: [],
      remote,
      role: component ? 'component' : message ? (is_table ? 'table_message' : 'message') : 'plain',
      was: marks.get('was') ?? '',
      doc: documentation(from.strings(16)),
      file: from.string(18),
    };
    if (this.declared.some((other) => other.type.id === type.id))
      fail(name, '', 'declared twice, or its id is that of another type');
    this.declared.push({ type, from, progress: 'declared' });
  }

  private common(type: TypeDescriptor, from: FlatTable): FieldDescriptor {
    return {
      name: check_name(from.string(4), false, type.name, "a field's name"),
      kind: 'int32',
      element: 'int32',
      offset: 0,
      size: 0,
      count: 1,
      is_array: false,
      slot: 0,
      type: null,
      enumeration: null,
      default_text: '',
      unit: '',
      range: null,
      color: false,
      asset: false,
      required: false,
      optional: false,
      was: '',
      doc: documentation(from.strings(24)),
    };
  }

  /** Reads the kind of a field, or of the elements of an array or vector. */
  private read_kind(type: TypeDescriptor, field: FieldDescriptor, base: number, index: number): FieldKind {
    if (base >= 2 && base < 2 + kinds.length) {
      const kind = kinds[base - 2];
      field.size = scalar_bytes[kind];
      if (index < 0) return kind;
      const enumeration = this.enums[index];
      if (!enumeration || this.unions[index]) fail(type.name, field.name, 'its enum is not in the schema');
      if (enumeration.underlying !== kind) fail(type.name, field.name, 'its enum has another underlying type');
      field.enumeration = enumeration;
      return kind;
    }
    if (base !== base_object) fail(type.name, field.name, 'has a type that is not supported');
    const inner = this.declared[index];
    if (!inner) fail(type.name, field.name, 'its type is not in the schema');
    field.type = inner.type;
    if (inner.type.is_table) return 'table';
    field.size = inner.from.int32(12, 0);
    if (inner.type.name !== 'muster.Entity') return 'structure';
    if (field.size !== 8) fail(inner.type.name, '', 'is not the Entity of schema/muster.fbs');
    return 'entity';
  }

  private read_attributes(type: TypeDescriptor, field: FieldDescriptor, from: FlatTable): void {
    const marks = attributes(from.tables(22));
    if (marks.has('text')) {
      if (field.element !== 'uint64') fail(type.name, field.name, "attribute 'text' needs a field of type ulong");
      if (field.kind !== 'vector') field.kind = 'text';
      field.element = 'text';
    }
    field.default_text = marks.get('default') ?? '';
    field.unit = marks.get('unit') ?? '';
    field.was = marks.get('was') ?? '';
    field.color = marks.has('color');
    field.asset = marks.has('asset');
    const range = marks.get('range')?.split(',').map(Number);
    if (range) {
      if (range.length !== 2 || !range.every(Number.isFinite)) fail(type.name, field.name, 'range is not two numbers');
      field.range = { min: range[0], max: range[1] };
    }
  }

  private complete_struct(declared: Declared, depth: number): void {
    const { type, from } = declared;
    if (declared.progress === 'complete') return;
    if (declared.progress === 'open') fail(type.name, '', 'contains itself');
    if (depth > struct_depth_max) fail(type.name, '', 'structs are nested more than 32 deep');
    declared.progress = 'open';
    type.align = from.int32(10, 0);
    type.size = from.int32(12, 0);
    if (![1, 2, 4, 8, 16].includes(type.align)) fail(type.name, '', `alignment ${type.align} is not 1, 2, 4, 8 or 16`);
    if (type.size <= 0 || type.size > struct_bytes_max || type.size % type.align !== 0)
      fail(type.name, '', `size ${type.size} is outside 1..65535 bytes, or not a multiple of its alignment`);
    for (const each of from.tables(6)) type.fields.push(this.struct_field(type, each, depth));
    if (type.fields.length === 0) fail(type.name, '', 'a struct needs a field');
    type.fields.sort((a, b) => a.offset - b.offset);
    let end = 0;
    for (const field of type.fields) {
      const align = field.type ? field.type.align : field.size;
      if (align > type.align || field.offset % align !== 0) fail(type.name, field.name, 'is misaligned');
      if (field.offset < end) fail(type.name, field.name, 'overlaps the field before it');
      end = field.offset + field.size * field.count;
      if (end > type.size) fail(type.name, field.name, 'lies outside the struct');
    }
    type.fingerprint = layout_fingerprint(type);
    declared.progress = 'complete';
  }

  private struct_field(type: TypeDescriptor, from: FlatTable, depth: number): FieldDescriptor {
    const field = this.common(type, from);
    const declared = from.table(6) ?? fail(type.name, field.name, 'has no type');
    let base = declared.int8(4);
    if (base === base_array) {
      field.is_array = true;
      field.count = declared.uint16(10);
      base = declared.int8(6);
      if (field.count === 0) fail(type.name, field.name, 'an array needs a length');
    }
    const index = declared.int32(8, -1);
    field.kind = field.element = this.read_kind(type, field, base, index);
    if (field.kind === 'table') fail(type.name, field.name, 'a struct cannot hold a table');
    if (field.type) this.complete_struct(this.declared[index], depth + 1);
    field.offset = from.uint16(10);
    this.read_attributes(type, field, from);
    return field;
  }

  private complete_table(declared: Declared): void {
    const { type, from } = declared;
    for (const each of from.tables(6)) if (each.int8(16) === 0) type.fields.push(this.table_field(type, each));
    type.fields.sort((a, b) => a.slot - b.slot);
    type.fields.forEach((field, i) => {
      if (i > 0 && field.slot === type.fields[i - 1].slot)
        fail(type.name, field.name, 'shares its place with another field');
    });
    type.fingerprint = layout_fingerprint(type);
    declared.progress = 'complete';
  }

  private table_field(type: TypeDescriptor, from: FlatTable): FieldDescriptor {
    const field = this.common(type, from);
    const declared = from.table(6) ?? fail(type.name, field.name, 'has no type');
    const base = declared.int8(4);
    const index = declared.int32(8, -1);
    if (base === base_string) {
      field.kind = field.element = 'string';
    } else if (base === base_vector) {
      field.kind = 'vector';
      const element = declared.int8(6);
      field.element = element === base_string ? 'string' : this.read_kind(type, field, element, index);
    } else {
      field.kind = field.element = this.read_kind(type, field, base, index);
    }
    field.slot = from.uint16(10);
    if (field.slot < 4 || field.slot % 2 !== 0) fail(type.name, field.name, 'has no place in the table');
    const scalar = base < base_string;
    field.required = from.int8(18) !== 0;
    field.optional = from.int8(26) !== 0 && scalar;
    this.read_attributes(type, field, from);
    if (scalar && !field.optional) field.default_text = this.table_default(field, from);
    return field;
  }

  private table_default(field: FieldDescriptor, from: FlatTable): string {
    if (field.kind === 'float32' || field.kind === 'float64') {
      const real = from.float64(14);
      return real === 0 ? '' : real_text(real, field.kind);
    }
    const integer = from.int64(12);
    if (integer === 0n || field.kind === 'text') return '';
    if (field.kind === 'boolean') return 'true';
    const named = field.enumeration?.values.find((value) => BigInt.asIntN(64, BigInt(value.value)) === integer);
    return named ? named.name : String(field.kind === 'uint64' ? BigInt.asUintN(64, integer) : integer);
  }
}
