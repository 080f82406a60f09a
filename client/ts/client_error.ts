// Why a call failed.
import type { Fault } from './session.js';

/**
 * refused: the server or the world refused; the session goes on unless fault.closes.
 * lost: the connection could not be made or is gone.
 * late: no answer within the time allowed; it may still come, and the message may have been applied.
 * mistaken: the call itself makes no sense: an unknown type or field, a value that does not fit.
 */
export type ErrorKind = 'refused' | 'lost' | 'late' | 'mistaken';

/** What every call of a Client fails with. `message` is a sentence; where the server said why, it is the server's. */
export class ClientError extends Error {
  constructor(
    readonly kind: ErrorKind,
    text: string,
    /** All that the server said; null where it said nothing. */
    readonly fault: Fault | null = null,
    /** Under which the batch was sent that the fault is about, as envelopes have it in `author_request`; 0n: none. */
    readonly request: bigint = 0n,
  ) {
    super(text);
    this.name = 'ClientError';
  }
}

export function mistaken(text: string): ClientError {
  return new ClientError('mistaken', text);
}
