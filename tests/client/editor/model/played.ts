// Edits of a page whose server the test plays: what is sent is written as lines, what is answered is said by the test.
import type { TestContext } from 'node:test';

import { batches_of, BatchKind, hash32, hash64, id_text, muster, nil, session } from 'muster-client';
import type { Batch, Client, Entity, StructValue, TypeDescriptor } from 'muster-client';

import { Edits } from '../../../../client/editor/src/model/edits.js';
import type { EditedWorld } from '../../../../client/editor/src/model/edited_world.js';
import { Log } from '../../../../client/editor/src/model/log.js';
import { Notices } from '../../../../client/editor/src/model/notices.js';
import { Steps } from '../../../../client/editor/src/model/steps.js';
import { Scripted } from '../../ts/scripted.js';
import { Hands } from '../../ts/hands.js';

export const entity = (index: number, generation = 1): Entity => ({ index, generation });
export const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** Long enough for calls that wait for calls. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 12; ++i) await soon();
}

const json = (value: unknown): string => JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? `${each}n` : each));

/** All places of a type by the number that SetField gives them. */
function paths_of(type: TypeDescriptor, before = ''): Map<number, string> {
  const all = new Map<number, string>();
  for (const field of type.fields) {
    const names = [before + field.name];
    if (field.is_array) for (let i = 0; i < field.count; ++i) names.push(`${before}${field.name}[${i}]`);
    for (const name of names) {
      all.set(hash32(name), name);
      if (field.kind === 'structure' && !(field.is_array && name === names[0])) for (const [id, path] of paths_of(field.type!, name + '.')) all.set(id, path);
    }
  }
  return all;
}

export class Played {
  may = true;
  is_connected = true;
  /** Whose session edits go to. */
  now: Client;
  readonly values = new Map<string, StructValue>();
  readonly names = new Map<string, string>();
  readonly parents = new Map<string, Entity>();
  readonly next = new Map<string, Entity>();
  /** The sequences that were given when next siblings were asked for. */
  readonly sinces: bigint[] = [];
  readonly driven = new Set<string>();
  readonly log = new Log();
  readonly notices = new Notices();
  readonly edits: Edits;
  readonly steps: Steps;
  /** The undos and redos that the page has asked for. */
  asked: string[] = [];
  /** Answers to undos and redos, first for dry ones. If there is none, there is no step. */
  readonly plans: object[] = [];
  readonly undones: object[] = [];
  private readonly texts = new Map<bigint, string>();
  /** Edits are not answered until the test does: their names and requests. */
  holds = false;
  /** Answers instead of an Ack, one after the other. */
  readonly faults: object[] = [];
  /** What the world acknowledges with; 0: it has told of it before. */
  sequence = 0n;
  /** How it is waited for what is known here to be as of these sequences. */
  told_of: EditedWorld['told_of'] = () => Promise.resolve();
  /** Who holds entities. */
  held: EditedWorld['held'] = () => undefined;
  private written = 0;

