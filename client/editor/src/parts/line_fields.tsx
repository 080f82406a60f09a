// Fields that fit on one line: flags, choices, texts and entities.
import { id_text, is_nil, same_entity } from 'muster-client';
import type { Entity, FieldDescriptor } from 'muster-client';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { same_value, words } from '../model/values.js';
import { Icon } from './icon.js';
import type { ValueSink } from './sink.js';
import { select_soon, useDraft, useFade } from './use_draft.js';

/** The event of a field with the class `takes-entity` onto which an entity is dropped. */
export const entity_dropped = 'muster-entity';

export interface LineProps {
  field: FieldDescriptor;
  path: string;
  label: string;
  values: readonly unknown[];
  sink: ValueSink;
  is_wrong: boolean;
}

export function mixed(values: readonly unknown[]): boolean {
  return values.some((value) => !same_value(value, values[0]));
}

export function BoolField({ path, label, values, sink }: LineProps): JSX.Element {
  const is_mixed = mixed(values);
  const box = useRef<HTMLInputElement>(null);
  if (box.current) box.current.indeterminate = is_mixed;
  const value = values[0] === true;
  return (
    <label class={`check ${sink.read_only ? 'is-fixed' : ''}`} title={sink.read_only ?? undefined}>
      <input
        ref={(element) => {
          box.current = element;
          if (element) element.indeterminate = is_mixed;
        }}
        type="checkbox"
        aria-label={label}
        checked={!is_mixed && value}
        disabled={sink.read_only !== null}
        onChange={(event) => sink.commit(path, event.currentTarget.checked, is_mixed ? undefined : value)}
      />
      <span class="check-text">{is_mixed ? 'mixed' : value ? 'on' : 'off'}</span>
    </label>
  );
}

export function EnumField({ field, path, label, values, sink, is_wrong }: LineProps): JSX.Element {
  const is_mixed = mixed(values);
  const list = field.enumeration!.values;
  const now = is_mixed ? '' : String(values[0]);
  const fade = useFade(now, sink.is_live);
  const known = list.some((each) => String(each.value) === now);
  return (
    <span
      class={`field select ${is_wrong ? 'is-wrong' : ''} ${sink.read_only ? 'is-fixed' : ''} ${fade}`}
      title={sink.read_only ?? undefined}
    >
      <select
        aria-label={label}
        value={now}
        disabled={sink.read_only !== null}
        onChange={(event) => {
          const chosen = list.find((each) => String(each.value) === event.currentTarget.value);
          if (chosen) sink.commit(path, chosen.value, is_mixed ? undefined : values[0]);
        }}
      >
        {!known && (
          <option value={now} disabled>
            {is_mixed ? 'mixed' : now || '—'}
          </option>
        )}
        {list.map((each) => (
          <option key={each.name} value={String(each.value)} title={each.doc}>
            {words(each.name)}
          </option>
        ))}
      </select>
      <Icon name="chevron-down" size={12} />
    </span>
  );
}

export function FlagsField({ field, path, label, values, sink }: LineProps): JSX.Element {
  const { values: list, underlying } = field.enumeration!;
  const is_wide = underlying === 'int64' || underlying === 'uint64';
  const has = (value: unknown, mask: number | bigint): boolean =>
    (BigInt((value ?? 0) as number) & BigInt(mask)) === BigInt(mask);
  const switched = (value: unknown, mask: number | bigint, on: boolean): unknown => {
    const all = BigInt((value ?? 0) as number);
    const next = on ? all | BigInt(mask) : all & ~BigInt(mask);
    return is_wide ? next : Number(next);
  };
  return (
    <span class="flags" role="group" aria-label={label} title={sink.read_only ?? undefined}>
      {list.map((each) => {
        const on = values.filter((value) => has(value, each.value)).length;
        const state = on === 0 ? false : on === values.length ? true : 'mixed';
        return (
          <button
            key={each.name}
            class="flag"
            aria-pressed={state}
            disabled={sink.read_only !== null}
            title={each.doc || undefined}
            onClick={() =>
              sink.commit(
                path,
                (i: number) => switched(values[i], each.value, state !== true),
                mixed(values) ? undefined : values[0],
              )
            }
          >
            {words(each.name)}
          </button>
        );
      })}
    </span>
  );
}

