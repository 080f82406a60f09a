// Batches: sequences of messages of one type and one kind of target. docs/batches.md and
// messages/batch.h describe every kind.
import { BadBytes, plain_bytes, round_up, view_of } from './bytes.js';
import { mistaken } from './client_error.js';
import { read_table, write_table } from './tables.js';
import { nil } from './types.js';
import type { Entity, TypeDescriptor } from './types.js';
import type { TypeTable } from './type_table.js';
import { read_entity, read_struct, write_entity, write_whole_struct } from './values.js';
import type { StructValue, TextSink } from './values.js';

export const BatchKind = { each: 1, shared: 2, table: 3, world: 4, subtree: 5, timed: 6 } as const;
export type BatchKind = (typeof BatchKind)[keyof typeof BatchKind];
/** A mask of the targets of a subtree batch. */
export const SubtreeParts = { ancestors: 1, self: 2, descendants: 4 } as const;

const flag_causes = 1;
const flag_rows = 2;
const header_bytes = 32;
const row_set_components_max = 505;

/** A component of a row set, and the position of its value in the payload. */
export interface RowSetEntry {
  type: TypeDescriptor;
  offset: number;
}

function payload_offset_for(kind: number, causes: boolean, align: number): number {
  switch (kind) {
    case BatchKind.each:
    case BatchKind.subtree:
      return causes || align > 8 ? 16 : 8;
    case BatchKind.world:
      return !causes ? 0 : align > 8 ? 16 : 8;
    case BatchKind.shared:
      return causes ? 16 : 0;
    case BatchKind.table:
      return causes ? 32 : 16;
    default:
      return 16;
  }
}

function item_bytes_for(payload_offset: number, payload_bytes: number, align: number): number {
  return round_up(payload_offset + payload_bytes, Math.max(8, align));
}

/**
 * Reads a batch in place, so its memory must not change. Values that have been read have their own
 * memory.
 */
export class Batch {
  /** Positions of the items of a table batch. */
  private readonly item_places: number[] = [];
  private inner_batch: Batch | null = null;

  private constructor(
    readonly bytes: Uint8Array,
    /** A view of `bytes`. */
    readonly view: DataView,
    readonly type: TypeDescriptor,
    readonly kind: BatchKind,
    readonly has_causes: boolean,
    /** Number of messages, or of targets in a shared batch. */
    readonly count: number,
    /** Components that follow the message's struct in each payload. */
    readonly rows: readonly RowSetEntry[],
    /**
     * For subtree and table batches, a mask of SubtreeParts. For timed batches, the delivery time
     * in ns of the world's clock.
     */
    readonly argument: bigint,
    private readonly body: number,
    private readonly payload_offset: number,
    private readonly payload_bytes: number,
    private readonly item_bytes: number,
  ) {}

  /**
   * Checks lengths, counts, types and row sets, so that every message can be read. Throws BadBytes,
   * with the reasons in docs/protocol.md. Values are checked when they are read; padding is not
   * checked.
   */
  static read(bytes: Uint8Array, types: TypeTable): Batch {
    return Batch.judge(plain_bytes(bytes), types, false);
  }

