// Chooses one of many items by typing.
import type { TypeDescriptor } from 'muster-client';
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';

import { last_name } from '../model/values.js';
import { Icon } from '../parts/icon.js';
import { Popover } from '../parts/popover.js';
import type { Anchor } from '../parts/popover.js';

export interface Choice {
  key: string;
  title: string;
  about?: string;
  hint?: string;
  /** Shown at the right: "Ctrl+D". */
  keys?: string;
  /** True if it can be chosen only to learn why it does nothing. */
  is_off?: boolean;
  is_checked?: boolean;
}
const shown_max = 200;

export const type_choices = (types: readonly TypeDescriptor[]): Choice[] =>
  types.map(({ name, doc }) => ({
    key: name,
    title: last_name(name),
    about: name.slice(0, name.lastIndexOf('.')),
    hint: doc,
  }));

export function Chooser(props: {
  at: Anchor;
  label: string;
  /** All choices, or a function that returns those that match the typed text. */
  choices: readonly Choice[] | ((text: string) => readonly Choice[]);
  empty?: string;
  class?: string;
  close(): void;
  chosen(key: string): void;
}): JSX.Element {
  const [text, set_text] = useState('');
  const [at, set_at] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const low = text.toLowerCase().trim();
  const fits = (
    typeof props.choices === 'function'
      ? props.choices(text)
      : props.choices.filter(({ key, title }) => title.toLowerCase().includes(low) || key.toLowerCase().includes(low))
  ).slice(0, shown_max);
  const active = Math.min(at, fits.length - 1);
  const choose = (key: string): void => {
    props.close();
    props.chosen(key);
  };
  return (
    <Popover at={props.at} label={props.label} class={`chooser ${props.class ?? ''}`} close={props.close}>
      <input
        class="chooser-text"
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="chooser-list"
        aria-activedescendant={fits[active] ? `choice-${active}` : undefined}
        aria-label={props.label}
        placeholder={props.label}
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={(event) => {
          set_text(event.currentTarget.value);
          set_at(0);
        }}
        onKeyDown={(event) => {
          const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (by !== undefined) {
            event.preventDefault();
            const next = Math.max(0, Math.min(fits.length - 1, active + by));
            set_at(next);
            list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
          } else if (event.key === 'Enter' && fits[active]) {
            event.preventDefault();
            choose(fits[active].key);
          }
        }}
      />
      <div ref={list} id="chooser-list" class="chooser-list" role="listbox" aria-label={props.label}>
        {fits.map((choice, i) => (
          <div
            id={`choice-${i}`}
            key={choice.key}
            class={`choice ${i === active ? 'is-active' : ''} ${choice.is_off ? 'is-off' : ''}`}
            role="option"
            aria-selected={i === active}
            aria-disabled={choice.is_off || undefined}
            title={choice.hint || undefined}
            onPointerMove={() => set_at(i)}
            onClick={() => choose(choice.key)}
          >
            <span class="choice-title">{choice.title}</span>
            {choice.is_checked && <Icon name="check" size={14} />}
            {choice.about && <span class="choice-about">{choice.about}</span>}
            {choice.keys && <kbd>{choice.keys}</kbd>}
          </div>
        ))}
      </div>
      {fits.length === 0 && <p class="empty">{props.empty ?? 'No matches.'}</p>}
    </Popover>
  );
}
