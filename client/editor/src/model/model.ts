// The page's model of the world, and the operations on it. Panels and viewport read nothing else.
// It has three watches: the whole world (entities, names, parents, and drawn components), the
// ordered children of open nodes, and all components of the selection. messages.ts has a separate
// watch. The world may learn types while the page is open, for instance when a model is imported;
// the first watch is then changed.
import { computed, effect, signal } from '@preact/signals';
import type { ReadonlySignal, Signal } from '@preact/signals';
import { id_text, is_nil, nil, Replica, rights } from 'muster-client';
import type {
  Client,
  ClientError,
  Entity,
  ReplicaChanges,
  ReplicaScope,
  session,
  StructValue,
  TypeDescriptor,
} from 'muster-client';

import { AssetFiles } from '../assets/asset_files.js';
import { GameLog } from '../game_log/game_log.js';
import { Clock } from './clock.js';
import { Commands } from './commands.js';
import { Edits } from './edits.js';
import type { EditedWorld } from './edited_world.js';
import { TypedAngles } from './euler.js';
import { Handlers } from './handlers.js';
import { KeptEdits } from './kept_edits.js';
import { LinkKeeper, open_stream_here, token_here } from './link.js';
import type { Link } from './link.js';
import { Log } from './log.js';
import { Messages } from './messages.js';
import { shown_name } from './names.js';
import { Notices } from './notices.js';
import { root_order, root_place } from './root_order.js';
import { untold_ms } from './own_writes.js';
import { People } from '../people/people.js';
import { Run } from './run.js';
import { as_sentence } from './sentences.js';
import { Seen } from './seen.js';
import { Selection } from './selection.js';
import { TemplateLinks } from '../templates/template_links.js';
import { SiblingOrder } from './sibling_order.js';
import { Steps } from './steps.js';
import type { Placer } from '../view/world.js';
import { leaves_folder, world_file } from './world_folder.js';

/**
 * Components that the viewport draws, the links to templates, and the order of roots. Their values
 * are known for every entity.
 */
const drawn_components = ['Transform', 'Shape', 'Color', 'MeshReference', 'Light', 'Camera', 'Material', 'SpawnedFrom', 'RootOrder'].map(
  (each) => 'scene.' + each,
);
/** Those that nearly every entity has. */
const packed_components = new Set(['scene.Transform', 'scene.Shape', 'scene.Color']);
const editable_links: ReadonlySet<Link['kind']> = new Set(['live', 'behind', 'away'] as const);
const world_rate = 20;
const inspected_rate = 20;
/** Limit on the selected entities that the inspector shows. */
export const inspected_max = 2000;

export class Model {
  readonly selection = new Selection();
  readonly hovered: Signal<Entity | null> = signal(null);
  /**
   * Set while the user chooses an entity for a field by clicking it. The next click on an entity
   * calls it instead of selecting the entity.
   */
  readonly picking: Signal<((entity: Entity) => void) | null> = signal(null);
  readonly log = new Log();
  /** What handlers wrote. */
  readonly game_log = new GameLog();
  readonly notices = new Notices();
  readonly commands = new Commands((why) => this.notices.say('problem', as_sentence(why)));
  readonly clock = new Clock();
  readonly handlers = new Handlers();
  readonly messages = new Messages((error) => this.log.problem(error.message));
  readonly edits: Edits;
  /** The steps that undo and redo apply. */
  readonly steps: Steps;
  readonly run: Run;
  readonly kept: KeptEdits;
  readonly templates: TemplateLinks;
  readonly assets = new AssetFiles();
  /** Who else is in the world. */
  readonly people: People;
  /** Entities that this page hides or locks. */
  readonly seen = new Seen((entity) => this.world.get(entity)?.parent ?? nil);
  /** Finds places in the picture; null without a viewport. */
  readonly placer: Signal<Placer | null> = signal(null);
  readonly angles = new TypedAngles();
  readonly keeper: LinkKeeper;
  readonly order: SiblingOrder;
  /** The whole world: entities, names, parents and drawn components. Kept across sessions. */
  readonly world: Replica;
  /** All components of the selection. */
  readonly inspected: Replica;
  /** Changes whenever the inspected values change. */
  readonly inspected_version = signal(0);
  /** True until the copy of the selection is complete. */
  readonly is_inspecting = signal(false);
  /** Changes whenever entities, names or parents change. */
  readonly structure_version = signal(0);
  /** True after the whole world has been received once. */
  readonly is_there = signal(false);
  /** Selected entities that were destroyed, and how. Shown until the selection changes. */
  readonly gone = signal<readonly { entity: Entity; name: string; how: string }[]>([]);
  /** All types of the world, including those that it learns later. */
  readonly types = signal<ReadonlyMap<string, TypeDescriptor>>(new Map());
  private readonly listeners = new Set<(changes: ReplicaChanges) => void>();

