// The world's clock, and how much of the world is saved in its file.
import { computed, signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { session } from 'muster-client';
import type { Client } from 'muster-client';

export interface Saved {
  sequence: bigint;
  /** When this page learned of the save; null if that was before the page was opened. */
  at: Date | null;
}

export class Clock {
  private readonly newest = signal<session.ClockState | null>(null);
  private readonly file = signal<Saved | null>(null);
  private readonly disk_error = signal('');
  readonly is_saving = signal(false);
  private client: Client | null = null;

  /** Null if the server does not report it. */
  get state(): ReadonlySignal<session.ClockState | null> {
    return this.newest;
  }
  /** Null if unknown. */
  get saved(): ReadonlySignal<Saved | null> {
    return this.file;
  }
  /** The server's sentence about why nothing is written to disk; empty if the disk works. */
  get not_saved(): ReadonlySignal<string> {
    return this.disk_error;
  }
  readonly paused = computed(() => this.newest.value?.paused === 1);

  /** Asks the server to report changes of the clock, saves, and errors of the disk. */
  follow(client: Client): void {
    this.client = client;
    this.newest.value = null;
    const take = (state: session.ClockState): void => this.take(client, state);
    // If the server does not report the clock, the state stays null.
    client.follow_clock(take).then(take, () => {});
    const hear = ({ error }: session.Durable): void => {
      if (client === this.client) this.disk_error.value = error;
    };
    client.durable(hear).then(hear, () => {});
  }
  /** Takes the clock at the beginning of a run, or the level's after it. */
  epoch_began({ clock_ns, tick }: session.NewEpoch): void {
    const state = this.newest.peek();
    if (state) this.newest.value = { ...state, clock_ns, tick };
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
