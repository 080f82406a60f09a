// Sends this page's edits to the world, each as one step of the history, and tracks their results.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { ClientError, id_text, is_nil, nil, same_entity } from 'muster-client';
import type { Client, Entity, StructValue, TypeDescriptor } from 'muster-client';

import type { Copies } from './copies.js';
import { Drag } from './drag.js';
import type { EditedWorld } from './edited_world.js';
import type { Log } from './log.js';
import { FreeNames } from './names.js';
import type { Notices } from './notices.js';
import { Holding } from '../people/holding.js';
import { placeholder, push_operations, written_by } from './operations.js';
import type { FieldChange, Issued, Made, Operation } from './operations.js';
import { OwnWrites } from './own_writes.js';
import { at_path, default_value, last_name, same_value, with_texts, words } from './values.js';

/** An edit that was sent but not answered yet. */
export interface Pending {
  number: number;
  label: string;
  operations: readonly Operation[];
}

/** An edit that the history shows as one step. */
export interface Step {
  /** "Rename tower" */
  label: string;
  operations: readonly Operation[];
}

/** The reason why a field is shown in red. */
export interface Refusal {
  sentence: string;
  /** The refused value. */
  mine: unknown;
  /**
   * The field's actual value if it was not the expected one; undefined if the edit was refused for
   * another reason.
   */
  theirs: unknown;
  /** Writes `mine` regardless of the current value. */
  overwrite?: () => void;
}

export const refusal_key = (component: string, path: string): string => `${component}|${path}`;

/**
 * Returns null if there is nothing to do. The step must use the world's state as of sequence
 * `since` or later.
 */
type MakeStep = (since: bigint) => Promise<Step | null>;

export interface TakeOptions {
  /** From next_gesture. */
  gesture?: bigint;
  tries?: number;
}

export class Edits {
  /** Values that were sent but not confirmed yet. */
  readonly writes = new OwnWrites();
  private readonly waiting = signal<readonly Pending[]>([]);
  private readonly unsure = signal<readonly Pending[]>([]);
  private readonly refused = signal<ReadonlyMap<string, Refusal>>(new Map());
  private last = 0;
  /** Ends with the last call of turn. The server may apply an edit before an earlier undo. */
  private going: Promise<unknown> | null = null;
  private readonly turns = signal(0); // number of unfinished calls of turn
  /** Sequence of the last acknowledged edit of entities, names or places; 0 if none. */
  private structure = 0n;
  /** Sequences of the last acknowledged edits whose effects were not received yet; 0 if none. */
  private untold = { structure: 0n, components: 0n };
  private readonly begun = new Set<Promise<unknown>>(); // not answered yet
  private readonly is_begun = signal(false);
  private readonly drags = new Set<Drag>(); // not finished yet
  private readonly newest = signal(0n);
  /** The entities that drags change, and those that other users hold. */
  readonly holding: Holding;
  /** Called with the operations of each acknowledged edit. */
  applied: (operations: readonly Operation[]) => void = () => {};

  constructor(
    private readonly world: EditedWorld,
    private readonly log: Log,
    private readonly notices: Notices,
  ) {
    this.holding = new Holding(world, notices);
  }

