// A message in one line.
import { id_text, is_nil } from 'muster-client';
import type { Entity, FieldDescriptor, StructValue, TypeDescriptor } from 'muster-client';

import type { Model } from '../model/model.js';
import { short_text } from '../model/numbers.js';
import { last_name } from '../model/values.js';

/** Fields of muster's own that hold the id of a component type. */
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

/** The value of a SetField is bytes: which field they are of is known by its number only. */
function is_hidden(type: string, name: string): boolean {
  return name === 'reserved' || (/^muster\.SetField(If)?$/.test(type) && /^(value|expected|bytes|field)$/.test(name));
}

export function preview(model: Model, type_name: string, value: StructValue, is_bare = false): string {
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
