// Notices over the page: short sentences about something that just happened.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';

export interface Notice {
  number: number;
  kind: 'problem' | 'done';
  text: string;
  actions: readonly { title: string; run(): void }[];
}

const shown_ms = 6000;
const notices_max = 3;

export class Notices {
  private readonly shown = signal<readonly Notice[]>([]);
  private last = 0;

  get list(): ReadonlySignal<readonly Notice[]> {
    return this.shown;
  }
  /**
   * Shows a notice. It disappears after some seconds, unless it has actions, and when `until`
   * changes, because its actions would then no longer be right.
   */
  say(
    kind: Notice['kind'],
    text: string,
    actions: Notice['actions'] = [],
    until?: ReadonlySignal<unknown>,
  ): void {
    const number = ++this.last;
    const others = this.shown.peek().filter((notice) => notice.text !== text);
    this.shown.value = [...others.slice(1 - notices_max), { number, kind, text, actions }];
    if (actions.length === 0) setTimeout(() => this.close(number), shown_ms);
    const now = until?.peek();
    const end = until?.subscribe((value) => {
      if (value === now) return; // a signal calls a new subscriber at once
      end?.();
      this.close(number);
    });
  }
  close(number: number): void {
    this.shown.value = this.shown.peek().filter((notice) => notice.number !== number);
  }
}
