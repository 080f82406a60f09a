// The error thrown by failed calls.
import type { Fault } from './session.js';

/**
 * refused: by the server or the world; the session continues unless fault.closes is set.
 * lost: the connection could not be established or has ended.
 * late: no answer in time; it may still arrive, and the message may have been applied.
 * mistaken: an error in the call, such as an unknown type or field, or a value that does not fit.
 */
export type ErrorKind = 'refused' | 'lost' | 'late' | 'mistaken';

/**
 * The error that all calls of a Client throw. `message` is a sentence, from the server if it gave
 * the reason.
 */
export class ClientError extends Error {
  constructor(
    readonly kind: ErrorKind,
    text: string,
    /** The server's Fault; null if the error is not from the server. */
    readonly fault: Fault | null = null,
    /**
     * Id of the request with the refused batch, called `sender_request` in envelopes; 0n if there
     * is none.
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