  /** Edits that were sent but not acknowledged yet. */
  get pending(): ReadonlySignal<readonly Pending[]> {
    return this.waiting;
  }
  /**
   * Edits that were unacknowledged when the connection was lost. The world may or may not have
   * applied them.
   */
  get unacknowledged(): ReadonlySignal<readonly Pending[]> {
    return this.unsure;
  }
  /** True while an edit, an undo or a redo has not been answered. */
  is_busy(): boolean {
    return this.is_begun.value || this.turns.value > 0 || this.waiting.value.length > 0;
  }
  /** The sequence of the newest acknowledged edit of this session; 0 if there is none. */
  get acknowledged(): ReadonlySignal<bigint> {
    return this.newest;
  }
  /** Keyed by refusal_key. */
  get refusals(): ReadonlySignal<ReadonlyMap<string, Refusal>> {
    return this.refused;
  }
  forget_refusal(key?: string): void {
    if (this.refused.peek().size === 0) return;
    const left = new Map(this.refused.peek());
    if (key === undefined) left.clear();
    else left.delete(key);
    this.refused.value = left;
  }
  /** Shows that the typed text is not a value of the field. Nothing is sent. */
  show_wrong(component: string, path: string, sentence: string): void {
    const refusal = { sentence, mine: undefined, theirs: undefined };
    this.refused.value = new Map([...this.refused.peek(), [refusal_key(component, path), refusal]]);
  }
  /**
   * Called when the session has ended. The next session may be with another server, whose sequences
   * cannot be compared.
   */
  lost(): void {
    this.writes.forget();
    this.structure = 0n;
    this.untold = { structure: 0n, components: 0n };
    this.newest.value = 0n;
  }
  /** Called when the session goes on with a server that was started again. */
  restarted(): void {
    this.writes.restarted();
    this.structure = 0n;
    this.untold = { structure: 0n, components: 0n };
    this.newest.value = 0n;
  }
  /**
   * Drops everything that was made for the world before a run began or ended, and says `why`, a
   * part of a sentence.
   */
  epoch_began(why: string): void {
    this.forget_refusal();
    for (const drag of this.drags)
      if (drag.drop()) this.say_dropped(`${drag.label}: this drag was dropped, because ${why}.`);
  }
  /** Shows that something of the user was not sent. */
  say_dropped(sentence: string): void {
    this.log.problem(sentence);
    this.notices.say('problem', sentence);
  }
  forget_unacknowledged(): void {
    this.unsure.value = [];
  }
  async send_unacknowledged(): Promise<void> {
    const list = this.unsure.peek();
    this.unsure.value = [];
    // A user who sends these edits again wants these values, regardless of the current ones.
    for (const { label, operations } of list)
      await this.send(
        label,
        operations.map((operation) =>
          operation.kind === 'fields'
            ? { ...operation, changes: operation.changes.map(({ expected: _, ...change }) => change) }
            : operation,
        ),
      );
  }

  // --- edits by the user. All resolve to false after showing the reason if they fail.

