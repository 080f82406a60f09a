// The values that managers hold for the selected entity, which cannot be edited.
import { useSignal } from '@preact/signals';
import { id_text } from 'muster-client';
import type { Entity, ShownHeld } from 'muster-client';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';

import { last_name } from '../model/values.js';
import { FieldRows, label_column } from '../parts/field_row.js';
import { Icon } from '../parts/icon.js';
import { component_sink } from './component_sink.js';
import { usePage } from './context.js';

/** Milliseconds between two questions about the values, which no watch reports. */
const refresh_ms = 1000;
/** Limit on the bytes shown of a value whose meaning only its manager knows. */
const shown_bytes = 32;

export function HeldValues({ entity }: { entity: Entity }): JSX.Element {
  const { model } = usePage();
  const held = useSignal<readonly ShownHeld[]>([]);
  const client = model.client.value;
  useEffect(() => {
    let is_over = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      // An entity that is gone, or a lost connection, holds nothing.
      const shown = document.hidden ? held.peek() : ((await client?.show(entity).catch(() => null))?.held ?? []);
      if (is_over) return;
      if (shown.length > 0 || held.peek().length > 0) held.value = shown;
      timer = setTimeout(() => void ask(), refresh_ms);
    };
    held.value = [];
    void ask();
    return () => {
      is_over = true;
      clearTimeout(timer);
    };
  }, [client, id_text(entity)]);
  return (
    <>
      {held.value.map((each) => (
        <HeldPart key={`${each.manager}/${each.name}/${each.instance}`} held={each} entity={entity} />
      ))}
    </>
  );
}

/** Returns the first bytes as text: "3 bytes: 0a ff 01". */
export function bytes_text(bytes: Uint8Array): string {
  const first = Array.from(bytes.subarray(0, shown_bytes), (byte) => byte.toString(16).padStart(2, '0'));
  return `${bytes.length} bytes: ${first.join(' ')}${bytes.length > shown_bytes ? ' ...' : ''}`;
}

function HeldPart({ held, entity }: { held: ShownHeld; entity: Entity }): JSX.Element {
  const { model, ui } = usePage();
  const { type, value } = held;
  const name = held.instance === 0n ? held.name : `${held.name} #${held.instance}`;
  const key = `held ${held.manager}/${held.name}`;
  const is_open = !ui.closed.value.has(key);
  return (
    <section class="component" aria-label={`${name}, held by ${held.manager}`}>
      <header class="component-head">
        <button
          class="component-title"
          aria-expanded={is_open}
          onClick={() => ui.toggle_component(key)}
          title={`The manager ${held.manager} holds this value${type ? `, a ${type.name}` : ''}`}
        >
          <Icon name={is_open ? 'chevron-down' : 'chevron-right'} size={14} />
          <span class="component-name">{name}</span>
          <span class="component-space">
            {held.manager}
            {type ? ` · ${last_name(type.name)}` : ''}
          </span>
        </button>
        <span class="written" title="Only the manager writes this">
          <Icon name="lock" size={14} />
        </span>
      </header>
      {is_open &&
        (type && value ? (
          <div class="component-body" style={label_column(type)}>
            <FieldRows
              type={type}
              path=""
              values={[value]}
              sink={{ ...component_sink(model, ui, type, [entity]), read_only: 'only its manager writes this' }}
              depth={0}
              wanted=""
            />
          </div>
        ) : (
          <p class="tag-note">{bytes_text(held.bytes)}</p>
        ))}
    </section>
  );
}
