// The frames of one session: unanswered questions, watches, heartbeats, and unrequested texts and
// types. client.ts defines the questions.
import { Batch, encode_batch } from './batch.js';
import { from_base64, hash64 } from './bytes.js';
import { ClientError, mistaken } from './client_error.js';
import { encode_frame, frame_event, frame_more, frame_pushed, FrameDecoder } from './frame.js';
import type { Frame } from './frame.js';
import { greet } from './greeting.js';
import { default_silence_max_ms, Heart } from './heart.js';
import { answer_of, error_of, guarded, sent_badly } from './received.js';
import type { Received } from './received.js';
import { Requests } from './requests.js';
import type { Listener } from './requests.js';
import {
  Ack,
  ClockState,
  Credit,
  Durable,
  EnterEpoch,
  Fault,
  FaultCode,
  GetSchema,
  Goodbye,
  Heartbeat,
  Hello,
  History,
  LogLines,
  NewEpoch,
  Presence,
  ResumeWatches,
  Schema,
  schema as session_schema,
  WatchesResumed,
  Welcome,
} from './session.js';
import { InternText } from './muster.js';
import {
  answer_to_change,
  first_pause_ms,
  may_be_sent_again,
  not_carried_out,
  pause_max_ms,
  read_all,
  resume_watches,
  split_world,
  watch_of,
} from './resuming.js';
import type { Reopen } from './resuming.js';
import type { ByteStream } from './stream.js';
import { TypeTable } from './type_table.js';
import { nil } from './types.js';
import type { Init, TypeKey } from './types.js';

const frame_bytes_max_before_welcome = 1 << 20;
/**
 * Limit on unhandled bytes from watches, because a browser receives bytes as fast as they arrive,
 * even if the page is busy.
 */
const credit_bytes = 512 << 10;

/** Faults after which the session can be resumed. */
const resumable_faults = new Set<number>([FaultCode.silent, FaultCode.slow_reader, FaultCode.stalled, FaultCode.stopping]);
/** Limit on the bytes of messages without a request id that wait while there is no stream. */
const held_bytes_max = 1 << 20;

export class Connection {
  readonly types = new TypeTable();
  /** Resolves with the reason when the session has ended. Never rejects. */
  readonly closed: Promise<ClientError>;
  private decoder = new FrameDecoder(frame_bytes_max_before_welcome);
  private readonly texts = new Map<bigint, string>();
  readonly requests = new Requests();
  private readonly clock_listeners: ((state: ClockState) => void)[] = [];
  private readonly durable_listeners = new Set<(state: Durable) => void>();
  private readonly told_listeners = new Map<number, ((received: Received) => void)[]>();
  private readonly types_listeners: (() => void)[] = [];
  private readonly epoch_listeners: ((began: NewEpoch) => void)[] = [];
  private readonly earlier_epochs = new Set<bigint>();
  private stream!: ByteStream;
  /** `greeting`: connected, but the session has not been resumed yet. */
  private line: 'up' | 'down' | 'greeting' = 'up';
  private readonly resumed_listeners: (() => void)[] = [];
  private readonly interrupted_listeners: ((error: ClientError) => void)[] = [];
  private held: Uint8Array[] = [];
  private held_bytes = 0;
  private hello: Init<Hello> = {};
  private token = '';
  private moved_to: string | undefined; // where the session is resumed, if the server has said that
  private lost_at = 0;
  private lost_why: ClientError | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private pause_ms = first_pause_ms;
  /** Texts that this session has registered. */
  readonly registered = new Set<string>();
  /** The newest Welcome. */
  welcome: Welcome | null = null;
  /** Counts how often a run began or ended. A restart of the server does not count. */
  switches = 0;
  /** The epochs since a run began or ended, or since the session began. */
  private run_epochs = new Set<bigint>();
  private last_request = 0n;
  private error: ClientError | null = null;
  private tell_closed: (error: ClientError) => void = () => {};
  private readonly heart: Heart;
  private received_bytes = 0;
  /** Limit on the stream's bytes for watches; 0 means no limit. */
  private credit_through = 0;
  private frame_bytes_max = frame_bytes_max_before_welcome;
  /** The newest epoch received; 0 before Welcome. */
  epoch = 0n;
  /** True if a run is on. */
  playing = false;
  /** The newest sequence received. */
  sequence = 0n;

