// Conditions of a search on components and their fields: has:Health, Health.value<10.
import { id_text } from 'muster-client';
import type { Entity, FieldDescriptor, StructValue, TypeDescriptor } from 'muster-client';

import { at_path } from './values.js';

type Sign = '<=' | '>=' | '!=' | '<' | '>' | '=';

/** A condition, with its component resolved. */
export interface Condition {
  type: TypeDescriptor;
  /** Empty if the entity only needs to have the component. */
  path: string;
  sign: Sign;
  /** The value as it was typed. */
  value: string;
}
export interface Query {
  /** Parts of names and paths, in lower case. */
  words: string[];
  conditions: Condition[];
  /** The reason why the search cannot find anything; empty if there is none. */
  fault: string;
}

/** Returns the component with this name or with the only name that ends like this. */
function component_named(types: Iterable<TypeDescriptor>, text: string): TypeDescriptor | undefined {
  const low = text.toLowerCase();
  const components = [...types].filter((type) => type.role === 'component');
  const fits = ({ name }: TypeDescriptor): boolean => name.toLowerCase() === low || name.toLowerCase().endsWith('.' + low);
  return components.find(fits);
}
/** Returns the field at a path such as "position.x" or "slots[2].count". */
function field_at(type: TypeDescriptor, path: string): FieldDescriptor | undefined {
  let field: FieldDescriptor | undefined;
  let fields: readonly FieldDescriptor[] | undefined = type.fields;
  for (const part of path.split(/[.[\]]+/)) {
    if (part === '' || (/^\d+$/.test(part) && field?.is_array)) continue;
    field = fields?.find(({ name }) => name.toLowerCase() === part.toLowerCase());
    if (!field) return undefined;
    fields = field.type?.fields;
  }
  return field;
}
/** Returns the path with the upper and lower case of the schema. */
function exact_path(type: TypeDescriptor, path: string): string {
  let fields: readonly FieldDescriptor[] | undefined = type.fields;
  return path
    .split('.')
    .map((part) => {
      const [, name = part, index = ''] = /^([^[]*)(\[.*)$/.exec(part) ?? [];
      const field = fields?.find((each) => each.name.toLowerCase() === name.toLowerCase());
      fields = field?.type?.fields;
      return (field?.name ?? name) + index;
    })
    .join('.');
}

/** Splits at spaces, except inside double quotes, which are removed. */
function parts_of(query: string): string[] {
  return [...query.matchAll(/(?:"[^"]*"?|[^\s"])+/g)].map(([part]) => part.replace(/"/g, ''));
}

export function parse_query(query: string, types: Iterable<TypeDescriptor>): Query {
  const all = [...types];
  const found: Query = { words: [], conditions: [], fault: '' };
  for (const part of parts_of(query)) {
    const has = /^has:(.*)$/i.exec(part);
    if (has) {
      if (has[1] === '') continue;
      const type =
        component_named(all, has[1]) ??
        all.find(({ role, name }) => role === 'component' && name.toLowerCase().includes(has[1].toLowerCase()));
      if (type) found.conditions.push({ type, path: '', sign: '=', value: '' });
      else found.fault = `No component is called '${has[1]}'.`;
      continue;
    }
    const [, name, sign, value] = /^([^<>=!]+\.[^<>=!]+)(<=|>=|!=|<|>|=)(.*)$/.exec(part) ?? [];
    if (!name) {
      found.words.push(part.toLowerCase());
      continue;
    }
    // The longest beginning that names a component is one: "scene.Light.kind" is the field "kind".
    const pieces = name.split('.');
    let is_component = false;
    for (let i = pieces.length - 1; i > 0 && !is_component; --i) {
      const type = component_named(all, pieces.slice(0, i).join('.'));
      const path = pieces.slice(i).join('.');
      if (!type) continue;
      is_component = true;
      if (!field_at(type, path)) found.fault = `${type.name} has no field '${path}'.`;
      else if (value !== '') found.conditions.push({ type, path: exact_path(type, path), sign: sign as Sign, value });
    }
    if (!is_component) found.fault = `No component is called '${pieces.slice(0, -1).join('.')}'.`;
  }
  return found;
}

/** Gives texts and names for the values in fields. */
export interface Words {
  text(hash: bigint): string;
  name(entity: Entity): string;
}

/** Returns true if a component's value meets the condition. */
export function meets({ type, path, sign, value }: Condition, of: StructValue, words: Words): boolean {
  if (path === '') return true;
  const field = field_at(type, path)!;
  const found = at_path(of, path);
  if (found === undefined) return false;
  const is_equal = sign === '=' || sign === '!=';
  const named = field.enumeration?.values.find((each) => each.name.toLowerCase() === value.toLowerCase());
  const wanted = named ? Number(named.value) : value === 'true' ? 1 : value === 'false' ? 0 : Number(value);
  if (field.element === 'text' || field.element === 'string') {
    const text = field.element === 'text' ? words.text(found as bigint) : String(found);
    return is_equal && (text.toLowerCase() === value.toLowerCase()) === (sign === '=');
  }
  if (typeof found === 'object' && found !== null && 'generation' in found) {
    const entity = found as Entity;
    return is_equal && (id_text(entity) === value || words.name(entity) === value) === (sign === '=');
  }
  if (typeof found === 'object' || Number.isNaN(wanted)) return false;
  const number = Number(found);
  // A 32-bit float is not exactly the decimal number that was typed.
  const is_near = field.element === 'float32' ? Math.fround(wanted) === Math.fround(number) : wanted === number;
  switch (sign) {
    case '=':
      return is_near;
    case '!=':
      return !is_near;
    case '<':
      return number < wanted && !is_near;
    case '>':
      return number > wanted && !is_near;
    case '<=':
      return number < wanted || is_near;
    case '>=':
      return number > wanted || is_near;
  }
}
