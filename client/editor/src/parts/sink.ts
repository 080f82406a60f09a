// Between a field on the screen and what it edits: one component of several entities, or a message
// that is being written.
import type { Entity } from 'muster-client';

import type { Refusal } from '../model/edits.js';
import type { Quat, Vec3 } from '../model/euler.js';

/** One value for all, or one for each by its index among the shown values. */
export type NewValue = unknown | ((i: number) => unknown);

/** Called for a text that is not a value of the field. Shows the reason and sends nothing. */
export class Wrong {
  constructor(readonly sentence: string) {}
}

export interface Gesture {
  set(path: string, value: NewValue): void;
  commit(): void;
  cancel(): void;
}

export interface ValueSink {
  /** Why nothing can be written; null: it can. */
  readonly read_only: string | null;
  /** Its values change by themselves. */
  readonly is_live: boolean;
  /** `was`: what was there when it was begun to be edited. */
  commit(path: string, value: NewValue, was?: unknown): void;
  drag(path: string): Gesture;
  /** The degrees of a rotation, by its place among the values shown: what was typed here stays. */
  angles(path: string, i: number): { shown(rotation: Quat): Vec3; typed(euler: Vec3, instead_of?: Vec3): void };
  refusal(path: string): Refusal | undefined;
  forget(path: string): void;
  text(hash: bigint): string;
  label(entity: Entity): string | undefined;
  /** Has the person choose an entity, beside the element. */
  pick_entity(at: HTMLElement, chosen: (entity: Entity) => void): void;
  show_entity(entity: Entity): void;
}