  /**
   * Writes one field of one component in all entities. If `was`, the value from before editing, is
   * given, the edit is refused if the field has changed since.
   */
  set_field(
    entities: readonly Entity[],
    component: string,
    path: string,
    value: unknown | ((entity: Entity) => unknown),
    was?: unknown,
  ): Promise<boolean> {
    const change = (): Promise<boolean> => this.begin(this.change_field(entities, component, path, value, was));
    return this.holding.asks(entities, change) ? Promise.resolve(false) : change();
  }
  private async change_field(
    entities: readonly Entity[],
    component: string,
    path: string,
    value: unknown,
    was: unknown,
  ): Promise<boolean> {
    const client = this.ready();
    if (!client) return false;
    const key = refusal_key(component, path);
    this.forget_refusal(key);
    const of = (entity: Entity): unknown =>
      typeof value === 'function' ? (value as (entity: Entity) => unknown)(entity) : value;
    const conditional = was !== undefined && entities.length === 1 && !this.world.is_driven(component);
    const changes: FieldChange[] = entities.map((entity) => ({
      entity,
      component,
      path,
      value: of(entity),
      ...(conditional && { expected: was }),
    }));
    if (!conditional && changes.every((change) => this.is_so(client, change))) return true;
    const label = `Set ${words(path)} of ${this.of_whom(entities)}`;
    try {
      await this.run(label, [{ kind: 'fields', changes }], this.going);
    } catch (error) {
      const fault = (error as ClientError).fault;
      if (fault?.reason === 'epoch_over') {
        this.complain(label, error);
        return false;
      }
      const theirs = fault?.reason === 'value_mismatch' ? client.fault_value(fault) : undefined;
      const mine = of(entities[0]);
      const overwrite =
        theirs === undefined ? undefined : (): void => void this.set_field(entities, component, path, value);
      this.refuse(key, { sentence: this.why(error), mine, theirs, overwrite }, label, error);
      return false;
    }
    return true;
  }
  add_component(entities: readonly Entity[], type: TypeDescriptor): Promise<boolean> {
    return this.do(async () => {
      const lacking = entities.filter((entity) => !this.component(entity, type.name));
      if (lacking.length === 0) return null;
      const value = default_value(type);
      return {
        label: `Add ${last_name(type.name)} to ${this.of_whom(lacking)}`,
        operations: [{ kind: 'set', component: type.name, values: lacking.map((entity) => ({ entity, value })) }],
      };
    });
  }
  /** Writes a whole component, for paste and reset. */
  set_component(entities: readonly Entity[], component: string, value: StructValue): Promise<boolean> {
    return this.do({
      label: `Set ${last_name(component)} of ${this.of_whom(entities)}`,
      operations: [{ kind: 'set', component, values: entities.map((entity) => ({ entity, value })) }],
    });
  }
  remove_component(entities: readonly Entity[], component: string): Promise<boolean> {
    return this.do(async () => {
      const having = entities.filter((entity) => this.component(entity, component));
      if (having.length === 0) return null;
      return {
        label: `Remove ${last_name(component)} from ${this.of_whom(having)}`,
        operations: [{ kind: 'remove', component, entities: having }],
      };
    });
  }
  /** Renames an entity. Removes spaces around `typed`, because they would be invisible. */
  rename(entity: Entity, typed: string): Promise<boolean> {
    return this.do(async () => {
      const name = typed.trim();
      const before = this.world.name(entity);
      if (before === name) return null;
      return {
        label: `Rename ${before || '#' + id_text(entity)}`,
        operations: [{ kind: 'rename', names: [{ entity, name }] }],
      };
    });
  }
  /**
   * Moves entities to another parent. Also writes `kept`, so that they stay in place, and does
   * `also`.
   */
  reparent(
    entities: readonly Entity[],
    parent: Entity,
    before: Entity = nil,
    kept: () => Promise<FieldChange[]> = () => Promise.resolve([]),
    also: () => Operation[] = () => [],
  ): Promise<boolean> {
    return this.do(async () => {
      const changes = await kept();
      return {
        label: `Move ${this.of_whom(entities)} in the tree`,
        operations: [
          { kind: 'reparent', places: entities.map((entity) => ({ entity, parent, before })) },
          ...(changes.length > 0 ? [{ kind: 'fields' as const, changes }] : []),
          ...also(),
        ],
      };
    });
  }
  /**
   * Creates several trees at once. Resolves with the ids of the roots, or with none if the edit was
   * refused.
   */
  create(label: string, made: readonly Omit<Made, 'before'>[], roots: readonly Entity[]): Promise<Entity[]> {
    const all = made.map((each) => ({ ...each, before: nil }));
    return this.make({ label, operations: [{ kind: 'create', made: all }] }, roots);
  }
  /**
   * Takes the step that `make` computes when the page knows the effects of earlier edits. Resolves
   * with the ids issued for `placeholders`, or with null if the step was refused. If a value was
   * not the expected one, computes the step again, up to `of.tries` times in all.
   */
  async take(
    make: MakeStep,
    placeholders: readonly Entity[] = [],
    of: TakeOptions = {},
  ): Promise<Entity[] | null> {
    const issued = await this.begin(this.take_step(make, of));
    return issued && placeholders.flatMap((each) => issued.get(id_text(each)) ?? []);
  }
  /** Inserts each copy after its original, under the next free name. */
  duplicate(
    originals: readonly Entity[],
    { made, roots }: Copies,
    label = `Duplicate ${this.of_whom(originals)}`,
  ): Promise<Entity[]> {
    const places = originals.map((original, i) => ({ root: roots[i], original }));
    return this.add_copies(label, made, places.filter(({ root }) => root));
  }
  /**
   * Adds the copies as the last children of `parent`, under their own names or the next free ones.
   */
  paste({ made, roots }: Copies, parent: Entity): Promise<Entity[]> {
    const whom = roots.length === 1 ? made[0].name || 'an entity' : `${roots.length} entities`;
    return this.add_copies(`Paste ${whom}`, made, roots.map((root) => ({ root, parent })));
  }
  private add_copies(
    label: string,
    made: Copies['made'],
    places: readonly ({ root: Entity } & ({ parent: Entity } | { original: Entity }))[],
  ): Promise<Entity[]> {
    const roots = places.map(({ root }) => root);
    const step = async (since: bigint): Promise<Step> => {
      const names = new FreeNames((parent) => this.world.names_below(parent));
      const placed = new Map<Entity, Pick<Made, 'parent' | 'name' | 'before'>>();
      for (const place of places) {
        const { root } = place;
        const parent = 'original' in place ? this.world.parent(place.original) : place.parent;
        const before = 'original' in place ? await this.world.next_sibling(place.original, since) : nil;
        const name = names.take(parent, made.find(({ entity }) => entity === root)!.name);
        placed.set(root, { parent, name, before });
      }
      const all = made.map((each) => ({ before: nil, ...each, ...placed.get(each.entity) }));
      return { label, operations: [{ kind: 'create', made: all }] };
    };
    return this.make(step, roots);
  }
  /** Moves the root to `position` if it is not null. The root must have a Transform then. */
  async spawn(
    template: string,
    parent: Entity,
    name: string,
    position: StructValue | null,
    links: readonly StructValue[] = [],
  ): Promise<Entity | null> {
    const entity = placeholder();
    const moved = { entity, component: 'scene.Transform', path: 'position', value: position };
    const step: Step = {
      label: `Spawn ${template}`,
      operations: [
        { kind: 'spawn', entity, template, parent, name, links },
        ...(position ? [{ kind: 'fields' as const, changes: [moved] }] : []),
      ],
    };
    return (await this.make(step, [entity]))[0] ?? null;
  }
  /** Deletes entities with everything below them, unless `may` resolves to false. */
  destroy(entities: readonly Entity[], may?: () => Promise<boolean>): Promise<boolean> {
    const operations: Operation[] = [{ kind: 'destroy', entities: [...entities] }];
    const step = { label: `Delete ${this.of_whom(entities)}`, operations };
    return this.do(may ? async () => ((await may()) ? step : null) : step);
  }
  drag(label: string): Drag {
    const client = this.world.client();
    const [gesture, epoch] = [client?.next_gesture(), client?.epoch];
    const { going } = this;
    const drag = new Drag(label, {
      send: async (changes) => void (await this.run(label, [{ kind: 'fields', changes }], going, { gesture, epoch })),
      ready: () => this.ready() !== null,
      before: (entity, component, path) => {
        if (!this.holding.begin(drag, entity)) return undefined;
        const whole = this.component(entity, component);
        return whole && at_path(whole, path);
      },
      is_driven: (component) => this.world.is_driven(component),
      changed_part: (error) => {
        const fault = (error as ClientError).fault;
        return fault?.reason === 'value_mismatch' ? { entity: fault.entity, path: fault.field } : undefined;
      },
      failed: (error) => this.complain(label, error),
      overtaken: ({ entity, path }) => {
        const part = `${words(path)} of ${this.of_whom([entity])}`;
        const sentence = `${part}: somebody else has changed it while you were dragging it. Their value was kept.`;
        this.log.problem(sentence);
        this.notices.say('problem', sentence);
      },
    });
    this.drags.add(drag);
    void drag.finished.then(() => {
      this.drags.delete(drag);
      this.holding.end(drag);
    });
    return drag;
  }

