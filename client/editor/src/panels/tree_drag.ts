// Drags rows to another parent, to another place among their siblings, or onto a field that refers
// to an entity.
import type { Signal } from '@preact/signals';
import { id_text, is_nil, nil, same_entity } from 'muster-client';
import type { Entity } from 'muster-client';

import type { Model } from '../model/model.js';
import { root_order } from '../model/root_order.js';
import { entity_dropped } from '../parts/line_fields.js';
import type { TreeLine } from './tree.js';

export const row_height = 24;
const begins_px = 4;
const scroll_zone_px = 24;

export interface DropPlace {
  parent: Entity;
  /** Nil for the last child. */
  before: Entity;
  /** True if dropped onto a row rather than between rows. */
  is_inside: boolean;
  y: number;
  depth: number;
}

export interface RowDrag {
  model: Model;
  rows(): readonly TreeLine[];
  list: HTMLElement;
  of: Entity;
  drop: Signal<DropPlace | null>;
  /** `keeps_local` is true if Alt was held. */
  done(place: DropPlace, keeps_local: boolean): void;
}

/** Returns the distance below the top of the first row, in pixels. */
export function y_in(list: HTMLElement, client_y: number): number {
  return client_y - list.querySelector('.tree-space')!.getBoundingClientRect().top;
}

/**
 * Returns the place of a drop at `y`, which comes from y_in, or null if a drop is not allowed
 * there.
 */
export function drop_place(
  model: Model,
  rows: readonly TreeLine[],
  y: number,
  moved: readonly Entity[],
): DropPlace | null {
  if (y > rows.length * row_height)
    return { parent: nil, before: nil, is_inside: false, y: rows.length * row_height, depth: 0 };
  const at = Math.floor(y / row_height);
  const row = rows[at];
  if (!row) return null;
  const inside = (y - at * row_height) / row_height;
  const parent = model.world.get(row.entity)?.parent ?? nil;
  let place: DropPlace;
  if (inside > 0.25 && inside < 0.75) {
    place = { parent: row.entity, before: nil, is_inside: true, y: at * row_height, depth: row.depth };
  } else if (inside <= 0.25) {
    place = { parent, before: row.entity, is_inside: false, y: at * row_height, depth: row.depth };
  } else if (row.is_open) {
    const first = model.order.children(row.entity)?.[0] ?? nil;
    place = { parent: row.entity, before: first, is_inside: false, y: (at + 1) * row_height, depth: row.depth + 1 };
  } else {
    const siblings = model.order.children(parent) ?? [];
    const next = siblings[siblings.findIndex((each) => same_entity(each, row.entity)) + 1] ?? nil;
    place = { parent, before: next, is_inside: false, y: (at + 1) * row_height, depth: row.depth };
  }
  const ids = new Set(moved.map(id_text));
  if (is_nil(place.parent) && !model.knows(root_order)) {
    // Without scene.fbs, roots are ordered by their ids, so a drop between two of them only makes
    // entities roots.
    const is_root = (entity: Entity): boolean => is_nil(model.world.get(entity)?.parent ?? entity);
    if (moved.every(is_root)) return null;
    place.before = nil;
  }
  if (ids.has(id_text(place.before))) return null;
  // An entity cannot be dropped below itself.
  for (let above: Entity | undefined = place.parent; above && above.index !== 0; above = model.world.get(above)?.parent)
    if (ids.has(id_text(above))) return null;
  return place;
}

export function begin_row_drag(event: PointerEvent, drag: RowDrag): void {
  const { model, list, drop } = drag;
  const start = { x: event.clientX, y: event.clientY };
  let is_on = false;
  let scroll: ReturnType<typeof setInterval> | undefined;
  let last_y = start.y;
  let field: Element | null = null;
  const moved = (): readonly Entity[] => (model.selection.has(drag.of) ? model.selection.entities.peek() : [drag.of]);
  const show = (): void => {
    drop.value = drop_place(model, drag.rows(), y_in(list, last_y), moved());
    list.classList.toggle('drops-nowhere', drop.value === null);
  };
  const move = (now: PointerEvent): void => {
    if (!is_on && Math.hypot(now.clientX - start.x, now.clientY - start.y) < begins_px) return;
    if (!is_on && !model.may_edit.peek()) return end();
    if (!is_on) document.body.classList.add('is-dragging-rows');
    is_on = true;
    last_y = now.clientY;
    field?.classList.remove('is-entered');
    field = document.elementFromPoint(now.clientX, now.clientY)?.closest('.takes-entity') ?? null;
    field?.classList.add('is-entered');
    if (field) {
      clearInterval(scroll);
      drop.value = null;
      return;
    }
    show();
    const box = list.getBoundingClientRect();
    const by = last_y < box.top + scroll_zone_px ? -8 : last_y > box.bottom - scroll_zone_px ? 8 : 0;
    clearInterval(scroll);
    if (by !== 0)
      scroll = setInterval(() => {
        list.scrollTop += by;
        show();
      }, 16);
  };
  const swallow = (click: MouseEvent): void => {
    click.stopPropagation();
    click.preventDefault();
  };
  const end = (): void => {
    removeEventListener('pointermove', move);
    removeEventListener('pointerup', up);
    removeEventListener('pointercancel', end);
    removeEventListener('keydown', key, true);
    clearInterval(scroll);
    document.body.classList.remove('is-dragging-rows');
    list.classList.remove('drops-nowhere');
    field?.classList.remove('is-entered');
    drop.value = null;
  };
  const up = (now: PointerEvent): void => {
    const place = drop.peek();
    if (is_on) field?.dispatchEvent(new CustomEvent(entity_dropped, { detail: drag.of }));
    if (is_on) {
      // Do not select a row with the click that follows.
      addEventListener('click', swallow, { capture: true, once: true });
      setTimeout(() => removeEventListener('click', swallow, true), 0);
    }
    end();
    if (place) drag.done(place, now.altKey);
  };
  const key = (pressed: KeyboardEvent): void => {
    if (pressed.key !== 'Escape' || !is_on) return;
    pressed.stopPropagation();
    end();
  };
  addEventListener('pointermove', move);
  addEventListener('pointerup', up);
  addEventListener('pointercancel', end);
  addEventListener('keydown', key, true);
}
