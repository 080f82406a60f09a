// A slider beside the number of a field whose range is a scale.
import type { FieldDescriptor } from 'muster-client';
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';

import { is_float, is_wide, limits_of } from '../model/numbers.js';
import type { Gesture, ValueSink } from './sink.js';

/** Larger ranges are mere limits, for which a slider would be too coarse. */
const span_max = 10_000;

export function has_slider(field: FieldDescriptor): boolean {
  if (!field.range || is_wide(field)) return false;
  const { min, max } = limits_of(field);
  return min < max && max - min <= span_max;
}

/** Returns the power of ten that divides the range into at least 200 steps; 1 for integers. */
export function slider_step(field: FieldDescriptor): number {
  const { min, max } = limits_of(field);
  return is_float(field) ? 10 ** Math.floor(Math.log10((max - min) / 200)) : 1;
}

export function Slider(props: {
  field: FieldDescriptor;
  path: string;
  label: string;
  /** One value per entity. */
  values: readonly (number | undefined)[];
  sink: ValueSink;
}): JSX.Element {
  const { field, path, label, values, sink } = props;
  const { min, max } = limits_of(field);
  const gesture = useRef<Gesture | null>(null);
  const is_given_up = useRef(false);
  /** The value during a drag; the world's value follows later. */
  const [held, set_held] = useState<number | null>(null);
  const shown = Math.min(max, Math.max(min, held ?? values[0] ?? min));
  const end = (how: 'commit' | 'cancel'): void => {
    gesture.current?.[how]();
    gesture.current = null;
    set_held(null);
  };
  return (
    <input
      type="range"
      class="slider"
      aria-label={label}
      title={sink.read_only ?? undefined}
      disabled={sink.read_only !== null}
      min={min}
      max={max}
      step={slider_step(field)}
      value={String(shown)}
      onPointerDown={() => (is_given_up.current = false)}
      onInput={(event) => {
        if (is_given_up.current) {
          event.currentTarget.value = String(shown);
          return;
        }
        const value = Math.round(Number(event.currentTarget.value) * 1e6) / 1e6;
        sink.forget(path);
        gesture.current ??= sink.drag(path);
        gesture.current.set(path, value);
        set_held(value);
      }}
      onChange={() => end('commit')}
      onPointerUp={() => end('commit')}
      onPointerCancel={() => end('cancel')}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') is_given_up.current = false;
        if (event.key !== 'Escape' || !gesture.current) return;
        event.stopPropagation();
        is_given_up.current = true;
        end('cancel');
      }}
    />
  );
}
