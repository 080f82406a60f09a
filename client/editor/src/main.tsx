import { effect } from '@preact/signals';
import { render } from 'preact';
import { tinykeys } from 'tinykeys';

import { is_nil } from 'muster-client';

import { Model } from './model/model.js';
import { page_commands } from './panels/actions.js';
import { App } from './panels/app.js';
import { PageContext } from './panels/context.js';
import { Ui } from './panels/ui.js';
import './theme/tokens.css';
import './theme/page.css';
import './theme/bands.css';
import './theme/panels.css';
import './theme/console.css';
import './theme/fields.css';

const model = new Model();
const ui = new Ui();
model.commands.register(page_commands(model, ui));

/** Keys belong to what is being typed. */
function is_typing(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  if (!target || target === document.body) return false;
  return (
    target.isContentEditable ||
    /^(SELECT|TEXTAREA)$/.test(target.tagName) ||
    (target.tagName === 'INPUT' && !/^(checkbox|color|button)$/.test((target as HTMLInputElement).type))
  );
}
/** A button that has the focus is pressed by Space. */
function is_pressing(event: KeyboardEvent): boolean {
  return (
    event.code === 'Space' &&
    (event.target as HTMLElement | null)?.closest?.('button, [role=tab], input[type=checkbox]') != null
  );
}

let stop_keys: (() => void) | undefined;
effect(() => {
  const bindings: Record<string, (event: KeyboardEvent) => void> = {};
  for (const command of model.commands.all.value.values())
    for (const keys of command.keys ?? [])
      bindings[keys] = (event) => {
        const is_modified = event.ctrlKey || event.metaKey;
        if (ui.question.peek() || document.querySelector('.popover')) return;
        if (keys === '$mod+s') {
          (document.activeElement as HTMLElement | null)?.blur?.();
        } else if (is_typing(event) || (is_pressing(event) && !is_modified)) return;
        if (model.commands.run(command.id) || is_modified) event.preventDefault();
        if (keys === '/') event.preventDefault();
      };
  stop_keys?.();
  stop_keys = tinykeys(window, bindings);
});
effect(() => {
  const world = model.client.value?.welcome.world;
  if (!world) return;
  // Ids of a world that was made anew under this name may be others' by now, or nobody's.
  model.order.open(...ui.remember(world).filter((node) => model.world.get(node)));
  document.title = `${world.replace(/^.*\//, '').replace(/\.muster$/, '')} · Muster`;
});

effect(() => ui.keep_open(model.order.opened.value.filter((node) => !is_nil(node))));

render(
  <PageContext.Provider value={{ model, ui }}>
    <App />
  </PageContext.Provider>,
  document.getElementById('page')!,
);
model.start();
