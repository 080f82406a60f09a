// Each start of a server is an epoch. Sequences of two epochs cannot be compared.
import type { Ack } from './session.js';

/** An Ack, and the epoch of its sequences. */
export interface Acknowledged extends Ack {
  epoch: bigint;
}

/**
 * The position of a client. The next client uses it to find out whether the server was started
 * anew.
 */
export interface SoFar {
  /** The start of the server. */
  epoch: bigint;
  /** From Welcome. */
  session: bigint;
  /** The newest received. */
  sequence: bigint;
}
