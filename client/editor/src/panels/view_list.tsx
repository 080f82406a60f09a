// The list of stored views of the viewport, which the browser stores per world.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import type { Command } from '../model/commands.js';
import type { Model } from '../model/model.js';
import { Icon } from '../parts/icon.js';
import { Popover } from '../parts/popover.js';
import { usePage } from './context.js';
import { copy_text } from './copying.js';
import { link_here } from './deep_link.js';
import type { Ui } from './ui.js';

/** Number of views that have a key. */
const keyed_max = 9;

export function ViewList(): JSX.Element {
  const { model, ui } = usePage();
  const views = ui.views.value;
  const [name, set_name] = useState(`View ${views.length + 1}`);
  const placer = model.placer.value;
  const close = (): void => void (ui.dialog.value = null);
  return (
    <Popover at={{ x: innerWidth / 2 - 160, y: 120 }} label="Views" class="form" close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!placer || name.trim() === '') return;
          ui.keep_views([...views.filter((view) => view.name !== name.trim()), { name: name.trim(), view: placer.view() }]);
          close();
        }}
      >
        <h2>Views</h2>
        <div class="form-row">
          <input
            type="text"
            autofocus
            aria-label="Name of this view"
            spellcheck={false}
            value={name}
            onFocus={(event) => event.currentTarget.select()}
            onInput={(event) => set_name(event.currentTarget.value)}
          />
          <button type="submit" class="button is-small is-primary" disabled={!placer || name.trim() === ''}>
            Store this view
          </button>
        </div>
      </form>
      <ul class="view-list" aria-label="Stored views">
        {views.map((view, i) => (
          <li key={view.name}>
            <button
              class="step"
              onClick={() => {
                placer?.go(view.view);
                close();
              }}
            >
              <Icon name="bookmark" size={14} />
              <span>{view.name}</span>
              {i < keyed_max && <kbd>Alt+{i + 1}</kbd>}
            </button>
            <button
              class="in-field"
              aria-label={`Delete ${view.name}`}
              onClick={() => ui.keep_views(views.filter((each) => each !== view))}
            >
              <Icon name="close" size={14} />
            </button>
          </li>
        ))}
      </ul>
      {views.length === 0 && <p class="form-note">This browser has no views of this world yet.</p>}
    </Popover>
  );
}

export function place_commands(model: Model, ui: Ui): Command[] {
  return [
    {
      id: 'view.views',
      title: 'Views…',
      icon: 'bookmark',
      keys: ['b'],
      enabled: () => model.placer.value !== null,
      run: () => (ui.dialog.value = 'views'),
    },
    ...Array.from({ length: keyed_max }, (_, i): Command => ({
      id: `view.go.${i + 1}`,
      title: `Go to stored view ${i + 1}`,
      keys: [`Alt+${i + 1}`],
      enabled: () => ui.views.value[i] !== undefined,
      hint: () => 'press B to store a view',
      run: () => model.placer.peek()?.go(ui.views.peek()[i].view),
    })),
    {
      id: 'page.link',
      title: 'Copy a link to this entity and view',
      icon: 'copy',
      enabled: () => model.client.value !== null,
      run: () => {
        void copy_text(link_here(model));
        model.notices.say('done', 'Copied. Whoever opens the link needs a token of their own.');
      },
    },
  ];
}
