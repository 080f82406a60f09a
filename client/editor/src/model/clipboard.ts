// Converts entities and component values to and from text, which other tabs and people can read.
import type { Entity, FieldDescriptor, StructValue, TypeDescriptor } from 'muster-client';
import { id_text, nil } from 'muster-client';

import { copied_max } from './copies.js';
import type { Copied } from './copies.js';
import { counted } from './numbers.js';
import { last_name, with_references } from './values.js';

/** Returns one component as text. `world` is the world that its references belong to. */
export function clipboard_text(type: TypeDescriptor, value: StructValue, world: string): string {
  return JSON.stringify({ world, [type.name]: value }, plain, 2);
}

/** Writes numbers that JSON cannot represent as strings. */
function plain(_: string, value: unknown): unknown {
  if (Object.is(value, -0)) return '-0';
  const is_text = typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value));
  return is_text ? String(value) : value;
}

/** Returns entities as text. `world` is the world that their ids belong to. */
export function trees_text(copied: readonly Copied[], world: string): string {
  const entities = copied.map(({ entity, parent, name, components }) => ({
    id: id_text(entity),
    parent: id_text(parent),
    name,
    components,
  }));
  return JSON.stringify({ world, entities }, plain);
}

export interface PastedTrees {
  /** Parents come before their children. */
  copied: Copied[];
  /** The entities whose parent is not among them. */
  roots: Entity[];
  /** True if the ids belong to this world. */
  is_from_here: boolean;
  /** Components that this world does not have. They are left out. */
  unknown: string[];
}

/**
 * Parses pasted entities. References to entities that are not among them are preserved if the
 * entities come from this world; otherwise they become nil. Throws an Error that describes the
 * fault in the text.
 */
export function pasted_trees(types: ReadonlyMap<string, TypeDescriptor>, text: string, world: string): PastedTrees {
  const none = new Error('The clipboard does not contain entities.');
  const all = parsed(text);
  if (!all || !Array.isArray(all.entities) || all.entities.length === 0) throw none;
  if (all.entities.length > copied_max)
    throw new Error(
      `Cannot paste ${counted(all.entities.length)} entities at once. The limit is ${counted(copied_max)}.`,
    );
  const is_from_here = all.world === world;
  const ids = new Set<string>();
  const roots: Entity[] = [];
  const unknown = new Set<string>();
  const given = (all.entities as unknown[]).map((each) => {
    const { id, parent, name, components } = (each ?? {}) as Record<string, unknown>;
    const entity = entity_of(id);
    const has_all = entity && typeof name === 'string' && typeof components === 'object' && components !== null;
    if (!has_all || ids.has(id_text(entity))) throw none;
    const above = entity_of(parent) ?? nil;
    if (!ids.has(id_text(above))) roots.push(entity);
    ids.add(id_text(entity));
    return { entity, parent: above, name, components: components as Record<string, unknown> };
  });
  const copied = given.map(({ components, ...about }): Copied => {
    const values: Copied['components'] = {};
    for (const [name, value] of Object.entries(components)) {
      const type = types.get(name);
      if (type?.role !== 'component') {
        unknown.add(name);
        continue;
      }
      if (typeof value !== 'object' || value === null) throw wrong(last_name(name), 'a group of values');
      const read = struct_of(type, value as Record<string, unknown>, `${last_name(name)}.`);
      const inside = (entity: Entity): Entity => (ids.has(id_text(entity)) ? entity : nil);
      values[name] = is_from_here ? read : with_references(type, read, inside);
    }
    return { ...about, components: values };
  });
  return { copied, roots, is_from_here, unknown: [...unknown] };
}

function entity_of(id: unknown): Entity | undefined {
  const [, index, generation] = /^(\d{1,10}):(\d{1,10})$/.exec(String(id)) ?? [];
  return index === undefined ? undefined : { index: Number(index), generation: Number(generation) };
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown> | null;
  } catch {
    return null;
  }
}