  private static judge(bytes: Uint8Array, types: TypeTable, inside_timed: boolean): Batch {
    const fail = (reason: string, offset: number, text: string): never => {
      throw new BadBytes(reason, text, offset);
    };
    const view = view_of(bytes);
    if (bytes.length < header_bytes)
      fail('truncated', bytes.length, `a batch has at least 32 bytes; the frame holds ${bytes.length}`);
    const said = view.getUint32(0, true);
    if (said !== bytes.length)
      fail(
        said > bytes.length ? 'truncated' : 'wrong_size',
        0,
        `batch declares ${said} bytes; the frame holds ${bytes.length}`,
      );
    if (said % 16 !== 0) fail('misaligned', 0, `batch declares ${said} bytes, which is not a multiple of 16`);
    const type = types.find(view.getUint32(4, true));
    const kind = view.getUint8(8) as BatchKind;
    const flags = view.getUint8(9);
    const header_units = view.getUint8(10);
    const payload_offset = view.getUint8(11);
    const count = view.getUint32(12, true);
    const payload_bytes = view.getUint32(16, true);
    const item_bytes = view.getUint32(20, true);
    const argument = view.getBigUint64(24, true);
    if (kind < 1 || kind > 6) fail('unknown_kind', 8, `batch kind ${kind} is unknown`);
    if (inside_timed && kind === BatchKind.timed) fail('nested_timer', 8, 'a timed batch holds another timed batch');
    const flags_known =
      kind === BatchKind.timed
        ? 0
        : kind === BatchKind.each || kind === BatchKind.shared
          ? flag_causes | flag_rows
          : flag_causes;
    if ((flags & ~flags_known) !== 0)
      fail('unknown_flag', 9, `batch flags are ${flags}; this kind supports ${flags_known}`);
    if (count === 0) fail('wrong_count', 12, 'batch declares no messages');
    if (!type) throw new BadBytes('unknown_type', `message type id ${view.getUint32(4, true)} is unknown`, 4);
    const wanted = kind === BatchKind.table ? 'table_message' : 'message';
    if (kind !== BatchKind.timed && type.role !== wanted)
      fail('wrong_role', 4, `${type.name} is not a ${wanted}, so it cannot be sent in a batch of this kind`);

    const sized = kind !== BatchKind.table && kind !== BatchKind.timed;
    const rows: RowSetEntry[] = [];
    let payload = sized ? type.size : 0;
    let align = sized ? type.align : 16;
    if ((flags & flag_rows) !== 0) {
      if (bytes.length < 48) fail('bad_row_set', bytes.length, 'a batch with a row set has at least 48 bytes');
      const components = view.getUint32(32, true);
      const head = header_bytes + round_up(8 + 8 * Math.min(components, row_set_components_max), 16);
      if (components > row_set_components_max || header_units * 16 !== head || bytes.length < head)
        fail(
          'bad_row_set',
          32,
          `row set declares ${components} components; batch header declares ${header_units} units of 16 bytes`,
        );
      let previous = -1;
      for (let i = 0; i < components; ++i) {
        const at = 40 + 8 * i;
        const id = view.getUint32(at, true);
        const offset = view.getUint32(at + 4, true);
        const component = types.find(id);
        if (!component || component.role !== 'component')
          throw new BadBytes('bad_row_set', `row set: ${id} is not a component`, at);
        if (id <= previous) fail('bad_row_set', at, `row set: ${component.name} is listed twice or out of order`);
        previous = id;
        if (offset !== round_up(payload, component.align))
          fail(
            'bad_row_set',
            at + 4,
            `row set: ${component.name} is at ${offset}, expected ${round_up(payload, component.align)}`,
          );
        rows.push({ type: component, offset });
        payload = offset + component.size;
        align = Math.max(align, component.align);
      }
    } else if (header_units !== 2) {
      fail('wrong_size', 10, `batch header declares ${header_units} units of 16 bytes; without a row set it has 2`);
    }
    const causes = (flags & flag_causes) !== 0;
    const expected_offset = payload_offset_for(kind, causes, align);
    if (payload_offset !== expected_offset)
      fail('wrong_offset', 11, `payload offset is ${payload_offset}, expected ${expected_offset}`);
    if (payload_bytes !== payload)
      fail('wrong_size', 16, `payload of ${type.name} declares ${payload_bytes} bytes, expected ${payload}`);
    const item = !sized ? 0 : kind === BatchKind.shared ? 8 : item_bytes_for(payload_offset, payload, align);
    if (item_bytes !== item) fail('wrong_size', 20, `items declare ${item_bytes} bytes, expected ${item}`);

    const body = header_units * 16;
    const batch = new Batch(
      bytes,
      view,
      type,
      kind,
      causes,
      count,
      rows,
      argument,
      body,
      payload_offset,
      payload_bytes,
      item_bytes,
    );
    const end =
      kind === BatchKind.shared
        ? body + payload_offset + round_up(payload, 16) + 8 * count
        : kind === BatchKind.table
          ? batch.walk_tables()
          : kind === BatchKind.timed
            ? batch.judge_timed(types)
            : body + count * item_bytes;
    if (round_up(end, 16) !== bytes.length)
      fail(
        'wrong_count',
        12,
        `${count} messages need a batch of ${round_up(end, 16)} bytes; the batch declares ${bytes.length}`,
      );
    return batch;
  }

  /** Returns the end of the last item. */
  private walk_tables(): number {
    let at = this.body;
    for (let i = 0; i < this.count; ++i) {
      const data = at + this.payload_offset;
      if (data > this.bytes.length)
        throw new BadBytes('truncated', `table ${i} begins after the end of the batch`, at);
      const length = this.view.getUint32(at + 8, true);
      if (length > this.bytes.length - data)
        throw new BadBytes(
          'truncated',
          `table ${i} declares ${length} bytes; ${this.bytes.length - data} are left in the batch`,
          at + 8,
        );
      this.item_places.push(at);
      at = data + round_up(length, 16);
    }
    return at;
  }

  private judge_timed(types: TypeTable): number {
    if (this.count !== 1) throw new BadBytes('wrong_count', `a timed batch holds one batch; this one declares ${this.count}`, 12);
    if (this.bytes.length < header_bytes + 16 + header_bytes)
      throw new BadBytes('truncated', `a timed batch has at least 80 bytes; this one has ${this.bytes.length}`);
    const inner = Batch.judge(this.bytes.subarray(this.body + 16), types, true);
    if (inner.type !== this.type)
      throw new BadBytes('wrong_role', `a timed batch of ${this.type.name} holds a batch of ${inner.type.name}`, 4);
    this.inner_batch = inner;
    return this.bytes.length;
  }