  private constructor(
    readonly client: Client,
    readonly server: Scripted,
  ) {
    this.now = client;
    const world: EditedWorld = {
      client: () => (this.is_connected ? this.now : null),
      may_edit: () => this.may,
      why_not: () => 'it may not',
      component: (entity, component) => this.values.get(`${id_text(entity)} ${component}`),
      name: (entity) => this.names.get(id_text(entity)) ?? '',
      parent: (entity) => this.parents.get(id_text(entity)) ?? nil,
      names_below: (parent) =>
        [...this.names].flatMap(([id, name]) => (id_text(this.parents.get(id) ?? nil) === id_text(parent) ? [name] : [])),
      next_sibling: (entity, since) => {
        this.sinces.push(since);
        return Promise.resolve(this.next.get(id_text(entity)) ?? nil);
      },
      told_of: (structure, components) => this.told_of(structure, components),
      brief: (sentence) => sentence,
      was_refused: () => {},
      held: (entities, with_below) => this.held(entities, with_below),
      is_driven: (component) => this.driven.has(component),
    };
    this.edits = new Edits(world, this.log, this.notices);
    this.steps = new Steps(this.edits, world, this.log, this.notices);
    const acked = (): readonly [{ name: string }, unknown] | null => {
      if (this.holds) return null;
      const fault = this.faults.shift();
      return fault ? [session.Fault, fault] : [session.Ack, { sequence: this.sequence }];
    };
    server.answers.set(muster.Step.name, acked);
    server.answers.set(session.Undo.name, (batch) => {
      const { act, dry, on_conflict } = batch.message(0) as unknown as session.Undo;
      const words = [act === session.UndoAct.undo ? 'undo' : 'redo', ...(dry ? ['dry'] : []), ...(on_conflict ? ['overwrite'] : [])];
      this.asked.push(words.join(' '));
      if (this.holds) return null;
      const answer = (dry ? this.plans : this.undones).shift();
      if (!answer) return [session.Fault, { code: session.FaultCode.not_found, text: 'there is no step' }];
      return 'code' in answer ? [session.Fault, answer] : [session.Undone, { act, sequence: this.sequence, ...answer }];
    });
    server.answers.set(session.GetHistory.name, (batch) => {
      const { offset, limit } = batch.message(0) as unknown as session.GetHistory;
      return [session.History, this.page_of_history(offset, limit)];
    });
    let first = 100;
    server.answers.set(session.RequestGrant.name, () => [session.Granted, { first: (first += 256) - 256, count: 256 }]);
    server.answers.set(session.GetTemplate.name, () => [muster.DefineTemplate, { name: 't', nodes: [{}, {}] }]);
    server.answers.set(muster.InternText.name, (batch) => {
      for (let i = 0; i < batch.count; ++i) {
        const { text } = batch.message(i) as { text: string };
        this.texts.set(hash64(text), text);
      }
      return [session.Ack, { sequence: 1n }];
    });
  }
  /** Its session ends with the test, in which no time passes. */
  static async open(t: TestContext): Promise<Played> {
    new Hands(t);
    const { client, server } = await Scripted.open();
    t.after(() => client.close());
    const play = new Played(client, server);
    await play.steps.follow(client);
    return play;
  }

  set_value(entity: Entity, component: string, value: StructValue): void {
    this.values.set(`${id_text(entity)} ${component}`, value);
  }
  private new_steps(): muster.Step[] {
    const all = this.server.batches.slice(this.written).filter(({ type }) => type.name === muster.Step.name);
    this.written = this.server.batches.length;
    return all.map((batch) => batch.message(0) as unknown as muster.Step);
  }
  /**
   * One line for each message that was sent since the last call. All messages of a step but the
   * first are indented.
   */
  sent(): string[] {
    return this.new_steps().flatMap((step) => this.lines(step));
  }
  /** The lines of each step since the last call, by its label. */
  steps_sent(): Record<string, string[]> {
    return Object.fromEntries(this.new_steps().map((step) => [step.label, this.lines(step)]));
  }
  private lines(step: muster.Step): string[] {
    const lines = batches_of(step, this.client.types).flatMap((batch) =>
      Array.from({ length: batch.kind === BatchKind.shared ? 1 : batch.count }, (_, i) => this.line(batch, i)),
    );
    return lines.map((line, i) => (i > 0 ? '  ' : '') + line);
  }
  /** Reports a history to the page. Labels begin with the next step. */
  tell_history(undo: readonly string[], redo: readonly string[] = [], sequence = this.sequence): void {
    this.kept = { undo, redo, sequence };
    this.server.tell(session.History, this.page_of_history(0, 2), { request: 0n });
  }
  private kept: { undo: readonly string[]; redo: readonly string[]; sequence: bigint } = { undo: [], redo: [], sequence: 0n };
  private page_of_history(offset: number, limit: number): object {
    const { undo, redo, sequence } = this.kept;
    const labels = [...[...redo].reverse(), ...undo].slice(offset, offset + limit);
    const is_redo = Uint8Array.from(labels, (_, i) => (offset + i < redo.length ? 1 : 0));
    const columns = { labels, is_redo, sequences: labels.map(() => sequence), parts: labels.map(() => 1) };
    return { sequence, undo_steps: undo.length, redo_steps: redo.length, offset, ...columns };
  }
  /** Answers the newest step with that label. */
  answer(label: string, what: { name: string }, value: unknown): void {
    const of_label = this.server.sent.filter(({ name, value: sent }) => name === muster.Step.name && (sent as muster.Step).label === label);
    this.server.tell(what, value, { request: of_label.at(-1)!.request });
  }
  get problems(): string[] {
    return this.log.lines.value.filter(({ kind }) => kind === 'problem').map(({ text }) => text);
  }
  get notes(): string[] {
    return this.notices.list.value.map(({ text }) => text);
  }
  /** The labels of the steps that undo and redo would take. */
  get history(): (string | undefined)[] {
    const { undo, redo } = this.steps.next.value;
    return [undo?.label, redo?.label];
  }

