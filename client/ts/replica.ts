// A local copy of a world, or of a part of it, updated by a watch.
import type { Batch } from './batch.js';
import type { Client } from './client.js';
import { ClientError, mistaken } from './client_error.js';
import { guarded } from './received.js';
import type { Received } from './received.js';
import type { ReplicaColumn } from './replica_column.js';
import { ReplicaCopy } from './replica_copy.js';
import type { ReplicaChanges, ReplicaEntity, Words } from './replica_copy.js';
import { Following, Gap, Resuming, Watching } from './session.js';
import type { Follow } from './session.js';
import { id_text } from './types.js';
import type { Entity, Init, TypeDescriptor, TypeKey, TypeRef } from './types.js';
import type { OpenWatch } from './watches.js';

export interface ReplicaListeners {
  /** Called when the copy has a new state of the world or, with `parts`, part of one. */
  change?(changes: ReplicaChanges): void;
  /**
   * Called with inputs as they arrive, and with messages from handlers, if the scope includes them.
   * received.envelope identifies the sender.
   */
  event?(batch: Batch, received: Received): void;
  /** Called with the number of events that were dropped because this client was too slow. */
  gap?(gap: Gap): void;
  /**
   * Called before `change` if sequences cannot be compared with earlier ones: the server was
   * restarted, or a run began or ended while this program was not connected. An id that was created
   * after the last save, or in the run, may then name another entity.
   */
  anew?(): void;
  /**
   * Called when the connection is lost. The copy stays unchanged; follow another client to
   * continue.
   */
  lost?(error: ClientError): void;
}

/** The part of the world to follow; by default everything. Structure is always followed. */
export interface ReplicaScope {
  /** Only these entities and, with `subtree`, their descendants. By default the whole world. */
  entities?: readonly Entity[];
  subtree?: boolean;
  /** Only entities with all components in `with` and none in `without`. */
  with?: readonly TypeRef[];
  without?: readonly TypeRef[];
  /** If false, only entities, names and parents are followed. */
  values?: boolean;
  /** The components whose values are followed; by default all. */
  components?: readonly TypeRef[];
  /**
   * Components whose values stay bytes, so that 100,000 of them can change many times a second
   * without creating objects. See `component`, `column`, and `packed` of ReplicaChanges. Used by
   * `follow`; `change` ignores it.
   */
  packed?: readonly TypeRef[];
  /**
   * If true, `change` is also called for incomplete states after the first complete one. Useful if
   * there are more changes than the connection can carry, because states are then rarely complete.
   * Used by `follow`; `change` ignores it.
   */
  parts?: boolean;
  /** Also follows inputs of these types, by default of all types except those in `except`. */
  events?: boolean;
  messages?: readonly TypeRef[];
  except?: readonly TypeRef[];
  /** Also follows messages of these types from handlers and timers: received.is_pushed. */
  pushed?: readonly TypeRef[];
  /** Limit on states per second, up to 1,000,000. 0 sends a state after every input. */
  rate_max?: number;
  /**
   * Approximate limit on bytes per second, including events (`gap` counts dropped ones). 0 means no
   * limit.
   */
  bytes_max?: number;
  /**
   * From 0 to 255. If the client's watches need more than the connection carries, the watch with
   * the highest priority comes first; among equals, the one that has waited longest.
   */
  priority?: number;
}

/**
 * A local copy, empty at first. Between two calls of `change`, it has the world's state at
 * `sequence`. While a change of several frames arrives, part of it may be visible, but `change` is
 * called for the whole change unless `parts` is set. A second `follow` (of another client or scope)
 * compares states: the copy stays unchanged until the new state is complete, and `change` reports
 * only the differences.
 */
export class Replica {
  private copy = new ReplicaCopy();
  /** The state that arrives after follow, until it is complete. */
  private coming: ReplicaCopy | null = null;
  private packed: TypeDescriptor[] = [];
  private client: Client | null = null;
  private watch: OpenWatch | null = null;
  /** By request of a change: the components whose values are followed afterward; null means all. */
  private readonly narrowed = new Map<bigint, ReadonlySet<string> | null>();
  /** Number of the current call of follow. */
  private turn = 0;
  private parts = false;
  private is_part_untold = false;
  /**
   * Sequence of the copy's state, the epoch in which it arrived (0 if none yet), and the world's
   * clock.
   */
  sequence = 0n;
  epoch = 0n;
  clock_ns = 0n;

