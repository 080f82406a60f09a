// Component values as objects: access by path, and copies that can be sent in another session.
import { default_bytes, read_struct } from 'muster-client';
import type { Entity, FieldDescriptor, StructValue, TypeDescriptor } from 'muster-client';

/** Returns the value at "position.x" or "slots[2].count"; undefined if there is none. */
export function at_path(value: unknown, path: string): unknown {
  let at = value;
  for (const part of path.split(/[.[\]]+/)) {
    if (part === '') continue;
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as StructValue)[part];
  }
  return at;
}

/** Returns a copy in which the part at `path` is replaced. */
export function with_path(value: unknown, path: string, part: unknown): unknown {
  const [first, ...rest] = path.split(/[.[\]]+/).filter((each) => each !== '');
  if (first === undefined) return part;
  const inner = with_path((value as StructValue | undefined)?.[first], rest.join('.'), part);
  if (Array.isArray(value)) return value.map((each: unknown, i) => (i === Number(first) ? inner : each));
  return { ...(value as StructValue), [first]: inner };
}

/** NaN equals NaN; 0 and -0 differ. */
export function same_value(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => key in b && same_value((a as StructValue)[key], (b as StructValue)[key]));
}

export function default_value(type: TypeDescriptor): StructValue {
  const bytes = default_bytes(type);
  return read_struct(type, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0);
}

/** Returns a copy with the leaves that `leaf` replaces. */
export function mapped(
  type: TypeDescriptor,
  value: StructValue,
  leaf: (field: FieldDescriptor, value: unknown) => unknown,
): StructValue {
  return Object.fromEntries(
    type.fields.map((field) => [field.name, mapped_part(field, field.is_array, value[field.name], leaf)]),
  );
}
/**
 * Maps the value of one field, or with `is_array` each of its elements. Omitted fields stay
 * omitted.
 */
function mapped_part(
  field: FieldDescriptor,
  is_array: boolean,
  part: unknown,
  leaf: (field: FieldDescriptor, value: unknown) => unknown,
): unknown {
  if (part === undefined) return part;
  if (is_array) return (part as unknown[]).map((each) => mapped_part(field, false, each, leaf));
  return field.element === 'structure' ? mapped(field.type!, part as StructValue, leaf) : leaf(field, part);
}

/** Replaces hashes with their texts, because a hash is meaningful only within one session. */
export function with_texts(type: TypeDescriptor, value: StructValue, text: (hash: bigint) => string): StructValue {
  return mapped(type, value, (field, each) =>
    field.element === 'text' && typeof each === 'bigint' ? (each === 0n ? '' : text(each) || each) : each,
  );
}

/** Replaces references to some entities with references to others. */
export function with_references(
  type: TypeDescriptor,
  value: StructValue,
  other: (entity: Entity) => Entity | undefined,
): StructValue {
  return mapped(type, value, referring_to(other));
}
const referring_to =
  (other: (entity: Entity) => Entity | undefined) =>
  (field: FieldDescriptor, each: unknown): unknown =>
    field.element === 'entity' && each ? (other(each as Entity) ?? each) : each;

export function last_name(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
/** Returns a field's name as words: "ready in" for "ready_in". */
export function words(name: string): string {
  return name.replace(/_/g, ' ');
}
