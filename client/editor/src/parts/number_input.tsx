// A number that can be typed, dragged and stepped.
import type { FieldDescriptor } from 'muster-client';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';

import {
  exact_text,
  is_float,
  is_wide,
  limits_of,
  narrow_text,
  parse_change,
  parse_number,
  short_text,
} from '../model/numbers.js';
import { useDraft, useFade, useSelected } from './use_draft.js';

export interface NumberInputProps {
  field: FieldDescriptor;
  label: string;
  /** One value per entity; undefined if it is unknown. */
  values: readonly (number | bigint | undefined)[];
  unit?: string;
  /** "x", "y" or "z"; colors the letter before the number. */
  axis?: string;
  is_live: boolean;
  read_only: string | null;
  is_wrong: boolean;
  /** One value for all, or one for each by its index among the values. */
  commit(value: number | bigint | ((i: number) => number), was: number | bigint | undefined): void;
  /** Called during a drag; `by` is the distance from its start. */
  drag(): { to(by: number): void; commit(): void; cancel(): void };
  complain(sentence: string): void;
  cleared(): void;
}

const drag_begins_px = 3;
/** Number of characters that fit beside the letter of an axis. */
const axis_room = 5;

export function NumberInput(props: NumberInputProps): JSX.Element {
  const { field, values, read_only } = props;
  const draft = useDraft();
  const input = useRef<HTMLInputElement>(null);
  useSelected(input, draft);
  const began = useRef<number | bigint | undefined>(undefined);
  const first = values[0];
  const is_long = typeof first === 'bigint' && String(first).length > 15;
  const is_mixed = values.some((value) => !Object.is(value, first));
  const shown = first === undefined || is_mixed ? '' : props.axis ? narrow_text(first, axis_room) : short_text(first);
  const fade = useFade(shown, props.is_live && draft.text === null);
  const exact = first === undefined || is_mixed ? '' : exact_text(first, field.element === 'float32');
  const is_changed_under =
    draft.text !== null && began.current !== undefined && !Object.is(began.current, first) && !is_mixed;

  const begin = (): void => {
    began.current = is_mixed ? undefined : first;
    draft.begin(exact);
  };
  const commit = (): void => {
    const text = draft.text;
    draft.end();
    if (text === null || text === exact || text.trim() === '') return;
    const rounded = (value: number): number => (field.element === 'float32' ? Math.fround(value) : value);
    const change = parse_change(field, text);
    if (typeof change === 'function') {
      const changed = values.map((value) => change(Number(value ?? 0)));
      const wrong = changed.find((each) => typeof each === 'object');
      if (wrong) props.complain((wrong as { sentence: string }).sentence);
      else props.commit((i) => rounded(changed[i] as number), began.current);
      return;
    }
    if (is_mixed && /^\s*[+*/]/.test(text)) {
      const plain = text.trim();
      props.complain(`the values differ: write ${plain[0]}=${plain.slice(1)} to change each of them`);
      return;
    }
    const value = change ?? parse_number(field, text);
    if (typeof value === 'object') props.complain(value.sentence);
    else props.commit(typeof value === 'number' ? rounded(value) : value, began.current);
  };
  const step_of = (event: { shiftKey: boolean; altKey: boolean }): number => {
    const { min, max } = limits_of(field);
    const size = typeof first === 'number' && !is_mixed ? Math.abs(first) : 1;
    let step = is_float(field) ? (max - min <= 2 ? 0.01 : size >= 100 ? 1 : 0.1) : 1;
    if (event.shiftKey) step *= 10;
    if (event.altKey && is_float(field)) step *= 0.1;
    return step;
  };
  const is_chosen_whole = (): boolean => {
    const { value, selectionStart, selectionEnd } = input.current!;
    return draft.text === exact && value !== '' && selectionStart === 0 && selectionEnd === value.length;
  };
  const press = (event: PointerEvent): void => {
    if (event.button !== 0 || read_only || is_wide(field)) return;
    // During editing, the browser selects text. A number that is completely selected can be
    // dragged.
    const is_entered = draft.text !== null;
    if (is_entered && !is_chosen_whole()) return;
    const target = event.currentTarget as HTMLElement;
    if (!is_entered) {
      event.preventDefault();
      target.setPointerCapture(event.pointerId);
    }
    const start = event.clientX;
    let gesture: ReturnType<NumberInputProps['drag']> | null = null;
    let by = 0;
    let last = start;
    const move = (now: PointerEvent): void => {
      if (!gesture && Math.abs(now.clientX - start) < drag_begins_px) return;
      if (!gesture) {
        draft.end();
        input.current?.blur();
        target.setPointerCapture(event.pointerId);
        gesture = props.drag();
        props.cleared();
        document.body.classList.add('is-scrubbing');
      }
      by += (now.clientX - last) * step_of(now);
      last = now.clientX;
      gesture.to(is_float(field) ? Math.round(by * 1e4) / 1e4 : Math.round(by));
    };
    const end = (how: 'commit' | 'cancel'): void => {
      target.removeEventListener('pointermove', move);
      target.removeEventListener('pointerup', up);
      target.removeEventListener('pointercancel', cancel);
      removeEventListener('keydown', key, true);
      document.body.classList.remove('is-scrubbing');
      if (gesture) gesture[how]();
      else if (how === 'commit' && !is_entered) input.current?.focus();
    };
    const up = (): void => end('commit');
    const cancel = (): void => end('cancel');
    const key = (pressed: KeyboardEvent): void => {
      if (pressed.key !== 'Escape' || !gesture) return;
      pressed.stopPropagation();
      end('cancel');
    };
    target.addEventListener('pointermove', move);
    target.addEventListener('pointerup', up);
    target.addEventListener('pointercancel', cancel);
    addEventListener('keydown', key, true);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') {
      event.preventDefault(); // otherwise it would submit the form
      input.current?.blur();
    } else if (event.key === 'Escape') {
      draft.end();
      props.cleared();
      input.current?.blur();
    } else if ((event.key === 'ArrowUp' || event.key === 'ArrowDown') && !is_wide(field)) {
      event.preventDefault();
      const now = parse_number(field, draft.text ?? exact);
      if (typeof now !== 'number') return;
      const next = now + (event.key === 'ArrowUp' ? 1 : -1) * step_of(event);
      const { min, max } = limits_of(field);
      draft.type(short_text(Math.min(max, Math.max(min, Math.round(next * 1e6) / 1e6))));
    }
  };
  return (
    <span
      class={`field number ${props.is_wrong ? 'is-wrong' : ''} ${read_only ? 'is-fixed' : ''} ${draft.text === null ? '' : 'is-typed'} ${is_long ? 'is-long' : ''} ${fade}`}
      onPointerDown={press}
      title={read_only ?? (shown === exact ? undefined : exact)}
    >
      {props.axis && <span class={`axis axis-${props.axis}`}>{props.axis.toUpperCase()}</span>}
      <input
        ref={input}
        type="text"
        inputMode="decimal"
        spellcheck={false}
        autocomplete="off"
        aria-label={props.label}
        aria-invalid={props.is_wrong || undefined}
        value={draft.text ?? shown}
        placeholder={is_mixed ? 'mixed' : ''}
        readOnly={read_only !== null}
        onFocus={begin}
        onInput={(event) => draft.type(event.currentTarget.value)}
        onBlur={commit}
        onKeyDown={key}
      />
      {props.unit && <span class="unit">{props.unit}</span>}
      {is_changed_under && (
        <span class="theirs" title="The value has changed since you began to type">
          now {short_text(first!)}
        </span>
      )}
    </span>
  );
}
