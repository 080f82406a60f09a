// Watches: Client.follow.
import type { ClientError } from './client_error.js';
import { answer_of } from './received.js';
import type { Connection } from './connection.js';
import type { Received } from './received.js';
import { merge } from './resuming.js';
import { Follow, Followed, FollowMore, Resuming, Unwatch, Watching } from './session.js';
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

/** Opens a watch; see Client.follow. */
export function open_watch(connection: Connection, what: Init<Follow>, handlers: WatchHandlers): Promise<OpenWatch> {
  const unwatch = async (watch: bigint): Promise<void> => {
    await connection.ask(connection.control(Unwatch, { watch }));
    connection.forget(watch);
  };
  return new Promise((resolve, reject) => {
    let open = false;
    const id = connection.listen(connection.control(Follow, { ...what, watch: 0n }), {
      frame: (received) => {
        if (!open && (received.batch.type.id === Watching.id || received.batch.type.id === Resuming.id)) {
          open = true;
          resolve({
            id,
            unwatch: () => unwatch(id),
            change: (next) => {
              const change = change_watch(connection, connection.control(Follow, { ...next, watch: id }));
              const watch = connection.requests.watches.get(id);
              if (watch) watch.follows = { ...next };
              return change;
            },
            more: (more) => {
              const change = change_watch(connection, connection.control(FollowMore, { ...more, watch: id }));
              const watch = connection.requests.watches.get(id);
              if (watch) merge(watch.follows, more);
              return change;
            },
          });
        }
        handlers.frame(received);
      },
      ended: (error) => {
        if (open) handlers.ended?.(error);
        else reject(error);
      },
    });
    connection.requests.watches.set(id, { follows: { ...what }, sequence: 0n });
  });
}

function change_watch(connection: Connection, question: Uint8Array): WatchChange {
  let resolve: (followed: Followed) => void;
  let reject: (error: unknown) => void;
  const done = new Promise<Followed>((good, bad) => ([resolve, reject] = [good, bad]));
  const id = connection.change(question, {
    frame: (received) => {
      connection.forget(id);
      try {
        resolve(answer_of(received, Followed));
      } catch (error) {
        reject(error);
      }
    },
    ended: (error) => reject(error),
  });
  return { id, done };
}
