// Types of Client.follow.
import type { ClientError } from './client_error.js';
import type { Received } from './connection.js';
import type { Follow, Followed, FollowMore } from './session.js';
import type { Init } from './types.js';

/**
 * Callbacks of a watch. `frame` is called with each frame as it arrives, and `ended` once if the
 * watch ends without unwatch.
 */
export interface WatchHandlers {
  frame(received: Received): void;
  ended?(error: ClientError): void;
}
/**
 * A change of a watch. Its `id` is in Following, which begins the change. Resolves when `frame` has
 * received all differences.
 */
export interface WatchChange {
  readonly id: bigint;
  readonly done: Promise<Followed>;
}
/** An open watch, which can be changed. */
export interface OpenWatch {
  readonly id: bigint;
  /** Ends the watch, and resolves when no more frames will arrive. */
  unwatch(): Promise<void>;
  /** Replaces the scope of the watch. */
  change(what: Init<Follow>): WatchChange;
  /** Adds to the scope of the watch, or removes from it. */
  more(what: Init<FollowMore>): WatchChange;
}
