// Shows a message on one line.
import { hash32, id_text, is_nil, place_of } from 'muster-client';
import type { Entity, FieldDescriptor, StructValue, TypeDescriptor } from 'muster-client';

import type { Model } from '../model/model.js';
import { short_text } from '../model/numbers.js';
import { last_name } from '../model/values.js';

/** Returns true for fields of Muster's own messages that contain a component's type id. */
function is_type_id(type: string, name: string): boolean {
  return name === 'component' && /^muster\.(Remove|SetField|SetFieldIf|ComponentChanged)$/.test(type);
}

function value_of(model: Model, field: FieldDescriptor | undefined, value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (Array.isArray(value))
    return value.length > 6
      ? `[${value.length} values]`
      : `[${value.map((each) => value_of(model, field, each)).join(', ')}]`;
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (field?.element === 'text') return `'${typeof value === 'bigint' ? model.text(value) : String(value)}'`;
  if (field?.enumeration && !field.enumeration.bit_flags)
    return field.enumeration.values.find((each) => each.value === value)?.name ?? String(value);
  if (typeof value === 'number' || typeof value === 'bigint') return short_text(value);
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value !== 'object') return String(value);
  if ('index' in value && 'generation' in value) {
    const entity = value as Entity;
    if (is_nil(entity)) return 'none';
    return model.world.get(entity)?.name || '#' + id_text(entity);
  }
  const parts = Object.entries(value);
  const inner = parts.map(([name, each]) => {
    const part = field?.type?.fields.find((known) => known.name === name);
    const text = value_of(model, part, each);
    return /^[xyzwrgba]$/.test(name) ? text : `${name} ${text}`;
  });
  return `(${inner.join(', ')})`;
}

/**
 * Returns true for fields that make no sense alone: SetField contains bytes and the number of their
 * field.
 */
function is_hidden(type: string, name: string): boolean {
  return name === 'reserved' || (/^muster\.SetField(If)?$/.test(type) && /^(value|expected|bytes|field)$/.test(name));
}

/** Returns "Health.at.y 3" for a SetField; empty if the component or the field is unknown. */
function field_edit(model: Model, set: StructValue): string {
  const type = model.type_named(set.component as number);
  const path = type && place_named(type, set.field as number);
  if (!type || !path) return '';
  const bytes = Uint8Array.from((set.value as number[]).slice(0, set.bytes as number));
  const value = model.read_field(type, path, bytes);
  return `${last_name(type.name)}.${path} ${value_of(model, field_at(type, path), value)}`;
}

/** The paths of a type's places, by their numbers. */
const places = new WeakMap<TypeDescriptor, Map<number, string>>();

function place_named(type: TypeDescriptor, id: number): string | undefined {
  let known = places.get(type);
  if (!known) {
    known = new Map();
    const add = (of: TypeDescriptor, before: string): void => {
      for (const field of of.fields) {
        const path = before + field.name;
        known!.set(hash32(path), path);
        const paths = field.is_array ? Array.from({ length: field.count }, (_, i) => `${path}[${i}]`) : [path];
        for (const each of paths) {
          known!.set(hash32(each), each);
          if (field.element === 'structure') add(field.type!, each + '.');
        }
      }
    };
    add(type, '');
    places.set(type, known);
  }
  return known.get(id);
}
function field_at(type: TypeDescriptor, path: string): FieldDescriptor | undefined {
  return place_of(type, path).field;
}

export function preview(model: Model, type_name: string, value: StructValue, is_bare = false): string {
  if (type_name === 'muster.SetField' && 'bytes' in value) {
    const text = field_edit(model, value);
    if (text) return text;
  }
  if (type_name === 'muster.SetFieldIf' && 'set' in value && 'expected' in value) {
    const text = field_edit(model, value.set as StructValue);
    if (text) return text;
  }
  const type: TypeDescriptor | undefined = model.types.value.get(type_name);
  const parts: string[] = [];
  for (const [name, each] of Object.entries(value)) {
    if (is_hidden(type_name, name)) continue;
    const field = type?.fields.find((known) => known.name === name);
    let text = value_of(model, field, each);
    if (is_type_id(type_name, name)) text = last_name(model.type_named(each as number)?.name ?? text);
    parts.push(is_bare ? text : `${name} ${text}`);
  }
  return parts.join('  ');
}
