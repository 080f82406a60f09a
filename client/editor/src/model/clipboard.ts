// Values of a component as text that other tabs, and people, can read.
import type { FieldDescriptor, StructValue, TypeDescriptor } from 'muster-client';
import { nil } from 'muster-client';

import { last_name, with_references } from './values.js';

/** `world`: which one the references mean. Numbers that JSON has no words for are texts. */
export function clipboard_text(type: TypeDescriptor, value: StructValue, world: string): string {
  const plain = (_: string, each: unknown): unknown =>
    typeof each === 'bigint' || (typeof each === 'number' && !Number.isFinite(each)) || Object.is(each, -0)
      ? Object.is(each, -0)
        ? '-0'
        : String(each)
      : each;
  return JSON.stringify({ world, [type.name]: value }, plain, 2);
}

/** Reads a pasted value. References from another world become nil. Throws an Error that says what
 *  is wrong with the text. */
export function pasted_value(type: TypeDescriptor, text: string, world: string): StructValue {
  const none = new Error(`The clipboard has no values of ${last_name(type.name)}.`);
  let all: Record<string, unknown>;
  try {
    all = JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw none;
  }
  const given = all?.[type.name];
  if (typeof given !== 'object' || given === null) throw none;
  const value = struct_of(type, given as Record<string, unknown>, '');
  return all.world === world ? value : with_references(type, value, () => nil);
}

function struct_of(type: TypeDescriptor, given: Record<string, unknown>, before: string): StructValue {
  return Object.fromEntries(
    type.fields.map((field) => [field.name, part_of(field, field.is_array, given?.[field.name], before + field.name)]),
  );
}

function part_of(field: FieldDescriptor, is_array: boolean, given: unknown, path: string): unknown {
  const wrong = (what: string): Error => new Error(`The clipboard cannot be pasted: ${path} is not ${what}.`);
  if (is_array) {
    if (!Array.isArray(given) || given.length !== field.count) throw wrong(`a list of ${field.count}`);
    return given.map((each, i) => part_of(field, false, each, `${path}[${i}]`));
  }
  switch (field.element) {
    case 'structure':
      if (typeof given !== 'object' || given === null) throw wrong('a group of values');
      return struct_of(field.type!, given as Record<string, unknown>, path + '.');
    case 'boolean':
      if (typeof given !== 'boolean') throw wrong('true or false');
      return given;
    case 'text':
    case 'string':
      if (typeof given !== 'string') throw wrong('a text');
      return given;
    case 'entity': {
      const { index, generation } = (given ?? {}) as Record<string, unknown>;
      if (!Number.isInteger(index) || !Number.isInteger(generation)) throw wrong('an entity');
      return { index, generation };
    }
    case 'int64':
    case 'uint64':
      if (!/^-?\d+$/.test(String(given))) throw wrong('a whole number');
      return BigInt(String(given));
    default: {
      const number = typeof given === 'string' && /^(NaN|-?Infinity|-0)$/.test(given) ? Number(given) : given;
      if (typeof number !== 'number') throw wrong('a number');
      return number;
    }
  }
}
