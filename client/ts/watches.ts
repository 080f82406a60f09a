// What a client gives to those who open a watch.
import type { ClientError } from './client_error.js';
import type { Received } from './connection.js';
import type { Follow, Followed, FollowMore } from './session.js';
import type { Init } from './types.js';

/** What a watch brings. `frame` is called as frames come, `ended` once where the watch ends without unwatch. */
export interface WatchHandlers {
  frame(received: Received): void;
  ended?(error: ClientError): void;
}
export interface OpenWatch {
  readonly id: bigint;
  /** Resolves when nothing more comes. */
  unwatch(): Promise<void>;
}

/** A change of a watch: `id` is what Following names where it begins; resolves when all that is different was given to `frame`. */
export interface WatchChange {
  readonly id: bigint;
  readonly done: Promise<Followed>;
}
/** A watch that can be changed while it is open. */
export interface OpenFollow extends OpenWatch {
  /** It becomes this. */
  change(what: Init<Follow>): WatchChange;
  /** A little more or less. */
  more(what: Init<FollowMore>): WatchChange;
}