  /**
   * Calls `what`, which changes the world and returns the sequence of the change (0 if there is
   * none), after all earlier edits and calls have been answered. Ends drags first.
   */
  turn(what: () => Promise<bigint>): Promise<void> {
    for (const drag of this.drags) drag.commit();
    const before = [this.going, ...this.begun, ...[...this.drags].map((drag) => drag.finished)];
    ++this.turns.value;
    const next = Promise.allSettled(before)
      .then(what)
      .then((sequence) => {
        if (sequence === 0n) return;
        this.structure = sequence;
        this.untold = { structure: sequence, components: sequence };
      })
      .finally(() => {
        --this.turns.value;
        if (this.going === going) this.going = null;
      });
    const going = next.catch(() => {});
    this.going = going;
    return next;
  }
  /** Returns the client if the world can be edited. Otherwise shows the reason and returns null. */
  ready(): Client | null {
    const client = this.world.client();
    if (client && this.world.may_edit()) return client;
    this.notices.say('problem', this.world.why_not());
    return null;
  }
  /** Shows the reason why something failed. */
  complain(label: string, error: unknown, operations: readonly Operation[] = []): void {
    const text = `${label}: ${this.taken_name(error, operations) ?? this.why(error)}`;
    this.log.problem(text);
    if (!(error instanceof ClientError && error.kind === 'lost')) this.notices.say('problem', text);
  }

