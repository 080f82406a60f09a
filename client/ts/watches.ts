// Types of Client.follow.
import type { ClientError } from './client_error.js';
import type { Received } from './connection.js';
import type { Follow, Followed, FollowMore } from './session.js';
import type { Init } from './types.js';

/**
 * Callbacks of a watch. `frame` is called with each frame as it comes, and `ended` once if the
 * watch ends without unwatch.
 */
export interface WatchHandlers {
  frame(received: Received): void;
  ended?(error: ClientError): void;
}
/**
 * A change of a watch. Its `id` is in Following, at the beginning of the change. Resolves when all
 * differences were given to `frame`.
 */
export interface WatchChange {
  readonly id: bigint;
  readonly done: Promise<Followed>;
}
/** An open watch, which can be changed. */
export interface OpenWatch {
  readonly id: bigint;
  /** Ends the watch, and resolves when no more frames come. */
  unwatch(): Promise<void>;
  /** Replaces what the watch follows. */
  change(what: Init<Follow>): WatchChange;
  /** Adds to what the watch follows, or takes away from it. */
  more(what: Init<FollowMore>): WatchChange;
}
