// The history of operations, as steps that can be undone and redone.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';

import type { Operation } from './operations.js';

export interface Step {
  /** "Move tower", as menus show it. */
  label: string;
  does: Operation[];
  undoes: Operation[];
  /** It cannot be taken back: undo stops at it and says so. */
  is_final?: boolean;
}

/** Titles of the next steps to undo and redo, or null. */
export interface NextSteps {
  undo: string | null;
  redo: string | null;
  /** True if the next step cannot be undone. */
  is_final?: true;
}

const steps_max = 500;

export class History {
  private done: Step[] = [];
  private undone: Step[] = [];
  private readonly labels = signal<NextSteps>({ undo: null, redo: null });

  get next(): ReadonlySignal<NextSteps> {
    return this.labels;
  }
  /** Takes the newest step out of the history, if it is that one. */
  forget(step: Step): void {
    if (this.done[this.done.length - 1] === step) this.take_undo();
  }
  /** The label of the step before the one that undo would take back; null: there is none. */
  get before_last(): string | null {
    return this.done[this.done.length - 2]?.label ?? null;
  }
  add(step: Step): void {
    this.done = [...this.done.slice(1 - steps_max), step];
    this.undone = [];
    this.tell();
  }
  /** Returns the step to undo. Call put_back() if undoing is refused. */
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
      ...(this.done[this.done.length - 1]?.is_final && { is_final: true }),
    };
  }
}