/**
 * Parses a pasted value. References from another world become nil. Throws an Error that describes
 * the fault in the text.
 */
export function pasted_value(type: TypeDescriptor, text: string, world: string): StructValue {
  const all = parsed(text);
  const given = all?.[type.name];
  if (typeof given !== 'object' || given === null)
    throw new Error(`The clipboard does not contain values of ${last_name(type.name)}.`);
  const value = struct_of(type, given as Record<string, unknown>, '');
  return all?.world === world ? value : with_references(type, value, () => nil);
}

/** Returns the value of one field as text: "5", "[1, 2, 3]", or JSON for other groups of values. */
export function field_text(field: FieldDescriptor, as_element: boolean, value: unknown): string {
  const is_list = field.is_array && !as_element;
  if (!is_list && typeof value === 'string') return value;
  if (!is_list && is_numbers(field)) return JSON.stringify(Object.values(value as object), plain).replace(/,/g, ', ');
  return JSON.stringify(value, plain);
}
/** Parses the text of a field. Throws an Error that describes the fault in the text. */
export function pasted_field(field: FieldDescriptor, as_element: boolean, text: string): unknown {
  const is_list = field.is_array && !as_element;
  if (!is_list && (field.element === 'text' || field.element === 'string')) return text;
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    // "1, 2, 3" or "1 2 3"
    const numbers = text.trim().split(/[\s,;]+/);
    given = numbers.length > 1 ? numbers.map(Number) : text.trim();
    if (Array.isArray(given) && given.some((each) => Number.isNaN(each))) given = text.trim();
  }
  const enumeration = field.enumeration?.values.find((each) => each.name === given);
  if (enumeration) return enumeration.value;
  if (!is_list && field.element === 'structure' && Array.isArray(given) && given.length === field.type!.fields.length)
    given = Object.fromEntries(field.type!.fields.map((part, i) => [part.name, (given as unknown[])[i]]));
  return part_of(field, is_list, given, field.name);
}
const is_numbers = (field: FieldDescriptor): boolean =>
  field.element === 'structure' && field.type!.fields.every((part) => /^float/.test(part.element) && !part.is_array);

function struct_of(type: TypeDescriptor, given: Record<string, unknown>, before: string): StructValue {
  return Object.fromEntries(
    type.fields.map((field) => [field.name, part_of(field, field.is_array, given?.[field.name], before + field.name)]),
  );
}

const wrong = (path: string, what: string): Error =>
  new Error(`The clipboard cannot be pasted: ${path} is not ${what}.`);

function part_of(field: FieldDescriptor, is_array: boolean, given: unknown, path: string): unknown {
  if (is_array) {
    if (!Array.isArray(given) || given.length !== field.count) throw wrong(path, `a list of ${field.count}`);
    return given.map((each, i) => part_of(field, false, each, `${path}[${i}]`));
  }
  switch (field.element) {
    case 'structure':
      if (typeof given !== 'object' || given === null) throw wrong(path, 'a group of values');
      return struct_of(field.type!, given as Record<string, unknown>, path + '.');
    case 'boolean':
      if (typeof given !== 'boolean') throw wrong(path, 'true or false');
      return given;
    case 'text':
    case 'string':
      if (typeof given !== 'string') throw wrong(path, 'text');
      return given;
    case 'entity': {
      const { index, generation } = (given ?? {}) as Record<string, unknown>;
      if (!Number.isInteger(index) || !Number.isInteger(generation)) throw wrong(path, 'an entity');
      return { index, generation };
    }
    case 'int64':
    case 'uint64':
      if (!/^-?\d+$/.test(String(given))) throw wrong(path, 'a whole number');
      return BigInt(String(given));
    default: {
      const number = typeof given === 'string' && /^(NaN|-?Infinity|-0)$/.test(given) ? Number(given) : given;
      if (typeof number !== 'number') throw wrong(path, 'a number');
      return number;
    }
  }
}
