// Lists of steps: the user's history, and the edits of a run that can be applied to the level.
import { useSignal } from '@preact/signals';
import { muster, session } from 'muster-client';
import type { Client } from 'muster-client';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';

import { run_edits_max } from '../model/kept_edits.js';
import { counted } from '../model/numbers.js';
import { named } from '../model/steps.js';
import { last_name } from '../model/values.js';
import { Icon } from '../parts/icon.js';
import { usePage } from './context.js';

const refresh_ms = 1000;
const history_max = 200;

interface ListedStep {
  label: string;
  /** The number of undos that take it back, or of redos that do it again. */
  away: number;
  is_redo: boolean;
}

/** The steps of the user, or of everyone. */
export function HistoryList(): JSX.Element {
  const is_everyone = useSignal(false);
  return (
    <div class="run-edits">
      <header class="run-edits-head">
        <p>
          {is_everyone.value
            ? 'The steps of all users since this page was opened, newest first.'
            : 'Your steps. A click on one goes back to before it, or does it again.'}
        </p>
        <label class="step-filter">
          <input
            type="checkbox"
            checked={is_everyone.value}
            onChange={(event) => (is_everyone.value = event.currentTarget.checked)}
          />
          Everyone
        </label>
      </header>
      {is_everyone.value ? <AllSteps /> : <OwnSteps />}
    </div>
  );
}

const act_words = { [muster.StepAct.edit]: '', [muster.StepAct.undo]: 'Undo: ', [muster.StepAct.redo]: 'Redo: ' };

function AllSteps(): JSX.Element {
  const { model } = usePage();
  const names = useSignal<ReadonlyMap<bigint, string>>(new Map());
  const client = model.client.value;
  const steps = model.messages.steps.value;
  const own = client?.welcome.session;
  const unknown = steps.some(({ session: from }) => from !== own && !names.value.has(from));
  useEffect(() => {
    if (!client || !unknown) return;
    const ended = (from: bigint): string => `session ${from.toString(16).slice(-4)}`;
    client.ask(session.ListSessions).then(
      (page) => {
        const known = new Map(names.peek());
        page.sessions.forEach((from, i) => known.set(from, page.names[i]));
        for (const { session: from } of steps) if (!known.has(from)) known.set(from, ended(from));
        names.value = known;
      },
      () => {},
    );
  }, [client, unknown]);
  if (steps.length === 0) return <p class="empty">No steps yet.</p>;
  const shown = steps.slice(-history_max).reverse();
  return (
    <ul class="steps" aria-label="Steps of everyone">
      {shown.map(({ sequence, session: from, label, act, type, target }) => (
        <li key={String(sequence)} class="step">
          <span>
            {act_words[act]}
            {label || `${last_name(type)} ${target ? model.label(target) : ''}`}
          </span>
          <span class="step-about">{from === own ? 'you' : (names.value.get(from) ?? '')}</span>
        </li>
      ))}
    </ul>
  );
}

/** The user's own steps. A click on a step goes back or forth to it. */
function OwnSteps(): JSX.Element {
  const { model } = usePage();
  const steps = useSignal<readonly ListedStep[]>([]);
  const total = useSignal(0);
  const client = model.client.value;
  const next = model.steps.next.value;
  useEffect(() => {
    if (!client) return undefined;
    let is_over = false;
    void client.ask(session.GetHistory, { offset: 0, limit: history_max }).then(
      (page) => {
        if (is_over) return;
        total.value = page.undo_steps + page.redo_steps;
        steps.value = page.labels.map((label, i) => {
          const at = page.offset + i;
          const is_redo = page.is_redo[i] !== 0;
          return { label: named(label || page.whats[i]), is_redo, away: is_redo ? page.redo_steps - at : at - page.redo_steps + 1 };
        });
      },
      () => {},
    );
    return () => {
      is_over = true;
    };
  }, [client, next]);
  const may = model.may_edit.value;
  const go = ({ away, is_redo }: ListedStep): void => {
    for (let i = 0; i < away; ++i) is_redo ? model.steps.redo() : model.steps.undo();
  };
  if (steps.value.length === 0)
    return <p class="empty">No steps yet.</p>;
  return (
    <div class="steps" role="list" aria-label="Your steps">
      {steps.value.map((step, i) => (
        <div key={`${i} ${step.label}`} role="listitem">
          <button
            class={`step ${step.is_redo ? 'is-undone' : ''}`}
            disabled={!may}
            title={
              step.is_redo
                ? `Redo ${step.away === 1 ? 'this step' : `${step.away} steps, up to this one`}`
                : `Undo ${step.away === 1 ? 'this step' : `${step.away} steps, back to before this one`}`
            }
            onClick={() => go(step)}
          >
            <Icon name={step.is_redo ? 'redo' : 'undo'} size={14} />
            <span>{step.label}</span>
            {step.is_redo && <span class="step-about">undone</span>}
          </button>
        </div>
      ))}
      {total.value > steps.value.length && (
        <p class="empty">The newest {counted(steps.value.length)} of {counted(total.value)} steps.</p>
      )}
    </div>
  );
}

