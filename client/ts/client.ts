// A session with a running world, with the concepts and names of the C++ client
// (client/cpp/client.h).
import { timed_batch } from './batch.js';
import type { BatchPlan, Row } from './batch.js';
import { hash64, view_of } from './bytes.js';
import { ClientError, mistaken } from './client_error.js';
import type { ClientOptions } from './client_options.js';
import { Connection } from './connection.js';
import { answer_of, in_one } from './received.js';
import type { Received } from './received.js';
import { ask_durable, wait_durable } from './durable.js';
import { epoch_over } from './epoch.js';
import type { Acknowledged, SoFar } from './epoch.js';
import { handler_rows } from './handlers.js';
import type { HandlerRow } from './handlers.js';
import { Ids } from './ids.js';
import {
  Create,
  Destroy,
  NameClash,
  Remove,
  Rename,
  Reparent,
  Set as SetMessage,
  SetMode,
  Spawn,
} from './muster.js';
import {
  Ack,
  Children,
  EndTrace,
  Find,
  Follow,
  Found,
  GetClock,
  GetHistory,
  GetSchema,
  GetTemplate,
  GetText,
  History,
  ListChildren,
  ListHandlers,
  ListTemplates,
  Play,
  ReadTemplates,
  Resolve,
  Schema,
  SetClock,
  Show,
  Shown,
  StopPlaying,
} from './session.js';
import type { ClockState, Durable, Fault, NewEpoch, Present, QuestionKey, RunState, Templates, Welcome } from './session.js';
import { follow_log } from './log.js';
import type { LogRow } from './log.js';
import { follow_presence } from './presence.js';
import { held_values } from './shown.js';
import type { ShownEntity } from './shown.js';
import { encode_part, encode_steps } from './step.js';
import type { FieldEdit, StepOptions, StepPart } from './step.js';
import type { ByteStream } from './stream.js';
import { id_in, plan_for, the_one } from './targets.js';
import type { Target } from './targets.js';
import { Texts } from './texts.js';
import { place_of } from './type_table.js';
import type { TypeTable } from './type_table.js';
import { nil } from './types.js';
import type { Entity, Init, TypeKey, TypeRef } from './types.js';
import { read_place } from './values.js';
import { open_watch } from './watches.js';
import type { OpenWatch, WatchHandlers } from './watches.js';

const protocol_newest = 1;
const protocol_oldest = 1;
const unsent_bytes_max = 1 << 20;

/** A component and its value: [Health, { value: 50 }]. */
export type RowOf<T> = readonly [TypeRef<T>, Init<NoInfer<T>>];
/** Any number of components and values, each of its own type. */
export type RowsOf<Ts extends unknown[]> = { [K in keyof Ts]: RowOf<Ts[K]> };

/**
 * Every call fails with a ClientError: `lost` after the connection has ended, `refused` with the
 * server's sentence. Calls may run concurrently. Creates keep their relative order, and so do other
 * edits; if a call depends on another one, await that one first. Heartbeats keep the session alive.
 *
 * With `reopen`, the session survives the loss of the stream. Edits without an answer are sent
 * again and applied once. Questions that only read are sent again, and others fail with `late`.
 * Watches go on with Resuming. After a restart of the server, on_epoch tells of the new epoch.
 */
export class Client {
  private readonly texts: Texts;
  private readonly ids: Ids;
  // Begins at random, because steps of an earlier session may be in the same history.
  private gesture = BigInt(Math.floor(Math.random() * 2 ** 48));

  private constructor(
    private readonly connection: Connection,
    /** The server's description of itself, the world and this session. */
    readonly welcome: Welcome,
    private readonly before?: SoFar,
  ) {
    this.texts = new Texts(connection);
    this.ids = new Ids(connection);
  }

