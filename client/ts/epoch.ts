// Epochs. A new one begins when the server starts, and whenever a run begins or ends.
import { ClientError } from './client_error.js';
import { FaultCode } from './session.js';
import type { Ack } from './session.js';
import { nil } from './types.js';

/** An Ack, and the epoch of its sequences. */
export interface Acknowledged extends Ack {
  epoch: bigint;
}

/**
 * The position of a client, from which the next client determines whether the server was restarted.
 */
export interface SoFar {
  epoch: bigint;
  /** The secret of the session, from Welcome. */
  secret: bigint;
  /** The newest sequence received. */
  sequence: bigint;
}

/**
 * Returns the error for an edit that was not sent because the session has entered another epoch
 * since the edit was made. Its fault has the same reason as that of a server that refuses such an
 * edit.
 */
export function epoch_over(): ClientError {
  const text = 'a run began or ended before this edit was sent, so it was not sent';
  return new ClientError('refused', text, {
    code: FaultCode.refused,
    closes: false,
    text,
    reason: 'epoch_over',
    resume_at: '',
    type: 0,
    field: '',
    offset: 0,
    entity: nil,
    value: new Uint8Array(),
    sequence: 0n,
    handled: 0,
    unhandled: 0,
    dead: 0,
    refused: 0,
  });
}
