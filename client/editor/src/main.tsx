import { effect } from '@preact/signals';
import { render } from 'preact';
import { tinykeys } from 'tinykeys';

import { is_nil } from 'muster-client';

import { take_drops } from './assets/file_drop.js';
import { structure_commands } from './arrange/structure.js';
import { Model } from './model/model.js';
import { as_sentence } from './model/sentences.js';
import { page_commands } from './panels/actions.js';
import { App } from './panels/app.js';
import { PageContext } from './panels/context.js';
import { paste_entities, pasted_text } from './panels/copying.js';
import { label_commands } from './panels/label_width.js';
import { follow_address } from './panels/deep_link.js';
import { begin_theme, theme_commands } from './panels/theme.js';
import { link_commands } from './templates/template_actions.js';
import { template_commands } from './templates/template_list.js';
import { Ui } from './panels/ui.js';
import { place_commands } from './panels/view_list.js';
import './theme/tokens.css';
import './theme/page.css';
import './theme/bands.css';
import './theme/panels.css';
import './theme/console.css';
import './theme/fields.css';

const model = new Model();
const ui = new Ui();
model.commands.register([...page_commands(model, ui), ...structure_commands(model, ui), ...place_commands(model, ui), ...theme_commands(), ...template_commands(model, ui), ...link_commands(model), ...label_commands(ui)]);
begin_theme();
model.run.ended = () =>
  void model.kept.read().then(() => {
    if (model.kept.list.peek().length > 0) ui.tab.value = 'run';
  });

/** Returns true if keys are meant for a text field. */
function is_typing(event: Event): boolean {
  const target = event.target as HTMLElement | null;
  if (!target || target === document.body) return false;
  return (
    target.isContentEditable ||
    /^(SELECT|TEXTAREA)$/.test(target.tagName) ||
    (target.tagName === 'INPUT' && !/^(checkbox|color|button|range)$/.test((target as HTMLInputElement).type))
  );
}
// True if the focused element got the focus by a key. `:focus-visible` is not enough: some browsers
// also apply it to a clicked button as soon as a key is pressed.
let is_by_keys = true;
let is_entered_by_keys = true;
addEventListener('pointerdown', () => (is_by_keys = is_entered_by_keys = false), true);
addEventListener('keydown', () => (is_by_keys = true), true);
addEventListener('focusin', () => (is_entered_by_keys = is_by_keys), true);

/**
 * Returns true if Space presses a button, which it does if the button was reached by keys. A button
 * that was clicked loses the focus instead.
 */
function is_pressing(event: KeyboardEvent): boolean {
  if (event.code !== 'Space') return false;
  const button = (event.target as HTMLElement | null)?.closest?.<HTMLElement>(
    'button, [role=tab], input[type=checkbox], input[type=color]',
  );
  if (!button) return false;
  if (is_entered_by_keys) return true;
  button.blur();
  return false;
}

take_drops(model, ui);

/** Returns true if the viewport has the focus, or if nothing has. */
function is_in_viewport(event: Event): boolean {
  const target = event.target as HTMLElement | null;
  return !target || target === document.body || target.closest('.viewport-root') !== null;
}
/** Returns true while a menu or a chooser is open. */
function is_asking(): boolean {
  return document.querySelector('.popover') !== null;
}
// During this event, the browser provides the clipboard's text without asking for permission.
addEventListener('paste', (event) => {
  if (is_typing(event) || is_asking()) return;
  const text = event.clipboardData?.getData('text/plain') ?? '';
  if (model.may_edit.peek()) void paste_entities(model, ui, pasted_text(text));
  else model.notices.say('problem', as_sentence(model.why_not_edit()));
});

let stop_keys: (() => void) | undefined;
effect(() => {
  const bindings: Record<string, (event: KeyboardEvent) => void> = {};
  for (const command of model.commands.all.value.values())
    for (const keys of command.keys ?? [])
      bindings[keys] = (event) => {
        const is_modified = event.ctrlKey || event.metaKey || event.altKey;
        if (is_asking()) return;
        if (command.in_viewport && !is_in_viewport(event)) return;
        if (keys === '$mod+v') return; // handled by the paste event
        if (keys === '$mod+c' && getSelection()?.isCollapsed === false) return; // copies text
        if (command.is_everywhere) {
          (document.activeElement as HTMLElement | null)?.blur?.();
        } else if (is_typing(event) || (is_pressing(event) && !is_modified)) return;
        const is_handled = model.commands.run(command.id);
        if (is_handled || is_modified) event.preventDefault();
        if (keys === '/') event.preventDefault();
      };
  stop_keys?.();
  stop_keys = tinykeys(window, bindings);
});
effect(() => {
  const world = model.client.value?.welcome.world;
  if (!world) return;
  // If the world was recreated under this name, ids may belong to other entities or to none.
  model.order.open(...ui.remember(world, model.seen).filter((node) => model.world.get(node)));
  document.title = `${world.replace(/^.*\//, '').replace(/\.muster$/, '')} · Muster`;
});

effect(() => {
  if (model.seen.version.value > 0) ui.keep();
});
effect(() => ui.keep_open(model.order.opened.value.filter((node) => !is_nil(node))));

render(
  <PageContext.Provider value={{ model, ui }}>
    <App />
  </PageContext.Provider>,
  document.getElementById('page')!,
);
model.start();
follow_address(model);
