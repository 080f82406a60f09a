// The ordered children of open nodes, updated by a watch, for a tree view. Contains no other part
// of the world.
import type { Client } from './client.js';
import { ClientError } from './client_error.js';
import { guarded } from './received.js';
import type { Received } from './received.js';
import { Destroy } from './muster.js';
import { ChildRows, Following, Resuming, Unlisted, Watching } from './session.js';
import { id_text, same_entity } from './types.js';
import type { Entity } from './types.js';
import type { OpenWatch } from './watches.js';

/** One child of an open node. Replaced by a new object when anything in it changes. */
export interface TreeRow {
  readonly entity: Entity;
  /** Nil for a root. */
  readonly parent: Entity;
  /** The previous sibling; nil for the first child, and for roots. */
  readonly after: Entity;
  /** Empty if it has none. */
  readonly name: string;
  readonly child_count: number;
  /** Type ids, ascending: client.types.find(id). */
  readonly components: readonly number[];
}

/** The changes of a tree by one consistent state of the world. */
export interface TreeChanges {
  sequence: bigint;
  clock_ns: bigint;
  /** Open nodes with an added, removed or moved child. */
  lists: Entity[];
  /** New and changed rows. */
  rows: TreeRow[];
  /** Open nodes that were destroyed and are now closed. */
  died: Entity[];
}

export interface TreeListeners {
  change?(changes: TreeChanges): void;
  /**
   * Called when the connection is lost. The tree stays unchanged. Follow another client to
   * continue; the tree then opens the same nodes.
   */
  lost?(error: ClientError): void;
}

interface List {
  readonly node: Entity;
  readonly rows: Map<number, TreeRow>;
  /** Null if it must be computed again. */
  order: TreeRow[] | null;
  /** True if a caller has received `order`; changes are then made to a copy. */
  is_given: boolean;
}

/** A tree of open nodes. Between two changes it has the world's state at `sequence`. */
export class Tree {
  private lists = new Map<number, List>();
  /** By index: the list that contains the entity. */
  private listed = new Map<number, List>();
  /** True from follow until the state is complete. It is not shown before. */
  private coming = false;
  private client: Client | null = null;
  private watch: OpenWatch | null = null;
  private turn = 0;
  /** By request of a change: the nodes to remove when the change begins. */
  private readonly forgets = new Map<bigint, readonly Entity[]>();
  private readonly wanted = new Map<number, Entity>();
  private opening: Entity[] = [];
  private changed_lists = new Map<number, Entity>();
  private changed_rows = new Map<number, TreeRow>();
  private died: Entity[] = [];
  sequence = 0n;
  clock_ns = 0n;

  constructor(private readonly listeners: TreeListeners = {}) {}

  /**
   * Opens a watch of the open nodes, and resolves when their rows have arrived. Fails like
   * Client.follow.
   */
  async follow(client: Client, rate_max = 0): Promise<void> {
    await this.stop();
    const turn = this.turn;
    this.client = client;
    this.coming = true;
    this.forgets.clear();
    await new Promise<void>((resolve, reject) => {
      let is_over = false;
      const ended = (error: ClientError): void => {
        reject(error); // has no effect once the tree is complete
        if (is_over || turn !== this.turn) return;
        is_over = true; // a caller that closes the session now would cause a second call
        this.watch = null;
        if (!this.coming) guarded(() => this.listeners.lost?.(error));
        this.coming = false;
      };
      const frame = (received: Received): void => {
        if (turn !== this.turn) return reject(new ClientError('mistaken', 'the tree was told to follow something else meanwhile'));
        try {
          if (this.take(received)) resolve();
        } catch (error) {
          ended(new ClientError('lost', 'the server sent a bad batch: ' + (error as Error).message));
          client.close();
        }
      };
      const open = (this.opening = [...this.wanted.values()]);
      client.follow({ open, rate_max }, { frame, ended }).then((watch) => {
        if (turn !== this.turn) return void watch.unwatch().catch(() => {});
        this.watch = watch;
        // Nodes may have been opened and closed in the meantime.
        const now = [...this.wanted.values()];
        const opened = now.filter((each) => !open.some((other) => same_entity(each, other)));
        const closed = open.filter((each) => !now.some((other) => same_entity(each, other)));
        if (opened.length > 0 || closed.length > 0) this.more(opened, closed).catch(() => {});
      }, ended);
    });
  }

