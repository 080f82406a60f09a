// The world's messages for the console: inputs, and on request messages of handlers.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import type { Batch, Client, ClientError, OpenWatch, Received, StructValue } from 'muster-client';
import { BatchKind, is_nil, session } from 'muster-client';
import type { Entity } from 'muster-client';

export interface MessageLine {
  number: number;
  sequence: bigint;
  clock_ns: bigint;
  /** The session that sent it; 0n for the world itself. */
  author: bigint;
  /** Under which request of its session. */
  request: bigint;
  /**
   * It is no input: a handler pushed it, or a timer delivered it; sequence and author are those of
   * the input that it came of.
   */
  is_pushed: boolean;
  /** When it is to be delivered, by the world's clock; 0n: it was, at once. */
  due_ns: bigint;
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
/** Limit per batch; the rest is counted. */
const rows_max = 20;

export class Messages {
  private readonly kept = signal<readonly MessageLine[]>([]);
  /** Nothing is added while it is true. */
  readonly held = signal(false);
  /** Also lists messages of handlers and timers. */
  readonly with_pushed = signal(false);
  /** By request of this session: messages that the world refused, wholly or for some targets. */
  readonly refused = signal<ReadonlyMap<bigint, 'all' | 'some'>>(new Map());
  private coming: MessageLine[] = [];
  private client: Client | null = null;
  private watch: OpenWatch | null = null;
  private last = 0;
  private is_planned = false;

  get lines(): ReadonlySignal<readonly MessageLine[]> {
    return this.kept;
  }
  clear(): void {
    this.kept.value = [];
  }
  /** `failed` is told where a change of what is told was refused. */
  constructor(private readonly failed: (error: ClientError) => void) {}

  async follow(client: Client): Promise<void> {
    this.client = client;
    this.refused.value = new Map();
    this.watch = null;
    const asked = this.question(client);
    const watch = await client.follow(asked, { frame: (received) => this.take(client, received) });
    if (client !== this.client) return;
    this.watch = watch;
    const { input_types, pushed } = this.question(client);
    if (input_types.length !== asked.input_types.length || pushed.length !== asked.pushed.length) this.ask();
  }
  /** Told of every edit and message of this page that the world refused. */
  was_refused({ request, fault }: ClientError): void {
    if (request === 0n || !fault) return;
    const newest = [...this.refused.peek()].slice(1 - lines_max);
    this.refused.value = new Map([...newest, [request, fault.handled + fault.unhandled > 0 ? 'some' : 'all']]);
  }
  /** Sets the listed messages from now on; earlier ones stay. */
  show_pushed(wanted: boolean): void {
    this.with_pushed.value = wanted;
    this.ask();
  }
  /** The world knows other types. */
  learned(): void {
    this.ask();
  }
  private ask(): void {
    const { client, watch } = this;
    if (!client || !watch || client.ended) return;
    watch.change(this.question(client)).done.catch((error: ClientError) => {
      if (error.kind === 'refused') this.failed(error);
    });
  }
  private question(client: Client) {
    const messages = [...client.types]
      .filter((type) => /message$/.test(type.role) && !never_shown.has(type.name))
      .filter((type) => !type.name.startsWith('muster.session.'))
      .map((type) => type.id);
    return {
      world: true,
      values: false,
      structure: false,
      inputs: true,
      input_types: messages,
      pushed: this.with_pushed.peek() ? messages : [],
      rate_max: 20,
    };
  }

  private take(client: Client, received: Received): void {
    if (!received.is_event || client !== this.client) return;
    if (this.held.peek()) return;
    const { batch, envelope } = received;
    const about = {
      sequence: envelope?.sequence ?? 0n,
      clock_ns: envelope?.clock_ns ?? 0n,
      author: envelope?.author ?? 0n,
      request: envelope?.author_request ?? 0n,
      is_pushed: received.is_pushed,
      at: new Date(),
    };
    if (batch.type.id === session.Gap.id) {
      this.add({ ...about, due_ns: 0n, type: '', target: null, more: 0, value: batch.message(0) });
      return;
    }
    const due_ns = batch.kind === BatchKind.timed ? batch.argument : 0n;
    for (const line of lines_of(batch.inner ?? batch)) this.add({ ...about, due_ns, ...line });
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

/** Limit on the messages that chain_of returns. */
const chain_max = 20;

/**
 * For a message of a handler, the input it came with. For an input, the first messages of handlers
 * that came with it.
 */
export function chain_of(line: MessageLine, all: readonly MessageLine[]): MessageLine[] {
  const is_linked = (other: MessageLine): boolean =>
    other.sequence === line.sequence && other.is_pushed !== line.is_pushed && other.type !== '' && other.due_ns === 0n;
  return line.type === '' || line.due_ns !== 0n ? [] : all.filter(is_linked).slice(0, chain_max);
}

function lines_of(batch: Batch): Pick<MessageLine, 'type' | 'target' | 'more' | 'value'>[] {
  const type = batch.type.name;
  const value = (i: number): StructValue => {
    const parts: StructValue = { ...batch.message(i) };
    batch.rows.forEach((row, k) => (parts[row.type.name.replace(/^.*\./, '')] = batch.component(i, k)));
    return parts;
  };
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
