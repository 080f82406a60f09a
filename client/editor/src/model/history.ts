// The edits of this page, as steps that can be undone and repeated.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';

import type { Operation } from './operations.js';

export interface Step {
  /** The label shown in menus: "rename tower". */
  label: string;
  does: Operation[];
  undoes: Operation[];
  /** True if the step cannot be undone. Undo stops at it and reports that. */
  is_final?: boolean;
}

/** The labels of the steps that undo and redo would use next; null if there is none. */
export interface NextSteps {
  undo: string | null;
  redo: string | null;
  /** True if the next step to undo cannot be undone. */
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
  /** The step that undo would use. */
  get newest(): Step | undefined {
    return this.done[this.done.length - 1];
  }
  /** The step that redo would use. */
  get newest_undone(): Step | undefined {
    return this.undone[this.undone.length - 1];
  }
  /** The newest step that can be undone. */
  get newest_undoable(): Step | undefined {
    return [...this.done].reverse().find((step) => !step.is_final);
  }
  /**
   * Makes `step` the newest one by dropping the final steps after it. Returns false, and drops
   * nothing, if a later step can be undone, or if the step was already undone.
   */
  reach(step: Step): boolean {
    if (this.newest_undoable !== step) return false;
    this.done = this.done.slice(0, this.done.lastIndexOf(step) + 1);
    this.tell();
    return true;
  }
  add(step: Step): void {
    this.done = [...this.done.slice(1 - steps_max), step];
    this.undone = [];
    this.tell();
  }
  /**
   * Removes and returns the step to undo. If the undo is refused, was_done() puts the step back.
   */
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
      undo: this.newest?.label ?? null,
      redo: this.newest_undone?.label ?? null,
      ...(this.newest?.is_final && { is_final: true }),
    };
  }
}
