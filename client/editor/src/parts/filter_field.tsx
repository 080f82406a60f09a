// A search field that filters a list below it. Escape empties it.
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';

import { Icon } from './icon.js';

export function FilterField(props: {
  value: Signal<string>;
  label: string;
  placeholder: string;
  class: string;
}): JSX.Element {
  const { value } = props;
  return (
    <label class={`search ${props.class}`}>
      <Icon name="search" size={14} />
      <input
        type="text"
        role="searchbox"
        aria-label={props.label}
        placeholder={props.placeholder}
        spellcheck={false}
        value={value.value}
        onInput={(event) => (value.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') value.value = '';
        }}
      />
    </label>
  );
}
