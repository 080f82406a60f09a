// All types of a world, by id and by name.
import { BadBytes, hash32 } from './bytes.js';
import { ClientError, mistaken } from './client_error.js';
import { load_schema } from './schema_loader.js';
import type { FieldDescriptor, TypeDescriptor, TypeRef } from './types.js';

/**
 * A part of a struct, named by a dotted path: "position.x", "slots[2].count", or a whole array or
 * nested struct.
 */
export interface FieldPlace {
  /** hash32 of the path, as in SetField. */
  id: number;
  path: string;
  /** The last field of the path. */
  field: FieldDescriptor;
  offset: number;
  /** Size of the whole part in bytes. */
  size: number;
  /** True if the path ends at an array rather than at one of its elements. */
  whole_array: boolean;
}

/** All types of a world. Types are added, never removed. */
export class TypeTable {
  private by_id = new Map<number, TypeDescriptor>();
  private by_name = new Map<string, TypeDescriptor>();
  private by_last_name = new Map<string, TypeDescriptor[]>();

  /**
   * Adds the types of a binary schema and returns the new ones. If the bytes are not a schema, or
   * if a known type has a different layout, throws BadBytes and adds nothing.
   */
  add_schema(bytes: Uint8Array): TypeDescriptor[] {
    const types = load_schema(bytes).types;
    for (const type of types) {
      const known = this.by_id.get(type.id);
      if (known && (known.name !== type.name || known.fingerprint !== type.fingerprint))
        throw new BadBytes('bad_schema', `${type.name} is already known with a different layout`);
    }
    const fresh = types.filter((type) => !this.by_id.has(type.id));
    for (const type of fresh) {
      this.by_id.set(type.id, type);
      this.by_name.set(type.name, type);
      const last = type.name.slice(type.name.lastIndexOf('.') + 1);
      const same = this.by_last_name.get(last);
      if (same) same.push(type);
      else this.by_last_name.set(last, [type]);
    }
    return fresh;
  }

  [Symbol.iterator](): IterableIterator<TypeDescriptor> {
    return this.by_id.values();
  }
  get size(): number {
    return this.by_id.size;
  }
  find(id: number): TypeDescriptor | undefined {
    return this.by_id.get(id);
  }

  /**
   * Finds a type. Throws ClientError (mistaken) if there is none, if several types have that last
   * name, or if a key from schemac --ts has a different layout than the world's type.
   */
  get(ref: TypeRef<never> | TypeRef): TypeDescriptor {
    if (typeof ref === 'string') {
      const named = this.by_name.get(ref);
      if (named) return named;
      const several = this.by_last_name.get(ref) ?? [];
      if (several.length === 1) return several[0];
      throw several.length === 0
        ? mistaken(`no type is called ${ref}`)
        : mistaken(`${ref} means several types: ${several.map((type) => type.name).join(', ')}`);
    }
    const known = this.by_id.get(ref.id);
    if (!known) throw mistaken(`the world has no type ${ref.name}`);
    if (known.fingerprint !== ref.fingerprint)
      throw mistaken(`${ref.name} has a different layout in the world than in this program`);
    return known;
  }

  /** Finds a type, which must be a component. */
  component(ref: TypeRef): TypeDescriptor {
    const type = this.get(ref);
    if (type.role !== 'component') throw mistaken(`${type.name} is not a component`);
    return type;
  }
  /** Finds a type, which must be a message. */
  message(ref: TypeRef): TypeDescriptor {
    const type = this.get(ref);
    if (type.role !== 'message' && type.role !== 'table_message') throw mistaken(`${type.name} is not a message`);
    return type;
  }
}

/**
 * Finds a part of a struct by its path. Throws a ClientError (mistaken) that names the wrong part
 * of the path.
 */
export function place_of(type: TypeDescriptor, path: string): FieldPlace {
  let inside: TypeDescriptor | null = type;
  let offset = 0;
  let place: FieldPlace | null = null;
  for (const part of path.split('.')) {
    const match = /^(\w+)(?:\[(\d+)\])?$/.exec(part);
    const field: FieldDescriptor | undefined = match
      ? inside?.fields.find((each) => each.name === match[1])
      : undefined;
    if (!match || !inside || !field || (place && place.whole_array) || inside.is_table)
      throw wrong_path(type, path, part, inside);
    offset += field.offset;
    if (match[2] !== undefined) {
      const index = Number(match[2]);
      if (!field.is_array || index >= field.count) throw wrong_path(type, path, part, inside);
      offset += index * field.size;
    }
    const whole_array = field.is_array && match[2] === undefined;
    place = { id: 0, path, field, offset, size: field.size * (whole_array ? field.count : 1), whole_array };
    inside = field.kind === 'structure' ? field.type : null;
  }
  return { ...place!, id: hash32(path) };
}

function wrong_path(type: TypeDescriptor, path: string, part: string, inside: TypeDescriptor | null): ClientError {
  const has =
    inside && inside.fields.length > 0
      ? `; ${inside.name} has ${inside.fields.map((field) => field.name).join(', ')}`
      : '';
  return mistaken(`${type.name} has no place ${path}: '${part}' does not fit${has}`);
}
