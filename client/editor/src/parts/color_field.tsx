// A color: a patch that opens the browser's picker, its hexadecimal digits, and its opacity.
import type { FieldDescriptor } from 'muster-client';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';

import { hex_of, parse_hex, to_linear, to_screen } from './color.js';
import type { LineProps } from './line_fields.js';
import { mixed } from './line_fields.js';
import { Wrong } from './sink.js';
import type { Gesture } from './sink.js';
import { select_soon, useDraft } from './use_draft.js';

/** Returns sRGB channels from 0 to 1, or more for light that is brighter than white. */
function channels(field: FieldDescriptor, value: unknown): number[] {
  const all = Array.isArray(value) ? (value as number[]) : Object.values(value as Record<string, number>);
  if (field.element === 'uint8') return all.map((each) => each / 255);
  const brightest = Math.max(1, ...all.slice(0, 3));
  return all.map((each, i) => (i < 3 ? to_screen(each / brightest) : each));
}
/** Returns the value with another color; keeps its opacity and its brightness beyond white. */
function painted(field: FieldDescriptor, value: unknown, rgb: readonly number[]): unknown {
  const all = Array.isArray(value) ? (value as number[]) : Object.values(value as Record<string, number>);
  const brightest = field.element === 'uint8' ? 1 : Math.max(1, ...all.slice(0, 3));
  const next = all.map((each, i) => {
    if (i >= 3) return each;
    return field.element === 'uint8' ? Math.round(rgb[i] * 255) : Math.fround(to_linear(rgb[i]) * brightest);
  });
  if (Array.isArray(value)) return next;
  return Object.fromEntries(Object.keys(value as object).map((key, i) => [key, next[i]]));
}

export function ColorField({ field, path, label, values, sink, is_wrong }: LineProps): JSX.Element {
  const draft = useDraft();
  const gesture = useRef<Gesture | null>(null);
  const text = useRef<HTMLInputElement>(null);
  const began = useRef(values);
  const is_mixed = mixed(values);
  const [r, g, b] = channels(field, values[0]);
  const hex = hex_of(r, g, b);
  const paint = (given: string, from: readonly unknown[]): ((i: number) => unknown) | null => {
    const rgb = parse_hex(given);
    return rgb && ((i) => painted(field, from[i], rgb));
  };
  const commit = (): void => {
    const typed = draft.text;
    draft.end();
    if (typed === null || typed === hex || typed.trim() === '') return;
    const value = paint(typed, began.current);
    const was = began.current;
    if (value) sink.commit(path, value, mixed(was) ? undefined : was[0]);
    else sink.commit(path, new Wrong(`'${typed.trim()}' is not a color: write #rrggbb or #rgb`));
  };
  return (
    <span
      class={`field color ${is_wrong ? 'is-wrong' : ''} ${sink.read_only ? 'is-fixed' : ''}`}
      title={sink.read_only ?? undefined}
    >
      <input
        class={`swatch ${is_mixed ? 'is-mixed' : ''}`}
        type="color"
        aria-label={`${label}: choose a color`}
        value={hex}
        disabled={sink.read_only !== null}
        onInput={(event) => {
          const value = paint(event.currentTarget.value, values);
          gesture.current ??= sink.drag(path);
          if (value) gesture.current.set(path, value);
        }}
        onChange={() => {
          gesture.current?.commit();
          gesture.current = null;
        }}
      />
      <input
        ref={text}
        type="text"
        class="hex"
        spellcheck={false}
        aria-label={`${label} as #rrggbb`}
        value={draft.text ?? (is_mixed ? '' : hex)}
        placeholder={is_mixed ? 'mixed' : ''}
        readOnly={sink.read_only !== null}
        onFocus={() => {
          began.current = values;
          draft.begin(is_mixed ? '' : hex);
          select_soon(text);
        }}
        onInput={(event) => draft.type(event.currentTarget.value)}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            event.preventDefault();
            text.current?.blur();
          }
          if (event.key === 'Escape') {
            draft.end();
            text.current?.blur();
          }
        }}
      />
    </span>
  );
}
