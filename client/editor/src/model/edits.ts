// Sends this page's edits to the world, tracks their results, and undoes them.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { ClientError, id_text, is_nil, nil, same_entity } from 'muster-client';
import type { Client, Entity, StructValue, TypeDescriptor } from 'muster-client';

import type { Copies } from './copies.js';
import { Drag } from './drag.js';
import type { EditedWorld } from './edited_world.js';
import { History } from './history.js';
import type { Step } from './history.js';
import type { Log } from './log.js';
import { FreeNames } from './names.js';
import type { Notices } from './notices.js';
import { Aliases, apply, placeholder, written_by } from './operations.js';
import type { FieldChange, Made, Operation } from './operations.js';
import { OwnWrites } from './own_writes.js';
import { at_path, default_value, same_value, with_texts, words, last_name } from './values.js';

/** An edit that was sent but not answered yet. */
export interface Pending {
  number: number;
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

export class Edits {
  readonly history = new History();
  /** Values that were sent but not confirmed yet. */
  readonly writes = new OwnWrites();
  private readonly aliases = new Aliases();
  private readonly waiting = signal<readonly Pending[]>([]);
  private readonly unsure = signal<readonly Pending[]>([]);
  private readonly refused = signal<ReadonlyMap<string, Refusal>>(new Map());
  private last = 0;
  private going: Promise<unknown> = Promise.resolve();
  private readonly turns = signal(0); // number of unfinished undos and redos
  /** Sequence of the last acknowledged edit of entities, names or places; 0 if none. */
  private structure = 0n;
  /** Sequences of the last acknowledged edits whose effects were not received yet; 0 if none. */
  private untold = { structure: 0n, components: 0n };
  private readonly begun = new Set<Promise<unknown>>(); // unanswered, so not in the history yet
  private readonly is_begun = signal(false);

