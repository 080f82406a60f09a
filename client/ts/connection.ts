// The frames of one session: unanswered questions, watches, heartbeats, and unrequested texts and
// types. client.ts defines the questions.
import { Batch, encode_batch } from './batch.js';
import { BadBytes, from_base64, hash64 } from './bytes.js';
import { ClientError, mistaken } from './client_error.js';
import { encode_frame, frame_event, frame_more, frame_pushed, FrameDecoder } from './frame.js';
import type { Envelope, Frame } from './frame.js';
import {
  Ack,
  ClockState,
  Credit,
  Durable,
  EnterEpoch,
  Fault,
  Heartbeat,
  History,
  NewEpoch,
  Schema,
  schema as session_schema,
  Welcome,
} from './session.js';
import { InternText } from './muster.js';
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

/** A received frame. */
export interface Received {
  batch: Batch;
  envelope: Envelope | null;
  /**
   * True for the last frame of an answer. The state of a watch is then the world's at
   * envelope.sequence.
   */
  is_last: boolean;
  /**
   * True for an event of a watch: an input, a message from a handler, or a Gap. False for part of
   * the state.
   */
  is_event: boolean;
  /** True for an event from a handler or a timer rather than an input. */
  is_pushed: boolean;
  /** The epoch of the session when the frame arrived. */
  epoch: bigint;
}

/** Returns the first message of the batch. Throws ClientError (lost) if its type differs. */
export function answer_of<T>(received: Received, key: TypeKey<T>): T {
  if (received.batch.type.id !== key.id)
    throw new ClientError('lost', `the server answered with ${received.batch.type.name}, not with ${key.name}`);
  try {
    return received.batch.message(0) as T;
  } catch (error) {
    throw sent_badly(error);
  }
}

function sent_badly(error: unknown): ClientError {
  if (error instanceof BadBytes) return new ClientError('lost', 'the server sent a bad batch: ' + error.message);
  return error instanceof ClientError ? error : new ClientError('lost', String(error));
}

export function error_of(fault: Fault, request = 0n): ClientError {
  return new ClientError(fault.closes ? 'lost' : 'refused', fault.text, fault, request);
}

interface Waiting {
  frames: Received[];
  timer: ReturnType<typeof setTimeout>;
  resolve(frames: Received[]): void;
  reject(error: ClientError): void;
}

/** Receives a watch's frames, and its end by a Fault or a lost connection. */
export interface Listener {
  frame(received: Received): void;
  ended(error: ClientError): void;
}