  private item(i: number): number {
    return this.kind === BatchKind.table ? this.item_places[i] : this.body + i * this.item_bytes;
  }
  /** Returns the position of message i's struct or table. */
  payload(i: number): number {
    return (this.kind === BatchKind.shared ? this.body : this.item(i)) + this.payload_offset;
  }

  /** Returns the target of message i; nil means the world. For a timed batch, use `inner`. */
  target(i: number): Entity {
    if (this.kind === BatchKind.world || this.kind === BatchKind.timed) return { ...nil };
    if (this.kind === BatchKind.shared)
      return read_entity(this.view, this.body + this.payload_offset + round_up(this.payload_bytes, 16) + 8 * i);
    return read_entity(this.view, this.item(i));
  }

  /** Returns message i as a new object. Throws BadBytes for an impossible value. */
  message(i: number): StructValue {
    if (this.kind === BatchKind.timed) return this.inner!.message(i);
    if (this.kind !== BatchKind.table) return read_struct(this.type, this.view, this.payload(i));
    return read_table(this.type, this.table_bytes(i));
  }

  /** Returns the value of the component `rows[row]` of message i. */
  component(i: number, row: number): StructValue {
    const { type, offset } = this.rows[row];
    return read_struct(type, this.view, this.payload(i) + offset);
  }

  /** Returns the bytes of that value in place, without decoding them. */
  component_bytes(i: number, row: number): DataView {
    const { type, offset } = this.rows[row];
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + this.payload(i) + offset, type.size);
  }
  /** Returns the bytes of message i of a table batch in place. */
  table_bytes(i: number): Uint8Array {
    const at = this.payload(i);
    return this.bytes.subarray(at, at + this.view.getUint32(this.item(i) + 8, true));
  }

  /** Returns the cause of message i, or 0n if it was not recorded. */
  cause(i: number): bigint {
    if (!this.has_causes) return 0n;
    const at =
      this.kind === BatchKind.shared
        ? this.body
        : this.kind === BatchKind.world
          ? this.item(i)
          : this.kind === BatchKind.table
            ? this.item(i) + 16
            : this.item(i) + 8;
    return this.view.getBigUint64(at, true);
  }

  /** Returns the timer's id in a timed batch. */
  get timer(): bigint {
    return this.kind === BatchKind.timed ? this.view.getBigUint64(this.body, true) : 0n;
  }
  /** Returns the batch inside a timed batch. */
  get inner(): Batch | null {
    return this.inner_batch;
  }
}

/** A component and its value, which follow a message. */
export interface Row {
  type: TypeDescriptor;
  value: unknown;
}

/** The contents of a batch. Values are as in Init: omitted fields have their defaults. */
export type BatchPlan =
  | {
      kind: 'each';
      type: TypeDescriptor;
      messages: readonly { target: Entity; value: unknown; rows?: readonly Row[] }[];
    }
  | { kind: 'shared'; type: TypeDescriptor; targets: readonly Entity[]; value: unknown; rows?: readonly Row[] }
  | { kind: 'world'; type: TypeDescriptor; values: readonly unknown[] }
  | { kind: 'subtree'; type: TypeDescriptor; parts: number; messages: readonly { target: Entity; value: unknown }[] }
  | { kind: 'table'; type: TypeDescriptor; parts?: number; messages: readonly { target: Entity; value: unknown }[] };

/**
 * Encodes a batch. All messages of an `each` must have rows of the same components. Throws
 * ClientError (mistaken) with type and field if a value does not fit.
 */
