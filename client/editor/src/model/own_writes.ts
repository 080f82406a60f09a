// Values written by this page, shown in place of the world's earlier ones, so that a quick next
// edit builds on the last one.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { id_text } from 'muster-client';
import type { Entity, StructValue } from 'muster-client';

import { with_path } from './values.js';

/** A part of a component of an entity that is. */
export interface OwnPart {
  entity: Entity;
  component: string;
  /** '': all of it. */
  path: string;
  value: unknown;
}
/** The parts of one edit, by key_of. */
type OwnWrite = ReadonlyMap<string, readonly OwnPart[]>;

const key_of = (entity: Entity, component: string): string => `${id_text(entity)}|${component}`;
/** A watch tells nothing where the world changed a value back before anybody looked. */
export const untold_ms = 2000;

export class OwnWrites {
  private readonly writes = new Map<OwnWrite, { acknowledged: bigint | null }>();
  private last_told = 0n;
  private readonly changes = signal(0);

  /** Another number: `over` gives other values. */
  get version(): ReadonlySignal<number> {
    return this.changes;
  }
  /**
   * Shows them until `drop`, or until the world has told of the sequence that `acknowledged` gives.
   */
  begin(parts: readonly OwnPart[]): OwnWrite {
    const write = new Map<string, OwnPart[]>();
    for (const part of parts) {
      const key = key_of(part.entity, part.component);
      const before = write.get(key);
      if (before) before.push(part);
      else write.set(key, [part]);
    }
    if (write.size > 0) {
      this.writes.set(write, { acknowledged: null });
      ++this.changes.value;
    }
    return write;
  }
  acknowledged(write: OwnWrite, sequence: bigint): void {
    const state = this.writes.get(write);
    if (!state) return;
    state.acknowledged = sequence;
    if (sequence <= this.last_told) this.drop(write);
    else setTimeout(() => this.drop(write), untold_ms);
  }
  /** It was refused, or its result is unknown. */
  drop(write: OwnWrite): void {
    if (this.writes.delete(write)) ++this.changes.value;
  }
  /** The values that are known here are the world's as they were at that sequence. */
  told(sequence: bigint): void {
    this.last_told = sequence;
    for (const [write, { acknowledged }] of this.writes)
      if (acknowledged !== null && acknowledged <= sequence) this.drop(write);
  }
  /** Another start of the server counts its sequences anew. */
  forget(): void {
    this.last_told = 0n;
    for (const write of this.writes.keys()) this.drop(write);
  }
  /** The value that the world told, and over it what this page wrote since. */
  over(entity: Entity, component: string, told: StructValue): StructValue;
  over(entity: Entity, component: string, told: StructValue | undefined): StructValue | undefined;
  over(entity: Entity, component: string, told: StructValue | undefined): StructValue | undefined {
    if (!told || this.writes.size === 0) return told;
    const key = key_of(entity, component);
    let value: unknown = told;
    for (const write of this.writes.keys())
      for (const { path, value: part } of write.get(key) ?? []) value = with_path(value, path, part);
    return value as StructValue;
  }
}