  readonly link: ReadonlySignal<Link>;
  readonly client: ReadonlySignal<Client | null>;
  /** Also true while the line is away: edits are then kept and sent when it is back. */
  readonly may_edit = computed(() => this.role.value >= 2 && editable_links.has(this.link.value.kind));
  readonly may_control = computed(() => this.role.value >= 3 && this.client.value !== null);
  /** 0 if unknown. */
  readonly role = computed(() => this.client.value?.welcome.role ?? 0);

  constructor() {
    this.world = new Replica({ change: (changes) => this.take_world(changes), gap: () => {} });
    this.inspected = new Replica({ change: (changes) => this.take_inspected(changes) });
    this.order = new SiblingOrder(
      (error) => this.log.problem(error.message),
      (root) => this.root_place(root),
    );
    this.keeper = new LinkKeeper({
      open_stream: open_stream_here,
      token: token_here(),
      name: 'owner', // users with a token of their own have their names
      opened: (client) => this.opened(client),
      lost: (error) => this.lost(error),
    });
    this.link = this.keeper.link;
    this.client = this.keeper.client;
    const world: EditedWorld = {
      client: () => this.client.peek(),
      may_edit: () => this.may_edit.peek(),
      why_not: () => this.why_not_edit(),
      component: (entity, component) => this.component(entity, component),
      name: (entity) => this.world.get(entity)?.name ?? '',
      parent: (entity) => this.world.get(entity)?.parent ?? nil,
      names_below: (parent) => this.world.children(parent).map(({ name }) => name),
      next_sibling: (entity, since) => this.next_sibling(entity, since),
      told_of: (structure, components) => this.told_of(structure, components),
      brief: (sentence) => this.brief(sentence),
      was_refused: (error) => this.messages.was_refused(error),
      is_driven: (component) => !this.clock.paused.peek() && this.is_driven(component),
      held: (entities, with_below) => this.people.held(entities, with_below),
    };
    this.edits = new Edits(world, this.log, this.notices);
    this.steps = new Steps(this.edits, world, this.log, this.notices);
    this.run = new Run(this.edits, this.steps, this.log, this.notices, (began) => {
      this.clock.epoch_began(began);
      this.keeper.epoch_began(began);
      this.level_back = began.playing ? null : began.sequence;
    });
    this.run.restarted = (client) => {
      this.edits.restarted();
      this.log.note('The server was started again. Edits that were not on its disk are gone.');
      this.handlers.read(client).catch(() => {}); // a lost line is told elsewhere
    };
    this.people = new People({
      selection: () => this.selection.entities.value,
      dragged: () => this.edits.holding.dragged.value,
      parent: (entity) => this.world.get(entity)?.parent ?? nil,
      label: (entity) => this.label(entity),
      not_granted: (entity, holder) => this.edits.holding.let_go_of(entity, holder),
    });
    this.kept = new KeptEdits(this.edits, this.run, this.log, this.notices);
    this.templates = new TemplateLinks(this);
    effect(() => {
      const entities = this.selection.entities.value;
      if (entities.length > 0) this.gone.value = [];
      this.edits.forget_refusal();
      void this.inspect(entities);
    });
  }

