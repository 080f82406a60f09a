// The world's clock, and what of the world is in its file.
import { computed, signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { session } from 'muster-client';
import type { Client } from 'muster-client';

export interface Saved {
  sequence: bigint;
  /** When this page heard of it; null: before it was open. */
  at: Date | null;
}

export class Clock {
  private readonly newest = signal<session.ClockState | null>(null);
  private readonly file = signal<Saved | null>(null);
  private readonly disk_error = signal('');
  readonly is_saving = signal(false);
  private client: Client | null = null;

  /** Null where the server does not tell. */
  get state(): ReadonlySignal<session.ClockState | null> {
    return this.newest;
  }
  /** Null: not known. */
  get saved(): ReadonlySignal<Saved | null> {
    return this.file;
  }
  /** Why nothing of the world reaches the disk any more, a sentence of the server. Empty: it does. */
  get not_saved(): ReadonlySignal<string> {
    return this.disk_error;
  }
  readonly paused = computed(() => this.newest.value?.paused === 1);

  /** From now on the server tells when somebody changes the clock, when it saves, and when it cannot. */
  follow(client: Client): void {
    this.client = client;
    this.newest.value = null;
    const take = (state: session.ClockState): void => this.take(client, state);
    // A server that does not tell leaves the state null.
    client.follow_clock(take).then(take, () => {});
    const hear = ({ error }: session.Durable): void => {
      if (client === this.client) this.disk_error.value = error;
    };
    client.durable(hear).then(hear, () => {});
  }
  lost(): void {
    this.client = null;
    this.disk_error.value = '';
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
      this.file.value = { sequence: (await this.client.ask(session.Save)).sequence, at: new Date() };
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
