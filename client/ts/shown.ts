// An entity as Show answers it.
import type { Shown } from './session.js';
import type { TypeTable } from './type_table.js';
import type { TypeDescriptor } from './types.js';
import { read_struct } from './values.js';
import type { StructValue } from './values.js';

export interface ShownEntity {
  about: Shown;
  /** Components by full name: components['game.Health']. */
  components: Record<string, StructValue>;
  /** Values that managers hold for the entity, in the order of the managers' names. */
  held: ShownHeld[];
}
/** A value that a manager holds for an entity outside the registry's components. */
export interface ShownHeld {
  manager: string;
  name: string;
  /** Distinguishes several values of one entity; 0n if there is at most one. */
  instance: bigint;
  /** The struct that `value` is; null if only the manager knows what `bytes` mean. */
  type: TypeDescriptor | null;
  value: StructValue | null;
  bytes: Uint8Array;
}

export function held_values(about: Shown, types: TypeTable): ShownHeld[] {
  return about.held.map(({ manager, name, instance, type: id, value: bytes }) => {
    const known = id === 0 ? undefined : types.find(id);
    const type = known && !known.is_table && known.size === bytes.length ? known : null;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return { manager, name, instance, type, value: type && read_struct(type, view, 0), bytes };
  });
}
