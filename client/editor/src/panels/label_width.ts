// The width of the inspector's labels, which is pulled at their right edge.
import type { Command } from '../model/commands.js';
import type { Ui } from './ui.js';

/** Width of the space between a label and its value. */
const gap_px = 8;
const step_px = 24;
const usual_px = 96;

/** Returns the label whose right edge is under the pointer. */
function label_at(event: MouseEvent): Element | null {
  const label = (event.target as Element).closest('.row')?.querySelector(':scope > .row-label') ?? null;
  const past = label ? event.clientX - label.getBoundingClientRect().right : -1;
  return past >= 0 && past <= gap_px ? label : null;
}

export function pull_labels(event: PointerEvent & { currentTarget: HTMLElement }, ui: Ui): void {
  const label = event.button === 0 ? label_at(event) : null;
  if (!label) return;
  event.preventDefault();
  const list = event.currentTarget;
  const { left } = label.getBoundingClientRect();
  list.setPointerCapture(event.pointerId);
  const move = (now: PointerEvent): void => ui.widen_labels(now.clientX - gap_px / 2 - left);
  list.addEventListener('pointermove', move);
  list.addEventListener('lostpointercapture', () => list.removeEventListener('pointermove', move), { once: true });
}
/** Makes the labels as wide as needed again. */
export function release_labels(event: MouseEvent, ui: Ui): void {
  if (label_at(event)) ui.widen_labels(0);
}

export function label_commands(ui: Ui): Command[] {
  const widen = (by: number): void => ui.widen_labels((ui.sizes.peek().labels || usual_px) + by);
  return [
    { id: 'page.labels_wider', title: 'Wider labels of fields', run: () => widen(step_px) },
    { id: 'page.labels_narrower', title: 'Narrower labels of fields', run: () => widen(-step_px) },
    { id: 'page.labels_usual', title: 'Labels of fields as wide as needed', run: () => ui.widen_labels(0) },
  ];
}
