// The interface between a field on the screen and its target: a component of several entities, or a
// message that is being written.
import type { Entity, FieldDescriptor } from 'muster-client';

import type { Refusal } from '../model/edits.js';
import type { Quat, Vec3 } from '../model/euler.js';
import type { Anchor } from './popover.js';

/** One value for all, or a function from an index among the shown values to a value. */
export type NewValue = unknown | ((i: number) => unknown);

/** Passed to commit() for text that is not a value. Shows the reason and sends nothing. */
export class Wrong {
  constructor(readonly sentence: string) {}
}

export interface Gesture {
  set(path: string, value: NewValue): void;
  commit(): void;
  cancel(): void;
}

export interface ValueSink {
  /** The reason why nothing can be written, or null if it can. */
  readonly read_only: string | null;
  /** True if its values change without an edit. */
  readonly is_live: boolean;
  /** `was` is the value from before editing. */
  commit(path: string, value: NewValue, was?: unknown): void;
  drag(path: string): Gesture;
  /**
   * Converts a rotation to degrees, by its index among the shown values. Remembers typed degrees.
   */
  angles(path: string, i: number): { shown(rotation: Quat): Vec3; typed(euler: Vec3, instead_of?: Vec3): void };
  refusal(path: string): Refusal | undefined;
  forget(path: string): void;
  text(hash: bigint): string;
  label(entity: Entity): string | undefined;
  /** Lets the user choose an entity in a picker beside the element. */
  pick_entity(at: HTMLElement, chosen: (entity: Entity) => void): void;
  show_entity(entity: Entity): void;
  /** Lets the user choose an entity by clicking it. */
  click_entity(chosen: (entity: Entity) => void): void;
  /** Opens a menu for a whole field beside the element. Absent if there is none. */
  menu?(at: Anchor, path: string, field: FieldDescriptor, as_element: boolean, values: readonly unknown[]): void;
  /** Returns true if a field has a value other than the template's, or its default. */
  differs?(path: string, values: readonly unknown[]): boolean;
  differs_from?: 'template' | 'default';
  /** Absent unless edits of this field can be applied to the level now. */
  keep?: {
    /** Returns true if this page has edited the field in the run. */
    is_edited(path: string): boolean;
    apply(path: string): void;
  };
}
