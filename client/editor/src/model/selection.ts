import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { same_entity } from 'muster-client';
import type { Entity } from 'muster-client';

/** The selected entities. Destroyed entities are removed automatically. */
export class Selection {
  private readonly chosen = signal<readonly Entity[]>([]);
  private by_index = new Map<number, Entity>();

  /** The last entity is the active one. */
  get entities(): ReadonlySignal<readonly Entity[]> {
    return this.chosen;
  }
  get active(): Entity | undefined {
    return this.chosen.value[this.chosen.value.length - 1];
  }
  has(entity: Entity): boolean {
    const known = this.by_index.get(entity.index);
    return known !== undefined && same_entity(known, entity);
  }
  set(entities: readonly Entity[]): void {
    const by_index = new Map<number, Entity>();
    for (const entity of entities) {
      by_index.delete(entity.index);
      by_index.set(entity.index, entity);
    }
    const now = [...by_index.values()];
    const before = this.chosen.peek();
    if (now.length === before.length && now.every((entity, i) => same_entity(entity, before[i]))) return;
    this.by_index = by_index;
    this.chosen.value = now;
  }
  add(entities: readonly Entity[]): void {
    this.set([...this.chosen.peek(), ...entities]);
  }
  toggle(entity: Entity): void {
    if (this.has(entity)) this.drop([entity]);
    else this.add([entity]);
  }
  clear(): void {
    this.set([]);
  }
  drop(entities: readonly Entity[]): void {
    const gone = entities.filter((entity) => this.has(entity));
    if (gone.length === 0) return;
    const indices = new Set(gone.map((entity) => entity.index));
    this.set(this.chosen.peek().filter((entity) => !indices.has(entity.index)));
  }
}
