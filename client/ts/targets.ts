// The targets of messages, and entities that are named by a text.
import type { BatchPlan } from './batch.js';
import { mistaken } from './client_error.js';
import type { Found } from './session.js';
import { id_text, nil } from './types.js';
import type { Entity, TypeDescriptor } from './types.js';

/** The target of a message: one entity, several (one message for all of them), or the world. */
export type Target = Entity | readonly Entity[] | 'world';

/** Plans the batch with one message of this type. */
export function plan_for(target: Target, type: TypeDescriptor, value: unknown): BatchPlan {
  if (type.is_table) {
    const targets = target === 'world' ? [nil] : Array.isArray(target) ? (target as Entity[]) : [target as Entity];
    return { kind: 'table', type, messages: targets.map((each) => ({ target: each, value })) };
  }
  if (target === 'world') return { kind: 'world', type, values: [value] };
  if (Array.isArray(target)) return { kind: 'shared', type, targets: target as Entity[], value };
  return { kind: 'each', type, messages: [{ target: target as Entity, value }] };
}

/** Returns the id in a text: "12:1" or "#12:1". */
export function id_in(text: string): Entity | undefined {
  const id = /^#?(\d+):(\d+)$/.exec(text);
  return id ? { index: Number(id[1]), generation: Number(id[2]) } : undefined;
}
/** Returns the only entity that was found for a text. Throws `mistaken`, which lists several. */
export function the_one(text: string, found: Found): Entity {
  if (found.entities.length === 0) throw mistaken(`no entity is named '${text}'`);
  if (found.entities.length === 1) return found.entities[0];
  const lines = found.entities.map((each, i) => `\n  ${id_text(each)}  ${found.paths[i]}`);
  throw mistaken(`'${text}' matches several entities:${lines.join('')}${found.more ? '\n  ...' : ''}`);
}
