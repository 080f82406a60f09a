// The console: the world's messages, the game's log, a form for any message, and errors of this
// page.
import { useSignal } from '@preact/signals';
import { id_text } from 'muster-client';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { AssetList } from '../assets/asset_list.js';
import type { LogLevel } from '../game_log/game_log.js';
import { GameLogList, LevelFilter } from '../game_log/game_log_list.js';
import { chain_of } from '../model/messages.js';
import type { MessageLine } from '../model/messages.js';
import { counted, short_text } from '../model/numbers.js';
import { last_name } from '../model/values.js';
import { FilterField } from '../parts/filter_field.js';
import { Icon } from '../parts/icon.js';
import { LineList } from '../parts/line_list.js';
import { download_slice } from './actions.js';
import { usePage } from './context.js';
import { HistoryList, RunEditList } from './history_lists.js';
import { preview } from './preview.js';
import { SendForm } from './send_form.js';
import { TemplateList } from '../templates/template_list.js';
import type { ConsoleTab } from './ui.js';

export function Console(): JSX.Element {
  const { model, ui } = usePage();
  const filter = useSignal('');
  const asset_filter = useSignal('');
  const game_filter = useSignal('');
  const game_level = useSignal<LogLevel>('info');
  const tabs: [ConsoleTab, string][] = [
    ['messages', 'Messages'],
    ['game', 'Game'],
    ['send', 'Send'],
    ['history', 'History'],
    ['run', model.run.playing.value ? 'Edits of the run' : 'Edits of the last run'],
    ['templates', 'Templates'],
    ['assets', 'Assets'],
    ['log', 'Log'],
  ];
  const shown_tabs = tabs.filter(
    ([tab]) => tab !== 'run' || model.run.playing.value || model.kept.list.value.length > 0 || ui.tab.value === 'run',
  );
  const unread = { log: model.log.unread.value, game: model.game_log.unread.value } as Record<ConsoleTab, number>;
  return (
    <section class="panel console" aria-label="Console">
      <header class="panel-head console-head">
        <div class="tabs" role="tablist" aria-label="Console">
          {shown_tabs.map(([tab, title]) => (
            <button
              key={tab}
              id={`tab-${tab}`}
              class="tab"
              role="tab"
              aria-selected={ui.tab.value === tab}
              aria-controls="console-panel"
              tabIndex={ui.tab.value === tab ? 0 : -1}
              onClick={() => (ui.tab.value = tab)}
              onKeyDown={(event) => {
                const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
                if (!by) return;
                const at = shown_tabs.findIndex(([each]) => each === tab);
                const next = shown_tabs[(at + by + shown_tabs.length) % shown_tabs.length][0];
                ui.tab.value = next;
                document.getElementById(`tab-${next}`)?.focus();
              }}
            >
              {title}
              {unread[tab] > 0 && ui.tab.value !== tab && <span class="badge">{unread[tab]}</span>}
            </button>
          ))}
        </div>
        {ui.tab.value === 'messages' && (
          <>
            <FilterField
              value={filter}
              label="Filter messages"
              placeholder="Filter: type, entity, session"
              class="console-filter"
            />
            <button
              class="tool"
              aria-pressed={model.messages.with_pushed.value}
              title="Show messages of handlers and timers"
              aria-label="Show messages of handlers and timers"
              onClick={() => model.messages.show_pushed(!model.messages.with_pushed.peek())}
            >
              <Icon name="bot" />
            </button>
            <button
              class="tool"
              aria-pressed={model.messages.held.value}
              title="Pause the list"
              aria-label="Pause the list"
              onClick={() => (model.messages.held.value = !model.messages.held.peek())}
            >
              <Icon name={model.messages.held.value ? 'play' : 'pause'} />
            </button>
            <button class="tool" title="Clear" aria-label="Clear messages" onClick={() => model.messages.clear()}>
              <Icon name="eraser" />
            </button>
          </>
        )}
        {ui.tab.value === 'game' && (
          <>
            <FilterField
              value={game_filter}
              label="Filter the game's log"
              placeholder="Filter: text, handler, entity"
              class="console-filter"
            />
            <LevelFilter value={game_level} />
            <button class="tool" title="Clear" aria-label="Clear the game's log" onClick={() => model.game_log.clear()}>
              <Icon name="eraser" />
            </button>
          </>
        )}
        {ui.tab.value === 'assets' && (
          <FilterField
            value={asset_filter}
            label="Find assets"
            placeholder="Find: parts of the path"
            class="console-filter"
          />
        )}
        {ui.tab.value === 'log' && (
          <>
            <button
              class="tool console-clear"
              title="Send this bug: download a file that holds what happened"
              aria-label="Send this bug"
              disabled={!model.may_control.value}
              onClick={() => void download_slice(model)}
            >
              <Icon name="bug" />
            </button>
            <button class="tool" title="Clear" aria-label="Clear the log" onClick={() => model.log.clear()}>
              <Icon name="eraser" />
            </button>
          </>
        )}
      </header>
      <div id="console-panel" class="console-body" role="tabpanel" aria-labelledby={`tab-${ui.tab.value}`}>
        {ui.tab.value === 'messages' && <MessageList filter={filter.value} />}
        {ui.tab.value === 'game' && <GameLogList filter={game_filter.value} lowest={game_level.value} />}
        {ui.tab.value === 'send' && <SendForm />}
        {ui.tab.value === 'history' && <HistoryList />}
        {ui.tab.value === 'run' && <RunEditList />}
        {ui.tab.value === 'templates' && <TemplateList />}
        {ui.tab.value === 'assets' && <AssetList filter={asset_filter.value} />}
        {ui.tab.value === 'log' && <LogList />}
      </div>
    </section>
  );
}