  constructor(
    stream: ByteStream,
    readonly time_max_ms: number,
    private readonly reopen: Reopen | null = null,
    silence_max_ms = default_silence_max_ms,
  ) {
    this.heart = new Heart(silence_max_ms, () => this.send_heartbeat({}), (error) => this.lose(error));
    this.closed = new Promise((resolve) => (this.tell_closed = resolve));
    this.types.add_schema(from_base64(session_schema));
    this.attach(stream);
  }

  private attach(stream: ByteStream): void {
    this.stream = stream;
    this.decoder = new FrameDecoder(this.decoder.frame_bytes_max);
    this.received_bytes = 0;
    stream.start({
      received: (bytes) => {
        if (stream !== this.stream) return;
        this.heart.heard();
        this.receive(bytes);
      },
      ended: (why) => {
        if (stream !== this.stream) return;
        try {
          this.decoder.finish();
          this.lose(new ClientError('lost', why));
        } catch (error) {
          this.lose(new ClientError('lost', `${why}: ${(error as Error).message}`));
        }
      },
    });
  }

  // --- resuming

  /** Begins the session. */
  greet(token: string, hello: Init<Hello>): Promise<Welcome> {
    this.token = token;
    this.hello = { ...hello, resumable: this.reopen !== null };
    return greet(this, (batch) => this.ask(batch), this.stream.proofs, token, this.hello);
  }
  private get can_resume(): boolean {
    return this.reopen !== null && this.welcome !== null && this.welcome.resume.length > 0;
  }
  /** The stream is lost. Ends the session, unless it can be resumed. */
  private lose(error: ClientError): void {
    if (this.error || this.line === 'down') return;
    if (!this.can_resume) return this.fail(error);
    const was_up = this.line === 'up';
    if (was_up) {
      this.lost_at = Date.now();
      this.lost_why = error;
      this.pause_ms = first_pause_ms;
    }
    this.line = 'down';
    this.heart.stop();
    this.stream.close();
    this.requests.lose(error);
    this.try_later();
    if (was_up) for (const told of this.interrupted_listeners) guarded(() => told(error));
  }
  private try_later(): void {
    if (Date.now() - this.lost_at > Number(this.welcome!.resume_ns_max / 1_000_000n)) return this.fail(this.lost_why!);
    this.retry = setTimeout(() => void this.connect_again(), this.pause_ms);
    this.pause_ms = Math.min(2 * this.pause_ms, pause_max_ms);
  }
  private async connect_again(): Promise<void> {
    const before = { ...this.welcome! };
    before.epoch = this.epoch;
    try {
      const [address, world] = this.moved_to ? split_world(this.moved_to) : [undefined, undefined];
      if (world !== undefined) this.hello = { ...this.hello, world };
      const stream = await this.reopen!(address);
      if (this.error) return stream.close();
      this.attach(stream);
    } catch {
      if (!this.error) this.try_later();
      return;
    }
    this.line = 'greeting';
    try {
      const { resume, session, secret, epoch, lineage, schema_fingerprint } = before;
      const hello = { ...this.hello, resume, session, epoch, lineage, secret, last_sequence: this.sequence };
      const welcome = await greet(this, (batch) => this.ask_now(batch), this.stream.proofs, this.token, hello);
      if (!welcome.resumed) {
        this.say_goodbye();
        return this.fail(new ClientError('lost', `${this.lost_why!.message}; ${welcome.not_resumed_text}`));
      }
      if (welcome.schema_fingerprint !== schema_fingerprint)
        for (const received of await this.ask_now(this.control(GetSchema, {})))
          if (received.batch.type.id === Schema.id) this.learn(received);
      this.go_on(before);
    } catch (error) {
      if (this.error) return;
      this.welcome = before;
      this.epoch = before.epoch; // it was not entered
      if (this.line === 'greeting' && error instanceof ClientError && error.kind !== 'late') return this.fail(error);
      if (this.line === 'greeting') this.lose(error as ClientError);
    }
  }
  private go_on(before: Welcome): void {
    this.line = 'up';
    if (this.credit_through !== 0) this.give_credit();
    const { welcome } = this;
    const is_other_epoch = this.epoch !== before.epoch;
    if (is_other_epoch) {
      // The server may have been started again, and the edits that follow refer to these texts.
      for (const text of this.registered) this.put(this.control(InternText as TypeKey<InternText>, { text }), 0n);
      if (welcome!.lineage !== before.lineage) {
        ++this.switches;
        this.registered.clear();
        this.run_epochs.clear();
      }
      this.run_epochs.add(this.epoch);
    }
    const requests = read_all(this, this.requests.unanswered);
    if (this.requests.watches.size > 0 || requests.some(([, batch]) => watch_of(batch) !== 0n)) this.continue_watches(requests);
    for (const [request, batch, bytes] of requests) {
      const was_sent = !this.requests.unsent.delete(request);
      this.requests.wait(request, this.time_max_ms);
      if (watch_of(batch) !== 0n) continue;
      if (!was_sent || may_be_sent_again(batch.type)) {
        this.put(bytes, request);
      } else {
        this.requests.unanswered.delete(request);
        this.requests.refuse(request, not_carried_out());
      }
    }
    const held = this.held;
    this.held = [];
    this.held_bytes = 0;
    for (const bytes of held) this.put(bytes, 0n);
    if (is_other_epoch) {
      const { epoch, playing, sequence } = this;
      this.earlier_epochs.clear();
      this.put(this.control(EnterEpoch, { epoch }), 0n);
      const { clock_ns, lineage } = welcome!;
      for (const told of this.epoch_listeners) guarded(() => told({ epoch, playing, sequence, clock_ns, lineage, tick: 0n }));
    }
    for (const told of this.resumed_listeners) guarded(told);
  }
  private continue_watches(requests: ReturnType<typeof read_all>): void {
    this.ask_now(this.control(ResumeWatches, resume_watches(this.requests.watches, requests))).then(
      ([answer]) => {
        const resumed = answer_of(answer, WatchesResumed);
        const errors = new Map<bigint, ClientError>();
        resumed.refused.forEach((watch, i) => {
          errors.set(watch, new ClientError('refused', resumed.texts[i] ?? ''));
          this.requests.end_watch(watch, errors.get(watch)!);
        });
        for (const [request, batch] of requests) {
          const watch = watch_of(batch);
          if (watch === 0n || !this.requests.unanswered.delete(request)) continue;
          const error = errors.get(watch);
          if (error) this.requests.refuse(request, error);
          else this.requests.give(request, answer_to_change(this, batch, resumed));
        }
      },
      (error: ClientError) => {
        if (this.line !== 'up') return; // the next connection continues them
        for (const watch of [...this.requests.watches.keys()]) this.requests.end_watch(watch, error);
      },
    );
  }
  private say_goodbye(): void {
    if (this.can_resume && this.line !== 'down')
      this.stream.send(encode_frame(this.control(Goodbye, {}), 0n));
  }
  /** Asks, and takes the answer as one that the server sent by itself. */
  ask_as_told(batch: Uint8Array): void {
    this.ask(batch).then(
      ([answer]) => void this.take_own(answer, 0n),
      () => {},
    );
  }
  /** Adds a callback that is called when the stream is lost and the session may be resumed. */
  on_interrupted(told: (error: ClientError) => void): void {
    this.interrupted_listeners.push(told);
  }
  /** Adds a callback that is called whenever the session was resumed. */
  on_resumed(told: () => void): void {
    this.resumed_listeners.push(told);
  }