  /** Ends the watch. The tree stays unchanged. */
  async stop(): Promise<void> {
    ++this.turn;
    const watch = this.watch;
    this.watch = null;
    this.coming = false;
    if (watch && !this.client?.ended) await watch.unwatch();
  }

  /**
   * Opens nodes (nil for the roots), and resolves when their children have arrived. Before
   * follow(), only records the nodes.
   */
  async open(...nodes: Entity[]): Promise<void> {
    const opened = nodes.filter((node) => !this.is_wanted(node));
    for (const node of opened) this.wanted.set(node.index, node);
    if (this.watch && opened.length > 0) await this.more(opened, []);
  }
  async close(...nodes: Entity[]): Promise<void> {
    const closed = nodes.filter((node) => this.is_wanted(node));
    for (const node of closed) this.wanted.delete(node.index);
    if (this.watch && closed.length > 0) await this.more([], closed);
  }
  private async more(open: readonly Entity[], close: readonly Entity[]): Promise<void> {
    const change = this.watch!.more({ open: [...open], close: [...close] });
    this.forgets.set(change.id, close);
    await change.done;
    for (const node of open) if (this.is_wanted(node)) this.need(node);
  }
  private is_wanted(node: Entity): boolean {
    const known = this.wanted.get(node.index);
    return known !== undefined && same_entity(known, node);
  }

  /** Returns true if the node's rows have arrived. */
  is_open(node: Entity): boolean {
    const list = this.lists.get(node.index);
    return list !== undefined && same_entity(list.node, node);
  }
  /**
   * Returns the children of a node in order; roots are ordered by index. Do not change the array; a
   * changed list is a new array. Empty if the node is not open.
   */
  children(node: Entity): readonly TreeRow[] {
    const list = this.lists.get(node.index);
    if (!list || !same_entity(list.node, node)) return [];
    list.is_given = true;
    return (list.order ??= ordered(list));
  }
  get(entity: Entity): TreeRow | undefined {
    const row = this.listed.get(entity.index)?.rows.get(entity.index);
    return row && same_entity(row.entity, entity) ? row : undefined;
  }

  /** Returns true if this frame completes the tree for the first time since follow. */
  private take(received: Received): boolean {
    const { batch } = received;
    switch (batch.type.id) {
      case Watching.id: {
        if (!this.coming || received.is_last) break;
        this.forget_all();
        break;
      }
      case Resuming.id: {
        if ((batch.message(0) as unknown as Resuming).anew === 0) break;
        this.forget_all();
        this.opening = [...this.wanted.values()];
        this.coming = true;
        break;
      }
      case Following.id: {
        const { change } = batch.message(0) as unknown as Following;
        for (const node of this.forgets.get(change) ?? []) this.forget(node);
        this.forgets.delete(change);
        break;
      }
      case ChildRows.id:
        for (let i = 0; i < batch.count; ++i) this.put(batch.message(i) as unknown as ChildRows);
        break;
      case Unlisted.id:
        for (let i = 0; i < batch.count; ++i) this.take_out(batch.target(i));
        break;
      case Destroy.id:
        for (let i = 0; i < batch.count; ++i) this.bury(batch.target(i));
        break;
    }
    if (!received.is_last) return false;
    if (received.envelope) {
      this.sequence = received.envelope.sequence;
      this.clock_ns = received.envelope.clock_ns;
    }
    const first = this.coming;
    this.coming = false;
    if (first) for (const node of this.opening) if (this.is_wanted(node)) this.need(node);
    const changes: TreeChanges = {
      sequence: this.sequence,
      clock_ns: this.clock_ns,
      lists: [...this.changed_lists.values()],
      rows: [...this.changed_rows.values()],
      died: this.died,
    };
    this.changed_lists = new Map();
    this.changed_rows = new Map();
    this.died = [];
    if (first || changes.lists.length > 0 || changes.rows.length > 0 || changes.died.length > 0)
      guarded(() => this.listeners.change?.(changes));
    return first;
  }

