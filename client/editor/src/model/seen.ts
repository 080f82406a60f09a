// Entities that this page does not show, or does not let the pointer take. They are a matter of the
// user's view and not of the level, so the browser stores them.
import { signal } from '@preact/signals';
import type { ReadonlySignal, Signal } from '@preact/signals';
import { id_text, is_nil } from 'muster-client';
import type { Entity } from 'muster-client';

type Ids = ReadonlySet<string>;

export class Seen {
  private readonly hidden_ids: Signal<Ids> = signal(new Set<string>());
  private readonly locked_ids: Signal<Ids> = signal(new Set<string>());
  private readonly alone_ids: Signal<Ids> = signal(new Set<string>());
  private readonly turn = signal(0);

  /** `parent` returns the parent of an entity; nil for a root, or if it is unknown. */
  constructor(private readonly parent: (entity: Entity) => Entity) {}

  /** Changes whenever something is hidden, locked or isolated, or is no longer. */
  get version(): ReadonlySignal<number> {
    return this.turn;
  }
  get is_isolating(): boolean {
    return this.alone_ids.value.size > 0;
  }
  get is_hiding(): boolean {
    return this.is_isolating || this.hidden_ids.value.size > 0;
  }
  get is_locking(): boolean {
    return this.locked_ids.value.size > 0;
  }
  /** Returns true for an entity that was hidden itself. */
  hides(entity: Entity): boolean {
    return this.hidden_ids.value.has(id_text(entity));
  }
  /** Returns true for an entity that was locked itself. */
  locks(entity: Entity): boolean {
    return this.locked_ids.value.has(id_text(entity));
  }
  /** Returns true if the entity, or an entity above it, is hidden, or if others are isolated. */
  is_hidden(entity: Entity): boolean {
    const { hidden_ids, alone_ids } = this;
    if (hidden_ids.value.size + alone_ids.value.size === 0) return false;
    return this.any_above(entity, hidden_ids.value) || (this.is_isolating && !this.any_above(entity, alone_ids.value));
  }
  is_locked(entity: Entity): boolean {
    return this.is_locking && this.any_above(entity, this.locked_ids.value);
  }

  hide(entities: readonly Entity[], on: boolean): void {
    this.change(this.hidden_ids, entities, on);
  }
  lock(entities: readonly Entity[], on: boolean): void {
    this.change(this.locked_ids, entities, on);
  }
  /** Shows only these entities and those below them; all with an empty list. */
  isolate(entities: readonly Entity[]): void {
    this.alone_ids.value = new Set(entities.map(id_text));
    ++this.turn.value;
  }
  show_all(): void {
    this.hidden_ids.value = new Set();
    this.isolate([]);
  }
  unlock_all(): void {
    this.locked_ids.value = new Set();
    ++this.turn.value;
  }
  /** For the browser's storage. */
  kept(): { hidden: string[]; locked: string[] } {
    return { hidden: [...this.hidden_ids.peek()], locked: [...this.locked_ids.peek()] };
  }
  restore({ hidden = [], locked = [] }: Partial<ReturnType<Seen['kept']>>): void {
    this.hidden_ids.value = new Set(hidden);
    this.locked_ids.value = new Set(locked);
    this.isolate([]);
  }

  private any_above(entity: Entity, ids: Ids): boolean {
    for (let at = entity; !is_nil(at); at = this.parent(at)) if (ids.has(id_text(at))) return true;
    return false;
  }
  private change(of: Signal<Ids>, entities: readonly Entity[], on: boolean): void {
    const ids = new Set(of.peek());
    for (const entity of entities) on ? ids.add(id_text(entity)) : ids.delete(id_text(entity));
    of.value = ids;
    ++this.turn.value;
  }
}
