// The entities that this page drags, and questions before it changes what other users drag.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { id_text } from 'muster-client';
import type { Entity } from 'muster-client';

import type { Drag } from '../model/drag.js';
import type { EditedWorld } from '../model/edited_world.js';
import type { Step } from '../model/edits.js';
import type { Notices } from '../model/notices.js';
import type { Operation } from '../model/operations.js';
import { as_sentence } from '../model/sentences.js';

export class Holding {
  private readonly by_drag = new Map<Drag, Map<string, Entity>>();
  private readonly all = signal<readonly Entity[]>([]);
  /** Steps that the user has chosen to make although others hold their entities. */
  private readonly anyway = new WeakSet<Step>();

  constructor(
    private readonly world: EditedWorld,
    private readonly notices: Notices,
  ) {}

  /** The entities that unfinished drags change. */
  get dragged(): ReadonlySignal<readonly Entity[]> {
    return this.all;
  }
  /** Notes that a drag changes an entity. If another user holds it, says so and returns false. */
  begin(drag: Drag, entity: Entity): boolean {
    const held = this.world.held([entity], false);
    if (held) this.notices.say('problem', as_sentence(held));
    if (held) return false;
    const own = this.by_drag.get(drag) ?? new Map<string, Entity>();
    if (own.has(id_text(entity))) return true;
    this.by_drag.set(drag, own.set(id_text(entity), entity));
    this.tell();
    return true;
  }
  end(drag: Drag): void {
    if (this.by_drag.delete(drag)) this.tell();
  }
  /** Cancels the drags of an entity, and says why. */
  let_go_of(entity: Entity, why: string): void {
    const drags = [...this.by_drag].filter(([, own]) => own.has(id_text(entity)));
    for (const [drag] of drags) drag.cancel();
    if (drags.length > 0) this.notices.say('problem', as_sentence(why));
  }
  /**
   * Returns true if another user holds one of the entities. Then says so, and offers to make the
   * edit.
   */
  asks(entities: readonly Entity[], edit: () => Promise<unknown>): boolean {
    return this.offers(this.world.held(entities, false), edit);
  }
  /** Like asks, for a step. Returns false for a step that the user has chosen to make. */
  asks_about(step: Step, make: () => Promise<unknown>): boolean {
    if (this.anyway.delete(step)) return false;
    const { operations } = step;
    const held = this.world.held(changed_by(operations), false) ?? this.world.held(moved_by(operations), true);
    return this.offers(held, () => {
      this.anyway.add(step);
      return make();
    });
  }

  private offers(held: string | undefined, edit: () => Promise<unknown>): boolean {
    if (held === undefined) return false;
    const actions = [{ title: 'Change it anyway', run: () => void edit() }];
    this.notices.say('problem', `${as_sentence(held)} Nothing was changed.`, actions);
    return true;
  }
  private tell(): void {
    const all = new Map([...this.by_drag.values()].flatMap((own) => [...own]));
    this.all.value = [...all.values()];
  }
}

/** Returns the entities that operations change, without those that are below them. */
function changed_by(operations: readonly Operation[]): Entity[] {
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
function moved_by(operations: readonly Operation[]): Entity[] {
  return operations.flatMap((operation) => {
    if (operation.kind === 'destroy') return operation.entities;
    return operation.kind === 'reparent' ? operation.places.map(({ entity }) => entity) : [];
  });
}
