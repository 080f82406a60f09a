// The children of open nodes in their order. The copy of the world knows who is whose child; in which order, the server is asked.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { is_nil } from 'muster-client';
import type { Client, Entity, Replica, ReplicaChanges, ReplicaEntity } from 'muster-client';

interface Node {
  entity: Entity;
  /** Null: not asked for yet. */
  children: Entity[] | null;
  is_asking: boolean;
  is_stale: boolean;
}

const ask_again_ms = 250;

export class SiblingOrder {
  private readonly open_nodes = new Map<number, Node>();
  private readonly turn = signal(0);
  private client: Client | null = null;

  constructor(private readonly world: Replica) {}

  /** Another number: some list is another one. */
  get version(): ReadonlySignal<number> {
    return this.turn;
  }
  /** In order; undefined: not known yet (open it), or closed. */
  children(of: Entity): readonly Entity[] | undefined {
    return this.open_nodes.get(of.index)?.children ?? undefined;
  }
  is_open(entity: Entity): boolean {
    return this.open_nodes.has(entity.index);
  }
  opened(): readonly Entity[] {
    return [...this.open_nodes.values()].map((node) => node.entity);
  }
  open(entity: Entity): void {
    if (this.open_nodes.has(entity.index)) return;
    const node: Node = { entity, children: null, is_asking: false, is_stale: true };
    this.open_nodes.set(entity.index, node);
    ++this.turn.value;
    void this.ask(node);
  }
  close(entity: Entity): void {
    if (this.open_nodes.delete(entity.index)) ++this.turn.value;
  }
  follow(client: Client): void {
    this.client = client;
    for (const node of this.open_nodes.values()) void this.ask(node);
  }
  /** What this page did to the order itself: others say nothing of a reorder. */
  reordered(parent: Entity): void {
    const node = this.open_nodes.get(parent.index);
    if (node) this.stale(node);
  }

  take(changes: ReplicaChanges): void {
    let is_changed = changes.renamed.length > 0;
    const at = (parent: Entity): Node | undefined => this.open_nodes.get(parent.index);
    const out = (record: ReplicaEntity, parent: Entity): void => {
      this.open_nodes.delete(record.entity.index);
      const node = at(parent);
      if (node) {
        is_changed = true;
        this.stale(node);
      }
    };
    for (const record of changes.destroyed) out(record, record.parent);
    for (const record of changes.left) out(record, record.parent);
    for (const { entity, from } of changes.moved) {
      is_changed = true;
      const old = at(from);
      if (old) this.stale(old);
      const now = at(entity.parent);
      if (now) this.stale(now);
    }
    for (const record of changes.created) {
      const node = at(record.parent);
      if (!node) continue;
      is_changed = true;
      this.stale(node);
    }
    if (is_changed || changes.created.length > 0) ++this.turn.value;
  }

  private stale(node: Node): void {
    if (node.is_stale) return;
    node.is_stale = true;
    // What is gone is not shown until then.
    if (node.children) node.children = node.children.filter((child) => this.world.get(child));
    if (!node.is_asking) setTimeout(() => void this.ask(node), ask_again_ms);
  }
  private async ask(node: Node): Promise<void> {
    const client = this.client;
    if (!client || node.is_asking) return;
    node.is_asking = true;
    node.is_stale = false;
    try {
      const children: Entity[] = [];
      for await (const page of client.children_all(node.entity)) children.push(...page.entities);
      if (this.open_nodes.get(node.entity.index) === node) {
        node.children = is_nil(node.entity) ? children.sort((a, b) => a.index - b.index) : children;
        ++this.turn.value;
      }
    } catch {
      node.is_stale = true; // lost, or gone: asked again with the next session or change
    }
    node.is_asking = false;
    if (node.is_stale && this.client && !this.client.ended) setTimeout(() => void this.ask(node), ask_again_ms);
  }
}
