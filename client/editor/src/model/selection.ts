import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { id_text, same_entity } from 'muster-client';
import type { Entity } from 'muster-client';

const lost_max = 20_000;

/**
 * The selected entities. Those that are destroyed are removed, and selected again if they are
 * revived.
 */
export class Selection {
  private readonly chosen = signal<readonly Entity[]>([]);
  private by_index = new Map<number, Entity>();
  /** Entities that were destroyed while they were selected, by id. */
  private readonly lost = new Map<string, Entity>();
  /** The selection after the last loss, or after those that came back. */
  private left: readonly Entity[] | null = null;

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
  /** Removes destroyed entities. */
  lose(entities: readonly Entity[]): void {
    for (const entity of entities) this.lost.set(id_text(entity), entity);
    for (const id of [...this.lost.keys()].slice(0, -lost_max)) this.lost.delete(id);
    this.drop(entities);
    this.left = this.chosen.peek();
  }
  /** Selects those of these entities that were lost, unless something else was selected since. */
  regain(entities: readonly Entity[]): void {
    if (this.lost.size === 0) return;
    const back = entities.filter((entity) => this.lost.delete(id_text(entity)));
    if (back.length === 0 || this.chosen.peek() !== this.left) return;
    this.add(back);
    this.left = this.chosen.peek();
  }
  /** Forgets destroyed entities, whose ids may be given to others from now on. */
  forget_lost(): void {
    this.lost.clear();
  }
  drop(entities: readonly Entity[]): void {
    const gone = entities.filter((entity) => this.has(entity));
    if (gone.length === 0) return;
    const indices = new Set(gone.map((entity) => entity.index));
    this.set(this.chosen.peek().filter((entity) => !indices.has(entity.index)));
  }
}