/** Returns the names of connected users, by number, and this session's user. */
async function users_of(client: Client): Promise<{ names: Map<bigint, string>; own: bigint | null }> {
  const names = new Map<bigint, string>();
  const page = await client.ask(session.ListSessions);
  page.users.forEach((user, i) => names.set(user, page.names[i]));
  const at = page.own.indexOf(1);
  return { names, own: at < 0 ? null : page.users[at] };
}

/** The edits of the current or last run, with a box for each one to apply to the level. */
export function RunEditList(): JSX.Element {
  const { model } = usePage();
  const { kept } = model;
  const chosen = useSignal<ReadonlySet<bigint>>(new Set());
  const users = useSignal<Awaited<ReturnType<typeof users_of>> | null>(null);
  const client = model.client.value;
  const playing = model.run.playing.value;
  const epoch = model.run.epoch.value;
  useEffect(() => {
    chosen.value = new Set();
    void kept.read();
    void (client && users_of(client).then((found) => (users.value = found), () => {}));
    if (!playing) return undefined;
    const timer = setInterval(() => void kept.read(), refresh_ms);
    return () => clearInterval(timer);
  }, [client, epoch, playing]);
  const list = kept.list.value;
  const may = model.may_edit.value;
  if (list.length === 0)
    return (
      <p class="empty">
        {playing ? 'No edits in this run yet.' : 'There are no edits of a run.'} Edits made during a run appear here and
        can be applied to the level.
      </p>
    );
  const open = list.filter(({ is_marked }) => !is_marked);
  const wanted = open.filter(({ step }) => chosen.value.has(step));
  const toggle = (step: bigint): void => {
    const now = new Set(chosen.peek());
    if (!now.delete(step)) now.add(step);
    chosen.value = now;
  };
  const who = (user: bigint): string => {
    if (user === users.value?.own) return 'you';
    return users.value?.names.get(user) ?? (user === 0n ? 'owner' : `user ${user}`);
  };
  return (
    <div class="run-edits">
      <header class="run-edits-head">
        <p>
          {playing
            ? 'Edits of this run. They are dropped when it is stopped, except those that you apply to the level.'
            : 'Edits of the last run. You can apply them to the level until the next run begins.'}
        </p>
        <button
          class="button is-small is-primary"
          disabled={!may || wanted.length === 0}
          onClick={() => {
            kept.keep_steps(wanted.map(({ step }) => step));
            chosen.value = new Set();
          }}
        >
          Apply to level
        </button>
        <button class="button is-small" disabled={!may || open.length === 0} onClick={() => kept.keep_all()}>
          Apply all
        </button>
      </header>
      <ul class="steps" aria-label="Edits of the run">
        {list.map(({ step, user, what, is_marked }) => (
          <li key={String(step)}>
            <label class={`step ${is_marked ? 'is-marked' : ''}`}>
              <input
                type="checkbox"
                checked={is_marked || chosen.value.has(step)}
                disabled={is_marked || !may}
                onChange={() => toggle(step)}
              />
              <span>{what}</span>
              <span class="step-about">{is_marked ? 'goes to the level · ' : ''}{who(user)}</span>
            </label>
          </li>
        ))}
        {list.length === run_edits_max && <p class="empty">The newest {run_edits_max} edits.</p>}
      </ul>
    </div>
  );
}
