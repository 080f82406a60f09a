import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';

import { Icon } from './icon.js';
import { Popover } from './popover.js';
import type { Anchor, MenuItem } from './popover.js';

/** Shows groups of items, separated by lines. */
export function Menu(props: {
  at: Anchor;
  label: string;
  groups: readonly (readonly MenuItem[])[];
  close(): void;
}): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const items = [...list.current!.querySelectorAll<HTMLElement>('[role^=menuitem]:not([aria-disabled=true])')];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 + (at < 1 ? items.length : 0), Home: 0, End: items.length - 1 }[
      event.key
    ];
    if (next === undefined || items.length === 0) return;
    event.preventDefault();
    items[next % items.length].focus();
  };
  return (
    <Popover at={props.at} label={props.label} role="menu" class="menu" close={props.close}>
      <div ref={list} onKeyDown={move}>
        {props.groups
          .filter((group) => group.length > 0)
          .map((group, i) => (
            <div class="menu-group" role="group" key={i}>
              {group.map((item) => (
                <button
                  key={item.title}
                  class={`menu-item ${item.danger ? 'is-danger' : ''}`}
                  role={item.checked === undefined ? 'menuitem' : 'menuitemcheckbox'}
                  aria-checked={item.checked}
                  aria-disabled={item.disabled || undefined}
                  title={item.hint}
                  tabIndex={-1}
                  onClick={() => {
                    if (item.disabled) return;
                    props.close();
                    item.run();
                  }}
                >
                  <Icon name={item.checked ? 'check' : (item.icon ?? '')} />
                  <span class="menu-title">{item.title}</span>
                  {item.keys && <kbd>{item.keys}</kbd>}
                </button>
              ))}
            </div>
          ))}
      </div>
    </Popover>
  );
}

const key_names: Record<string, string> = {
  $mod: 'Ctrl',
  Delete: 'Del',
  Space: 'Space',
  Escape: 'Esc',
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
};

/** Formats "$mod+d" for display: "Ctrl+D". */
export function key_text(keys: string): string {
  return keys
    .split('+')
    .map((key) => key_names[key] ?? (key.length === 1 ? key.toUpperCase() : key))
    .join('+');
}
