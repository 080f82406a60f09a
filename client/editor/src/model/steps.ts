// This user's steps on the server: which of them can be undone and redone, and the requests to do
// so. docs/undo.md describes the rules.
import { computed, signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { ClientError, id_text, is_nil, session } from 'muster-client';
import type { Client, Entity } from 'muster-client';

import type { Edits } from './edits.js';
import type { EditedWorld } from './edited_world.js';
import type { Log } from './log.js';
import type { Notices } from './notices.js';
import { last_name, words } from './values.js';

interface NextStep {
  label: string;
  /** The sequence of its newest input. */
  sequence: bigint;
}
/** The steps that undo and redo would use next; null if there is none. */
export interface NextSteps {
  undo: NextStep | null;
  redo: NextStep | null;
  /** The sequence as of which this is so. */
  sequence: bigint;
}

const { skip, overwrite } = session.OnConflict;
const { edited_by_other, worked_on_by_other } = session.SkipReason;
/** Limit on the skipped parts that a notice lists. */
const listed_max = 3;

export class Steps {
  private readonly known = signal<NextSteps>({ undo: null, redo: null, sequence: 0n });
  private client: Client | null = null;
  private told = 0;
  private readonly epochs = signal(0); // number of runs that have begun or ended

  constructor(
    private readonly edits: Edits,
    private readonly world: EditedWorld,
    private readonly log: Log,
    private readonly notices: Notices,
  ) {}

  get next(): ReadonlySignal<NextSteps> {
    return this.known;
  }
  /** True if there is a step to undo, or an edit that may have become one. */
  may_undo(): boolean {
    const { undo, sequence } = this.known.value;
    return undo !== null || this.edits.is_busy() || this.edits.acknowledged.value > sequence;
  }
  /** True if there is a step to redo, or an unfinished undo that may leave one. */
  may_redo(): boolean {
    return this.known.value.redo !== null || this.edits.is_busy();
  }
  /** Follows this user's history until the session ends. */
  async follow(client: Client): Promise<void> {
    this.client = client;
    const take = (history: session.History): Promise<void> => this.take(client, history);
    await client.follow_history(2, (history) => void take(history).catch(() => {})).then(take);
  }
  /** Called when a run has begun or ended. A run has its own history. */
  epoch_began(): void {
    ++this.epochs.value;
    this.known.value = { undo: null, redo: null, sequence: this.known.peek().sequence };
  }
  /** Called when the session has ended. */
  lost(): void {
    this.client = null;
    this.known.value = { undo: null, redo: null, sequence: 0n };
  }
  undo(): void {
    this.ask_in_turn(session.UndoAct.undo);
  }
  redo(): void {
    this.ask_in_turn(session.UndoAct.redo);
  }

  /** Finds the next steps. They are between the steps to redo and those to undo. */
  private async take(client: Client, history: session.History): Promise<void> {
    const number = ++this.told;
    const offset = history.redo_steps - 1;
    const page = offset <= 0 ? history : await client.ask(session.GetHistory, { offset, limit: 2 });
    if (client !== this.client || number !== this.told) return;
    const step = (i: number): NextStep | null => {
      const at = i - page.offset;
      return at >= 0 && at < page.labels.length ? { label: page.labels[at] || page.whats[at], sequence: page.sequences[at] } : null;
    };
    this.known.value = {
      undo: page.undo_steps > 0 ? step(page.redo_steps) : null,
      redo: page.redo_steps > 0 ? step(page.redo_steps - 1) : null,
      sequence: page.sequence,
    };
  }

  private ask_in_turn(act: session.UndoAct, on_conflict: session.OnConflict = skip, is_chosen = false): void {
    const epoch = this.epochs.peek();
    // The newest step is another one then.
    const is_late = (): boolean => {
      if (this.epochs.peek() === epoch) return false;
      const done = verb(act) === 'Undo' ? 'undone' : 'redone';
      this.edits.say_dropped(`${verb(act)}: nothing was ${done}, because a run has begun or ended in the meantime.`);
      return true;
    };
    void this.edits.turn(async () => {
      const client = this.edits.ready();
      if (!client || is_late()) return 0n;
      try {
        // A part that is skipped could not be overwritten later, so conflicts are shown first.
        if (!is_chosen) {
          const plan = await client.ask(session.Undo, { act, dry: 1, only_newest: 1 });
          if (is_late()) return 0n;
          if (plan.skipped_reasons.some(is_conflict)) {
            this.offer(client, plan);
            return 0n;
          }
        }
        const undone = await client.ask(session.Undo, { act, on_conflict });
        this.report(client, undone);
        return undone.sequence;
      } catch (error) {
        const is_empty = error instanceof ClientError && error.fault?.code === session.FaultCode.not_found;
        if (is_empty) this.notices.say('problem', `There is nothing to ${verb(act).toLowerCase()}.`);
        else this.edits.complain(verb(act), error);
        return 0n;
      }
    });
  }
  /** Shows the conflicts of the next step before it is undone, and lets the user choose. */
  private offer(client: Client, plan: session.Undone): void {
    const { act } = plan;
    const name = verb(act);
    const sentence = `${name} '${named(plan.label || plan.what)}': ${this.skipped(client, plan, `${name} would set it to`)} Nothing was changed.`;
    // A newer step would be undone instead.
    const epoch = this.epochs.peek();
    const is_over = computed(() => {
      const { undo, redo } = this.known.value;
      if (this.epochs.value !== epoch) return true;
      return client !== this.client || (undo?.sequence ?? 0n) > plan.sequence || (redo?.sequence ?? 0n) > plan.sequence;
    });
    const choose = (on_conflict: session.OnConflict) => (): void => {
      if (!is_over.peek()) this.ask_in_turn(act, on_conflict, true);
    };
    const rest = plan.done > 0 ? `${name} the rest` : `${name} the step ${act === session.UndoAct.undo ? 'before' : 'after'} it`;
    const actions = [
      { title: 'Overwrite', run: choose(overwrite) },
      { title: rest, run: choose(skip) },
    ];
    this.notices.say('problem', sentence, actions, is_over);
    this.log.problem(sentence);
  }
  /** Shows how the result differs from what the user may expect. */
  private report(client: Client, undone: session.Undone): void {
    const { act, passed_over, nil_references, other_parents, other_names } = undone;
    const is_undo = act === session.UndoAct.undo;
    const sentences: string[] = [];
    if (passed_over > 0) {
      const steps = passed_over === 1 ? 'One newer step' : `${passed_over} newer steps`;
      sentences.push(`${steps} could no longer be ${is_undo ? 'undone' : 'redone'}.`);
    }
    if (undone.skipped_reasons.length > 0) sentences.push(this.skipped(client, undone, 'It was not set to'));
    const say = (count: number, one: string, several: string): void => {
      if (count > 0) sentences.push(count === 1 ? `One ${one}.` : `${count} ${several}.`);
    };
    say(nil_references, 'reference is empty, because its entity does not exist', 'references are empty, because their entities do not exist');
    say(other_parents, 'entity has another parent, because its own does not exist', 'entities have other parents, because their own do not exist');
    say(other_names, 'entity has another name, because its own is taken', 'entities have other names, because their own are taken');
    if (sentences.length === 0) return;
    const sentence = `${is_undo ? 'Undid' : 'Redid'} '${named(undone.label || undone.what)}'. ${sentences.join(' ')}`;
    this.notices.say('problem', sentence);
    this.log.note(sentence);
  }
  /** Returns sentences about skipped parts. `of_mine` precedes the value that was not written. */
  private skipped(client: Client, undone: session.Undone, of_mine: string): string {
    const all = Array.from(undone.skipped_reasons, (_, i) => this.skipped_part(client, undone, i, of_mine));
    const more = Math.max(undone.skipped, all.length) - listed_max;
    return [...all.slice(0, listed_max), ...(more > 0 ? [`${more} more.`] : [])].join(' ');
  }
  private skipped_part(client: Client, undone: session.Undone, i: number, of_mine: string): string {
    const entity = undone.skipped_entities[i];
    const component = last_name(client.types.find(undone.skipped_components[i])?.name ?? '');
    const field = undone.skipped_fields[i];
    const [mine, theirs] = [undone.skipped_mine[i], undone.skipped_theirs[i]];
    const whom = is_nil(entity) ? `template ${field}` : this.name(entity);
    const part = component === '' ? whom : `${field === '' ? component : words(field)} of ${whom}`;
    const { SkipReason } = session;
    switch (undone.skipped_reasons[i] as session.SkipReason) {
      case SkipReason.edited_by_other:
        return mine === '' && theirs === ''
          ? `Somebody else has edited ${part} since.`
          : `Somebody else has set ${part} to ${theirs} since. ${of_mine} ${mine}.`;
      case SkipReason.worked_on_by_other:
        return `Somebody else has worked on ${part} or below it since.`;
      case SkipReason.not_alive:
        return `'${part}': the entity does not exist any more.`;
      case SkipReason.component_missing:
        return `'${part}': it does not have ${component} any more.`;
      case SkipReason.component_exists:
        return `'${part}': it has ${component} again.`;
      case SkipReason.id_released:
        return `'${part}' was deleted too long ago.`;
      case SkipReason.would_be_circle:
        return `'${part}': its old parent is below it now.`;
    }
  }
  private name(entity: Entity): string {
    return this.world.name(entity) || '#' + id_text(entity);
  }
}

const verb = (act: session.UndoAct): string => (act === session.UndoAct.undo ? 'Undo' : 'Redo');
/** Steps of other programs may have no label. */
export const named = (label: string): string => label || 'an edit';
const is_conflict = (reason: number): boolean => reason === edited_by_other || reason === worked_on_by_other;
