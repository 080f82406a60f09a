// Edits of a run that are applied to the level: those that can be kept, and the requests to keep
// them. docs/runs.md states the rules.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { ClientError, hash32, id_text, session } from 'muster-client';
import type { Client, Entity, Init } from 'muster-client';

import type { Edits } from './edits.js';
import type { Log } from './log.js';
import type { Notices } from './notices.js';
import { counted } from './numbers.js';
import { written_by } from './operations.js';
import type { Operation } from './operations.js';
import type { Run } from './run.js';
import { as_sentence } from './sentences.js';

export interface RunEdit {
  step: bigint;
  user: bigint;
  /** "Move crate" */
  what: string;
  /** True if it, or a part of it, will be applied to the level when the run ends. */
  is_marked: boolean;
}
/** A field, a component (empty path), or a whole entity (`component` 0). */
export interface KeptPlace {
  entity: Entity;
  component: number;
  path: string;
}

/** Limit on the steps that the list shows. */
export const run_edits_max = 500;

export class KeptEdits {
  private readonly known = signal<readonly RunEdit[]>([]);
  /** The components and fields that this page has edited in the current run. */
  private readonly edited = signal<ReadonlySet<string>>(new Set());
  private client: Client | null = null;

  constructor(
    private readonly edits: Edits,
    private readonly run: Run,
    private readonly log: Log,
    private readonly notices: Notices,
  ) {
    edits.applied = (operations) => this.note(operations);
    let epoch = run.epoch.peek();
    run.epoch.subscribe((now) => {
      if (now === epoch) return;
      epoch = now;
      if (this.edited.peek().size > 0) this.edited.value = new Set();
    });
  }

  /** The steps of the current run or, if none is on, of the last one, newest first. */
  get list(): ReadonlySignal<readonly RunEdit[]> {
    return this.known;
  }
  /** Returns true if this page has edited the field, or a part of it, in the current run. */
  has_edited(entity: Entity, component: string, path: string): boolean {
    if (!this.run.playing.value) return false;
    const key = `${id_text(entity)}|${component}|`;
    const all = this.edited.value;
    if (all.has(key + path) || all.has(key)) return true;
    for (const each of all) if (each.startsWith(`${key}${path}.`) || each.startsWith(`${key}${path}[`)) return true;
    return false;
  }
  follow(client: Client): void {
    this.client = client;
    void this.read();
  }
  lost(): void {
    this.client = null;
  }
  /** Asks the server for the list. */
  async read(): Promise<void> {
    const client = this.client;
    if (!client) return;
    const answer = await client.ask(session.GetRunEdits, { offset: 0, limit: run_edits_max }).catch(() => null);
    if (!answer || client !== this.client) return;
    this.known.value = Array.from(answer.steps, (step, i) => ({
      step,
      user: answer.users[i],
      what: answer.whats[i],
      is_marked: answer.marked[i] !== 0,
    }));
  }

  keep_steps(steps: readonly bigint[]): void {
    this.keep({ steps: [...steps] });
  }
  keep_all(): void {
    this.keep({ all: true });
  }
  /** Keeps the edits of these places. Call it only during a run. */
  keep_places(places: readonly KeptPlace[]): void {
    this.keep({
      entities: places.map(({ entity }) => entity),
      components: places.map(({ component }) => component),
      fields: places.map(({ path }) => (path === '' ? 0 : hash32(path))),
      names: places.map(() => ''),
    });
  }

  private keep(what: Init<session.Keep>): void {
    const epoch = this.run.epoch.peek();
    void this.edits.turn(async () => {
      const client = this.edits.ready();
      if (!client) return 0n;
      if (epoch !== this.run.epoch.peek()) {
        this.edits.say_dropped('Nothing was applied to the level, because a run has begun or ended in the meantime.');
        return 0n;
      }
      try {
        const kept = await client.ask(session.Keep, what);
        this.report(kept);
        void this.read();
        return kept.marked ? 0n : kept.sequence;
      } catch (error) {
        const is_none = error instanceof ClientError && error.fault?.reason === 'not_kept';
        if (is_none) this.notices.say('problem', `Not applied to the level: ${(error as Error).message}`);
        else this.edits.complain('Apply to level', error);
        return 0n;
      }
    });
  }
  private report({ marked, messages, nil_references, skipped }: session.Kept): void {
    const sentences = [
      marked
        ? 'This will be applied to the level when the run ends.'
        : `Applied ${messages === 1 ? 'one edit' : `${counted(messages)} edits`} to the level. Undo takes this back.`,
      ...skipped.slice(0, 3).map((each) => `Left out: ${as_sentence(each)}`),
    ];
    if (nil_references > 0)
      sentences.push(nil_references === 1 ? 'One reference is empty.' : `${nil_references} references are empty.`);
    const text = sentences.join(' ');
    this.notices.say(skipped.length > 0 ? 'problem' : 'done', text);
    this.log.note(text);
  }
  private note(operations: readonly Operation[]): void {
    if (!this.run.playing.peek()) return;
    const parts = operations.flatMap(written_by);
    if (parts.length === 0) return;
    const keys = parts.map(({ entity, component, path }) => `${id_text(entity)}|${component}|${path}`);
    const known = this.edited.peek();
    if (keys.every((key) => known.has(key))) return;
    this.edited.value = new Set([...known, ...keys].slice(-20_000));
  }
}