  private need(node: Entity): List {
    const known = this.lists.get(node.index);
    if (known && same_entity(known.node, node)) return known;
    if (known) this.forget(known.node);
    const list: List = { node, rows: new Map(), order: [], is_given: false };
    this.lists.set(node.index, list);
    this.changed_lists.set(node.index, node);
    return list;
  }

  private put(rows: ChildRows): void {
    let at = 0;
    rows.entities.forEach((entity, i) => {
      const components = rows.components.slice(at, (at += rows.component_counts[i]));
      const row: TreeRow = {
        entity,
        parent: rows.parents[i],
        after: rows.after[i],
        name: rows.names[i],
        child_count: rows.child_counts[i],
        components,
      };
      const list = this.need(row.parent);
      const before = this.listed.get(entity.index);
      const old = before?.rows.get(entity.index);
      if (before && old && (before !== list || !same_entity(old.entity, entity))) this.take_out(old.entity);
      const known = list.rows.get(entity.index);
      list.rows.set(entity.index, row);
      this.listed.set(entity.index, list);
      this.changed_rows.set(entity.index, row);
      if (!known || !same_entity(known.after, row.after)) {
        const last = list.order?.at(-1);
        // Most children are added at the end; roots have no order.
        const is_appended = last ? same_entity(last.entity, row.after) : row.after.index === 0;
        if (!known && list.order && list.node.index !== 0 && is_appended) {
          if (list.is_given) list.order = list.order.slice();
          list.is_given = false;
          list.order.push(row);
        } else {
          list.order = null;
        }
        this.changed_lists.set(list.node.index, list.node);
      } else if (list.order) {
        list.order = null;
      }
    });
  }

  private take_out(entity: Entity): void {
    const list = this.listed.get(entity.index);
    const row = list?.rows.get(entity.index);
    if (!list || !row || !same_entity(row.entity, entity)) return;
    list.rows.delete(entity.index);
    list.order = null;
    this.listed.delete(entity.index);
    this.changed_rows.delete(entity.index);
    this.changed_lists.set(list.node.index, list.node);
  }

  private bury(entity: Entity): void {
    this.take_out(entity);
    const wanted = this.is_wanted(entity);
    if (wanted) this.wanted.delete(entity.index);
    if (wanted || this.is_open(entity)) this.died.push(entity);
    this.forget(entity);
  }

  private forget(node: Entity): void {
    const list = this.lists.get(node.index);
    if (!list || !same_entity(list.node, node)) return;
    for (const index of list.rows.keys()) {
      this.listed.delete(index);
      this.changed_rows.delete(index);
    }
    this.lists.delete(node.index);
    this.changed_lists.delete(node.index);
  }
  private forget_all(): void {
    for (const list of [...this.lists.values()]) this.forget(list.node);
  }
}

function ordered(list: List): TreeRow[] {
  if (list.node.index === 0) return [...list.rows.values()].sort((a, b) => a.entity.index - b.entity.index);
  const behind = new Map<number, TreeRow>();
  for (const row of list.rows.values()) behind.set(row.after.index, row);
  const order: TreeRow[] = [];
  for (let at = behind.get(0); at && order.length < list.rows.size; at = behind.get(at.entity.index)) order.push(at);
  if (order.length !== list.rows.size)
    throw new Error(`the children of ${id_text(list.node)} are ${list.rows.size}, and ${order.length} stand in a row`);
  return order;
}