  constructor(private readonly listeners: ReplicaListeners = {}) {}

  /**
   * Opens a watch, and resolves when the copy is complete. Ends an earlier watch. Fails like
   * Client.follow, and the copy then stays unchanged. Fails with `mistaken` if `follow` or `stop`
   * is called in the meantime.
   */
  async follow(client: Client, scope: ReplicaScope = {}): Promise<void> {
    const turn = ++this.turn;
    await this.unwatch();
    if (turn !== this.turn) throw overtaken();
    const question = question_of(client, scope);
    this.narrowed.clear();
    this.parts = scope.parts ?? false;
    const words: Words = { text: (hash) => client.text(hash), type: (id) => client.types.find(id) };
    // No state may have arrived since the earlier client entered its last epoch.
    if (this.client?.is_comparable(this.epoch)) this.epoch = this.client.epoch;
    this.client = client;
    this.packed = (scope.packed ?? []).map((type) => client.types.component(type));
    this.coming = new ReplicaCopy(this.packed);
    await new Promise<void>((resolve, reject) => {
      let is_over = false;
      const ended = (error: ClientError): void => {
        reject(error); // has no effect once the copy is complete
        if (is_over || turn !== this.turn) return;
        is_over = true; // a caller that closes the session now would cause a second call
        const was_whole = this.coming === null;
        this.watch = null;
        this.coming = null;
        if (was_whole) guarded(() => this.listeners.lost?.(error));
      };
      const frame = (received: Received): void => {
        if (turn !== this.turn) return reject(overtaken());
        try {
          if (this.take(received, words)) resolve();
        } catch (error) {
          // No server sends such bytes, so nothing after them can be trusted.
          ended(new ClientError('lost', 'the server sent a bad batch: ' + (error as Error).message));
          client.close();
        }
      };
      client.follow(question, { frame, ended }).then((watch) => {
        if (turn === this.turn) this.watch = watch;
        else watch.unwatch().catch(() => {});
      }, ended);
    });
  }

  /**
   * Follows another part of the same world, and resolves when the copy has it. Only the differences
   * are sent. Entities outside the new scope leave the copy. If no watch is open, fails and changes
   * nothing.
   */
  async change(scope: ReplicaScope): Promise<void> {
    if (!this.watch || !this.client) throw mistaken('the replica follows nothing yet');
    const change = this.watch.change(question_of(this.client, scope));
    const types = this.client.types;
    const told = scope.values === false ? [] : (scope.components ?? []).map((each) => types.component(each).name);
    this.narrowed.set(change.id, scope.values === false || told.length > 0 ? new Set(told) : null);
    await change.done.finally(() => this.narrowed.delete(change.id));
  }

  /** Ends the watch. The copy stays unchanged. */
  async stop(): Promise<void> {
    ++this.turn;
    await this.unwatch();
  }
  private async unwatch(): Promise<void> {
    const watch = this.watch;
    this.watch = null;
    this.coming = null;
    if (watch && !this.client?.ended) await watch.unwatch();
  }

  get size(): number {
    return this.copy.records.size;
  }
  [Symbol.iterator](): IterableIterator<ReplicaEntity> {
    return this.copy.records.values();
  }
  get(entity: Entity): ReplicaEntity | undefined {
    return this.copy.get(entity);
  }
  /**
   * Returns the value of a component; undefined if the entity is not in the copy or lacks the
   * component. For a packed component, each call returns a new object.
   */
  component<T>(entity: Entity, key: Pick<TypeKey<T>, 'name' | 'value'>): T | undefined {
    const column = this.copy.columns.get(key.name);
    return (column ? column.get(entity) : this.copy.get(entity)?.components[key.name]) as T | undefined;
  }
  /**
   * Returns all values of a packed component by full name; undefined if the component is not
   * packed. May return a different object after follow.
   */
  column(name: string): ReplicaColumn | undefined {
    return this.copy.columns.get(name);
  }
  /** Returns the children of an entity in the copy (nil: the roots), in no particular order. */
  children(of: Entity): ReplicaEntity[] {
    return this.copy.children(of);
  }
  /** Returns the number of children in the copy. */
  child_count(of: Entity): number {
    return this.copy.child_count(of);
  }
  /**
   * Returns a path, "/town/tower". It begins below the first parent that is not in the copy. An
   * entity without a name is shown as its id, "#12:1".
   */
  path(entity: Entity): string {
    let path = '';
    // The limit guards against states that no server sends.
    for (let at = this.get(entity), depth = 0; at && depth < 4096; at = this.get(at.parent), ++depth)
      path = '/' + (at.name || '#' + id_text(at.entity)) + path;
    return path;
  }