  // --- sending

  private begin<T>(edit: Promise<T>): Promise<T> {
    this.begun.add(edit);
    this.is_begun.value = true;
    const over = (): void => {
      this.begun.delete(edit);
      this.is_begun.value = this.begun.size > 0;
    };
    edit.then(over, over);
    return edit;
  }
  private async do(step: Step | MakeStep): Promise<boolean> {
    return (await this.begin(this.take_step(step))) !== null;
  }
  /** Resolves with the ids of new entities, or with none if the edit was refused. */
  private async make(step: Step | MakeStep, placeholders: readonly Entity[]): Promise<Entity[]> {
    const issued = await this.begin(this.take_step(step));
    return issued ? placeholders.map((each) => issued.get(id_text(each))!) : [];
  }
  /** Resolves with null after showing the reason if the edit failed. */
  private async take_step(made: Step | MakeStep, of: TakeOptions = {}): Promise<Issued | null> {
    const client = this.ready();
    if (!client) return null;
    const { epoch } = client;
    const { going } = this;
    const is_known = this.begun.size + this.turns.peek() === 0 && this.untold.structure + this.untold.components === 0n;
    if (typeof made === 'function' && !is_known) await this.caught_up();
    for (let tries = of.tries ?? 1; ; --tries) {
      const step = typeof made === 'function' ? await made(this.structure) : made;
      if (!step) return new Map();
      if (this.holding.asks_about(step, () => this.begin(this.take_step(step, of)))) return null;
      try {
        return await this.run(step.label, step.operations, going, { epoch, gesture: of.gesture });
      } catch (error) {
        const { fault } = error as ClientError;
        if (tries > 1 && fault?.reason === 'value_mismatch') {
          // The page must know the other change before it computes the step again.
          await this.world.told_of(fault.sequence - 1n, 0n);
          continue;
        }
        this.complain(step.label, error, step.operations);
        return null;
      }
    }
  }
  /**
   * Resolves when the page knows the effects of its earlier edits, because steps are computed from
   * its copy of the world.
   */
  async caught_up(): Promise<void> {
    await Promise.allSettled([this.going, ...this.begun]);
    const untold = this.untold;
    await this.world.told_of(untold.structure, untold.components);
    if (this.untold === untold) this.untold = { structure: 0n, components: 0n };
  }
  private async send(label: string, operations: readonly Operation[]): Promise<void> {
    try {
      await this.run(label, operations, this.going);
    } catch (error) {
      this.complain(label, error);
    }
  }
  /**
   * Sends operations as one step, which the world applies or refuses as a whole. Waits for `after`
   * first. Sends nothing if a run has begun or ended since `of.epoch`, by default the current
   * epoch.
   */
  private async run(
    label: string,
    operations: readonly Operation[],
    after: Promise<unknown> | null,
    of: { gesture?: bigint; epoch?: bigint } = {},
  ): Promise<Issued> {
    const client = this.world.client();
    const { gesture, epoch = client?.epoch } = of;
    const entry: Pending = { number: ++this.last, label, operations };
    this.waiting.value = [...this.waiting.peek(), entry];
    const write = this.writes.begin(operations.flatMap(written_by));
    // The world's structure stays the same if entities only change places among their siblings.
    const is_reordered = (operation: Operation): boolean =>
      operation.kind === 'reparent' &&
      operation.places.every(({ entity, parent }) => same_entity(this.world.parent(entity), parent));
    const reordering = new Set(operations.filter(is_reordered));
    try {
      if (!client) throw new ClientError('lost', this.world.why_not());
      if (after) await after;
      const { issued, sequence } = await push_operations(client, operations, { label, gesture, epoch });
      this.writes.acknowledged(write, sequence);
      this.applied(operations);
      if (sequence > this.newest.peek()) this.newest.value = sequence;
      for (const operation of operations) {
        const { kind } = operation;
        if (kind === 'set' || kind === 'remove') this.untold = { ...this.untold, components: sequence };
        else if (kind !== 'fields') {
          this.structure = sequence;
          if (!reordering.has(operation)) this.untold = { ...this.untold, structure: sequence };
        }
      }
      return issued;
    } catch (error) {
      this.writes.drop(write);
      if (error instanceof ClientError) this.world.was_refused(error);
      if (error instanceof ClientError && (error.kind === 'lost' || error.kind === 'late'))
        this.unsure.value = [...this.unsure.peek(), entry];
      throw error;
    } finally {
      this.waiting.value = this.waiting.peek().filter((each) => each !== entry);
    }
  }
  private why(error: unknown): string {
    return error instanceof Error ? this.world.brief(error.message) : String(error);
  }
  /** Reports which name is taken, and where, if that is why the world refused operations. */
  private taken_name(error: unknown, operations: readonly Operation[]): string | undefined {
    const fault = error instanceof ClientError ? error.fault : undefined;
    if (fault?.reason !== 'name_taken') return undefined;
    for (const operation of operations) {
      if (operation.kind === 'rename')
        return this.taken(operation.names[0].name, this.world.parent(operation.names[0].entity));
      if (operation.kind === 'spawn') return this.taken(operation.name, operation.parent);
      if (operation.kind !== 'reparent') continue;
      const place = operation.places.find(({ entity }) => same_entity(entity, fault.entity));
      if (place) return this.taken(this.world.name(fault.entity), place.parent);
    }
    return undefined;
  }
  private taken(name: string, parent: Entity): string {
    const where = is_nil(parent) ? 'entity at the top of the tree' : `child of ${this.of_whom([parent])}`;
    return `the name '${name}' is taken by another ${where}`;
  }
  private refuse(key: string, refusal: Refusal, label: string, error: unknown): void {
    if (error instanceof ClientError && error.kind === 'lost') return;
    this.refused.value = new Map([...this.refused.peek(), [key, refusal]]);
    this.log.problem(`${label}: ${refusal.sentence}`);
  }
  /** Returns the newest known value of a component, including unconfirmed writes. */
  private component(entity: Entity, component: string): StructValue | undefined {
    return this.writes.over(entity, component, this.world.component(entity, component));
  }
  /** Returns true if the page knows that the part already has the value. */
  private is_so(client: Client, { entity, component, path, value }: FieldChange): boolean {
    const known = this.component(entity, component);
    if (!known) return false;
    const whole = with_texts(client.types.component(component), known, (hash) => client.text(hash));
    return same_value(at_path(whole, path), value);
  }
  private of_whom(entities: readonly Entity[]): string {
    if (entities.length !== 1) return `${entities.length} entities`;
    return this.world.name(entities[0]) || '#' + id_text(entities[0]);
  }
}