  /** Null while the session is open. */
  get ended(): ClientError | null {
    return this.error;
  }

  /** Sets the epoch and the limits. */
  private welcomed(welcome: Welcome): void {
    const { epoch, playing, sequence, frame_bytes_max } = welcome;
    if (!this.welcome) this.run_epochs.add(epoch);
    this.welcome = welcome;
    this.epoch = epoch;
    this.playing = playing;
    this.sequence = sequence;
    this.frame_bytes_max = frame_bytes_max;
    // Batches of a snapshot may have any size.
    this.decoder.frame_bytes_max = Math.max(frame_bytes_max, 64 << 20) + 48;
    this.heart.start(welcome.silence_ns_max);
  }

  /** Enters a new epoch before anything else is sent. */
  private enter(began: NewEpoch): void {
    this.earlier_epochs.add(this.epoch);
    this.epoch = began.epoch;
    this.playing = began.playing;
    if (this.welcome) this.welcome.lineage = began.lineage;
    this.saw(began.sequence);
    ++this.switches;
    this.run_epochs = new Set([began.epoch]);
    if (this.line === 'greeting') return; // go_on() enters it after the edits of the earlier epoch
    this.registered.clear();
    this.put(this.control(EnterEpoch, { epoch: began.epoch }), 0n);
    for (const told of this.epoch_listeners) guarded(() => told(began));
  }
  /** Returns true for the current epoch, and for those from which this session came to it. */
  is_comparable(epoch: bigint): boolean {
    return epoch === this.epoch || this.earlier_epochs.has(epoch);
  }

