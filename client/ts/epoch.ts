// Each start of a server is an epoch; sequences of two epochs are not comparable.
import type { Ack } from './session.js';

/** An Ack, and the epoch that its sequences are of. */
export interface Acknowledged extends Ack {
  epoch: bigint;
}

/** How far a client came: for the one after it, which learns by it whether the server was started anew. */
export interface SoFar {
  /** Which start of the server it was. */
  epoch: bigint;
  /** As Welcome named it. */
  session: bigint;
  /** The newest that was told. */
  sequence: bigint;
}