function MessageList({ filter }: { filter: string }): JSX.Element {
  const { model, ui } = usePage();
  const [open, set_open] = useState<number | null>(null);
  const low = filter.toLowerCase().trim();
  const all = model.messages.lines.value;
  const lines = low === '' ? all : all.filter((line) => text_of(line).includes(low));
  function text_of(line: MessageLine): string {
    const target = line.target ? `${model.world.get(line.target)?.name ?? ''} ${id_text(line.target)}` : 'world';
    return `${line.type} ${target} ${from_text(line)}`.toLowerCase();
  }
  /** Unknown for messages from other sessions. */
  function refusal(line: MessageLine): 'all' | 'some' | undefined {
    const is_mine = !line.is_pushed && line.session === model.client.value?.welcome.session;
    return is_mine ? model.messages.refused.value.get(line.request) : undefined;
  }
  function from_text(line: MessageLine): string {
    return line.is_pushed ? 'pushed' : sender_text(line.session);
  }
  function from_title(line: MessageLine): string | undefined {
    if (line.type === '') return undefined;
    if (!line.is_pushed) return `session ${line.session}`;
    return `Posted by a handler or delivered by a timer, with input ${line.sequence} from ${sender_text(line.session)}`;
  }
  function sender_text(session: bigint): string {
    if (session === 0n) return 'world';
    return session === model.client.value?.welcome.session ? 'you' : `session ${session.toString(16).slice(-4)}`;
  }
  const hz = model.client.value?.welcome.hz ?? 0;
  const opened = open === null ? undefined : lines.find((line) => line.number === open);
  const chain = opened ? chain_of(opened, all) : [];
  return (
    <div class="messages">
      <div class="message-table">
      {all.length > 0 && (
        <div class={`message-head ${hz > 0 ? '' : 'has-no-ticks'}`} aria-hidden="true">
          <span class="message-sequence">input</span>
          <span class="message-tick">tick</span>
          <span class="message-sender">from</span>
          <span class="message-type">message</span>
          <span class="message-target">to</span>
          <span class="message-value">content</span>
        </div>
      )}
      <LineList
        lines={lines}
        label="Messages"
        empty={
          all.length > 0
            ? 'No messages match the filter.'
            : 'No messages yet. Edits and messages of all clients appear here, but not ticks.'
        }
        draw={(line, style) => (
          <div
            key={line.number}
            class={`message ${hz > 0 ? '' : 'has-no-ticks'} ${line.type === '' ? 'is-gap' : ''} ${line.is_pushed ? 'is-pushed' : ''} ${line.number === open ? 'is-selected' : ''}`}
            style={style}
            onClick={() => set_open(line.number === open ? null : line.number)}
          >
            <span class="message-sequence">{line.sequence.toString()}</span>
            <span class="message-tick" title="Tick">
              {hz > 0 ? Math.round((Number(line.clock_ns) / 1e9) * hz) : ''}
            </span>
            <span class="message-sender" title={from_title(line)}>
              {line.type === '' ? '' : from_text(line)}
            </span>
            <span class="message-type" title={line.type}>
              {line.type === '' ? 'gap' : last_name(line.type)}
            </span>
            {line.target ? (
              <button
                class="link message-target"
                onClick={(event) => {
                  event.stopPropagation();
                  if (line.target && model.world.get(line.target)) {
                    model.selection.set([line.target]);
                    model.reveal(line.target);
                  }
                }}
              >
                {model.label(line.target)}
                {line.more > 0 && ` and ${counted(line.more)} more`}
              </button>
            ) : (
              <span class="message-target is-faint">{line.type === '' ? '' : 'world'}</span>
            )}
            <span class="message-value">
              {refusal(line) && (
                <span class="message-refused">{refusal(line) === 'all' ? 'refused: ' : 'refused in part: '}</span>
              )}
              {line.type === ''
                ? `${String(line.value.lost)} ${String(line.value.lost) === '1' ? 'message was' : 'messages were'} skipped because this page was too slow`
                : later_text(line) + preview(model, line.type, line.value)}
            </span>
          </div>
        )}
      />
      </div>
      {opened && opened.type !== '' && (
        <aside class="message-detail" aria-label="Message">
          <header>
            <b>{opened.type}</b>
            <button class="in-field" aria-label="Close" onClick={() => set_open(null)}>
              <Icon name="close" size={14} />
            </button>
          </header>
          <dl>
            {(/SetField/.test(opened.type) ? [] : Object.entries(opened.value)).map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{preview(model, opened.type, { [name]: value }, true)}</dd>
              </div>
            ))}
            {/SetField/.test(opened.type) && <div>{preview(model, opened.type, opened.value)}</div>}
          </dl>
          {chain.length > 0 && (
            <section class="message-chain" aria-label="Causes">
              <h3>{opened.is_pushed ? 'Caused by' : 'Caused'}</h3>
              {chain.map((line) => (
                <button key={line.number} class="link" onClick={() => set_open(line.number)}>
                  {last_name(line.type)} to {line.target ? model.label(line.target) : 'world'}
                  {line.more > 0 && ` and ${counted(line.more)} more`}
                </button>
              ))}
            </section>
          )}
          {!opened.type.startsWith('muster.') && (
            <button
              class="button is-small"
              onClick={() => {
                ui.message_type.value = opened.type;
                ui.tab.value = 'send';
                if (opened.target) model.selection.set([opened.target]);
              }}
            >
              Send a similar message
            </button>
          )}
        </aside>
      )}
    </div>
  );
}

/** Returns the delay of a timed message. */
function later_text({ due_ns, clock_ns }: MessageLine): string {
  if (due_ns === 0n) return '';
  const seconds = Math.max(0, Number(due_ns - clock_ns) / 1e9);
  return `in ${short_text(Math.round(seconds * 1000) / 1000)} s: `;
}

function LogList(): JSX.Element {
  const { model } = usePage();
  const end = useRef<HTMLDivElement>(null);
  const lines = model.log.lines.value;
  useEffect(() => {
    model.log.unread.value = 0;
    end.current?.scrollIntoView({ block: 'end' });
  }, [lines.length]);
  return (
    <div class="log" role="log" aria-label="Log" tabIndex={0}>
      {lines.length === 0 && <p class="empty">No problems so far.</p>}
      {lines.map((line) => (
        <div key={line.number} class={`log-line is-${line.kind}`}>
          <span class="log-time">{line.at.toLocaleTimeString('en-GB')}</span>
          <span>{line.text}</span>
        </div>
      ))}
      <div ref={end} />
    </div>
  );
}