  /** Returns true if this frame completes the copy for the first time since follow. */
  private take(received: Received, words: Words): boolean {
    const { batch } = received;
    if (received.is_event) {
      if (batch.type.id === Gap.id) {
        const gap = batch.message(0) as unknown as Gap;
        guarded(() => this.listeners.gap?.(gap));
      } else {
        guarded(() => this.listeners.event?.(batch, received));
      }
      return false;
    }
    if (batch.type.id === Resuming.id && (batch.message(0) as unknown as Resuming).anew !== 0) {
      this.coming = new ReplicaCopy(this.packed);
      this.narrowed.clear();
    }
    const copy = this.coming ?? this.copy;
    if (batch.type.id === Following.id) {
      const names = this.narrowed.get((batch.message(0) as unknown as Following).change);
      if (names) copy.keep_components(names);
    } else if (batch.type.id !== Watching.id && batch.type.id !== Resuming.id) {
      copy.apply_all(batch, words);
    }
    if (!received.is_last) {
      if (this.parts && !this.coming) this.tell_part();
      return false;
    }
    if (received.envelope) {
      this.sequence = received.envelope.sequence;
      this.clock_ns = received.envelope.clock_ns;
    } else if (batch.type.id === Watching.id || batch.type.id === Resuming.id) {
      const { sequence, clock_ns } = batch.message(0) as unknown as Watching | Resuming;
      this.sequence = sequence;
      this.clock_ns = clock_ns;
    }
    const is_anew = this.epoch !== 0n && !this.client!.is_comparable(this.epoch);
    this.epoch = received.epoch;
    const first = this.coming;
    this.coming = null;
    if (first && this.copy.records.size === 0) this.copy = first;
    else if (first) this.copy.become(first);
    if (is_anew) guarded(() => this.listeners.anew?.());
    this.tell(true);
    return first !== null;
  }
  private tell(is_whole: boolean): void {
    this.is_part_untold = false;
    const changes = this.copy.take_changes(this.sequence, this.clock_ns, is_whole);
    guarded(() => this.listeners.change?.(changes));
  }
  /** Calls `change` once for all frames that arrived together. */
  private tell_part(): void {
    if (this.is_part_untold) return;
    this.is_part_untold = true;
    queueMicrotask(() => {
      if (this.is_part_untold) this.tell(false);
    });
  }
}

const overtaken = (): ClientError => new ClientError('mistaken', 'the replica was told to follow something else meanwhile');

function question_of(client: Client, scope: ReplicaScope): Init<Follow> {
  const entities = [...(scope.entities ?? [])];
  const components = (types?: readonly TypeRef[]) => (types ?? []).map((type) => client.types.component(type).id);
  const messages = (types?: readonly TypeRef[]) => (types ?? []).map((type) => client.types.message(type).id);
  return {
    world: entities.length === 0,
    entities,
    subtree: scope.subtree ?? false,
    with: components(scope.with),
    without: components(scope.without),
    values: scope.values ?? true,
    components: components(scope.components),
    structure: true,
    inputs: scope.events ?? false,
    input_types: messages(scope.messages),
    inputs_except: messages(scope.except),
    pushed: messages(scope.pushed),
    rate_max: scope.rate_max ?? 0,
    bytes_max: scope.bytes_max ?? 0,
    priority: scope.priority ?? 0,
  };
}