  private text(hash: unknown): string {
    return hash === 0n ? '' : (this.texts.get(hash as bigint) ?? `unknown text ${String(hash)}`);
  }
  private field({ component, field, bytes, value }: muster.SetField): { place: string; is: (bytes: readonly number[]) => string } {
    const type = this.client.types.find(component)!;
    const path = paths_of(type).get(field) ?? `unknown place ${field}`;
    const is = (bytes_of: readonly number[]): string => {
      const part = this.client.fault_value({ type: component, field: path, value: Uint8Array.from(bytes_of.slice(0, bytes)) } as unknown as session.Fault);
      return typeof part === 'bigint' && this.texts.has(part) ? `'${this.text(part)}'` : json(part);
    };
    return { place: `${type.name}.${path}`, is: (of) => is(of.length ? of : value) };
  }
  private line(batch: Batch, i: number): string {
    const name = batch.type.name.slice('muster.'.length);
    const value = batch.message(i) as StructValue;
    const whom = `${name} ${batch.kind === BatchKind.shared ? [...Array(batch.count).keys()].map((k) => id_text(batch.target(k))).join('+') : id_text(batch.target(i))}`;
    const id = (part: string): string => id_text(value[part] as Entity);
    const rows = batch.rows.map((row, k) => `${row.type.name}=${json(batch.component(i, k))}`).join(' ');
    switch (name) {
      case 'SetField': {
        const { place, is } = this.field(value as unknown as muster.SetField);
        return `${whom} ${place}=${is([])}`;
      }
      case 'SetFieldIf': {
        const { set, expected } = value as unknown as muster.SetFieldIf;
        const { place, is } = this.field(set);
        return `${whom} ${place}=${is([])} where ${is(expected)}`;
      }
      case 'Remove':
        return `${whom} ${this.client.types.find(value.component as number)?.name}`;
      case 'Rename':
        return `${whom} '${this.text(value.name)}'`;
      case 'Reparent':
        return `${whom} under ${id('parent')} before ${id('before')}`;
      case 'Create':
        return `${whom} '${this.text(value.name)}' under ${id('parent')} before ${id('before')} clash ${String(value.clash)} ${rows}`.trim();
      case 'Spawn':
        return `${whom} '${String(typeof value.what === 'bigint' ? this.text(value.what) : value.what)}' under ${id('parent')} name '${typeof value.name === 'bigint' ? this.text(value.name) : String(value.name)}'`;
      case 'Set':
        return `${whom} mode ${String(value.mode)} ${rows}`;
      default:
        return whom;
    }
  }
}

/** As a world refuses a field that holds something else. */
export const mismatch = (type: TypeDescriptor, field: string, value: number[], entity: Entity): object => ({
  code: session.FaultCode.refused,
  text: `${type.name}.${field} is not what was expected`,
  reason: 'value_mismatch',
  type: type.id,
  field,
  value: Uint8Array.from(value),
  entity,
});