export function TextField({ field, path, label, values, sink, is_wrong }: LineProps): JSX.Element {
  const draft = useDraft();
  const input = useRef<HTMLInputElement>(null);
  const began = useRef<unknown>(undefined);
  const is_mixed = mixed(values);
  const text_of = (value: unknown): string =>
    typeof value === 'bigint'
      ? sink.text(value) || (value === 0n ? '' : `text ${value.toString(16)}`)
      : ((value as string | null) ?? '');
  const shown = is_mixed ? '' : text_of(values[0]);
  const fade = useFade(shown, sink.is_live && draft.text === null);
  const commit = (): void => {
    const text = draft.text;
    draft.end();
    if (text !== null && (text !== shown || (is_mixed && text !== ''))) sink.commit(path, text, began.current);
  };
  return (
    <span
      class={`field text ${is_wrong ? 'is-wrong' : ''} ${sink.read_only ? 'is-fixed' : ''} ${draft.text === null ? '' : 'is-typed'} ${fade}`}
      title={sink.read_only ?? (shown.length > 24 ? shown : undefined)}
    >
      <input
        ref={input}
        type="text"
        spellcheck={false}
        autocomplete="off"
        aria-label={label}
        aria-invalid={is_wrong || undefined}
        list={field.asset ? 'asset-paths' : undefined}
        placeholder={is_mixed ? 'mixed' : field.asset ? 'no file' : ''}
        readOnly={sink.read_only !== null}
        value={draft.text ?? shown}
        onFocus={() => {
          began.current = is_mixed ? undefined : values[0];
          draft.begin(shown);
          select_soon(input);
        }}
        onInput={(event) => draft.type(event.currentTarget.value)}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            event.preventDefault();
            input.current?.blur();
          }
          if (event.key === 'Escape') {
            draft.end();
            sink.forget(path);
            input.current?.blur();
          }
        }}
      />
    </span>
  );
}

export function EntityField({ path, label, values, sink, is_wrong }: LineProps): JSX.Element {
  const is_mixed = mixed(values);
  const value = values[0] as Entity;
  const is_none = !is_mixed && (!value || is_nil(value));
  const name = is_mixed || is_none ? undefined : sink.label(value);
  const shown = is_mixed ? 'mixed' : is_none ? 'none' : (name ?? `#${id_text(value)} is gone`);
  const fade = useFade(shown, sink.is_live);
  const box = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const element = box.current!;
    const drop = (event: Event): void => set((event as CustomEvent<Entity>).detail);
    element.addEventListener(entity_dropped, drop);
    return () => element.removeEventListener(entity_dropped, drop);
  });
  const set = (entity: Entity): void => {
    if (is_mixed || !same_entity(entity, value)) sink.commit(path, entity, is_mixed ? undefined : value);
  };
  return (
    <span
      ref={box}
      class={`field entity ${is_wrong ? 'is-wrong' : ''} ${sink.read_only ? 'is-fixed' : 'takes-entity'} ${fade}`}
      title={sink.read_only ?? undefined}
    >
      <button
        class={`entity-name ${name === undefined ? 'is-faint' : ''}`}
        aria-label={`${label}: ${shown}. Choose an entity`}
        disabled={sink.read_only !== null}
        onClick={(event) => sink.pick_entity(event.currentTarget, set)}
      >
        {shown}
      </button>
      {!sink.read_only && (
        <button
          class="in-field"
          aria-label={`${label}: click an entity`}
          title="Click an entity in the tree or the viewport"
          onClick={() => sink.click_entity(set)}
        >
          <Icon name="pipette" size={14} />
        </button>
      )}
      {name !== undefined && (
        <button
          class="in-field"
          aria-label={`Select ${shown}`}
          title="Select it"
          onClick={() => sink.show_entity(value)}
        >
          <Icon name="arrow-up-right" size={14} />
        </button>
      )}
      {!is_none && !sink.read_only && (
        <button
          class="in-field"
          aria-label={`${label}: none`}
          title="Set to none"
          onClick={() => set({ index: 0, generation: 0 })}
        >
          <Icon name="close" size={14} />
        </button>
      )}
    </span>
  );
}