  constructor(
    private readonly world: EditedWorld,
    private readonly log: Log,
    private readonly notices: Notices,
  ) {}

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
  }
  forget_unacknowledged(): void {
    this.unsure.value = [];
  }
  /** Drops all steps, because their ids are meaningless after a restart of the server. */
  forget_history(): void {
    this.history.clear();
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
    return this.begin(this.change_field(entities, component, path, value, was));
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
    const before = await this.field_changes(entities, component, path);
    const does: FieldChange[] = entities.map((entity) => ({
      entity,
      component,
      path,
      value: of(entity),
      ...(conditional && { expected: was }),
    }));
    if (!conditional && before.every((change, i) => same_value(change.value, does[i].value))) return true;
    const label = `${words(path)} of ${this.of_whom(entities)}`;
    try {
      await this.run(label, [{ kind: 'fields', changes: does }]);
    } catch (error) {
      const fault = (error as ClientError).fault;
      const theirs = fault?.reason === 'value_mismatch' ? client.fault_value(fault) : undefined;
      const mine = of(entities[0]);
      const overwrite =
        theirs === undefined ? undefined : (): void => void this.set_field(entities, component, path, value);
      this.refuse(key, { sentence: this.why(error), mine, theirs, overwrite }, label, error);
      return false;
    }
    const plain = does.map(({ expected: _, ...change }) => change);
    this.history.add({
      label,
      does: [{ kind: 'fields', changes: plain }],
      undoes: [{ kind: 'fields', changes: before }],
    });
    return true;
  }
  add_component(entities: readonly Entity[], type: TypeDescriptor): Promise<boolean> {
    return this.do(async () => {
      const lacking = entities.filter((entity) => !this.component(entity, type.name));
      if (lacking.length === 0) return null;
      const value = default_value(type);
      return {
        label: `add ${last_name(type.name)} to ${this.of_whom(lacking)}`,
        does: [{ kind: 'set', component: type.name, values: lacking.map((entity) => ({ entity, value })) }],
        undoes: [{ kind: 'remove', component: type.name, entities: [...lacking] }],
      };
    });
  }
  /** Writes a whole component, for paste and reset. */
  set_component(entities: readonly Entity[], component: string, value: StructValue): Promise<boolean> {
    return this.do(async () => ({
      label: `${last_name(component)} of ${this.of_whom(entities)}`,
      does: [{ kind: 'set', component, values: entities.map((entity) => ({ entity, value })) }],
      undoes: [{ kind: 'set', component, values: await this.component_values(entities, component) }],
    }));
  }
  remove_component(entities: readonly Entity[], component: string): Promise<boolean> {
    return this.do(async () => {
      const having = entities.filter((entity) => this.component(entity, component));
      if (having.length === 0) return null;
      return {
        label: `remove ${last_name(component)} from ${this.of_whom(having)}`,
        does: [{ kind: 'remove', component, entities: having }],
        undoes: [{ kind: 'set', component, values: await this.component_values(having, component) }],
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
        label: `rename ${before || '#' + id_text(entity)}`,
        does: [{ kind: 'rename', names: [{ entity, name }] }],
        undoes: [{ kind: 'rename', names: [{ entity, name: before }] }],
      };
    });
  }
  /** Moves entities to another parent. Also writes `kept`, so that they stay in place. */
  reparent(
    entities: readonly Entity[],
    parent: Entity,
    before: Entity = nil,
    kept: () => Promise<FieldChange[]> = () => Promise.resolve([]),
  ): Promise<boolean> {
    return this.do(async (since) => {
      const back: { entity: Entity; parent: Entity; before: Entity }[] = [];
      for (const entity of entities)
        back.push({ entity, parent: this.world.parent(entity), before: await this.world.next_sibling(entity, since) });
      const changes = await kept();
      const were: FieldChange[] = changes.map(({ entity, component, path }) => {
        return { entity, component, path, value: at_path(this.component(entity, component), path) };
      });
      const fields = (of: FieldChange[]): Operation[] => (of.length > 0 ? [{ kind: 'fields', changes: of }] : []);
      return {
        label: `move ${this.of_whom(entities)} in the tree`,
        does: [
          { kind: 'reparent', places: entities.map((entity) => ({ entity, parent, before })) },
          ...fields(changes),
        ],
        // In reverse order, because an entity's next sibling may be one of the moved entities.
        undoes: [{ kind: 'reparent', places: back.reverse() }, ...fields(were)],
      };
    });
  }
  /**
   * Spawns several trees at once. Resolves with the ids of the roots, or with none if the edit was
   * refused.
   */
  async create(label: string, made: readonly Omit<Made, 'before'>[], roots: readonly Entity[]): Promise<Entity[]> {
    const all = made.map((each) => ({ ...each, before: nil }));
    const is_done = await this.do({
      label,
      does: [{ kind: 'create', made: all }],
      undoes: [{ kind: 'destroy', entities: [...roots] }],
    });
    return is_done ? roots.map((root) => this.aliases.of(root)) : [];
  }
  /** Inserts each copy after its original, under the next free name. */
  duplicate(originals: readonly Entity[], { made, roots }: Copies): Promise<Entity[]> {
    const places = originals.map((original, i) => ({ root: roots[i], original }));
    return this.add_copies(`duplicate ${this.of_whom(originals)}`, made, places.filter(({ root }) => root));
  }
  /**
   * Adds the copies as the last children of `parent`, under their own names or the next free ones.
   */
  paste({ made, roots }: Copies, parent: Entity): Promise<Entity[]> {
    const whom = roots.length === 1 ? made[0].name || 'an entity' : `${roots.length} entities`;
    return this.add_copies(`paste ${whom}`, made, roots.map((root) => ({ root, parent })));
  }
  private async add_copies(
    label: string,
    made: Copies['made'],
    places: readonly ({ root: Entity } & ({ parent: Entity } | { original: Entity }))[],
  ): Promise<Entity[]> {
    const roots = places.map(({ root }) => root);
    const is_done = await this.do(async (since) => {
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
      return { label, does: [{ kind: 'create', made: all }], undoes: [{ kind: 'destroy', entities: roots }] };
    });
    return is_done ? roots.map((root) => this.aliases.of(root)) : [];
  }
  async spawn(template: string, parent: Entity, name: string): Promise<Entity | null> {
    const entity = placeholder();
    const is_done = await this.do({
      label: `spawn ${template}`,
      does: [{ kind: 'spawn', entity, template, parent, name }],
      undoes: [{ kind: 'destroy', entities: [entity] }],
    });
    return is_done ? this.aliases.of(entity) : null;
  }
  /** Destroys entities. Undo cannot restore them, and stops at this step. */
  destroy(entities: readonly Entity[]): Promise<boolean> {
    return this.do({
      label: `delete ${this.of_whom(entities)}`,
      does: [{ kind: 'destroy', entities: [...entities] }],
      undoes: [],
      is_final: true,
    });
  }
  drag(label: string): Drag {
    return new Drag(label, {
      send: (changes) => this.run(label, [{ kind: 'fields', changes }]),
      ready: () => this.ready() !== null,
      before: (entity, component, path) => {
        const whole = this.component(entity, component);
        return whole && at_path(whole, path);
      },
      is_driven: (component) => this.world.is_driven(component),
      failed: (error) => this.complain(label, error),
      overtaken: ({ entity, path }) => {
        const part = `${words(path)} of ${this.of_whom([entity])}`;
        const sentence = `${part}: somebody else has changed it while you were dragging it. Their value was kept.`;
        this.log.problem(sentence);
        this.notices.say('problem', sentence);
      },
      done: (does, undoes) => {
        const step: Step = {
          label,
          does: [{ kind: 'fields', changes: does }],
          undoes: [{ kind: 'fields', changes: undoes }],
        };
        // Operations that began earlier must also be earlier in the history.
        if (this.begun.size === 0) this.history.add(step);
        else void this.begin(Promise.allSettled(this.begun).then(() => this.history.add(step)).then(() => true));
      },
    });
  }

