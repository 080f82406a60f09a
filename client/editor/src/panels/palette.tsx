// Dialogs that list all commands: the palette, which runs them, and the keyboard map.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { section_of } from '../model/commands.js';
import type { Command } from '../model/commands.js';
import type { Model } from '../model/model.js';
import { key_text } from '../parts/menu.js';
import { Popover } from '../parts/popover.js';
import { Chooser } from './chooser.js';
import type { Choice } from './chooser.js';
import { usePage } from './context.js';

/** The commands that were run from the palette, the newest first. */
const recent: string[] = [];
const recent_max = 5;

const bare = (title: string): string => title.replace(/…$/, '');

/** Returns the commands whose titles or headings contain all words, recent ones first. */
function commands_for(model: Model, text: string): Choice[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ title, section }: { title: string; section: string }): boolean =>
    words.every((word) => `${title} ${section}`.toLowerCase().includes(word));
  const all = [...model.commands.all.value.values()]
    .filter(({ id }) => id !== 'page.palette')
    .map((command) => ({ command, title: bare(command.title), section: section_of(command) }))
    .filter(fits);
  const rank = (command: Command, title: string): number => {
    const at = recent.indexOf(command.id);
    if (words.length > 0) return title.toLowerCase().startsWith(words[0]) ? 0 : 1;
    return at >= 0 ? at - recent_max : 0;
  };
  return all
    .sort((a, b) => rank(a.command, a.title) - rank(b.command, b.title))
    .map(({ command, title, section }) => ({
      key: command.id,
      title,
      about: section,
      keys: command.keys?.[0] && key_text(command.keys[0]),
      is_off: command.enabled?.() === false,
      is_checked: command.checked?.(),
    }));
}

export function Palette(): JSX.Element {
  const { model, ui } = usePage();
  const width = Math.min(480, innerWidth - 32);
  return (
    <Chooser
      at={{ x: (innerWidth - width) / 2, y: 88 }}
      label="Run a command"
      class="palette"
      choices={(text) => commands_for(model, text)}
      close={() => (ui.dialog.value = null)}
      chosen={(id) => {
        const before = recent.indexOf(id);
        if (before >= 0) recent.splice(before, 1);
        recent.unshift(id);
        recent.length = Math.min(recent.length, recent_max);
        model.commands.run(id);
      }}
    />
  );
}

/** Keys that are not those of a command. */
const other_keys: readonly [string, string, string][] = [
  ['Select', 'Select all rows of the tree', 'Ctrl+A'],
  ['Select', 'Go through the tree; with Shift select a range', 'Arrows'],
  ['View', 'Turn, pan, zoom', 'Middle button, Shift, wheel'],
  ['View', 'Fly, while the right button is held', 'W A S D Q E'],
  ['Arrange', 'Toggle snapping during a drag', 'Ctrl'],
  ['Edit', 'Step a number by ten, by a tenth', 'Shift, Alt'],
];

export function KeyboardMap(): JSX.Element {
  const { model, ui } = usePage();
  const [text, set_text] = useState('');
  const low = text.toLowerCase().trim();
  const rows = new Map<string, [string, string][]>();
  const add = (section: string, title: string, keys: string): void => {
    if (low !== '' && !`${section} ${title} ${keys}`.toLowerCase().includes(low)) return;
    rows.set(section, [...(rows.get(section) ?? []), [title, keys]]);
  };
  for (const command of model.commands.all.value.values())
    if (command.keys) add(section_of(command), bare(command.title), command.keys.map(key_text).join(', '));
  for (const [section, title, keys] of other_keys) add(section, title, keys);
  const width = Math.min(760, innerWidth - 32);
  return (
    <Popover
      at={{ x: (innerWidth - width) / 2, y: 56 }}
      label="Keyboard map"
      class="keyboard-map"
      close={() => (ui.dialog.value = null)}
    >
      <input
        class="chooser-text"
        type="text"
        aria-label="Find a key"
        placeholder="Find a key or a command"
        spellcheck={false}
        value={text}
        onInput={(event) => set_text(event.currentTarget.value)}
      />
      <div class="keyboard-sections" tabIndex={0} role="region" aria-label="Keys">
        {[...rows].map(([section, keys]) => (
          <section key={section}>
            <h2>{section}</h2>
            <dl>
              {keys.map(([title, key]) => (
                <div key={title} class="keyboard-row">
                  <dt>{title}</dt>
                  <dd>
                    <kbd>{key}</kbd>
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        {rows.size === 0 && <p class="empty">No matches.</p>}
      </div>
    </Popover>
  );
}
