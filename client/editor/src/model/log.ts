// Problems and notes of this page, as lines for the console.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';

export interface LogLine {
  number: number;
  at: Date;
  kind: 'problem' | 'note';
  text: string;
}

const lines_max = 500;

export class Log {
  private readonly kept = signal<readonly LogLine[]>([]);
  /** Number of problems since the console was last viewed. */
  readonly unread = signal(0);
  private last = 0;

  /** The newest line is last. */
  get lines(): ReadonlySignal<readonly LogLine[]> {
    return this.kept;
  }
  problem(text: string): void {
    this.add('problem', text);
    this.unread.value = this.unread.peek() + 1;
  }
  note(text: string): void {
    this.add('note', text);
  }
  clear(): void {
    this.kept.value = [];
    this.unread.value = 0;
  }

  private add(kind: LogLine['kind'], text: string): void {
    const line = { number: ++this.last, at: new Date(), kind, text };
    this.kept.value = [...this.kept.peek().slice(1 - lines_max), line];
  }
}
