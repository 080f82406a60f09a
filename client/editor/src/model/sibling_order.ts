// The ordered children of open nodes, for the tree.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { is_nil, same_entity, Tree } from 'muster-client';
import type { Client, Entity, TreeRow } from 'muster-client';

const rate = 20;

export class SiblingOrder {
  private readonly open_nodes = new Map<number, Entity>();
  private readonly turn = signal(0);
  /** The open nodes, in the order in which they were opened. */
  readonly opened = signal<readonly Entity[]>([]);
  private readonly tree: Tree;
  private readonly failed: (error: Error) => void;
  private client: Client | null = null;

  /**
   * `failed` is called with errors that occur during a session. `place` returns the places of
   * roots, which are ordered by them.
   */
  constructor(
    failed: (error: Error) => void,
    private readonly place: (root: Entity) => number = (root) => root.index,
  ) {
    this.tree = new Tree({
      change: ({ died }) => {
        for (const node of died) this.forget(node);
        if (died.length > 0) this.opened.value = [...this.open_nodes.values()];
        ++this.turn.value;
      },
    });
    this.failed = (error) => {
      if (!this.client?.ended) failed(error);
    };
  }

  /** Changes whenever a list or row changes. */
  get version(): ReadonlySignal<number> {
    return this.turn;
  }
  /** The sequence of the input up to which the order is known. */
  get sequence(): bigint {
    return this.tree.sequence;
  }
  /** Returns the siblings in order; empty if they are not known yet (open the node). */
  rows(of: Entity): readonly TreeRow[] {
    const rows = this.tree.children(of);
    return is_nil(of) ? this.ordered(rows) : rows;
  }
  private roots: { rows: readonly TreeRow[]; ordered: readonly TreeRow[] } | null = null;
  private ordered(rows: readonly TreeRow[]): readonly TreeRow[] {
    if (this.roots?.rows === rows) return this.roots.ordered;
    const placed = rows.map((row) => ({ row, place: this.place(row.entity) }));
    const is_sorted = placed.every(({ place }, i) => i === 0 || placed[i - 1].place <= place);
    // Sorting is stable, so roots with equal places stay ordered by their ids.
    const ordered = is_sorted ? rows : placed.sort((a, b) => a.place - b.place).map(({ row }) => row);
    this.roots = { rows, ordered };
    return ordered;
  }
  /** Call when places of roots have changed. */
  places_changed(): void {
    this.roots = null;
    ++this.turn.value;
  }
  row(entity: Entity): TreeRow | undefined {
    return this.tree.get(entity);
  }
  /** Undefined if unknown. */
  children(of: Entity): readonly Entity[] | undefined {
    return this.tree.is_open(of) ? this.rows(of).map((row) => row.entity) : undefined;
  }
  is_open(entity: Entity): boolean {
    const known = this.open_nodes.get(entity.index);
    return known !== undefined && same_entity(known, entity);
  }
  open(...entities: Entity[]): void {
    const opened = entities.filter((entity) => !this.is_open(entity));
    if (opened.length === 0) return;
    for (const entity of opened) this.open_nodes.set(entity.index, entity);
    this.tell_open();
    this.tree.open(...opened).then(() => ++this.turn.value, this.failed);
  }
  close(entity: Entity): void {
    if (!this.is_open(entity)) return;
    this.open_nodes.delete(entity.index);
    this.tell_open();
    this.tree.close(entity).catch(this.failed);
  }
  async follow(client: Client): Promise<void> {
    this.client = client;
    await this.tree.follow(client, rate);
    ++this.turn.value;
  }
  private tell_open(): void {
    this.opened.value = [...this.open_nodes.values()];
    // Other calls that open nodes do not wait for this one.
    this.turn.value = this.turn.peek() + 1;
  }
  private forget(node: Entity): void {
    if (this.is_open(node)) this.open_nodes.delete(node.index);
  }
}
