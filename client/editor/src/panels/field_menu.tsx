// The menu of a field in the inspector.
import type { JSX } from 'preact';

import { field_text, pasted_field } from '../model/clipboard.js';
import { at_path, default_value, with_texts, words } from '../model/values.js';
import { Menu } from '../parts/menu.js';
import { usePage } from './context.js';
import { copy_text, pasted_text } from './copying.js';
import { template_items } from '../templates/template_actions.js';
import type { FieldMenuRequest } from './ui.js';

export function FieldMenu({ of }: { of: FieldMenuRequest }): JSX.Element {
  const { model, ui } = usePage();
  const { type, entities, path, field, as_element, values, read_only } = of;
  const usual = as_element ? undefined : at_path(default_value(type), path);
  const copy = (): void => {
    const last = entities[entities.length - 1];
    const whole = last && model.component(last, type.name);
    const text = (hash: bigint): string => model.text(hash);
    const value = whole ? at_path(with_texts(type, whole, text), path) : values[values.length - 1];
    void copy_text(field_text(field, as_element, value));
  };
  const paste = async (): Promise<void> => {
    try {
      const value = pasted_field(field, as_element, await pasted_text());
      await model.edits.set_field(entities, type.name, path, value);
    } catch (error) {
      model.notices.say('problem', (error as Error).message);
    }
  };
  const find = (): void => {
    ui.search.value = `${type.name.replace(/^.*\./, '')}.${path}=${field_text(field, as_element, values[0])}`;
  };
  const is_plain = /^(u?int|float|boolean)/.test(field.element) && !(field.is_array && !as_element);
  return (
    <Menu
      at={of.at}
      label={words(path)}
      close={() => (ui.field_menu.value = null)}
      groups={[
        model.run.playing.value
          ? [
              {
                title: 'Apply to level',
                icon: 'keep',
                disabled: !model.may_edit.value,
                run: () => model.kept.keep_places(entities.map((entity) => ({ entity, component: type.id, path }))),
              },
            ]
          : [],
        [
          {
            title: 'Reset to default',
            icon: 'reset',
            disabled: read_only !== null || usual === undefined,
            run: () => void model.edits.set_field(entities, type.name, path, as_text(usual, field.element)),
          },
          { title: 'Copy value', icon: 'copy', run: copy },
          { title: 'Paste value', icon: 'clipboard', disabled: read_only !== null, run: () => void paste() },
        ],
        template_items(model, entities, type, path),
        is_plain ? [{ title: 'Find entities with this value', icon: 'search', run: find }] : [],
      ]}
    />
  );
}

/** The default of a text field is a hash of 0. */
function as_text(value: unknown, element: string): unknown {
  return element === 'text' && value === 0n ? '' : value;
}