export function encode_batch(plan: BatchPlan, texts: TextSink = () => {}): Uint8Array {
  if (plan.kind === 'table') return encode_tables(plan, texts);
  const { type } = plan;
  if (type.role !== 'message') throw mistaken(`${type.name} is not a message struct`);
  const messages =
    plan.kind === 'world'
      ? plan.values.map((value) => ({ target: nil, value, rows: undefined }))
      : plan.kind === 'shared'
        ? [{ target: nil, value: plan.value, rows: plan.rows }]
        : (plan.messages as readonly { target: Entity; value: unknown; rows?: readonly Row[] }[]);
  const count = plan.kind === 'shared' ? plan.targets.length : messages.length;
  if (count === 0) throw mistaken(`a batch of ${type.name} needs at least one message`);

  const kind = BatchKind[plan.kind];
  const entries: RowSetEntry[] = [];
  let payload = type.size;
  let align = type.align;
  const components = messages[0].rows?.map((row) => row.type);
  for (const component of [...(components ?? [])].sort((a, b) => a.id - b.id)) {
    if (component.role !== 'component') throw mistaken(`${component.name} is not a component`);
    if (entries.at(-1)?.type === component) throw mistaken(`${component.name} is named twice`);
    const offset = round_up(payload, component.align);
    entries.push({ type: component, offset });
    payload = offset + component.size;
    align = Math.max(align, component.align);
  }
  if (entries.length > row_set_components_max)
    throw mistaken(`a message can have at most ${row_set_components_max} components`);
  const body = header_bytes + (components ? round_up(8 + 8 * entries.length, 16) : 0);
  const payload_offset = payload_offset_for(kind, false, align);
  const item_bytes = plan.kind === 'shared' ? 8 : item_bytes_for(payload_offset, payload, align);
  const targets_at = body + round_up(payload, 16);
  const bytes = new Uint8Array(
    round_up(plan.kind === 'shared' ? targets_at + 8 * count : body + count * item_bytes, 16),
  );
  const view = view_of(bytes);
  write_header(view, type, kind, components ? flag_rows : 0, body / 16, payload_offset, count, payload, item_bytes);
  if (plan.kind === 'subtree') view.setBigUint64(24, BigInt(plan.parts), true);
  if (components) view.setUint32(32, entries.length, true);
  entries.forEach((entry, i) => {
    view.setUint32(40 + 8 * i, entry.type.id, true);
    view.setUint32(44 + 8 * i, entry.offset, true);
  });
  messages.forEach((message, i) => {
    const item = body + (plan.kind === 'shared' ? 0 : i * item_bytes);
    if (plan.kind === 'each' || plan.kind === 'subtree') write_entity(view, item, message.target);
    const write = (part: TypeDescriptor, offset: number, value: unknown) => {
      write_whole_struct(part, view, item + payload_offset + offset, value, texts);
    };
    write(type, 0, message.value);
    if ((message.rows?.length ?? 0) !== entries.length)
      throw mistaken(`all messages of a batch must have the same components`);
    for (const row of message.rows ?? []) {
      const entry = entries.find((each) => each.type === row.type);
      if (!entry) throw mistaken(`all messages of a batch must have the same components: ${row.type.name} differs`);
      write(row.type, entry.offset, row.value);
    }
  });
  if (plan.kind === 'shared') plan.targets.forEach((target, i) => write_entity(view, targets_at + 8 * i, target));
  return bytes;
}

function encode_tables(plan: BatchPlan & { kind: 'table' }, texts: TextSink): Uint8Array {
  const { type, messages } = plan;
  if (type.role !== 'table_message') throw mistaken(`${type.name} is not a message table`);
  if (messages.length === 0) throw mistaken(`a batch of ${type.name} needs at least one message`);
  const tables = messages.map((message) => write_table(type, message.value, texts));
  const bytes = new Uint8Array(tables.reduce((sum, table) => sum + 16 + round_up(table.length, 16), header_bytes));
  const view = view_of(bytes);
  write_header(view, type, BatchKind.table, 0, 2, 16, messages.length, 0, 0);
  view.setBigUint64(24, BigInt(plan.parts ?? 0), true);
  let at = header_bytes;
  tables.forEach((table, i) => {
    write_entity(view, at, messages[i].target);
    view.setUint32(at + 8, table.length, true);
    bytes.set(table, at + 16);
    at += 16 + round_up(table.length, 16);
  });
  return bytes;
}

/**
 * Encodes `inner` for delivery when the world's clock reaches `due_ns`. The server gives the timer
 * its number.
 */
export function timed_batch(inner: Uint8Array, due_ns: bigint): Uint8Array {
  const bytes = new Uint8Array(header_bytes + 16 + inner.length);
  const view = view_of(bytes);
  view.setUint32(0, bytes.length, true);
  view.setUint32(4, view_of(inner).getUint32(4, true), true);
  view.setUint8(8, BatchKind.timed);
  view.setUint8(10, 2);
  view.setUint8(11, 16);
  view.setUint32(12, 1, true);
  view.setBigUint64(24, due_ns, true);
  bytes.set(inner, header_bytes + 16);
  return bytes;
}

function write_header(
  view: DataView,
  type: TypeDescriptor,
  kind: BatchKind,
  flags: number,
  units: number,
  payload_offset: number,
  count: number,
  payload_bytes: number,
  item_bytes: number,
): void {
  view.setUint32(0, view.byteLength, true);
  view.setUint32(4, type.id, true);
  view.setUint8(8, kind);
  view.setUint8(9, flags);
  view.setUint8(10, units);
  view.setUint8(11, payload_offset);
  view.setUint32(12, count, true);
  view.setUint32(16, payload_bytes, true);
  view.setUint32(20, item_bytes, true);
}
