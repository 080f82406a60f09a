// Time that passes when a test says so: timers and the clock of the page.
import type { TestContext } from 'node:test';

interface Timer {
  at: number;
  call: () => void;
  every: number | null;
}

export class Hands {
  private now = 1_000_000;
  private last = 0;
  private readonly timers = new Map<number, Timer>();

  /** Until the test ends timers and performance.now() are these. */
  constructor(t: TestContext) {
    const real = { setTimeout, clearTimeout, setInterval, clearInterval };
    t.after(() => {
      Object.assign(globalThis, real);
      Reflect.deleteProperty(performance, 'now');
    });
    const put = (every: boolean) => (call: () => void, ms: number) => {
      // As a real one does with what it cannot count to.
      const wait = ms > 2 ** 31 - 1 ? 1 : ms;
      this.timers.set(++this.last, { at: this.now + wait, call, every: every ? wait : null });
      return this.last;
    };
    const drop = (id?: number) => void this.timers.delete(id ?? -1);
    Object.assign(globalThis, { setTimeout: put(false), setInterval: put(true), clearTimeout: drop, clearInterval: drop });
    // Node 18 has a `now` that cannot be assigned to.
    Object.defineProperty(performance, 'now', { value: () => this.now, configurable: true });
  }

  /** So many milliseconds pass, and what is due is called in its order. */
  pass(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const due = [...this.timers].filter(([, { at }]) => at <= end).sort(([one, a], [other, b]) => a.at - b.at || one - other);
      if (due.length === 0) break;
      const [id, timer] = due[0];
      this.now = Math.max(this.now, timer.at);
      if (timer.every === null) this.timers.delete(id);
      else timer.at += timer.every;
      timer.call();
    }
    this.now = end;
  }
  /** What is promised by now is told. */
  async turn(): Promise<void> {
    for (let i = 0; i < 5; ++i) await new Promise((resolve) => setImmediate(resolve));
  }
  get open_timers(): number {
    return this.timers.size;
  }
}
