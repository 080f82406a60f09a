// Received frames, and the errors that they report.
import type { Batch } from './batch.js';
import { BadBytes } from './bytes.js';
import { ClientError } from './client_error.js';
import type { Envelope } from './frame.js';
import type { Fault, Templates } from './session.js';
import type { TypeKey } from './types.js';

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

export function sent_badly(error: unknown): ClientError {
  if (error instanceof BadBytes) return new ClientError('lost', 'the server sent a bad batch: ' + error.message);
  return error instanceof ClientError ? error : new ClientError('lost', String(error));
}

export function error_of(fault: Fault, request = 0n): ClientError {
  return new ClientError(fault.closes ? 'lost' : 'refused', fault.text, fault, request);
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

/** Returns the pages of an answer as one. */
export function in_one(pages: Templates[]): Templates {
  return {
    sequence: pages[pages.length - 1].sequence,
    names: pages.flatMap((page) => page.names),
    nodes: pages.flatMap((page) => page.nodes),
  };
}
