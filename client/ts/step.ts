// Steps: several batches that the world applies or refuses as a whole. docs/undo.md explains steps
// and gestures.
import { Batch, encode_batch } from './batch.js';
import type { BatchPlan } from './batch.js';
import { BadBytes, plain_bytes, utf8, view_of } from './bytes.js';
import { mistaken } from './client_error.js';
import { SetField, SetFieldIf, Step } from './muster.js';
import { EditIf } from './session.js';
import type { Expectation } from './session.js';
import { place_of } from './type_table.js';
import type { TypeTable } from './type_table.js';
import { nil } from './types.js';
import type { Entity, Init, TypeKey, TypeRef } from './types.js';
import { default_bytes, write_place } from './values.js';
import type { TextSink } from './values.js';

const field_bytes_max = 64;

/** One part of a component of an entity, named as in set_field. */
export interface FieldEdit {
  entity: Entity;
  component: TypeRef<never> | TypeRef;
  path: string;
  value: unknown;
  /** Refuses the edit if the field does not have this value. */
  expected?: unknown;
}

/**
 * A batch of a step. A batch of kind `fields` writes fields in order; either all of its edits have
 * `expected`, or none.
 */
export type StepPart = BatchPlan | { kind: 'fields'; edits: readonly FieldEdit[] };

export interface StepOptions {
  /** The step's name in the history, such as "Move 3 entities". */
  label?: string;
  /** From next_gesture. Consecutive steps of one gesture become one step in the history. */
  gesture?: bigint;
  /**
   * The value of client.epoch when the step was made. If the session has entered another epoch
   * since, the step is not sent and fails with `epoch_over`. By default the current epoch.
   */
  epoch?: bigint;
  /**
   * What the world must be like; see expecting.ts. Otherwise, the step is refused, and the fault
   * says what is different. If the step is sent in several parts, only the first is refused.
   */
  expected?: readonly Init<Expectation>[];
}

/** Returns the value of a SetField for a part of a component. */
export function field_message(
  types: TypeTable,
  component: TypeRef,
  path: string,
  value: unknown,
  texts: TextSink,
): SetField {
  const type = types.component(component);
  const place = place_of(type, path);
  if (place.size > field_bytes_max)
    throw mistaken(
      `${type.name}.${path} has ${place.size} bytes; at most ${field_bytes_max} can be set at once: name a part of it`,
    );
  // Begin with the component's defaults. A partially given struct keeps them, as in a whole
  // component.
  const whole = default_bytes(type).slice();
  write_place(place, view_of(whole), 0, value, `${type.name}.${path}`, texts);
  const bytes = new Array<number>(field_bytes_max).fill(0);
  for (let i = 0; i < place.size; ++i) bytes[i] = whole[place.offset + i];
  return { component: type.id, field: place.id, bytes: place.size, reserved: 0, value: bytes };
}

/** Encodes one part. Throws ClientError (mistaken) if a value does not fit. */
export function encode_part(types: TypeTable, part: StepPart, texts: TextSink): Uint8Array {
  if (part.kind !== 'fields') {
    if (part.type.remote === 'none') throw mistaken(`${part.type.name} may not be sent from outside`);
    return encode_batch(part, texts);
  }
  const is_conditional = part.edits.some((edit) => edit.expected !== undefined);
  const messages = part.edits.map(({ entity, component, path, value, expected }) => {
    const set = field_message(types, component as TypeRef, path, value, texts);
    if (!is_conditional) return { target: entity, value: set };
    if (expected === undefined)
      throw mistaken(`${path}: either all of these edits have an expected value, or none of them`);
    const bytes = field_message(types, component as TypeRef, path, expected, texts).value;
    return { target: entity, value: { set, expected: bytes } };
  });
  const type = types.get((is_conditional ? SetFieldIf : SetField) as TypeKey<never>);
  return encode_batch({ kind: 'each', type, messages }, texts);
}

