// Shows the world, its clock, undo and redo, and how much is saved.
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { Command } from '../model/commands.js';
import { counted } from '../model/numbers.js';
import { named } from '../model/steps.js';
import { Icon } from '../parts/icon.js';
import { key_text, Menu } from '../parts/menu.js';
import { anchor_of } from '../parts/popover.js';
import type { Anchor } from '../parts/popover.js';
import { world_file } from './actions.js';
import { usePage } from './context.js';

const speeds = [0.1, 0.25, 0.5, 1, 2, 4, 10];

export function TopBar(): JSX.Element {
  const { model } = usePage();
  const { undo, redo } = model.steps.next.value;
  const world = world_file(model).replace(/\.muster$/, '');
  return (
    <header class="top-bar">
      <div class="top-left">
        <Mark />
        <h1 class="world-name" title={model.client.value?.welcome.world}>
          {model.client.value || model.is_there.value ? world : 'Muster'}
        </h1>
      </div>
      <div class="top-middle">
        <RunTools />
        <span class="top-line" />
        <ClockTools />
        <span class="top-line" />
        <Tool id="edit.undo" title={undo ? `Undo: ${named(undo.label)}` : 'Nothing to undo'} />
        <Tool id="edit.redo" title={redo ? `Redo: ${named(redo.label)}` : 'Nothing to redo'} />
      </div>
      <SaveTools />
    </header>
  );
}

function Mark(): JSX.Element {
  return (
    <svg class="mark" width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
      <rect x="1" y="1" width="7" height="7" rx="1.5" />
      <rect x="10" y="1" width="7" height="7" rx="1.5" class="mark-faint" />
      <rect x="1" y="10" width="7" height="7" rx="1.5" class="mark-faint" />
      <rect x="10" y="10" width="7" height="7" rx="1.5" class="mark-fainter" />
    </svg>
  );
}

/** Says whether the world is a level or a run, and begins or ends a run. */
function RunTools(): JSX.Element {
  const { model } = usePage();
  const playing = model.run.playing.value;
  const is_connected = model.client.value !== null;
  const about = playing
    ? 'A run is play on the level. Edits made in it are dropped when it is stopped.'
    : 'The level is what you build. A run plays on it, and afterwards the level is as it was.';
  return (
    <div class={`run ${playing ? 'is-playing' : ''}`} role="group" aria-label="Level and run">
      {is_connected && (
        <span class="run-word" role="status" title={about}>
          {playing ? 'Run' : 'Level'}
        </span>
      )}
      <Tool
        id="run.toggle"
        class="run-button"
        icon={playing ? 'stop' : 'play'}
        text={playing ? 'Stop' : 'Play'}
        title={
          playing
            ? 'Stop: ends the run for everybody. The world is the level again, and edits of the run are dropped'
            : 'Play: begins a run for everybody. Edits made in it are dropped when it is stopped'
        }
      />
    </div>
  );
}

export function Tool(props: {
  id: string;
  icon?: string;
  title?: string;
  /** Shown beside the icon, and then also the button's name. */
  text?: string;
  class?: string;
}): JSX.Element | null {
  const { model } = usePage();
  const command: Command | undefined = model.commands.get(props.id);
  if (!command) return null;
  const enabled = command.enabled?.() ?? true;
  const keys = command.keys?.[0] ? ` (${key_text(command.keys[0])})` : '';
  const hint = enabled ? undefined : command.hint?.();
  return (
    <button
      class={`tool ${props.class ?? ''}`}
      aria-label={props.text ?? props.title ?? command.title}
      aria-pressed={command.checked?.()}
      aria-disabled={!enabled || undefined}
      title={(props.title ?? command.title) + keys + (hint ? `: ${hint}` : '')}
      onClick={() => model.commands.run(props.id)}
    >
      <Icon name={props.icon ?? command.icon ?? ''} />
      {props.text}
    </button>
  );
}

function ClockTools(): JSX.Element {
  const { model } = usePage();
  const menu = useSignal<Anchor | null>(null);
  const state = model.clock.state.value;
  const is_paused = model.clock.paused.value;
  const is_connected = model.client.value !== null;
  const speed = state?.speed ?? 1;
  const has_ticks = (model.client.value?.welcome.hz ?? 0) > 0;
  return (
    <div class="clock" role="group" aria-label="Clock">
      <Tool id="clock.toggle" title={is_paused ? 'Resume the clock' : 'Pause the clock'} />
      <Tool id="clock.step" />
      <button
        class="tool tool-text"
        aria-label={`Speed: ${speed}`}
        aria-haspopup="menu"
        title="Speed of the clock"
        disabled={!state || !model.may_control.value}
        onClick={(event) => (menu.value = anchor_of(event.currentTarget))}
      >
        {speed}×<Icon name="chevron-down" size={12} />
      </button>
      <span
        class={`clock-state ${!is_connected || (!has_ticks && !is_paused) ? 'is-off' : is_paused ? 'is-paused' : 'is-running'}`}
        role="status"
      >
        {!is_connected ? 'not connected' : is_paused ? 'paused' : has_ticks ? 'running' : 'no ticks'}
      </span>
      {has_ticks ? <TickCount /> : <span class="ticks" />}
      {menu.value && (
        <Menu
          at={menu.value}
          label="Speed"
          close={() => (menu.value = null)}
          groups={[
            speeds.map((each) => ({
              title: `${each}×`,
              checked: each === speed,
              run: () =>
                void model.clock.set_speed(each).catch((error: Error) => model.notices.say('problem', error.message)),
            })),
          ]}
        />
      )}
    </div>
  );
}

