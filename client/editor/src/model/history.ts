// What was done here, as steps that can be taken back and done again.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';

import type { Operation } from './operations.js';

export interface Step {
  /** "Move tower", as menus show it. */
  label: string;
  does: Operation[];
  undoes: Operation[];
}

const steps_max = 500;

export class History {
  private done: Step[] = [];
  private undone: Step[] = [];
  private readonly labels = signal<{ undo: string | null; redo: string | null }>({ undo: null, redo: null });

  /** What undo and redo would do; null: nothing. */
  get next(): ReadonlySignal<{ undo: string | null; redo: string | null }> {
    return this.labels;
  }
  add(step: Step): void {
    this.done = [...this.done.slice(1 - steps_max), step];
    this.undone = [];
    this.tell();
  }
  /** The step to take back; put_back() where that is refused. */
  take_undo(): Step | undefined {
    const step = this.done.pop();
    this.tell();
    return step;
  }
  take_redo(): Step | undefined {
    const step = this.undone.pop();
    this.tell();
    return step;
  }
  was_undone(step: Step): void {
    this.undone.push(step);
    this.tell();
  }
  was_done(step: Step): void {
    this.done.push(step);
    this.tell();
  }
  clear(): void {
    this.done = [];
    this.undone = [];
    this.tell();
  }

  private tell(): void {
    this.labels.value = {
      undo: this.done[this.done.length - 1]?.label ?? null,
      redo: this.undone[this.undone.length - 1]?.label ?? null,
    };
  }
}
