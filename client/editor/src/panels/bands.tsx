// Bands, notices and menus over the page.
import { id_text, is_nil, nil } from 'muster-client';
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { token_here, token_in } from '../model/link.js';
import { entities_text } from '../model/numbers.js';
import { as_sentence } from '../model/sentences.js';
import { Icon } from '../parts/icon.js';
import { key_text, Menu } from '../parts/menu.js';
import type { Anchor, MenuItem } from '../parts/popover.js';
import { create_thing, new_things, parent_for_new, spawn_template, world_file } from './actions.js';
import { ArrayForm } from './array_form.js';
import { Chooser } from './chooser.js';
import type { Choice } from './chooser.js';
import { usePage } from './context.js';
import { FieldMenu } from './field_menu.js';
import { KeyboardMap, Palette } from './palette.js';
import { TemplateForm } from '../templates/template_list.js';
import { ViewList } from './view_list.js';

/** A band across the top, shown while there is no connection or some edits may have been lost. */
export function LinkBand(): JSX.Element | null {
  const { model } = usePage();
  const link = model.link.value;
  const [, turn] = useState(0);
  const is_off = link.kind === 'offline';
  useEffect(() => {
    if (!is_off) return undefined;
    const timer = setInterval(() => turn((before) => before + 1), 500);
    return () => clearInterval(timer);
  }, [is_off]);
  const unsure = model.edits.unacknowledged.value;
  const list = unsure.length > 0 && (
    <div class="band-edits">
      <p>
        {link.kind === 'live' || link.kind === 'behind'
          ? 'The connection was lost before these edits were acknowledged. The world may or may not have applied them:'
          : 'Not acknowledged. The world may or may not have applied them:'}
      </p>
      <ul>
        {unsure.map(({ number, label }) => (
          <li key={number}>{label}</li>
        ))}
      </ul>
      <span class="band-hands">
        <button
          class="button is-small"
          disabled={!model.may_edit.value}
          title={model.may_edit.value ? undefined : 'Available again when the server is back'}
          onClick={() => void model.edits.send_unacknowledged()}
        >
          Send again
        </button>
        <button class="button is-small" onClick={() => model.edits.forget_unacknowledged()}>
          Forget
        </button>
      </span>
    </div>
  );
  if (link.kind === 'live' || (link.kind === 'connecting' && !list))
    return list ? (
      <div class="band is-note" role="alert">
        {list}
      </div>
    ) : null;
  if (link.kind === 'behind')
    return (
      <div class="band is-note" role="status">
        <p class="band-text">The server has not answered for more than two seconds. What you see may be old.</p>
        {list}
      </div>
    );
  if (link.kind === 'connecting') return null;
  if (link.kind === 'away')
    return (
      <div class="band is-note" role="status">
        <Icon name="unplug" />
        <p class="band-text">
          <b title={as_sentence(link.why)}>The line to the server is cut.</b> You see the world as it was at{' '}
          {link.since.toLocaleTimeString('en-GB')}. You can go on: your edits are kept, and sent as soon as the line is back.
        </p>
        {list}
      </div>
    );
  return (
    <div class={`band ${link.kind === 'refused' ? 'is-error' : ''}`} role="alert">
      <Icon name="unplug" />
      <p class="band-text">
        {link.kind === 'refused' ? (
          link.wants_token && token_here() === '' ? (
            <>
              <b>This page needs the server's token.</b> Open the address that muster-server printed when it started,
              or paste it here.
            </>
          ) : (
            <>
              <b>The server refused this page:</b> {link.why}. Open the address that muster-server prints when it
              starts{link.wants_token ? ', or paste it here. A restart may have generated a new token' : ''}.
            </>
          )
        ) : (
          <>
            <b title={as_sentence(link.why)}>Not connected.</b>{' '}
            {model.is_there.value
              ? `You see the world as it was at ${link.since.toLocaleTimeString('en-GB')}, and cannot edit it.`
              : as_sentence(link.why)}{' '}
            <span class="is-faint">
              {link.kind === 'offline'
                ? `Retrying in ${Math.max(1, Math.ceil((link.next - performance.now()) / 1000))} s.`
                : 'Retrying now.'}
            </span>
          </>
        )}
      </p>
      {link.kind === 'refused' && link.wants_token && <TokenBox />}
      {link.kind === 'offline' && (
        <button class="button is-small" onClick={() => model.keeper.try_now()}>
          Retry now
        </button>
      )}
      {list}
    </div>
  );
}
/** A band across the top, shown while nothing can be written to the world's file. */
export function DiskBand(): JSX.Element | null {
  const { model } = usePage();
  const why = model.clock.not_saved.value;
  if (why === '') return null;
  // The reason may begin with the name of the file, which is the displayed world.
  const head = /^(.*?): /.exec(why)?.[1] ?? '';
  const reason = head.endsWith(world_file(model)) ? why.slice(head.length + 2) : why;
  return (
    <div class="band is-error" role="alert">
      <p class="band-text">
        <b>Saving has stopped, so edits are refused.</b> {as_sentence(reason)}
      </p>
    </div>
  );
}
/** Asks for the missing token. */
function TokenBox(): JSX.Element {
  const { model } = usePage();
  const typed = useSignal('');
  return (
    <form
      class="band-token"
      onSubmit={(event) => {
        event.preventDefault();
        const token = token_in(typed.peek());
        if (token === '') return;
        history.replaceState(null, '', '#token=' + encodeURIComponent(token));
        model.keeper.use_token(token);
      }}
    >
      <span class="field text">
        <input
          type="text"
          aria-label="Address or token"
          placeholder="Address or token"
          spellcheck={false}
          autocomplete="off"
          value={typed.value}
          onInput={(event) => (typed.value = event.currentTarget.value)}
        />
      </span>
      <button class="button is-small" type="submit">
        Open
      </button>
    </form>
  );
}