  /** Returns true if no run has begun or ended since that epoch. */
  is_same_run(epoch: bigint): boolean {
    return this.run_epochs.has(epoch);
  }

  private send_heartbeat(value: Init<Heartbeat>, request = 0n): void {
    this.put(encode_batch({ kind: 'world', type: this.types.get(Heartbeat), values: [value] }), request);
  }

  /** Ends the session. Calls in progress fail. */
  close(): void {
    if (!this.error) this.say_goodbye();
    this.fail(new ClientError('lost', 'the session was closed'));
  }

  private fail(error: ClientError): void {
    if (this.error) return;
    this.error = error;
    this.heart.stop();
    clearTimeout(this.retry);
    this.stream.close();
    this.requests.fail(error);
    this.tell_closed(error);
  }

  text(hash: bigint): string {
    return this.texts.get(hash) ?? '';
  }
  knows_text(hash: bigint): boolean {
    return this.texts.has(hash);
  }
  private hear_text(text: string): void {
    this.remember_text(hash64(text), text);
  }
  remember_text(hash: bigint, text: string): void {
    this.texts.set(hash, text);
  }

  /** Sends a batch. Any answer arrives under `request`. */
  put(batch: Uint8Array, request: bigint): void {
    if (this.error) throw this.error;
    if (batch.length + 16 > this.frame_bytes_max)
      throw mistaken(`a batch of ${batch.length} bytes; the server accepts frames of at most ${this.frame_bytes_max}`);
    if (this.line === 'down' || this.line === 'greeting') return; // go_on() sends requests
    this.transmit(batch, request);
  }
  private transmit(batch: Uint8Array, request: bigint): void {
    this.heart.sent();
    this.stream.send(encode_frame(batch, request));
  }
  /** Sends a message without an answer. Without a stream, the message waits until there is one. */
  post(batch: Uint8Array): void {
    if (this.line !== 'up' && !this.error && this.held_bytes < held_bytes_max) {
      this.held.push(batch);
      this.held_bytes += batch.length;
    }
    this.put(batch, 0n);
  }

  get unsent_bytes(): number {
    return this.line === 'up' ? this.stream.unsent_bytes : this.held_bytes;
  }

  /**
   * Resolves with all frames of the answer. Rejects with `refused` for a Fault, and with `late` if
   * no answer arrives in time.
   */
  ask(batch: Uint8Array): Promise<Received[]> {
    return new Promise((resolve, reject) => {
      const request = ++this.last_request;
      this.put(batch, request);
      if (this.can_resume) this.requests.unanswered.set(request, batch);
      this.requests.waiting.set(request, { frames: [], timer: undefined, resolve, reject });
      if (this.line === 'up') this.requests.wait(request, this.time_max_ms);
      else this.requests.unsent.add(request); // the time without a stream does not count
    });
  }

  /** Asks on the current stream, whether or not the session has been resumed. */
  private ask_now(batch: Uint8Array): Promise<Received[]> {
    return new Promise((resolve, reject) => {
      const request = ++this.last_request;
      this.requests.waiting.set(request, { frames: [], timer: undefined, resolve, reject });
      this.requests.wait(request, this.time_max_ms);
      this.transmit(batch, request);
    });
  }

  /** Sends the batch and returns its id. The listener receives the answers. */
  listen(batch: Uint8Array, listener: Listener): bigint {
    const request = ++this.last_request;
    if (this.credit_through === 0) this.give_credit();
    this.put(batch, request);
    this.requests.listeners.set(request, listener);
    return request;
  }
  /** Like listen, for a change of a watch. */
  change(batch: Uint8Array, listener: Listener): bigint {
    const request = this.listen(batch, listener);
    if (this.can_resume) this.requests.unanswered.set(request, batch);
    return request;
  }
  private give_credit(): void {
    this.credit_through = this.received_bytes + credit_bytes;
    this.put(this.control(Credit, { through: BigInt(this.credit_through) }), 0n);
  }
  forget(request: bigint): void {
    this.requests.watches.delete(request);
    this.requests.listeners.delete(request);
  }

