// The requests of a session that wait for answers, and its open watches.
import { ClientError } from './client_error.js';
import { answer_of, error_of, guarded } from './received.js';
import type { Received } from './received.js';
import type { KeptWatch } from './resuming.js';
import { Fault, Resuming, Watching } from './session.js';

export interface Waiting {
  frames: Received[];
  timer: ReturnType<typeof setTimeout> | undefined;
  resolve(frames: Received[]): void;
  reject(error: ClientError): void;
}

/** Receives a watch's frames, and its end by a Fault or a lost connection. */
export interface Listener {
  frame(received: Received): void;
  ended(error: ClientError): void;
}

export class Requests {
  /** Calls that wait for the whole answer. */
  readonly waiting = new Map<bigint, Waiting>();
  /** Watches and changes of watches. */
  readonly listeners = new Map<bigint, Listener>();
  /** The batches of requests without an answer, in order, if the session can be resumed. */
  readonly unanswered = new Map<bigint, Uint8Array>();
  /** Those of them that were made while there was no stream. */
  readonly unsent = new Set<bigint>();
  /** The open watches by id. */
  readonly watches = new Map<bigint, KeptWatch>();

  /** Fails the call with `late` if no answer arrives in time. */
  wait(request: bigint, time_max_ms: number): void {
    const waiting = this.waiting.get(request);
    if (!waiting) return;
    clearTimeout(waiting.timer);
    waiting.timer = setTimeout(() => {
      this.waiting.delete(request);
      waiting.reject(new ClientError('late', `the server did not answer within ${time_max_ms} ms`));
    }, time_max_ms);
  }

  /** Passes a frame to the call or the watch that waits for it. */
  give(request: bigint, received: Received): void {
    if (received.is_last) this.unanswered.delete(request);
    const listener = this.listeners.get(request);
    if (listener) {
      if (received.batch.type.id === Fault.id) {
        this.listeners.delete(request);
        this.watches.delete(request);
        const error = error_of(answer_of(received, Fault));
        guarded(() => listener.ended(error));
      } else {
        this.note_state(request, received);
        guarded(() => listener.frame(received));
      }
      return;
    }
    const waiting = this.waiting.get(request);
    if (!waiting) return; // no call waits for this frame, or not any longer
    waiting.frames.push(received);
    if (!received.is_last) return;
    this.waiting.delete(request);
    clearTimeout(waiting.timer);
    const first = waiting.frames[0];
    if (first.batch.type.id === Fault.id) waiting.reject(error_of(answer_of(first, Fault), request));
    else waiting.resolve(waiting.frames);
  }
  /** Notes up to which sequence a watch's state is known. */
  private note_state(request: bigint, { batch, envelope, is_last }: Received): void {
    const watch = this.watches.get(request);
    if (!watch) return;
    if (is_last && envelope) watch.sequence = envelope.sequence;
    else if (batch.type.id === Watching.id || batch.type.id === Resuming.id) {
      const { sequence, anew = 0 } = batch.message(0) as unknown as { sequence: bigint; anew?: number };
      if (is_last) watch.sequence = sequence;
      else if (anew !== 0) watch.sequence = 0n; // the earlier state is no longer known
    }
  }
  end_watch(watch: bigint, error: ClientError): void {
    this.watches.delete(watch);
    const listener = this.listeners.get(watch);
    this.listeners.delete(watch);
    if (listener) guarded(() => listener.ended(error));
  }
  /** Ends a request that gets no answer. */
  refuse(request: bigint, error: ClientError): void {
    const waiting = this.waiting.get(request);
    this.waiting.delete(request);
    clearTimeout(waiting?.timer);
    waiting?.reject(error);
    const listener = this.listeners.get(request);
    this.listeners.delete(request);
    if (listener) guarded(() => listener.ended(error));
  }
  /** Fails everything, in no state that a callback could see half done. */
  fail(error: ClientError): void {
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const each of waiting) {
      clearTimeout(each.timer);
      each.reject(error);
    }
    const listeners = [...this.listeners.values()];
    this.listeners.clear();
    for (const listener of listeners) guarded(() => listener.ended(error));
  }
  /** The stream is lost. Requests that cannot be sent again fail; the others wait for a stream. */
  lose(error: ClientError): void {
    for (const [request, waiting] of [...this.waiting]) {
      if (this.unanswered.has(request)) {
        waiting.frames = [];
        clearTimeout(waiting.timer);
      } else {
        this.refuse(request, error);
      }
    }
  }
}
