// The entities that this page is dragging.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { id_text } from 'muster-client';
import type { Entity } from 'muster-client';

import type { Drag } from './drag.js';
import type { Operation } from './operations.js';

export class Dragged {
  private readonly by_drag = new Map<Drag, Map<string, Entity>>();
  private readonly all = signal<readonly Entity[]>([]);

  get entities(): ReadonlySignal<readonly Entity[]> {
    return this.all;
  }
  add(drag: Drag, entity: Entity): void {
    const own = this.by_drag.get(drag) ?? new Map<string, Entity>();
    if (own.has(id_text(entity))) return;
    this.by_drag.set(drag, own.set(id_text(entity), entity));
    this.tell();
  }
  end(drag: Drag): void {
    if (this.by_drag.delete(drag)) this.tell();
  }
  drags_of(entity: Entity): Drag[] {
    return [...this.by_drag].filter(([, own]) => own.has(id_text(entity))).map(([drag]) => drag);
  }
  private tell(): void {
    const all = new Map([...this.by_drag.values()].flatMap((own) => [...own]));
    this.all.value = [...all.values()];
  }
}

/** Returns the entities that operations change, without what is below them. */
export function changed_by(operations: readonly Operation[]): Entity[] {
  return operations.flatMap((operation) => {
    switch (operation.kind) {
      case 'fields':
        return operation.changes.map(({ entity }) => entity);
      case 'set':
        return operation.values.map(({ entity }) => entity);
      case 'remove':
        return operation.entities;
      case 'rename':
        return operation.names.map(({ entity }) => entity);
      default:
        return [];
    }
  });
}
/** Returns the entities that operations move or destroy with everything below them. */
export function moved_by(operations: readonly Operation[]): Entity[] {
  return operations.flatMap((operation) => {
    if (operation.kind === 'destroy') return operation.entities;
    return operation.kind === 'reparent' ? operation.places.map(({ entity }) => entity) : [];
  });
}
