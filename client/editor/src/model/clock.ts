// The world's clock, and what of the world is in its file.
import { computed, signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import type { Client, TypeKey } from 'muster-client';

export interface ClockState {
  sequence: bigint;
  tick: bigint;
  clock_ns: bigint;
  hz: number;
  speed: number;
  saved_sequence: bigint;
  paused: number;
  steps: number;
}
export interface Saved {
  sequence: bigint;
  /** When this page heard of it; null: before it was open. */
  at: Date | null;
}

const state_name = 'muster.session.ClockState';
const ask_every_ms = 1000;

export class Clock {
  private readonly newest = signal<ClockState | null>(null);
  private readonly file = signal<Saved | null>(null);
  readonly is_saving = signal(false);
  private client: Client | null = null;
  private timer: ReturnType<typeof setInterval> | undefined;

  /** Null where the server does not tell. */
  get state(): ReadonlySignal<ClockState | null> {
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
    if (!knows(client, state_name)) return;
    const once = (): void => void this.ask('muster.session.GetClock', { follow: 0 }).catch(() => {});
    once();
    this.timer = setInterval(once, ask_every_ms);
  }
  lost(): void {
    clearInterval(this.timer);
    this.client = null;
  }
  pause(): Promise<void> {
    return this.change({ paused: 1 });
  }
  play(): Promise<void> {
    return this.change({ paused: 0 });
  }
  step(count: number): Promise<void> {
    return this.change({ paused: 1, steps: count });
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

  private change(what: Partial<{ speed: number; paused: number; steps: number }>): Promise<void> {
    return this.ask('muster.session.SetClock', { speed: 0, paused: 2, steps: 0, ...what });
  }
  private async ask(name: string, value: Record<string, unknown>): Promise<void> {
    if (!this.client) return;
    const types = this.client.types;
    const question = types.get(name) as unknown as TypeKey<unknown>;
    const state = await this.client.ask(question, value, types.get(state_name) as unknown as TypeKey<ClockState>);
    this.newest.value = state;
    const before = this.file.peek();
    if (before?.sequence !== state.saved_sequence)
      this.file.value = { sequence: state.saved_sequence, at: before ? new Date() : null };
  }
}

export function knows(client: Client, name: string): boolean {
  for (const type of client.types) if (type.name === name) return true;
  return false;
}