  /**
   * Sends a Hello on a connected stream and receives the world's types. If the server ends the
   * session, for example because the token is wrong, fails with `lost` and closes the stream.
   */
  static async open(stream: ByteStream, options: ClientOptions = {}): Promise<Client> {
    const connection = new Connection(stream, options.time_max_ms ?? 10_000, options.reopen ?? null, options.silence_max_ms);
    try {
      const welcome = await connection.greet(options.token ?? '', {
        protocol: protocol_newest,
        protocol_oldest,
        name: options.name ?? '',
        kind: options.kind ?? 'client',
        secret: options.before?.secret ?? 0n,
        last_sequence: options.before?.sequence ?? 0n,
        world: options.world ?? '',
      });
      for (const received of await connection.ask(connection.control(GetSchema, {})))
        if (received.batch.type.id === Schema.id) connection.learn(received);
      return new Client(connection, welcome, options.before);
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** All types of the world and of sessions. Grows when the world learns types. */
  get types(): TypeTable {
    return this.connection.types;
  }
  /**
   * Calls `told` when the stream is lost and the session waits for another one. It is then either
   * resumed, or `closed`.
   */
  on_interrupted(told: (error: ClientError) => void): void {
    this.connection.on_interrupted(told);
  }
  /** Calls `told` whenever the session was resumed on another stream. */
  on_resumed(told: () => void): void {
    this.connection.on_resumed(told);
  }
  /** The reason why the session ended, once it has ended. Never rejects. */
  get closed(): Promise<ClientError> {
    return this.connection.closed;
  }
  /** Null while the session is open. */
  get ended(): ClientError | null {
    return this.connection.ended;
  }
  /**
   * Changes when a run begins or ends; see on_epoch. Each start of the server has other epochs.
   */
  get epoch(): bigint {
    return this.connection.epoch;
  }
  /** Returns true if no run has begun or ended since that epoch; the server may have restarted. */
  is_same_run(epoch: bigint): boolean {
    return this.connection.is_same_run(epoch);
  }
  /**
   * Returns true if sequences of that epoch can be compared with those of this client: it is the
   * current epoch, or one that this session was in earlier.
   */
  is_comparable(epoch: bigint): boolean {
    return this.connection.is_comparable(epoch);
  }
  /** The position for `before` of the next client. */
  get so_far(): SoFar {
    return { epoch: this.epoch, secret: this.welcome.secret, sequence: this.connection.sequence };
  }
  /**
   * True if the server was restarted since `before`, or if a run began or ended while this program
   * was not connected. Earlier sequences and ids are then meaningless, and changes that were not
   * durable may be lost.
   */
  get is_started_anew(): boolean {
    return this.before !== undefined && this.before.epoch !== this.welcome.epoch;
  }
  /** Ends the session. Calls in progress fail with `lost`. */
  close(): void {
    this.connection.close();
  }

  // --- texts and names

  /** Returns the text of a `text` field; empty if this client has not received it. */
  text(hash: bigint): string {
    return this.connection.text(hash);
  }
  /** Like text, but asks the server if this client has not received the text. */
  async fetch_text(hash: bigint): Promise<string> {
    if (hash === 0n || this.connection.knows_text(hash)) return this.text(hash);
    const answer = await this.ask(GetText, { hash });
    this.connection.remember_text(hash, answer.text);
    return answer.text;
  }
  /** Adds a text to the world, once per session. Returns the value for a `text` field. */
  intern(text: string): Promise<bigint> {
    return this.texts.before([text], () => Promise.resolve(text === '' ? 0n : hash64(text)));
  }
  /**
   * Returns the entity with an id ("12:1", "#12:1"), a path ("/town/tower") or a name ("tower"). If
   * there are several, the error lists them.
   */
  async entity(text: string): Promise<Entity> {
    return id_in(text) ?? the_one(text, await this.ask(Resolve, { path: text, limit: 20 }));
  }

  // --- world messages. An Ack counts targets handled, unhandled and dead.

  /**
   * Sends one message. Resolves when the world has applied it. Omitted fields of `value` get their
   * defaults; a string for a text field is added to the world first.
   */
  async push<T>(target: Target, type: TypeRef<T>, value: Init<NoInfer<T>>): Promise<Acknowledged> {
    return this.push_plan(this.plan(target, type, value));
  }
  /** Like push, but without an answer. Resolves when there is room to send more. */
  async post<T>(target: Target, type: TypeRef<T>, value: Init<NoInfer<T>>): Promise<void> {
    return this.send(this.plan(target, type, value), (batch) => this.post_batch(batch));
  }
  /** Sends a message for delivery when the world's clock reaches `due_ns`. */
  async push_at<T>(due_ns: bigint, target: Target, type: TypeRef<T>, value: Init<NoInfer<T>>): Promise<Acknowledged> {
    return this.send(this.plan(target, type, value), (batch) => this.push_batch(timed_batch(batch, due_ns)));
  }
  /** Sends many messages in one batch, like `push`. */
  async push_plan(plan: BatchPlan): Promise<Acknowledged> {
    return this.send(plan, (batch) => this.push_batch(batch));
  }
  /** Sends one whole batch of any kind; see encode_batch. */
  async push_batch(batch: Uint8Array): Promise<Acknowledged> {
    const [received] = await this.connection.ask(batch);
    return { ...answer_of(received, Ack), epoch: received.epoch };
  }
  /** Like push_batch, but without an answer. Resolves when there is room to send more. */
  async post_batch(batch: Uint8Array): Promise<void> {
    this.connection.post(batch);
    while (this.connection.unsent_bytes > unsent_bytes_max) {
      if (this.ended) throw this.ended;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
  /** Sends the batch after the world knows the texts that it refers to. */
  private send<T>(part: StepPart, send: (batch: Uint8Array) => Promise<T>): Promise<T> {
    const texts = new Set<string>();
    const batch = encode_part(this.types, part, (text) => texts.add(text));
    return this.texts.before(texts, () => send(batch));
  }
  private plan(target: Target, ref: TypeRef<never> | TypeRef, value: unknown): BatchPlan {
    return plan_for(target, this.types.message(ref as TypeRef), value);
  }

  // --- steps, which undo takes back as a whole

  /**
   * Sends several batches as one Step, which the world applies or refuses as a whole. If they do
   * not fit into one frame, sends several Steps of one gesture, one after another. If one of these
   * is refused, the earlier ones stay applied. Returns the last sequence, and sums of the counts.
   */
  async push_step(parts: readonly StepPart[], options: StepOptions = {}): Promise<Acknowledged> {
    const { epoch = this.epoch } = options;
    this.check_epoch(epoch);
    const texts = new Set<string>();
    const { frame_bytes_max } = this.welcome;
    const new_gesture = (): bigint => this.next_gesture();
    const steps = encode_steps(this.types, parts, options, frame_bytes_max, new_gesture, (text) => texts.add(text));
    let all = await this.texts.before(texts, () => this.push_batch(steps[0]));
    for (const step of steps.slice(1)) {
      this.check_epoch(epoch);
      const ack = await this.push_batch(step);
      const [handled, unhandled, dead] = [all.handled + ack.handled, all.unhandled + ack.unhandled, all.dead + ack.dead];
      all = { ...ack, handled, unhandled, dead };
    }
    return all;
  }
  private check_epoch(epoch: bigint): void {
    if (!this.is_same_run(epoch)) throw epoch_over();
  }
  /** Returns a number for steps that belong together, such as those of a drag. */
  next_gesture(): bigint {
    return ++this.gesture;
  }
  /**
   * Returns the counts of the steps that this user can undo and redo, and the first `limit` of
   * these steps. Until the session ends, `told` is then called with the same after each change.
   */
  follow_history(limit: number, told: (history: History) => void): Promise<History> {
    this.connection.on_told(History, told);
    this.connection.on_resumed(() => this.connection.ask_as_told(this.connection.control(GetHistory, { limit, follow: 1 })));
    return this.ask(GetHistory, { limit, follow: 1 });
  }

  // --- edits

  /**
   * Returns the next id granted to this session. Requests more ids if none is left. The id is valid
   * only in the current epoch.
   */
  next_id(): Promise<Entity> {
    return this.ids.next();
  }
  /** Creates an entity as the last child of `parent` (nil: a root). An empty name means no name. */
  create<Ts extends unknown[]>(parent: Entity, name: string, ...rows: RowsOf<Ts>): Promise<Entity> {
    return this.create_before(parent, nil, name, ...rows);
  }
  /** Creates an entity before a sibling, or as the last child if `before` is nil. */
  async create_before<Ts extends unknown[]>(
    parent: Entity,
    before: Entity,
    name: string,
    ...rows: RowsOf<Ts>
  ): Promise<Entity> {
    const { epoch } = this;
    const target = await this.next_id();
    this.check_epoch(epoch);
    await this.push_rows(Create, target, { parent, before, name }, rows as RowOf<unknown>[]);
    return target;
  }
  /**
   * Creates a tree from a template and returns its root's id. An empty `name` means that the root
   * has no name. `clash` determines what happens if a sibling has the name.
   */
  async spawn(template: string, parent: Entity, name = '', clash: NameClash = NameClash.suffix): Promise<Entity> {
    const { epoch } = this;
    const plan = await this.plan_spawn(template, parent, name, clash);
    this.check_epoch(epoch);
    await this.push_plan(plan);
    return plan.targets[0];
  }
  /** Prepares a spawn for push_plan or push_step. The first target is the root. */
  async plan_spawn(
    template: string,
    parent: Entity,
    name = '',
    clash: NameClash = NameClash.suffix,
  ): Promise<BatchPlan & { kind: 'shared' }> {
    const nodes = (await this.ask(GetTemplate, { name: template })).nodes.length;
    const targets: Entity[] = [];
    while (targets.length < nodes) targets.push(await this.next_id());
    const type = this.types.get(Spawn as TypeKey<never>);
    return { kind: 'shared', type, targets, value: { what: template, parent, name, clash } };
  }
  destroy(entity: Entity): Promise<Acknowledged> {
    return this.push(entity, Destroy, {});
  }
  /**
   * Adds or overwrites components: set(orc, [Health, { value: 50 }]). Omitted fields get their
   * defaults.
   */
  async set<Ts extends unknown[]>(entity: Entity, ...rows: RowsOf<Ts>): Promise<Acknowledged> {
    return this.push_rows(SetMessage, entity, { mode: SetMode.add_or_replace }, rows as RowOf<unknown>[]);
  }
  remove(entity: Entity, component: TypeRef): Promise<Acknowledged> {
    return this.push(entity, Remove, { component: this.types.component(component).id });
  }
  /**
   * Writes a part of one component: set_field(orc, Health, 'value', 50), 'position.x',
   * 'slots[2].count', or a whole array or struct.
   */
  async set_field(entity: Entity, component: TypeRef<never> | TypeRef, path: string, value: unknown): Promise<Acknowledged> {
    return this.set_fields([{ entity, component, path, value }]);
  }
  /**
   * Like set_field, but refused unless the field has the value `expected`. fault_value(error.fault)
   * is then the current value.
   */
  async set_field_if(
    entity: Entity,
    component: TypeRef<never> | TypeRef,
    path: string,
    value: unknown,
    expected: unknown,
  ): Promise<Acknowledged> {
    if (expected === undefined) throw mistaken(`${path}: an expected value is missing`);
    return this.set_fields([{ entity, component, path, value, expected }]);
  }
  /**
   * Writes many fields in one batch, in order. Either all of the edits have `expected`, or none. A
   * refused edit does not affect the others.
   */
  async set_fields(edits: readonly FieldEdit[]): Promise<Acknowledged> {
    return this.send({ kind: 'fields', edits }, (batch) => this.push_batch(batch));
  }
  reparent(entity: Entity, parent: Entity, before: Entity = nil): Promise<Acknowledged> {
    return this.push(entity, Reparent, { parent, before });
  }
  /** Renames an entity. An empty name removes its name. */
  async rename(entity: Entity, name: string): Promise<Acknowledged> {
    return this.push(entity, Rename, { name });
  }
  /**
   * Returns the current value of a field, if an edit was refused because of it; undefined if the
   * fault does not contain it.
   */
  fault_value(fault: Fault): unknown {
    const type = this.types.find(fault.type);
    if (!type || fault.value.length === 0) return undefined;
    const place = place_of(type, fault.field);
    if (fault.value.length !== place.size) return undefined;
    return read_place(place, view_of(fault.value), -place.offset);
  }

  private push_rows<T>(
    message: TypeKey<T>,
    target: Entity,
    value: Init<NoInfer<T>>,
    given: readonly RowOf<unknown>[],
  ): Promise<Acknowledged> {
    const rows: Row[] = given.map(([type, row]) => ({ type: this.types.component(type), value: row }));
    const type = this.types.get(message as TypeKey<never>);
    return this.push_plan({ kind: 'each', type, messages: [{ target, value, ...(rows.length > 0 && { rows }) }] });
  }

  // --- questions

  /**
   * Sends a question and returns its answer. The type of the answer follows from the question:
   * ask(session.ListChildren, { entity }) returns Children. If an answer may have several frames,
   * returns an array of them. docs/protocol.md lists all questions and their answers.
   */
  async ask<Q, A>(key: QuestionKey<Q, A>, question: Init<NoInfer<Q>> = {} as Init<NoInfer<Q>>): Promise<A> {
    const answers = (await this.ask_all(key, question)).map((frame, i) =>
      key.several || i === 0 ? answer_of(frame, key.answer()) : undefined,
    );
    return (key.several ? answers : answers[0]) as A;
  }
  /**
   * Returns the frames of the answer without decoding them. Show needs this, because its values are
   * in a second frame.
   */
  async ask_all<Q>(key: TypeKey<Q>, question: Init<NoInfer<Q>>): Promise<Received[]> {
    return this.connection.ask(this.connection.control(key, question));
  }
  /** Returns the results of Find page by page, until there are no more. */
  async *find_all(what: Init<Find>): AsyncGenerator<Found> {
    for (let after = what.after; ;) {
      const page = await this.ask(Find, after ? { ...what, after } : what);
      yield page;
      if (!page.more || page.entities.length === 0) return;
      after = page.entities[page.entities.length - 1];
    }
  }
  /** Returns the children page by page, until there are no more. */
  async *children_all(of: Entity): AsyncGenerator<Children> {
    for (let offset = 0; ;) {
      const page = await this.ask(ListChildren, { entity: of, offset });
      yield page;
      offset += page.entities.length;
      if (offset >= page.total || page.entities.length === 0) return;
    }
  }
  async show(entity: Entity): Promise<ShownEntity> {
    const frames = await this.ask_all(Show, { entity });
    const about = answer_of(frames[0], Shown);
    const shown: ShownEntity = { about, components: {}, held: held_values(about, this.types) };
    for (const { batch } of frames)
      batch.rows.forEach((row, i) => (shown.components[row.type.name] = batch.component(0, i)));
    return shown;
  }
  /** Returns all templates of the world. */
  async templates(): Promise<Templates> {
    return in_one(await this.ask(ListTemplates));
  }
  /** Defines the templates in the text of a file. If the text has an error, defines nothing. */
  async read_templates(text: string, file: string): Promise<Templates> {
    return in_one(await this.ask(ReadTemplates, { text, file }));
  }
  /**
   * Returns all handlers in the order of their subscription, with the message that triggers each,
   * and the components that it reads and writes.
   */
  async handlers(): Promise<HandlerRow[]> {
    const rows: HandlerRow[] = [];
    for (let after = 0n; ; after = rows[rows.length - 1].handler) {
      const page = await this.ask(ListHandlers, { after });
      rows.push(...handler_rows(page));
      if (!page.more || page.handlers.length === 0) return rows;
    }
  }
  /**
   * Calls `told` with the kept lines of the game's log, which handlers write, and resolves. Until
   * the session ends, calls it with further lines. `is_anew` is true if the lines replace all
   * earlier ones, as after a restart of the server. Fails with `refused` if rules limit what the
   * user may see.
   */
  follow_log(told: (lines: LogRow[], is_anew: boolean) => void): Promise<void> {
    return follow_log(this.connection, told);
  }
  /**
   * Returns how much of the world is on disk. If `told` is given, it is called with the newest
   * state after each change.
   */
  durable(told?: (state: Durable) => void): Promise<Durable> {
    return ask_durable(this.connection, told);
  }
  /**
   * Resolves when an Ack, or a sequence of this session, survives a crash. Fails with `refused` if
   * the disk fails or the server writes nothing automatically, and with `mistaken` if the Ack is
   * from another start of the server.
   */
  wait_durable(of: bigint | Acknowledged): Promise<Durable> {
    return wait_durable(this.connection, of);
  }
  /**
   * Returns the state of the world's clock. Until the session ends, `told` is then called with the
   * newest state when the clock is changed, a run of steps ends, or the world is saved.
   */
  follow_clock(told: (state: ClockState) => void): Promise<ClockState> {
    this.connection.on_clock(told);
    this.connection.on_resumed(() => this.connection.ask_as_told(this.connection.control(GetClock, { follow: 1 })));
    return this.ask(GetClock, { follow: 1 });
  }
  /**
   * Pauses or resumes the clock, or sets its speed. Omitted values stay unchanged. `steps` adds
   * that many ticks to a paused clock. Resolves before these ticks have been made.
   */
  async set_clock(what: { paused?: boolean; speed?: number; steps?: number }): Promise<ClockState> {
    // In SetClock, 0 means that the speed stays unchanged.
    if (what.speed === 0) throw mistaken('a clock cannot have speed 0: pause it with set_clock({ paused: true })');
    const paused = what.paused === undefined ? 2 : what.paused ? 1 : 0;
    return this.ask(SetClock, { speed: what.speed ?? 0, paused, steps: what.steps ?? 0 });
  }

  /**
   * Calls `told` with everybody who is connected, and resolves. Until the session ends, calls it
   * with those who have come, have told something else or have left, and with everybody
   * (`is_all`) again after the session was resumed.
   */
  follow_presence(told: (people: Present[], is_all: boolean) => void): Promise<void> {
    return follow_presence(this.connection, told);
  }

  // --- runs. docs/undo.md and docs/editor.md describe levels and runs.

  /** True if a run is on, as far as the server has told. */
  get playing(): boolean {
    return this.connection.playing;
  }
  /**
   * Begins a run. Resolves when the level is on disk and the session has entered the run's epoch.
   * Fails with `refused` if a run is on.
   */
  play(): Promise<RunState> {
    return this.ask(Play);
  }
  /**
   * Ends the run: the world becomes the level again. Resolves after the session has entered the
   * level's new epoch. Fails with `refused` if no run is on.
   */
  stop_playing(): Promise<RunState> {
    return this.ask(StopPlaying);
  }
  /**
   * Calls `told` whenever a run has begun or ended, no matter who did it, and after the session was
   * resumed at a server that was started again. `epoch` and `playing` then have their new values.
   * Ids from next_id that were not used are no longer valid. If a run has begun or ended, edits
   * that were made before fail with `refused` and fault.reason `epoch_over`.
   */
  on_epoch(told: (began: NewEpoch) => void): void {
    this.connection.on_epoch(told);
  }

  /** Calls `told` whenever the world has learned types; `types` then contains them. */
  on_types(told: () => void): void {
    this.connection.on_types(told);
  }
  /**
   * Ends the recording that BeginTrace started. Returns the trace in Chrome's trace-event format.
   */
  async end_trace(): Promise<string> {
    const decoder = new TextDecoder();
    const pieces = await this.ask(EndTrace);
    return pieces.map(({ bytes }) => decoder.decode(bytes, { stream: true })).join('') + decoder.decode();
  }

  // --- watches

  /**
   * Opens a watch. Resolves when the server has opened it. Its frames go to `handlers`, beginning
   * with Watching.
   */
  follow(what: Init<Follow>, handlers: WatchHandlers): Promise<OpenWatch> {
    return open_watch(this.connection, what, handlers);
  }
}
