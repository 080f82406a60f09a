// A local copy of a world, or of a part of it, kept up to date by a watch.
import type { Batch } from './batch.js';
import type { Client } from './client.js';
import { ClientError, mistaken } from './client_error.js';
import { guarded } from './connection.js';
import type { Received } from './connection.js';
import type { ReplicaColumn } from './replica_column.js';
import { ReplicaCopy } from './replica_copy.js';
import type { ReplicaChanges, ReplicaEntity, Words } from './replica_copy.js';
import { Following, Gap, Watching } from './session.js';
import type { Follow } from './session.js';
import { id_text } from './types.js';
import type { Entity, Init, TypeKey, TypeRef } from './types.js';
import type { OpenFollow } from './watches.js';

export interface ReplicaListeners {
  /** The copy is another state of the world, or a part of it is, where `parts` were asked for. */
  change?(changes: ReplicaChanges): void;
  /** An input as it came, where events were asked for, or what handlers pushed: who sent it is in received.envelope. */
  event?(batch: Batch, received: Received): void;
  /** Events that this client was too slow to be sent. */
  gap?(gap: Gap): void;
  /**
   * The server was started anew since the last state: told before `change` tells the new one. What was kept by sequences of before means nothing
   * any more, and an id that was given after the last save of before may be somebody else's.
   */
  anew?(): void;
  /** The copy is kept as it is and grows old; follow another client to go on. */
  lost?(error: ClientError): void;
}

/** What to follow: nothing named is everything. Structure is always followed. */
export interface ReplicaScope {
  /** These entities, with `subtree` everything below them too; none: the whole world. */
  entities?: readonly Entity[];
  subtree?: boolean;
  /** Of these, those alone that have all of the components `with`, and none of `without`. */
  with?: readonly TypeRef[];
  without?: readonly TypeRef[];
  /** False: entities, names and parents only. */
  values?: boolean;
  /** Whose values; none named: every component. */
  components?: readonly TypeRef[];
  /**
   * Of those, such as are kept as bytes: no object is made of a value that nobody asks for, so that 100,000 of them may change many times
   * a second. See `component`, `column`, and what `change` tells as `packed`. Said by `follow`; `change` leaves it as it is.
   */
  packed?: readonly TypeRef[];
  /**
   * Once the copy was whole, also tell what came of a state that is not whole yet: in a world in which more changes than
   * a connection carries, states are seldom whole. Said by `follow`; `change` leaves it as it is.
   */
  parts?: boolean;
  /** Also tell inputs, of these types; none named: of every type but those of `except`. */
  events?: boolean;
  messages?: readonly TypeRef[];
  except?: readonly TypeRef[];
  /** Also tell messages of these types that handlers push or timers deliver: received.is_pushed. */
  pushed?: readonly TypeRef[];
  /** At most so many times a second, up to 1,000,000; 0: after every input. */
  rate_max?: number;
  /** At most about so many bytes a second, events among them (a gap is told of those that are too many); 0: as many as come. */
  bytes_max?: number;
  /** 0 to 255. Of the client's watches those of the greatest go first where there is not room for all; of equal ones who waited longest. */
  priority?: number;
}

/**
 * Begins empty. Between two changes it is the world as it was at `sequence`; while a change of several frames comes in, a part of it
 * may show already, but `change` is told of the whole, unless parts were asked for. To follow a second time (another client, after the first was lost, or
 * another scope) compares: the copy stays as it was until the new state is whole, and only what is different is told.
 */
export class Replica {
  private copy = new ReplicaCopy();
  /** What comes in after follow, until it is a whole state. */
  private coming: ReplicaCopy | null = null;
  private client: Client | null = null;
  private watch: OpenFollow | null = null;
  /** By the request of a change: whose values are told after it; null: everyone's. */
  private readonly narrowed = new Map<bigint, ReadonlySet<string> | null>();
  /** Which call of follow is the present one. */
  private turn = 0;
  private parts = false;
  private is_part_untold = false;
  /** As of which input the copy is, of which start of the server (0: none yet), and the world's clock then. */
  sequence = 0n;
  epoch = 0n;
  clock_ns = 0n;

  constructor(private readonly listeners: ReplicaListeners = {}) {}

