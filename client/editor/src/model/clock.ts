// The world's clock, and what of the world is in its file.
import { computed, signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import type { Client, session } from 'muster-client';

export interface Saved {
  sequence: bigint;
  /** When this page heard of it; null: before it was open. */
  at: Date | null;
}

const ask_every_ms = 1000;

export class Clock {
  private readonly newest = signal<session.ClockState | null>(null);
  private readonly file = signal<Saved | null>(null);
  readonly is_saving = signal(false);
  private client: Client | null = null;
  private timer: ReturnType<typeof setInterval> | undefined;

  /** Null where the server does not tell. */
  get state(): ReadonlySignal<session.ClockState | null> {
    return this.newest;
  }
  /** Null: not known. */
  get saved(): ReadonlySignal<Saved | null> {
    return this.file;
  }
  readonly paused = computed(() => this.newest.value?.paused === 1);

  follow(client: Client): void {
    this.client = client;
    clearInterval(this.timer);
    this.newest.value = null;
    const once = (): void => void client.clock().then((state) => this.take(client, state), () => {});
    once();
    this.timer = setInterval(once, ask_every_ms);
  }
  lost(): void {
    clearInterval(this.timer);
    this.client = null;
  }
  pause(): Promise<void> {
    return this.change({ paused: true });
  }
  play(): Promise<void> {
    return this.change({ paused: false });
  }
  step(count: number): Promise<void> {
    return this.change({ paused: true, steps: count });
  }
  set_speed(speed: number): Promise<void> {
    return this.change({ speed });
  }
  async save(): Promise<void> {
    if (!this.client) return;
    this.is_saving.value = true;
    try {
      this.file.value = { sequence: await this.client.save(), at: new Date() };
    } finally {
      this.is_saving.value = false;
    }
  }

  private async change(what: Parameters<Client['set_clock']>[0]): Promise<void> {
    const client = this.client;
    if (client) this.take(client, await client.set_clock(what));
  }
  private take(client: Client, state: session.ClockState): void {
    if (client !== this.client) return;
    this.newest.value = state;
    const before = this.file.peek();
    if (before?.sequence !== state.saved_sequence)
      this.file.value = { sequence: state.saved_sequence, at: before ? new Date() : null };
  }
}