export class Connection {
  readonly types = new TypeTable();
  /** Resolves with the reason when the session has ended. Never rejects. */
  readonly closed: Promise<ClientError>;
  private readonly decoder = new FrameDecoder(frame_bytes_max_before_welcome);
  private readonly texts = new Map<bigint, string>();
  private readonly waiting = new Map<bigint, Waiting>();
  private readonly listeners = new Map<bigint, Listener>();
  private readonly clock_listeners: ((state: ClockState) => void)[] = [];
  private readonly durable_listeners = new Set<(state: Durable) => void>();
  private readonly history_listeners: ((history: History) => void)[] = [];
  private readonly types_listeners: (() => void)[] = [];
  private readonly epoch_listeners: ((began: NewEpoch) => void)[] = [];
  private readonly earlier_epochs = new Set<bigint>();
  private last_request = 0n;
  private error: ClientError | null = null;
  private tell_closed: (error: ClientError) => void = () => {};
  private heart: ReturnType<typeof setInterval> | undefined;
  private sent_since_beat = false;
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
    private readonly stream: ByteStream,
    readonly time_max_ms: number,
  ) {
    this.closed = new Promise((resolve) => (this.tell_closed = resolve));
    this.types.add_schema(from_base64(session_schema));
    stream.start({
      received: (bytes) => this.receive(bytes),
      ended: (why) => {
        try {
          this.decoder.finish();
          this.fail(new ClientError('lost', why));
        } catch (error) {
          this.fail(new ClientError('lost', `${why}: ${(error as Error).message}`));
        }
      },
    });
  }

  /** Null while the session is open. */
  get ended(): ClientError | null {
    return this.error;
  }

  /** Sets the epoch and the limits. */
  private welcomed({ epoch, playing, sequence, frame_bytes_max, silence_ns_max }: Welcome): void {
    this.epoch = epoch;
    this.playing = playing;
    this.sequence = sequence;
    this.frame_bytes_max = frame_bytes_max;
    // Batches of a snapshot may have any size.
    this.decoder.frame_bytes_max = Math.max(frame_bytes_max, 64 << 20) + 48;
    if (silence_ns_max === 0n) return;
    // A third of the allowed silence, so the session survives two late heartbeats.
    const every_ms = Math.min(Number(silence_ns_max / 3_000_000n), 2 ** 31 - 1);
    this.heart = setInterval(() => this.beat(), Math.max(every_ms, 1));
    (this.heart as { unref?: () => void }).unref?.();
  }

  /** Enters a new epoch before anything else is sent. */
  private enter(began: NewEpoch): void {
    this.earlier_epochs.add(this.epoch);
    this.epoch = began.epoch;
    this.playing = began.playing;
    this.saw(began.sequence);
    this.put(this.control(EnterEpoch, { epoch: began.epoch }), 0n);
    for (const told of this.epoch_listeners) guarded(() => told(began));
  }
  /** Returns true for the current epoch, and for those from which this session came to it. */
  is_comparable(epoch: bigint): boolean {
    return epoch === this.epoch || this.earlier_epochs.has(epoch);
  }

  private beat(): void {
    if (!this.sent_since_beat) this.send_heartbeat({});
    this.sent_since_beat = false;
  }
  private send_heartbeat(value: Init<Heartbeat>, request = 0n): void {
    this.put(encode_batch({ kind: 'world', type: this.types.get(Heartbeat), values: [value] }), request);
  }

  /** Ends the session. Calls in progress fail. */
  close(): void {
    this.fail(new ClientError('lost', 'the session was closed'));
  }

  private fail(error: ClientError): void {
    if (this.error) return;
    this.error = error;
    clearInterval(this.heart);
    this.stream.close();
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const each of waiting) {
      clearTimeout(each.timer);
      each.reject(error);
    }
    const listeners = [...this.listeners.values()];
    this.listeners.clear();
    for (const listener of listeners) guarded(() => listener.ended(error));
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
    this.sent_since_beat = true;
    this.stream.send(encode_frame(batch, request));
  }

  get unsent_bytes(): number {
    return this.stream.unsent_bytes;
  }

  /**
   * Resolves with all frames of the answer. Rejects with `refused` for a Fault, and with `late` if
   * no answer arrives in time.
   */
  ask(batch: Uint8Array): Promise<Received[]> {
    return new Promise((resolve, reject) => {
      const request = ++this.last_request;
      this.put(batch, request);
      const timer = setTimeout(() => {
        this.waiting.delete(request);
        reject(new ClientError('late', `the server did not answer within ${this.time_max_ms} ms`));
      }, this.time_max_ms);
      this.waiting.set(request, { frames: [], timer, resolve, reject });
    });
  }

  /** Sends the batch and returns its id. The listener receives the answers. */
  listen(batch: Uint8Array, listener: Listener): bigint {
    const request = ++this.last_request;
    if (this.credit_through === 0) this.give_credit();
    this.put(batch, request);
    this.listeners.set(request, listener);
    return request;
  }
  private give_credit(): void {
    this.credit_through = this.received_bytes + credit_bytes;
    this.put(this.control(Credit, { through: BigInt(this.credit_through) }), 0n);
  }
  forget(request: bigint): void {
    this.listeners.delete(request);
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
  /** Adds a callback for each unrequested History. */
  on_history(told: (history: History) => void): void {
    this.history_listeners.push(told);
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
        if (!this.error) this.take(frame);
      });
      this.received_bytes += bytes.length;
      if (!this.error && this.credit_through - this.received_bytes < credit_bytes / 2 && this.credit_through !== 0) this.give_credit();
    } catch (error) {
      this.fail(
        error instanceof ClientError ? error : new ClientError('lost', 'the server sent ' + (error as Error).message),
      );
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
    const listener = this.listeners.get(frame.request);
    if (listener) {
      if (received.batch.type.id === Fault.id) {
        this.listeners.delete(frame.request);
        const error = error_of(answer_of(received, Fault));
        guarded(() => listener.ended(error));
      } else {
        guarded(() => listener.frame(received));
      }
      return;
    }
    const waiting = this.waiting.get(frame.request);
    if (!waiting) return; // no call waits for this frame, or not any longer
    waiting.frames.push(received);
    if (!received.is_last) return;
    this.waiting.delete(frame.request);
    clearTimeout(waiting.timer);
    const first = waiting.frames[0];
    if (first.batch.type.id === Fault.id) waiting.reject(error_of(answer_of(first, Fault), frame.request));
    else waiting.resolve(waiting.frames);
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
      case History.id: {
        if (request !== 0n) return false;
        const history = answer_of(received, History);
        for (const told of this.history_listeners) guarded(() => told(history));
        return true;
      }
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

/** Reports an exception of a callback to the program, without ending the session. */
export function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
