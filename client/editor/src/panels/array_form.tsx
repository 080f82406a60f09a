// The dialog that makes an array of the selection: along a line, or on a grid.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { make_array, offsets_of } from '../arrange/structure.js';
import type { ArrayOrder } from '../arrange/structure.js';
import { copied_max } from '../model/copies.js';
import { counted } from '../model/numbers.js';
import { Popover } from '../parts/popover.js';
import { usePage } from './context.js';
import { chosen } from './copying.js';

const axes = ['X', 'Y', 'Z'] as const;
type Three = [number, number, number];

/** Limit on the number of copies of each entity. */
const array_max = 10_000;

export function ArrayForm(): JSX.Element {
  const { model, ui } = usePage();
  const [is_grid, set_grid] = useState(false);
  const [line, set_line] = useState(5);
  const [counts, set_counts] = useState<Three>([3, 1, 3]);
  const [steps, set_steps] = useState<Three>(() => {
    const size = model.placer.peek()?.extent(chosen(model)) ?? { x: 1, y: 1, z: 1 };
    const step = (extent: number): number => Math.max(0.01, Math.round(extent * 100) / 100) || 1;
    return [step(size.x), step(size.y), step(size.z)];
  });
  const [line_steps, set_line_steps] = useState<Three>(() => [steps[0], 0, 0]);
  const order: ArrayOrder = { counts, steps: is_grid ? steps : line_steps, line: is_grid ? null : line };
  const all = is_grid ? counts[0] * counts[1] * counts[2] : line;
  const is_fine = all >= 2 && all <= array_max && [...counts, line].every((each) => Number.isInteger(each) && each >= 1);
  const close = (): void => void (ui.dialog.value = null);
  const make = (): void => {
    if (!is_fine || offsets_of(order).length === 0) return;
    close();
    void make_array(model, order).catch((error: Error) => model.notices.say('problem', error.message));
  };
  const three = (label: string, values: Three, set: (values: Three) => void, is_count: boolean): JSX.Element => (
    <div class="form-row">
      <span>{label}</span>
      {axes.map((axis, i) => (
        <input
          key={axis}
          type="number"
          aria-label={`${label} ${axis}`}
          min={is_count ? 1 : undefined}
          step={is_count ? 1 : 'any'}
          value={values[i]}
          onInput={(event) => {
            const next: Three = [...values];
            next[i] = Number(event.currentTarget.value);
            set(next);
          }}
        />
      ))}
    </div>
  );
  return (
    <Popover at={{ x: innerWidth / 2 - 160, y: 120 }} label="Array" class="form" close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          make();
        }}
      >
        <h2>Array</h2>
        <div class="form-tabs" role="radiogroup" aria-label="Arrangement">
          {[false, true].map((each) => (
            <label key={String(each)}>
              <input type="radio" name="arrangement" checked={is_grid === each} onChange={() => set_grid(each)} />
              {each ? 'On a grid' : 'Along a line'}
            </label>
          ))}
        </div>
        {is_grid ? (
          three('Number', counts, set_counts, true)
        ) : (
          <div class="form-row">
            <span>Number</span>
            <input
              type="number"
              aria-label="Number"
              autofocus
              min={2}
              step={1}
              value={line}
              onInput={(event) => set_line(Number(event.currentTarget.value))}
            />
          </div>
        )}
        {is_grid
          ? three('Distance (m)', steps, set_steps, false)
          : three('Distance (m)', line_steps, set_line_steps, false)}
        <p class="form-note">
          {is_fine
            ? `${counted(all)} in all, with the original. Each copy is below the same parent.`
            : `The number must be from 2 to ${counted(Math.min(array_max, copied_max))}.`}
        </p>
        <div class="form-hands">
          <button type="button" class="button is-small" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button is-small is-primary" disabled={!is_fine}>
            Make
          </button>
        </div>
      </form>
    </Popover>
  );
}
