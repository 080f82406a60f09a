// Values written by this page. They are shown instead of the world's older values, so that a quick
// next edit is based on the last one.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { id_text } from 'muster-client';
import type { Entity, StructValue } from 'muster-client';

import { with_path } from './values.js';

/** A part of a component of an existing entity. */
export interface OwnPart {
  entity: Entity;
  component: string;
  /** Empty for the whole component. */
  path: string;
  value: unknown;
}
/** The parts of one edit, keyed by key_of. */
type OwnWrite = ReadonlyMap<string, readonly OwnPart[]>;

const key_of = (entity: Entity, component: string): string => `${id_text(entity)}|${component}`;
/** Limit on waiting for a watch, which does not report values that were quickly changed back. */
export const untold_ms = 2000;

export class OwnWrites {
  private readonly writes = new Map<OwnWrite, { acknowledged: bigint | null }>();
  private last_told = 0n;
  private readonly changes = signal(0);

  /** Changes whenever `over` returns different values. */
  get version(): ReadonlySignal<number> {
    return this.changes;
  }
  /**
   * Shows the parts until drop(), or until the world has reported the sequence that `acknowledged`
   * gives.
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
  /** Call if the write was refused, or if its result is unknown. */
  drop(write: OwnWrite): void {
    if (this.writes.delete(write)) ++this.changes.value;
  }
  /** Call when the known values are the world's values as of this sequence. */
  told(sequence: bigint): void {
    this.last_told = sequence;
    for (const [write, { acknowledged }] of this.writes)
      if (acknowledged !== null && acknowledged <= sequence) this.drop(write);
  }
  /** Call when sequences cannot be compared with earlier ones any more. */
  forget(): void {
    this.restarted();
    for (const write of this.writes.keys()) this.drop(write);
  }
  /** Like forget, but unanswered edits will be sent again, and are shown further. */
  restarted(): void {
    this.last_told = 0n;
    for (const [write, { acknowledged }] of this.writes) if (acknowledged !== null) this.drop(write);
  }
  /** Returns the world's value with this page's later writes applied. */
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
