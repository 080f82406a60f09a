// The templates of the world: a list to spawn them from by click or drag, and one to make from the
// selection.
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { Command } from '../model/commands.js';
import type { Model } from '../model/model.js';
import { Icon } from '../parts/icon.js';
import { begin_list_drag } from '../parts/list_drag.js';
import { Popover } from '../parts/popover.js';
import { parent_for_new, spawn_template } from '../panels/actions.js';
import { entities_text } from '../model/numbers.js';
import { usePage } from '../panels/context.js';
import { chosen } from '../panels/copying.js';
import { make_template } from './template_actions.js';
import type { Ui } from '../panels/ui.js';

interface Listed {
  name: string;
  nodes: number;
}

export function TemplateList(): JSX.Element {
  const { model, ui } = usePage();
  const list = useSignal<readonly Listed[] | null>(null);
  const client = model.client.value;
  const turn = ui.templates_turn.value;
  const next = model.steps.next.value; // an undo may have taken a template back
  useEffect(() => {
    void client?.templates().then(
      ({ names, nodes }) => (list.value = names.map((name, i) => ({ name, nodes: nodes[i] }))),
      (error: Error) => model.notices.say('problem', error.message),
    );
  }, [client, turn, next]);
  const may = model.may_edit.value;
  if (list.value === null) return <></>;
  return (
    <div class="run-edits">
      <header class="run-edits-head">
        <p>Click a template to spawn it where you look, or drag it into the view.</p>
        <button
          class="button is-small"
          disabled={!may || model.selection.entities.value.length !== 1}
          onClick={() => (ui.dialog.value = 'template')}
        >
          Make one of the selection…
        </button>
      </header>
      {list.value.length === 0 && <p class="empty">This world has no templates yet.</p>}
      <ul class="steps" aria-label="Templates">
        {list.value.map(({ name, nodes }) => (
          <li key={name}>
            <button
              class="step"
              disabled={!may}
              onClick={() => void spawn_template(model, name, parent_for_new(model))}
              onPointerDown={(event) =>
                begin_list_drag(event, (at) => void spawn_template(model, name, parent_for_new(model), at))
              }
            >
              <Icon name="template" size={14} />
              <span>{name}</span>
              <span class="step-about">{entities_text(nodes)}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Asks for the name of a template that is made of the selected tree. */
export function TemplateForm(): JSX.Element {
  const { model, ui } = usePage();
  const [entity] = chosen(model);
  const [name, set_name] = useState(() => (entity ? model.world.get(entity)!.name.replace(/[~-]?\d*$/, '') : ''));
  const close = (): void => void (ui.dialog.value = null);
  const make = async (): Promise<void> => {
    const client = model.client.peek();
    if (!client || !entity || name.trim() === '') return;
    close();
    try {
      const nodes = await make_template(model, name.trim(), entity);
      if (nodes === null) return;
      ++ui.templates_turn.value;
      ui.tab.value = 'templates';
      model.notices.say('done', `The template ${name.trim()} has ${entities_text(nodes)}.`);
    } catch (error) {
      model.notices.say('problem', `No template was made: ${(error as Error).message}`);
    }
  };
  return (
    <Popover at={{ x: innerWidth / 2 - 160, y: 120 }} label="Make a template" class="form" close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <h2>Make a template</h2>
        <div class="form-row">
          <input
            type="text"
            autofocus
            aria-label="Name of the template"
            spellcheck={false}
            value={name}
            onFocus={(event) => event.currentTarget.select()}
            onInput={(event) => set_name(event.currentTarget.value)}
          />
          <button type="submit" class="button is-small is-primary" disabled={!entity || name.trim() === ''}>
            Make
          </button>
        </div>
        <p class="form-note">
          If there is a template with this name, it is replaced. The trees that were spawned from it change, too,
          except for what is overridden in them.
        </p>
      </form>
    </Popover>
  );
}

export function template_commands(model: Model, ui: Ui): Command[] {
  return [
    {
      id: 'entity.template',
      title: 'Make a template…',
      icon: 'template',
      enabled: () => model.selection.entities.value.length === 1 && model.may_edit.value,
      hint: () => (model.may_edit.value ? 'select one entity, with everything below it' : model.why_not_edit()),
      run: () => (ui.dialog.value = 'template'),
    },
    { id: 'world.templates', title: 'Templates', icon: 'template', run: () => (ui.tab.value = 'templates') },
  ];
}
