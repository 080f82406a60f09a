// What the world is told: inputs as they come, for the console.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import type { Batch, Client, Received, StructValue } from 'muster-client';
import { BatchKind, is_nil, session } from 'muster-client';
import type { Entity } from 'muster-client';

export interface MessageLine {
  number: number;
  sequence: bigint;
  clock_ns: bigint;
  /** Who sent it; 0n: the world itself. */
  author: bigint;
  /** Full name of the type; empty: a gap. */
  type: string;
  /** Null: the world. */
  target: Entity | null;
  /** How many targets more. */
  more: number;
  value: StructValue;
  /** In the order in which it was received. */
  at: Date;
}

/** They come every tick. */
const never_shown = new Set(['muster.Update', 'muster.Advance']);
const lines_max = 2000;
/** Of one batch: the rest is counted. */
const rows_max = 20;

export class Messages {
  private readonly kept = signal<readonly MessageLine[]>([]);
  /** Nothing is added while it is true. */
  readonly held = signal(false);
  private coming: MessageLine[] = [];
  private client: Client | null = null;
  private last = 0;
  private is_planned = false;

  get lines(): ReadonlySignal<readonly MessageLine[]> {
    return this.kept;
  }
  clear(): void {
    this.kept.value = [];
  }
  async follow(client: Client): Promise<void> {
    this.client = client;
    const messages = [...client.types]
      .filter((type) => /message$/.test(type.role) && !never_shown.has(type.name))
      .filter((type) => !type.name.startsWith('muster.session.'))
      .map((type) => type.id);
    await client.watch(
      { entities: [], values: false, structure: false, events: true, messages, rate_max: 20 },
      { frame: (received) => this.take(client, received) },
    );
  }

  private take(client: Client, received: Received): void {
    if (!received.is_event || client !== this.client) return;
    if (this.held.peek()) return;
    const { batch, envelope } = received;
    const about = {
      sequence: envelope?.sequence ?? 0n,
      clock_ns: envelope?.clock_ns ?? 0n,
      author: envelope?.author ?? 0n,
      at: new Date(),
    };
    if (batch.type.id === session.Gap.id) {
      this.add({ ...about, type: '', target: null, more: 0, value: batch.message(0) });
      return;
    }
    for (const line of lines_of(batch)) this.add({ ...about, ...line });
  }
  private add(line: Omit<MessageLine, 'number'>): void {
    this.coming.push({ number: ++this.last, ...line });
    if (this.is_planned) return;
    this.is_planned = true;
    // Lists are drawn a few times a second, however many messages there are.
    setTimeout(() => {
      this.is_planned = false;
      this.kept.value = [...this.kept.peek(), ...this.coming].slice(-lines_max);
      this.coming = [];
    }, 100);
  }
}

function lines_of(batch: Batch): Pick<MessageLine, 'type' | 'target' | 'more' | 'value'>[] {
  const type = batch.type.name;
  const value = (i: number): StructValue => {
    const parts: StructValue = { ...batch.message(i) };
    batch.rows.forEach((row, k) => (parts[row.type.name.replace(/^.*\./, '')] = batch.component(i, k)));
    return parts;
  };
  if (batch.kind === BatchKind.timed) return [{ type, target: null, more: batch.count - 1, value: {} }];
  if (batch.kind === BatchKind.shared)
    return [{ type, target: batch.target(0), more: batch.count - 1, value: value(0) }];
  const lines = [];
  for (let i = 0; i < Math.min(batch.count, rows_max); ++i) {
    const target = batch.kind === BatchKind.world ? null : batch.target(i);
    lines.push({ type, target: target && is_nil(target) ? null : target, more: 0, value: value(i) });
  }
  if (batch.count > rows_max) lines[rows_max - 1].more = batch.count - rows_max;
  return lines;
}
