// The lines that handlers wrote, and their filter by level.
import type { Signal } from '@preact/signals';
import { id_text, is_nil } from 'muster-client';
import type { LogRow } from 'muster-client';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';

import { counted } from '../model/numbers.js';
import { usePage } from '../panels/context.js';
import { LineList } from '../parts/line_list.js';
import { matching } from './game_log.js';
import type { LogLevel } from './game_log.js';
import './game_log.css';

const levels: [LogLevel, string][] = [
  ['info', 'All'],
  ['warning', 'Warnings'],
  ['error', 'Errors'],
];

export function LevelFilter({ value }: { value: Signal<LogLevel> }): JSX.Element {
  return (
    <span class="field select game-levels">
      <select
        aria-label="Levels"
        value={value.value}
        onChange={(event) => (value.value = event.currentTarget.value as LogLevel)}
      >
        {levels.map(([level, title]) => (
          <option key={level} value={level}>
            {title}
          </option>
        ))}
      </select>
    </span>
  );
}

export function GameLogList({ filter, lowest }: { filter: string; lowest: LogLevel }): JSX.Element {
  const { model } = usePage();
  const { game_log, world } = model;
  const all = game_log.lines.value;
  const hz = model.client.value?.welcome.hz ?? 0;
  const name = ({ entity }: LogRow): string =>
    is_nil(entity) ? '' : `${world.get(entity)?.name ?? ''} ${id_text(entity)}`;
  const lines = matching(all, lowest, filter, name);
  useEffect(() => {
    game_log.unread.value = 0;
  }, [all]);
  const select = ({ entity }: LogRow): void => {
    if (!world.get(entity)) return;
    model.selection.set([entity]);
    model.reveal(entity);
  };
  return (
    <div class="messages">
      <LineList
        lines={lines}
        label="Game log"
        empty={
          all.length > 0
            ? 'No lines match the filter.'
            : game_log.fault.value || 'No lines yet. What handlers write to the log appears here.'
        }
        draw={(line, style) => (
          <div key={line.number} class={`message game-line is-${line.level}`} style={style} onClick={() => select(line)}>
            <span class="message-tick" title={`${hz > 0 ? 'Tick' : 'Time'}, with input ${line.sequence}`}>
              {hz > 0 ? Math.round((Number(line.clock_ns) / 1e9) * hz) : `${(Number(line.clock_ns) / 1e9).toFixed(3)} s`}
            </span>
            <span class="game-line-level">{line.level}</span>
            <span class="game-line-handler" title={line.handler}>
              {line.handler}
            </span>
            {is_nil(line.entity) ? (
              <span class="message-target" />
            ) : world.get(line.entity) ? (
              <button
                class="link message-target"
                onClick={(event) => {
                  event.stopPropagation();
                  select(line);
                }}
              >
                {model.label(line.entity)}
              </button>
            ) : (
              <span class="message-target is-faint" title="The entity does not exist any more">
                #{id_text(line.entity)}
              </span>
            )}
            <span class="game-line-text" title={line.text}>
              {line.text}
              {line.lost_before > 0n && (
                <span class="game-line-lost">
                  {`(${counted(Number(line.lost_before))} earlier ${line.lost_before === 1n ? 'line' : 'lines'} lost)`}
                </span>
              )}
            </span>
          </div>
        )}
      />
    </div>
  );
}
