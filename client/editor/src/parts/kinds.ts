// Determines from the schema how to show a field.
import type { FieldDescriptor, TypeDescriptor } from 'muster-client';

export type FieldLook =
  | 'number'
  | 'boolean'
  | 'enum'
  | 'flags'
  | 'entity'
  | 'text'
  | 'vector'
  | 'rotation'
  | 'color'
  | 'struct'
  | 'array'
  | 'bytes'
  | 'list'
  | 'table';

const axes = ['x', 'y', 'z', 'w'];

function are_floats(type: TypeDescriptor, names: readonly string[]): boolean {
  return (
    type.fields.length === names.length &&
    type.fields.every(
      (field, i) =>
        field.name === names[i] && !field.is_array && !field.enumeration && /^(u?int|float)/.test(field.element),
    )
  );
}

/** Returns true for a unit quaternion: x, y, z, w with the identity as default. */
export function is_rotation(type: TypeDescriptor): boolean {
  return (
    are_floats(type, axes) &&
    /quat|rotation|orientation/i.test(type.name + type.fields[3].default_text.replace(/^1(\.0*)?$/, 'rotation'))
  );
}
/** Returns true for two to four numbers named x, y, z, w. */
export function is_vector(type: TypeDescriptor): boolean {
  return type.fields.length >= 2 && type.fields.length <= 4 && are_floats(type, axes.slice(0, type.fields.length));
}
function is_color_struct(type: TypeDescriptor): boolean {
  const names = ['r', 'g', 'b', 'a'];
  return (type.fields.length === 3 || type.fields.length === 4) && are_floats(type, names.slice(0, type.fields.length));
}

/**
 * Returns the kind of the whole field, or, with `as_element`, of one element of an array or vector.
 */
export function look_of(field: FieldDescriptor, as_element = false): FieldLook {
  if (!as_element && field.kind === 'vector') return field.element === 'uint8' && !field.enumeration ? 'bytes' : 'list';
  if (!as_element && field.is_array) {
    const is_numbers = !field.enumeration && /^(uint8|float32|float64)$/.test(field.element);
    return field.color && is_numbers && (field.count === 3 || field.count === 4) ? 'color' : 'array';
  }
  switch (field.element) {
    case 'boolean':
      return 'boolean';
    case 'entity':
      return 'entity';
    case 'text':
    case 'string':
      return 'text';
    case 'table':
      return 'table';
    case 'structure': {
      const type = field.type!;
      if (field.color && is_color_struct(type)) return 'color';
      if (is_rotation(type)) return 'rotation';
      return is_vector(type) ? 'vector' : 'struct';
    }
    default:
      if (field.enumeration) return field.enumeration.bit_flags ? 'flags' : 'enum';
      return 'number';
  }
}