export function NoticeList(): JSX.Element {
  const { model } = usePage();
  return (
    <div class="notices" aria-live="polite">
      {model.notices.list.value.map((notice) => (
        <div key={notice.number} class={`notice is-${notice.kind}`}>
          <Icon name={notice.kind === 'problem' ? 'alert' : 'check'} />
          <p>{notice.text}</p>
          {notice.actions.map((action) => (
            <button
              key={action.title}
              class="button is-small"
              onClick={() => {
                model.notices.close(notice.number);
                action.run();
              }}
            >
              {action.title}
            </button>
          ))}
          <button class="in-field" aria-label="Close" onClick={() => model.notices.close(notice.number)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}

const menu_order = ['make', 'entity', 'level', 'arrange', 'message', 'delete', 'all'];

/** Menus and pickers opened by commands. */
export function Overlays(): JSX.Element {
  const { model, ui } = usePage();
  const pick = ui.pick.value;
  return (
    <>
      {model.commands.menu.value && <SelectionMenu at={model.commands.menu.value} />}
      {ui.dialog.value === 'palette' && <Palette />}
      {ui.dialog.value === 'keys' && <KeyboardMap />}
      {ui.dialog.value === 'array' && <ArrayForm />}
      {ui.dialog.value === 'views' && <ViewList />}
      {ui.dialog.value === 'template' && <TemplateForm />}
      {ui.field_menu.value && <FieldMenu of={ui.field_menu.value} />}
      {ui.create_at.value && <CreateMenu />}
      {ui.spawn_at.value && <SpawnChooser />}
      {pick && (
        <Chooser
          at={pick.at}
          label={pick.title}
          choices={(text) => entities_named(text)}
          close={() => (ui.pick.value = null)}
          chosen={(key) => {
            const [index, generation] = key.split(':').map(Number);
            pick.chosen({ index, generation });
          }}
        />
      )}
    </>
  );
  function entities_named(text: string): Choice[] {
    const low = text.toLowerCase().trim();
    const found: Choice[] = [];
    for (const { entity, name } of model.world) {
      if (low !== '' && !name.toLowerCase().includes(low) && id_text(entity) !== low) continue;
      found.push({ key: id_text(entity), title: model.label(entity), about: model.shown_place(entity) });
      if (found.length === 200) break;
    }
    return found;
  }
}

function SelectionMenu({ at }: { at: Anchor }): JSX.Element {
  const { model } = usePage();
  const commands = [...model.commands.all.value.values()];
  const groups = menu_order.map((group) =>
    commands
      .filter((command) => command.group === group && command.is_listed?.() !== false)
      .map((command): MenuItem => ({
        title: command.title,
        icon: command.icon,
        keys: command.keys?.[0] && key_text(command.keys[0]),
        disabled: command.enabled?.() === false,
        checked: command.checked?.(),
        danger: group === 'delete',
        run: () => model.commands.run(command.id, at),
      })),
  );
  return (
    <Menu at={at} label="Selection" groups={groups} close={() => (model.commands.menu.value = null)} />
  );
}

function CreateMenu(): JSX.Element {
  const { model, ui } = usePage();
  const parent = parent_for_new(model);
  const at = ui.create_at.value!;
  const where = is_nil(parent) ? 'at the top of the tree' : `below ${model.label(parent)}`;
  const make = (is_root: boolean): MenuItem[] =>
    new_things(model).map((thing) => ({
      title: thing.title,
      icon: thing.icon,
      run: () => void create_thing(model, thing, is_root ? nil : parent),
    }));
  return (
    <Menu
      at={at}
      label={`Create ${where}`}
      close={() => (ui.create_at.value = null)}
      groups={[
        make(false),
        [
          {
            title: 'Spawn a template…',
            icon: 'template',
            run: () => (ui.spawn_at.value = at),
          },
        ],
      ]}
    />
  );
}

function SpawnChooser(): JSX.Element {
  const { model, ui } = usePage();
  const choices = useSignal<Choice[] | null>(null);
  useEffect(() => {
    model.client
      .peek()
      ?.templates()
      .then(
        ({ names, nodes }) =>
          (choices.value = names.map((name, i) => ({
            key: name,
            title: name,
            about: entities_text(nodes[i]),
          }))),
        (error: Error) => model.notices.say('problem', error.message),
      );
  }, []);
  return (
    <Chooser
      at={ui.spawn_at.value!}
      label="Spawn a template"
      choices={choices.value ?? []}
      empty={
        choices.value === null
          ? 'Loading templates'
          : choices.value.length === 0
            ? 'This world has no templates.'
            : 'No matches.'
      }
      close={() => (ui.spawn_at.value = null)}
      chosen={(name) => void spawn_template(model, name, parent_for_new(model))}
    />
  );
}