  // --- undo and redo

  /** True if there is a step to undo, or an unanswered edit that may become one. */
  may_undo(): boolean {
    return this.history.next.value.undo !== null || this.is_begun.value || this.turns.value > 0;
  }
  /** True if there is a step to redo, or an unfinished undo that may leave one. */
  may_redo(): boolean {
    return this.history.next.value.redo !== null || this.turns.value > 0;
  }
  undo(): void {
    void this.turn(async () => {
      const step = this.history.newest;
      if (step?.is_final) this.stop_at(step);
      else await this.replay('undoes');
    });
  }
  redo(): void {
    void this.turn(() => this.replay('does'));
  }
  /** Reports that a step cannot be undone, and offers the newest step that can. */
  private stop_at(step: Step): void {
    const other = this.history.newest_undoable;
    const undo_other = (): void =>
      void this.turn(async () => {
        if (other && this.ready() && this.history.reach(other)) await this.replay('undoes');
      });
    const actions = other ? [{ title: `Undo '${other.label}' instead`, run: undo_other }] : [];
    this.notices.say('problem', `'${step.label}' cannot be undone. Nothing was changed.`, actions, this.history.next);
  }
  /**
   * Runs undos and redos one at a time, after all edits that began earlier, because an edit becomes
   * a step only when the world has answered.
   */
  private turn(what: () => Promise<void>): Promise<void> {
    const before = [this.going, ...this.begun];
    ++this.turns.value;
    const next = Promise.allSettled(before)
      .then(what)
      .finally(() => --this.turns.value);
    this.going = next.catch(() => {});
    return next;
  }
  /**
   * Undoes the newest step, or redoes the last undone one. If `is_forced`, ignores changes that
   * other sessions have made since.
   */
  private async replay(way: 'does' | 'undoes', is_forced = false): Promise<void> {
    const { history } = this;
    const is_undo = way === 'undoes';
    if (!(is_undo ? history.newest : history.newest_undone) || !this.ready()) return;
    const step = (is_undo ? history.take_undo() : history.take_redo())!;
    const label = `${is_undo ? 'undo' : 'redo'}: ${step.label}`;
    try {
      await this.run(label, await this.operations_of(step, way, is_forced));
    } catch (error) {
      if (is_undo) history.was_done(step);
      else history.was_undone(step);
      if ((error as ClientError).fault?.reason !== 'value_mismatch') return this.complain(label, error, step[way]);
      const sentence = `${label}: somebody else has changed it since. ${(error as Error).message}`;
      const overwrite = (): void =>
        void this.turn(async () => {
          if ((is_undo ? history.newest : history.newest_undone) === step) await this.replay(way, true);
        });
      this.notices.say('problem', sentence, [{ title: 'Overwrite', run: overwrite }], history.next);
      this.log.problem(sentence);
      return;
    }
    if (is_undo) history.was_undone(step);
    else history.was_done(step);
  }
  /**
   * Returns the operations for one direction of a step. Unless `is_forced`, the world refuses them
   * if another session has changed a value since.
   */
  private async operations_of(step: Step, way: 'does' | 'undoes', is_forced: boolean): Promise<Operation[]> {
    const other = way === 'does' ? 'undoes' : 'does';
    // A missing sibling may be one that an earlier undo or redo has just created.
    const stand = step[way].every((each) => each.kind !== 'create' || each.made.every((made) => this.stands(made)));
    if (!stand) await this.world.told_of(this.structure, 0n);
    return step[way].map((operation, i): Operation => {
      const opposite = step[other][i];
      if (operation.kind === 'create') return { ...operation, made: operation.made.map((each) => this.placed(each)) };
      if (is_forced || operation.kind !== 'fields' || opposite?.kind !== 'fields') return operation;
      const changes = operation.changes.map((change, k) => ({ ...change, expected: opposite.changes[k].value }));
      return changes.some((change) => this.world.is_driven(change.component)) ? operation : { ...operation, changes };
    });
  }
  /** Returns true if the entity's next sibling, if any, still has the same parent. */
  private stands({ parent, before }: Made): boolean {
    return is_nil(before) || same_entity(this.world.parent(this.aliases.of(before)), this.aliases.of(parent));
  }
  /** Makes the entity the last child if its next sibling has moved to another parent. */
  private placed(made: Made): Made {
    return this.stands(made) ? made : { ...made, before: nil };
  }