  /**
   * Opens a watch and resolves when the copy is whole. Fails as Client.watch does; the copy then stays as it was. What was followed
   * before is not followed any more. Where it is told to follow something else meanwhile, or to stop, it fails as `mistaken`.
   */
  async follow(client: Client, scope: ReplicaScope = {}): Promise<void> {
    const turn = ++this.turn;
    await this.unwatch();
    if (turn !== this.turn) throw overtaken();
    const question = question_of(client, scope);
    this.narrowed.clear();
    this.parts = scope.parts ?? false;
    const words: Words = { text: (hash) => client.text(hash), type: (id) => client.types.find(id) };
    this.client = client;
    this.coming = new ReplicaCopy((scope.packed ?? []).map((type) => client.types.component(type)));
    await new Promise<void>((resolve, reject) => {
      let is_over = false;
      const ended = (error: ClientError): void => {
        reject(error); // means nothing once the copy is whole
        if (is_over || turn !== this.turn) return;
        is_over = true; // whoever closes the session because of it is told of the end again
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
          // What no server sends: nothing that comes after it can be believed.
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
   * Follows another part of the same world from now on; resolves when the copy is of that. Only what is different comes. Entities that
   * the scope does not name any more leave the copy. Fails, and changes nothing, where nothing is followed.
   */
  async change(scope: ReplicaScope): Promise<void> {
    if (!this.watch || !this.client) throw mistaken('the replica follows nothing that could be changed');
    const change = this.watch.change(question_of(this.client, scope));
    const types = this.client.types;
    const told = scope.values === false ? [] : (scope.components ?? []).map((each) => types.component(each).name);
    this.narrowed.set(change.id, scope.values === false || told.length > 0 ? new Set(told) : null);
    await change.done.finally(() => this.narrowed.delete(change.id));
  }

  /** Ends the watch; the copy stays as it is. */
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
  /** The value of a component; undefined where the entity is not here or has none. Of a packed one, another object at each call. */
  component<T>(entity: Entity, key: Pick<TypeKey<T>, 'name' | 'value'>): T | undefined {
    const column = this.copy.columns.get(key.name);
    return (column ? column.get(entity) : this.copy.get(entity)?.components[key.name]) as T | undefined;
  }
  /** All values of a packed component, by full name; undefined where it is not packed. May be another one after follow. */
  column(name: string): ReplicaColumn | undefined {
    return this.copy.columns.get(name);
  }
  /** The entities here whose parent it is (nil: the roots), in no order that means something. */
  children(of: Entity): ReplicaEntity[] {
    return this.copy.children(of);
  }
  /** How many there are. */
  child_count(of: Entity): number {
    return this.copy.child_count(of);
  }
  /** "/town/tower"; begins below the first parent that is not in the copy. Entities without a name show their ids, "#12:1". */
  path(entity: Entity): string {
    let path = '';
    // The bound is for states that no server sends.
    for (let at = this.get(entity), depth = 0; at && depth < 4096; at = this.get(at.parent), ++depth)
      path = '/' + (at.name || '#' + id_text(at.entity)) + path;
    return path;
  }

  /** True: with this frame the copy is whole for the first time since follow. */
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
    const copy = this.coming ?? this.copy;
    if (batch.type.id === Following.id) {
      const names = this.narrowed.get((batch.message(0) as unknown as Following).change);
      if (names) copy.keep_components(names);
    } else if (batch.type.id !== Watching.id) {
      copy.apply_all(batch, words);
    }
    if (!received.is_last) {
      if (this.parts && !this.coming) this.tell_part();
      return false;
    }
    if (received.envelope) {
      this.sequence = received.envelope.sequence;
      this.clock_ns = received.envelope.clock_ns;
    } else if (batch.type.id === Watching.id) {
      const { sequence, clock_ns } = batch.message(0) as unknown as Watching;
      this.sequence = sequence;
      this.clock_ns = clock_ns;
    }
    const is_anew = this.epoch !== 0n && this.epoch !== received.epoch;
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
  /** Once for all frames that came together. */
  private tell_part(): void {
    if (this.is_part_untold) return;
    this.is_part_untold = true;
    queueMicrotask(() => {
      if (this.is_part_untold) this.tell(false);
    });
  }
}

const overtaken = (): ClientError => new ClientError('mistaken', 'the replica follows something else by now');

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
