// How a client connects.
import type { SoFar } from './epoch.js';
import type { Reopen } from './resuming.js';

export interface ClientOptions {
  token?: string;
  /** The name shown to other users. */
  name?: string;
  /** The kind of this program: "editor". */
  kind?: string;
  /**
   * Limit on the time to wait for an answer; 10,000 by default. The time for which the stream is
   * lost does not count.
   */
  time_max_ms?: number;
  /**
   * A stream on which nothing arrives for so long, not even the answer to a heartbeat, is lost;
   * 30,000 by default. 0 is no limit.
   */
  silence_max_ms?: number;
  /** `so_far` of the previous client, if any. */
  before?: SoFar;
  /** Name of the world, if the server is a muster-host. */
  world?: string;
  /**
   * Opens another stream after the first one was lost. The session then goes on, for as long as the
   * server allows; see Client.
   */
  reopen?: Reopen;
}
