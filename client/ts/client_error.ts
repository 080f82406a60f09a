// The error of a failed call.
import type { Fault } from './session.js';

/**
 * refused: by the server or the world; the session goes on unless fault.closes.
 * lost: the connection could not be made or has ended.
 * late: no answer in time; it may still come, and the message may have been applied.
 * mistaken: an error in the call, such as an unknown type or field, or a value that does not fit.
 */
export type ErrorKind = 'refused' | 'lost' | 'late' | 'mistaken';

/**
 * The error of every call of a Client. `message` is a sentence, from the server if it gave the
 * reason.
 */
export class ClientError extends Error {
  constructor(
    readonly kind: ErrorKind,
    text: string,
    /** The server's whole answer; null if it is not from the server. */
    readonly fault: Fault | null = null,
    /**
     * Request of the refused batch, which is `author_request` in envelopes; 0n if there is none.
     */
    readonly request: bigint = 0n,
  ) {
    super(text);
    this.name = 'ClientError';
  }
}

export function mistaken(text: string): ClientError {
  return new ClientError('mistaken', text);
}