function TickCount(): JSX.Element {
  const { model } = usePage();
  const state = model.clock.state.value;
  const status = model.keeper.status.value;
  const hz = model.client.value?.welcome.hz ?? 0;
  const clock_ns =
    state && status
      ? state.clock_ns > status.clock_ns
        ? state.clock_ns
        : status.clock_ns
      : (state?.clock_ns ?? status?.clock_ns ?? 0n);
  // The server reports only changes of the clock; between them, each tick advances it.
  const since_ns = clock_ns - (state?.clock_ns ?? 0n);
  const tick = (state?.tick ?? 0n) + BigInt(Math.round((Number(since_ns) / 1e9) * hz));
  return (
    <span class="ticks" title="Ticks so far, and the world's clock">
      <span class="ticks-word">tick</span> <b>{counted(tick)}</b>{' '}
      <span class="ticks-clock">{clock_text(clock_ns)}</span>
    </span>
  );
}
export function clock_text(ns: bigint): string {
  const seconds = Number(ns / 1_000_000_000n);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

function SaveTools(): JSX.Element {
  const { model } = usePage();
  const file = world_file(model);
  const saved = model.clock.saved.value;
  const status = model.keeper.status.value;
  const sequence = status?.sequence ?? model.client.value?.welcome.sequence ?? 0n;
  const behind = saved ? sequence - saved.sequence : null;
  const playing = model.run.playing.value;
  const command = model.commands.get('world.save');
  const enabled = command?.enabled?.() ?? false;
  const hint = command?.hint?.();
  useTurn(5000);
  let text = 'not saved since this page was opened';
  if (saved) {
    const when = saved.at ? `saved ${ago(saved.at)}` : 'saved earlier';
    const inputs = behind === 1n ? 'input' : 'inputs';
    text = behind !== null && behind > 0n ? `${when}, ${counted(behind)} ${inputs} since` : `${when}, no inputs since`;
  }
  const words = playing ? ' the run' : ' over file';
  const is_same = behind !== null && behind <= 0n;
  const is_lost = model.clock.not_saved.value !== '';
  return (
    <div class="top-right">
      <div class="truth" role="group" aria-label="Live state and saved file">
        {is_lost ? (
          <span class="truth-live is-lost">
            <i class="dot" /> Saving has stopped; edits are refused
          </span>
        ) : (
          <span class="truth-live">
            <i class="dot" /> Live: {playing ? 'edits end with the run' : 'edits change the level'}
          </span>
        )}
        <span class={`truth-file ${is_same && !is_lost ? '' : 'is-behind'}`} title={`${file}: ${text}${saved?.at === null ? ' (before this page was opened)' : ''}`}>
          File {is_lost ? text.replace(/^saved/, 'last saved') : text}
        </span>
      </div>
      <button
        class="button is-primary save"
        aria-label={model.clock.is_saving.value ? 'Saving' : `Save${words}`}
        aria-disabled={!enabled || undefined}
        title={`${playing ? `Writes the run to ${file}, beside the level` : `Writes the running state over ${file}`} (Ctrl+S)${hint ? `: ${hint}` : ''}`}
        onClick={() => model.commands.run('world.save')}
      >
        <Icon name="save" size={14} />
        <span>
          {model.clock.is_saving.value ? 'Saving' : 'Save'}
          <span class="save-words">{model.clock.is_saving.value ? '' : words}</span>
        </span>
      </button>
    </div>
  );
}

/** Redraws periodically, for texts like "a minute ago". */
function useTurn(ms: number): void {
  const [, set] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => set((before) => before + 1), ms);
    return () => clearInterval(timer);
  }, [ms]);
}
function ago(at: Date): string {
  const seconds = Math.round((Date.now() - at.getTime()) / 1000);
  if (seconds < 10) return 'just now';
  if (seconds < 60) return 'under a minute ago';
  const minutes = Math.round(seconds / 60);
  return minutes < 60
    ? `${minutes} min ago`
    : `at ${at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })}`;
}
