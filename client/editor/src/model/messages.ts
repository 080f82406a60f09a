// The world's messages for the console: inputs and, on request, messages from handlers.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import type { Batch, Client, ClientError, OpenWatch, Received, StructValue } from 'muster-client';
import { batches_of, BatchKind, is_nil, muster, session } from 'muster-client';
import type { Entity } from 'muster-client';

export interface MessageLine {
  number: number;
  sequence: bigint;
  clock_ns: bigint;
  /** The session that sent it; 0n for the world itself. */
  session: bigint;
  /** Id of its session's request. */
  request: bigint;
  /**
   * True if the message is not an input: a handler posted it, or a timer delivered it. Sequence and
   * session are then those of the input that caused it.
   */
  is_pushed: boolean;
  /** Delivery time by the world's clock; 0n if it was delivered immediately. */
  due_ns: bigint;
  /** Full name of the type; empty for a gap. */
  type: string;
  /** Null for the world. */
  target: Entity | null;
  /** Number of additional targets. */
  more: number;
  value: StructValue;
  /** In order of arrival. */
  at: Date;
}

/** A step of any session. */
export interface SeenStep {
  sequence: bigint;
  session: bigint;
  gesture: bigint;
  /** May be empty if the step is not from a page. */
  label: string;
  act: muster.StepAct;
  /** The first message of the step. */
  type: string;
  target: Entity | null;
}

/** The messages that docs/undo.md calls edits. */
const edits = new Set(
  ['Create', 'Spawn', 'MergeTemplate', 'Destroy', 'Set', 'Remove', 'SetField', 'SetFieldIf', 'Reparent', 'Rename', 'DefineTemplate'].map(
    (each) => 'muster.' + each,
  ),
);
const steps_max = 500;

/** Not shown, because they come with every tick. */
const never_shown = new Set(['muster.Update', 'muster.Advance']);
const lines_max = 2000;
/** Limit on rows per input; further messages are only counted. */
const rows_max = 20;

export class Messages {
  private readonly kept = signal<readonly MessageLine[]>([]);
  /** If true, no messages are added. */
  readonly held = signal(false);
  /** If true, also lists messages from handlers and timers. */
  readonly with_pushed = signal(false);
  /**
   * By request of this session: messages that the world refused, completely or for some targets.
   */
  readonly refused = signal<ReadonlyMap<bigint, 'all' | 'some'>>(new Map());
  /** The steps of all sessions since the page was opened; the newest is last. */
  readonly steps = signal<readonly SeenStep[]>([]);
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
  /** `failed` is called if the server refuses a change of the watch. */
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
  /** Call for every edit and message of this page that the world refused. */
  was_refused({ request, fault }: ClientError): void {
    if (request === 0n || !fault) return;
    const newest = [...this.refused.peek()].slice(1 - lines_max);
    this.refused.value = new Map([...newest, [request, fault.handled + fault.unhandled > 0 ? 'some' : 'all']]);
  }
  /** Sets whether messages from handlers are listed from now on; earlier lines stay. */
  show_pushed(wanted: boolean): void {
    this.with_pushed.value = wanted;
    this.ask();
  }
  /** Call when the world has learned types. */
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
    const { batch, envelope } = received;
    if (!received.is_pushed) this.see_step(batch, envelope?.sequence ?? 0n, envelope?.session ?? 0n, client);
    if (this.held.peek()) return;
    const about = {
      sequence: envelope?.sequence ?? 0n,
      clock_ns: envelope?.clock_ns ?? 0n,
      session: envelope?.session ?? 0n,
      request: envelope?.sender_request ?? 0n,
      is_pushed: received.is_pushed,
      at: new Date(),
    };
    if (batch.type.id === session.Gap.id) {
      this.add({ ...about, due_ns: 0n, type: '', target: null, more: 0, value: batch.message(0) });
      return;
    }
    const due_ns = batch.kind === BatchKind.timed ? batch.argument : 0n;
    for (const line of lines_of(batch.inner ?? batch, client)) this.add({ ...about, due_ns, ...line });
  }
  private see_step(batch: Batch, sequence: bigint, session: bigint, client: Client): void {
    const is_step = batch.type.name === muster.Step.name;
    if (session === 0n || !(is_step || edits.has(batch.type.name))) return;
    const [first] = lines_of(batch, client);
    if (!first || !edits.has(first.type)) return;
    const { label, gesture, act } = is_step
      ? (batch.message(0) as unknown as muster.Step)
      : { label: '', gesture: 0n, act: muster.StepAct.edit };
    const { type, target } = first;
    const before = this.steps.peek();
    const last = before[before.length - 1];
    const is_same = gesture !== 0n && last?.session === session && last.gesture === gesture && last.act === act;
    const kept = is_same ? before.slice(0, -1) : before.slice(1 - steps_max);
    this.steps.value = [...kept, { sequence, session, gesture, label, act, type, target }];
  }
  private add(line: Omit<MessageLine, 'number'>): void {
    this.coming.push({ number: ++this.last, ...line });
    if (this.is_planned) return;
    this.is_planned = true;
    // Redraw lists only a few times per second, regardless of the number of messages.
    setTimeout(() => {
      this.is_planned = false;
      this.kept.value = [...this.kept.peek(), ...this.coming].slice(-lines_max);
      this.coming = [];
    }, 100);
  }
}

/** Limit on the number of messages that chain_of returns. */
const chain_max = 20;

/** Returns the input of a handler's message, or the first handler messages of an input. */
export function chain_of(line: MessageLine, all: readonly MessageLine[]): MessageLine[] {
  const is_linked = (other: MessageLine): boolean =>
    other.sequence === line.sequence && other.is_pushed !== line.is_pushed && other.type !== '' && other.due_ns === 0n;
  return line.type === '' || line.due_ns !== 0n ? [] : all.filter(is_linked).slice(0, chain_max);
}

type Line = Pick<MessageLine, 'type' | 'target' | 'more' | 'value'>;

/** Returns the messages of a batch. The messages of a step are listed instead of the step. */
function lines_of(batch: Batch, { types }: Client): Line[] {
  if (batch.type.name !== muster.Step.name) return lines_of_one(batch);
  const step = batch.message(0) as unknown as muster.Step;
  const all = batches_of(step, types).flatMap(lines_of_one);
  const lines = all.slice(0, rows_max);
  for (const { more } of all.slice(rows_max)) lines[rows_max - 1].more += 1 + more;
  return lines;
}
function lines_of_one(batch: Batch): Line[] {
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
