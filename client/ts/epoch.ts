// Each start of a server is an epoch. Sequences of two epochs cannot be compared.
import type { Ack } from './session.js';

/** An Ack, and the epoch of its sequences. */
export interface Acknowledged extends Ack {
  epoch: bigint;
}

/**
 * The position of a client, from which the next client determines whether the server was restarted.
 */
export interface SoFar {
  /** Identifies the start of the server. */
  epoch: bigint;
  /** The secret of the session, from Welcome. */
  secret: bigint;
  /** The newest sequence received. */
  sequence: bigint;
}