  // --- sending

  private ready(): Client | null {
    const client = this.world.client();
    if (client && this.world.may_edit()) return client;
    this.notices.say('problem', this.world.why_not());
    return null;
  }
  private begin(edit: Promise<boolean>): Promise<boolean> {
    this.begun.add(edit);
    this.is_begun.value = true;
    const over = (): void => {
      this.begun.delete(edit);
      this.is_begun.value = this.begun.size > 0;
    };
    edit.then(over, over);
    return edit;
  }
  private do(step: Step | MakeStep): Promise<boolean> {
    return this.begin(this.take_step(step));
  }
  private async take_step(made: Step | MakeStep): Promise<boolean> {
    if (!this.ready()) return false;
    const is_known = this.begun.size + this.turns.peek() === 0 && this.untold.structure + this.untold.components === 0n;
    if (typeof made === 'function' && !is_known) await this.caught_up();
    const step = typeof made === 'function' ? await made(this.structure) : made;
    if (!step) return true;
    try {
      await this.run(step.label, step.does);
    } catch (error) {
      // The other edits of the batch were applied.
      if (step.is_final && ((error as ClientError).fault?.handled ?? 0) > 0) this.history.add(step);
      this.complain(step.label, error, step.does);
      return false;
    }
    this.history.add(step);
    return true;
  }
  /**
   * Resolves when the page knows the effects of its earlier edits, because steps are computed from
   * its copy of the world.
   */
  private async caught_up(): Promise<void> {
    await Promise.allSettled([this.going, ...this.begun]);
    const untold = this.untold;
    await this.world.told_of(untold.structure, untold.components);
    if (this.untold === untold) this.untold = { structure: 0n, components: 0n };
  }
  private async send(label: string, operations: readonly Operation[]): Promise<void> {
    try {
      await this.run(label, operations);
    } catch (error) {
      this.complain(label, error);
    }
  }
  private async run(label: string, operations: readonly Operation[]): Promise<void> {
    const client = this.world.client();
    const entry: Pending = { number: ++this.last, label, operations };
    this.waiting.value = [...this.waiting.peek(), entry];
    let write;
    try {
      if (!client) throw new ClientError('lost', this.world.why_not());
      for (const operation of operations) {
        write = this.writes.begin(written_by(client, operation, this.aliases));
        const sequence = await apply(client, operation, this.aliases);
        this.writes.acknowledged(write, sequence);
        if (operation.kind === 'set' || operation.kind === 'remove')
          this.untold = { ...this.untold, components: sequence };
        else if (operation.kind !== 'fields' && sequence > 0n) {
          this.structure = sequence;
          this.untold = { ...this.untold, structure: sequence };
        }
      }
    } catch (error) {
      if (write) this.writes.drop(write);
      if (error instanceof ClientError) this.world.was_refused(error);
      if (error instanceof ClientError && (error.kind === 'lost' || error.kind === 'late'))
        this.unsure.value = [...this.unsure.peek(), entry];
      throw error;
    } finally {
      this.waiting.value = this.waiting.peek().filter((each) => each !== entry);
    }
  }
  private complain(label: string, error: unknown, operations: readonly Operation[] = []): void {
    const text = `${label}: ${this.taken_name(error, operations) ?? this.why(error)}`;
    this.log.problem(text);
    if (!(error instanceof ClientError && error.kind === 'lost')) this.notices.say('problem', text);
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
      const place = operation.places.find(({ entity }) => same_entity(this.aliases.of(entity), fault.entity));
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
  private async field_changes(entities: readonly Entity[], component: string, path: string): Promise<FieldChange[]> {
    const values = await this.component_values(entities, component);
    return values.map(({ entity, value }) => ({ entity, component, path, value: at_path(value, path) }));
  }
  private async component_values(
    entities: readonly Entity[],
    component: string,
  ): Promise<{ entity: Entity; value: StructValue }[]> {
    const client = this.world.client();
    const values: { entity: Entity; value: StructValue }[] = [];
    for (const entity of entities) {
      const told = this.world.component(entity, component) ?? (await client?.show(entity))?.components[component];
      const known = this.writes.over(entity, component, told);
      if (known && client)
        values.push({
          entity,
          value: with_texts(client.types.component(component), known, (hash) => client.text(hash)),
        });
    }
    return values;
  }
  private of_whom(entities: readonly Entity[]): string {
    if (entities.length !== 1) return `${entities.length} entities`;
    return this.world.name(entities[0]) || '#' + id_text(entities[0]);
  }
}