/** Splits a part into two. Returns null if it has only one message, or one payload for all. */
function halves(part: StepPart): [StepPart, StepPart] | null {
  const split = <T>(all: readonly T[]): [readonly T[], readonly T[]] | null => {
    const middle = all.length >> 1;
    return middle === 0 ? null : [all.slice(0, middle), all.slice(middle)];
  };
  switch (part.kind) {
    case 'shared':
      return null;
    case 'fields': {
      const edits = split(part.edits);
      return edits && [{ ...part, edits: edits[0] }, { ...part, edits: edits[1] }];
    }
    case 'world': {
      const values = split(part.values);
      return values && [{ ...part, values: values[0] }, { ...part, values: values[1] }];
    }
    case 'each': {
      const messages = split(part.messages);
      return messages && [{ ...part, messages: messages[0] }, { ...part, messages: messages[1] }];
    }
    default: {
      const messages = split(part.messages);
      return messages && [{ ...part, messages: messages[0] }, { ...part, messages: messages[1] }];
    }
  }
}

/** Encodes a part as batches of at most `bytes_max` bytes each. */
function encode_pieces(types: TypeTable, part: StepPart, bytes_max: number, texts: TextSink): Uint8Array[] {
  const batch = encode_part(types, part, texts);
  if (batch.length <= bytes_max) return [batch];
  const two = halves(part);
  if (!two) throw mistaken(`a batch of ${batch.length} bytes; a step for this server can have at most ${bytes_max}`);
  return two.flatMap((each) => encode_pieces(types, each, bytes_max, texts));
}

/**
 * Encodes parts as batches of Step. Returns a single one, unless it would be larger than a frame
 * may be. Several have the same gesture, which is `new_gesture()` if the options contain none.
 */
export function encode_steps(
  types: TypeTable,
  parts: readonly StepPart[],
  { label = '', gesture = 0n, expected = [] }: StepOptions,
  frame_bytes_max: number,
  new_gesture: () => bigint,
  texts: TextSink,
): Uint8Array[] {
  if (parts.length === 0) throw mistaken('a step needs at least one batch');
  // Headers of the frame, the batch and the table take less than this.
  const expectations = expected.reduce((sum, { value = [], name = '' }) => sum + 128 + value.length + utf8(name).length, 0);
  const bytes_max = frame_bytes_max - 256 - utf8(label).length - expectations;
  const groups: Uint8Array[][] = [];
  let bytes = Infinity;
  for (const batch of parts.flatMap((part) => encode_pieces(types, part, bytes_max, texts))) {
    bytes += batch.length;
    if (bytes > bytes_max) {
      groups.push([]);
      bytes = batch.length;
    }
    groups[groups.length - 1].push(batch);
  }
  const of_all = groups.length > 1 && gesture === 0n ? new_gesture() : gesture;
  const type = types.get(Step as TypeKey<never>);
  return groups.map((group, number) => {
    const batches = new Uint8Array(group.reduce((sum, batch) => sum + batch.length, 0));
    let at = 0;
    for (const batch of group) {
      batches.set(batch, at);
      at += batch.length;
    }
    const value = { batches, label, gesture: of_all };
    const step = encode_batch({ kind: 'table', type, messages: [{ target: nil, value }] });
    if (number > 0 || expected.length === 0) return step;
    const conditional = { target: nil, value: { expected, batch: step } };
    return encode_batch({ kind: 'table', type: types.get(EditIf as TypeKey<never>), messages: [conditional] });
  });
}

/** Returns the batches in the field `batches` of a Step. Throws BadBytes if they are invalid. */
export function batches_of(step: { batches: Uint8Array }, types: TypeTable): Batch[] {
  const bytes = plain_bytes(step.batches);
  const view = view_of(bytes);
  const all: Batch[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.length - at < 4 ? 0 : view.getUint32(at, true);
    if (length === 0 || length > bytes.length - at)
      throw new BadBytes('truncated', `batch ${all.length} of the step does not fit into its bytes`, at);
    all.push(Batch.read(bytes.subarray(at, at + length), types));
    at += length;
  }
  return all;
}