  start(): void {
    this.order.open(nil);
    this.keeper.start();
    this.assets.start(() => this.client.peek() !== null);
  }
  /**
   * Adds a listener for changes of whole states or parts of them. The first call reports everything
   * as created.
   */
  on_change(listener: (changes: ReplicaChanges) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  /** Returns true if the world's schema has this component: 'scene.Transform'. */
  knows(component: string): boolean {
    return this.types.value.get(component)?.role === 'component';
  }
  /** Returns the newest value received from the world. */
  component(entity: Entity, component: string): StructValue | undefined {
    const key: { name: string; value?: StructValue } = { name: component };
    return this.inspected.component(entity, key) ?? this.world.component(entity, key);
  }
  /** Returns true if an enabled handler writes the component. */
  is_driven(component: string): boolean {
    return (this.handlers.writers.value.get(component) ?? []).some((writer) => writer.enabled);
  }
  label(entity: Entity): string {
    return shown_name(this.world.get(entity)?.name ?? '') || '#' + id_text(entity);
  }
  /** Returns the text of a `text` field; empty if it is unknown. */
  text(hash: bigint): string {
    return this.newest_client?.text(hash) ?? '';
  }
  /** Decodes the bytes of a part of a component. */
  read_field(type: TypeDescriptor, path: string, bytes: Uint8Array): unknown {
    return this.newest_client?.fault_value({ type: type.id, field: path, value: bytes } as session.Fault);
  }
  type_named(id: number): TypeDescriptor | undefined {
    return this.newest_client?.types.find(id);
  }
  /** Returns the path of the world file that is, or was last, served; empty if unknown. */
  world_path(): string {
    return (this.client.value ?? this.newest_client)?.welcome.world ?? '';
  }
  /**
   * Returns the world that ids belong to: the server's address and the world file, as far as known.
   */
  world_here(): string {
    return `${location.host} ${this.world_path()}`;
  }
  /** Returns the place of an entity at the top of the tree. */
  root_place(root: Entity): number {
    return root_place(root, this.world.component(root, { name: root_order }));
  }
  /** "/town/tower" */
  path(entity: Entity): string {
    return this.world.path(entity);
  }
  /** Returns the path of its parent for display; "/" for a root. */
  shown_place(entity: Entity): string {
    const parent = this.world.get(entity)?.parent ?? nil;
    return is_nil(parent) ? '/' : shown_name(this.world.path(parent));
  }
  why_not_edit(): string {
    const link = this.link.peek();
    if (editable_links.has(link.kind))
      return `this session may only ${rights[this.role.peek()]}, not edit`;
    if (link.kind === 'refused') return link.why;
    return 'not connected: editing is disabled until the server is back';
  }
  /** Shortens a refusal if the band at the top already shows its reason. */
  brief(sentence: string): string {
    return this.is_shown_above(sentence) ? 'edits are refused for the reason at the top of the page' : sentence;
  }
  /** Returns true if the band at the top already shows the sentence's reason. */
  is_shown_above(sentence: string): boolean {
    const why = this.clock.not_saved.peek();
    return why !== '' && sentence.includes(why);
  }
  /**
   * Fetches a file from the world's folder. If that fails, rejects with an Error that gives the
   * reason.
   */
  async fetch_file(path: string): Promise<ArrayBuffer> {
    if (leaves_folder(path))
      throw new Error("it is outside the world's folder, and models must be in that folder or below it");
    return (await world_file('GET', path)).arrayBuffer();
  }
  /** Returns the reason why a file cannot be fetched, or nothing if it can. */
  async why_no_file(path: string): Promise<string> {
    if (leaves_folder(path)) return "it is outside the world's folder";
    return world_file('HEAD', path).then(
      () => '',
      (error: Error) => error.message,
    );
  }
  /** Ends the choice of an entity for a field. */
  pick(entity: Entity): void {
    const chosen = this.picking.peek();
    this.picking.value = null;
    chosen?.(entity);
  }
  /** Opens every ancestor of the entity in the tree. */
  reveal(entity: Entity): void {
    for (let at = this.world.get(entity); at && !is_nil(at.parent); at = this.world.get(at.parent))
      this.order.open(at.parent);
  }

  /**
   * The client of the last session. Its texts and types remain available after the session ends.
   */
  private newest_client: Client | null = null;
  private async opened(client: Client): Promise<void> {
    this.newest_client = client;
    if (client.welcome.ended !== '') this.log.problem('The server ended the previous session: ' + client.welcome.ended);
    this.run.follow(client);
    this.people.follow(client).catch(() => {}); // a lost line is told elsewhere
    this.kept.follow(client);
    this.tell_types(client);
    client.on_types(() => {
      this.learned(client);
      if (client === this.newest_client) this.messages.learned();
    });
    const scope = this.drawn_scope();
    this.followed = -1;
    await Promise.all([this.order.follow(client), this.world.follow(client, scope)]);
    this.followed = scope.components.length;
    this.learned(client);
    this.is_there.value = true;
    this.clock.follow(client);
    this.game_log.follow(client);
    this.steps.follow(client).catch((error: ClientError) => {
      if (error.kind === 'refused') this.log.problem(error.message);
    });
    await Promise.all([this.messages.follow(client), this.handlers.read(client)]);
    void this.inspect(this.selection.entities.peek(), client);
  }
  private tell_types(client: Client): void {
    if (client.types.size === this.types.peek().size) return;
    this.types.value = new Map([...client.types].map((type) => [type.name, type]));
  }
  private drawn_scope(): ReplicaScope & { components: string[] } {
    const components = drawn_components.filter((name) => this.knows(name));
    const packed = components.filter((name) => packed_components.has(name));
    return { components, packed, parts: true, values: components.length > 0, rate_max: world_rate };
  }
  /** Number of drawn components whose values are in the copy; -1 before its first state. */
  private followed = -1;
  /** The world may have learned drawn components. */
  private learned(client: Client): void {
    if (client !== this.newest_client) return;
    this.tell_types(client);
    const scope = this.drawn_scope();
    if (this.followed < 0 || scope.components.length === this.followed) return;
    this.followed = scope.components.length;
    // When a copy is followed again, only differences are reported.
    this.world.follow(client, scope).catch((error: ClientError) => {
      if (error.kind === 'refused') this.log.problem(error.message);
    });
  }
  private lost(error: ClientError): void {
    this.clock.lost();
    this.people.lost();
    this.edits.lost();
    this.steps.lost();
    this.run.lost();
    this.kept.lost();
    this.level_back = null;
    for (const look of this.awaited) look();
    this.log.problem(error.message);
  }

  /** The sequence at which a run has ended; null after the whole level has arrived. */
  private level_back: bigint | null = null;
  private take_world(changes: ReplicaChanges): void {
    for (const look of this.awaited) look();
    if (this.newest_client) this.tell_types(this.newest_client);
    const gone = [...changes.destroyed, ...changes.left].filter(({ entity }) => this.selection.has(entity));
    if (gone.length > 0) {
      const before = this.selection.entities.peek().length;
      this.selection.lose(gone.map(({ entity }) => entity));
      const how = this.level_back === null ? `destroyed at ${new Date().toLocaleTimeString('en-GB')}` : 'existed only in the run';
      if (gone.length === before) this.gone.value = gone.map(({ entity, name }) => ({ entity, name, how }));
    }
    this.selection.regain(changes.created.map(({ entity }) => entity));
    if (this.level_back !== null && changes.is_whole && changes.sequence >= this.level_back) {
      // The ids of entities that existed only in the run are free again.
      this.selection.forget_lost();
      this.level_back = null;
    }
    const hovered = this.hovered.peek();
    if (hovered && !this.world.get(hovered)) this.hovered.value = null;
    if (
      changes.created.length +
        changes.destroyed.length +
        changes.left.length +
        changes.moved.length +
        changes.renamed.length >
      0
    )
      ++this.structure_version.value;
    const orders = ({ component }: { component: string }): boolean => component === root_order;
    if (changes.is_whole || changes.values.some(orders) || changes.removed.some(orders)) this.order.places_changed();
    for (const listener of this.listeners) listener(changes);
  }
  private take_inspected(changes: ReplicaChanges): void {
    this.edits.writes.told(changes.sequence);
    for (const look of this.awaited) look();
    if (
      changes.created.length +
        changes.destroyed.length +
        changes.values.length +
        changes.removed.length +
        changes.renamed.length >
      0
    )
      ++this.inspected_version.value;
  }
  private turn = 0;
  private async inspect(entities: readonly Entity[], client = this.client.peek()): Promise<void> {
    const turn = ++this.turn;
    if (!client || client.ended) return;
    if (entities.length === 0) {
      await this.inspected.stop().catch(() => {});
      return;
    }
    this.is_inspecting.value = true;
    const scope = { entities: entities.slice(-inspected_max), rate_max: inspected_rate };
    await this.inspected.follow(client, scope).catch((error: ClientError) => {
      if (turn === this.turn && error.kind !== 'lost') this.log.problem(error.message);
    });
    if (turn !== this.turn) return;
    this.is_inspecting.value = false;
    ++this.inspected_version.value;
  }
  private readonly awaited = new Set<() => void>();
  private async told_of(structure: bigint, components: bigint): Promise<void> {
    const is_told = (): boolean =>
      this.client.peek() === null ||
      (this.world.sequence >= structure &&
        (this.inspected.sequence >= components || this.selection.entities.peek().length === 0));
    if (is_told()) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.awaited.delete(look);
        resolve();
      };
      const look = (): void => {
        if (is_told()) end();
      };
      const timer = setTimeout(end, untold_ms);
      this.awaited.add(look);
    });
  }
  private async next_sibling(entity: Entity, since: bigint): Promise<Entity> {
    const parent = this.world.get(entity)?.parent ?? nil;
    if (is_nil(parent)) return nil;
    let siblings = this.order.sequence >= since ? this.order.children(parent) : undefined;
    const client = this.client.peek();
    if (!siblings && client) {
      const all: Entity[] = [];
      for await (const page of client.children_all(parent)) all.push(...page.entities);
      siblings = all;
    }
    const at = siblings?.findIndex((each) => each.index === entity.index) ?? -1;
    return at < 0 ? nil : (siblings?.[at + 1] ?? nil);
  }
}