  /** Adds a callback for each unrequested ClockState. */
  on_clock(told: (state: ClockState) => void): void {
    this.clock_listeners.push(told);
  }
  /** Adds a callback for each unrequested Durable, until the returned function is called. */
  on_durable(told: (state: Durable) => void): () => void {
    this.durable_listeners.add(told);
    return () => this.durable_listeners.delete(told);
  }
  /** Adds a callback for each unrequested History, LogLines or Presence. */
  on_told<T>(type: TypeKey<T>, told: (message: T) => void): void {
    const all = this.told_listeners.get(type.id) ?? [];
    this.told_listeners.set(type.id, [...all, (received) => told(answer_of(received, type))]);
  }
  /** Adds a callback for new types. */
  on_types(told: () => void): void {
    this.types_listeners.push(told);
  }

  /** Adds a callback for each new epoch, called after the session has entered it. */
  on_epoch(told: (began: NewEpoch) => void): void {
    this.epoch_listeners.push(told);
  }

  /** Encodes a control message as a batch. */
  control<T>(key: TypeKey<T>, value: Init<NoInfer<T>>): Uint8Array {
    const type = this.types.get(key as TypeKey<never>);
    return type.is_table
      ? encode_batch({ kind: 'table', type, messages: [{ target: nil, value }] })
      : encode_batch({ kind: 'world', type, values: [value] });
  }

  private receive(bytes: Uint8Array): void {
    try {
      this.decoder.receive(bytes, (frame) => {
        if (!this.error && this.line !== 'down') this.take(frame);
      });
      this.received_bytes += bytes.length;
      if (!this.error && this.credit_through - this.received_bytes < credit_bytes / 2 && this.credit_through !== 0) this.give_credit();
    } catch (error) {
      const why = error instanceof ClientError ? error : new ClientError('lost', 'the server sent ' + (error as Error).message);
      if (why.fault && resumable_faults.has(why.fault.code)) this.lose(why);
      else this.fail(why);
    }
  }

  private take(frame: Frame): void {
    let received: Received;
    try {
      received = {
        batch: Batch.read(frame.batch, this.types),
        envelope: frame.envelope,
        is_last: (frame.flags & (frame_more | frame_event)) === 0,
        is_event: (frame.flags & frame_event) !== 0,
        is_pushed: (frame.flags & frame_pushed) !== 0,
        epoch: this.epoch,
      };
    } catch (error) {
      throw sent_badly(error);
    }
    if (this.take_own(received, frame.request)) return;
    if (received.envelope) this.saw(received.envelope.sequence);
    this.requests.give(frame.request, received);
  }

  /** Handles frames for the session. Returns false for other frames. */
  private take_own(received: Received, request: bigint): boolean {
    switch (received.batch.type.id) {
      case InternText.id:
        if (request !== 0n) return false;
        this.hear_text(answer_of(received, InternText).text);
        return true;
      case Schema.id:
        if (request !== 0n) return false;
        this.learn(received);
        return true;
      case ClockState.id: {
        if (request !== 0n) return false;
        const state = answer_of(received, ClockState);
        for (const told of this.clock_listeners) guarded(() => told(state));
        return true;
      }
      case Durable.id: {
        if (request !== 0n) return false;
        const state = answer_of(received, Durable);
        for (const told of [...this.durable_listeners]) guarded(() => told(state));
        return true;
      }
      case History.id:
      case LogLines.id:
      case Presence.id:
        if (request !== 0n) return false;
        for (const told of this.told_listeners.get(received.batch.type.id) ?? []) guarded(() => told(received));
        return true;
      case Welcome.id:
        // The call that waits for it resumes later, and a NewEpoch may arrive in the meantime.
        this.welcomed(answer_of(received, Welcome));
        return false;
      case NewEpoch.id:
        this.enter(answer_of(received, NewEpoch));
        return true;
      case Ack.id:
        this.saw(answer_of(received, Ack).sequence);
        return false;
      case Heartbeat.id: {
        const beat = answer_of(received, Heartbeat);
        if (beat.answer !== 0) return false;
        this.send_heartbeat({ ...beat, answer: 1 }, request);
        return true;
      }
      case Fault.id: {
        const fault = answer_of(received, Fault);
        if (fault.resume_at) this.moved_to = fault.resume_at;
        if (fault.closes) throw error_of(fault);
        return false;
      }
      default:
        return false;
    }
  }

  private saw(sequence: bigint): void {
    if (sequence > this.sequence) this.sequence = sequence;
  }

  /** Adds the types of a Schema. Throws ClientError (lost) if they conflict with known types. */
  learn(received: Received): void {
    try {
      this.types.add_schema(answer_of(received, Schema).bytes);
    } catch (error) {
      throw new ClientError('lost', "the world's schema does not match: " + (error as Error).message);
    }
    for (const told of this.types_listeners) guarded(told);
  }
}
