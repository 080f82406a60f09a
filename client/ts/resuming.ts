// Resumes a session on another stream after the first one was lost.
import { Batch } from './batch.js';
import { ClientError } from './client_error.js';
import type { Connection } from './connection.js';
import type { Received } from './received.js';
import {
  DryRun,
  EditIf,
  Follow,
  Followed,
  FollowMore,
  RequestGrant,
  ResumeWatches,
  Unwatch,
  Unwatched,
  WatchesResumed,
} from './session.js';
import type { ByteStream } from './stream.js';
import { same_entity } from './types.js';
import type { Entity, Init, TypeDescriptor } from './types.js';

/**
 * Opens another stream to the server. If the server has said that the session moves to another
 * address, `moved_to` is that address, without the name of a world. The client must then prove the
 * token instead of sending it, because a program between client and server can name one, too.
 */
export type Reopen = (moved_to?: string) => Promise<ByteStream>;

/** Splits "HOST:7717/town" into the address and the world. A Unix socket has no world. */
export function split_world(address: string): [string, string] {
  const slash = address.startsWith('unix:') ? -1 : address.indexOf('/');
  return slash < 0 ? [address, ''] : [address.slice(0, slash), address.slice(slash + 1)];
}

/** The pause before an attempt to connect again. */
export const first_pause_ms = 10;
export const pause_max_ms = 1000;

/** An open watch: what it covers after all changes, and the sequence of its last complete state. */
export interface KeptWatch {
  follows: Init<Follow>;
  sequence: bigint;
}

/**
 * True if a request may be sent again. The server applies an edit once, and a question that only
 * reads may be answered twice.
 */
export function may_be_sent_again(type: TypeDescriptor): boolean {
  const { id, name, remote } = type;
  return !name.startsWith('muster.session.') || remote === 'view' || [RequestGrant.id, EditIf.id, DryRun.id].includes(id);
}

/** Returns the watch that a request changes or closes, or 0n. */
export function watch_of(batch: Batch): bigint {
  const { id } = batch.type;
  if (id !== Follow.id && id !== FollowMore.id && id !== Unwatch.id) return 0n;
  return (batch.message(0) as unknown as { watch: bigint }).watch;
}

/** Adds to what a watch covers, and removes from it. */
export function merge(follows: Init<Follow>, more: Init<FollowMore>): void {
  const merged = (list: readonly Init<Entity>[] = [], drop: readonly Init<Entity>[] = [], add: readonly Init<Entity>[] = []) => {
    const changed = [...drop, ...add] as Entity[];
    return [...list.filter((each) => !changed.some((other) => same_entity(each as Entity, other))), ...add];
  };
  follows.entities = merged(follows.entities, more.drop, more.add);
  follows.open = merged(follows.open, more.close, more.open);
}

/** Returns the requests that wait for an answer, in order, without those that the library sends. */
export function read_all(connection: Connection, unanswered: ReadonlyMap<bigint, Uint8Array>): [bigint, Batch, Uint8Array][] {
  return [...unanswered].map(([request, bytes]) => [request, Batch.read(bytes, connection.types), bytes]);
}

/** Builds the question that continues all watches. */
export function resume_watches(
  watches: ReadonlyMap<bigint, KeptWatch>,
  unanswered: readonly (readonly [bigint, Batch, Uint8Array])[],
): Init<ResumeWatches> {
  const changing = new Set<bigint>();
  const closing = new Set<bigint>();
  for (const [, batch] of unanswered) (batch.type.id === Unwatch.id ? closing : changing).add(watch_of(batch));
  const named = [...watches].filter(([id]) => !closing.has(id));
  return {
    watches: named.map(([id]) => id),
    sequences: named.map(([id, { sequence }]) => (changing.has(id) ? 0n : sequence)),
    follows: named.map(([, { follows }]) => ({ ...follows, watch: 0n })),
  };
}

/** Returns the answer to a change of a watch that ResumeWatches has answered. */
export function answer_to_change(connection: Connection, batch: Batch, resumed: WatchesResumed): Received {
  const watch = watch_of(batch);
  const { sequence, clock_ns } = resumed;
  const bytes =
    batch.type.id === Unwatch.id
      ? connection.control(Unwatched, { watch })
      : connection.control(Followed, { sequence, clock_ns, watch });
  return {
    batch: Batch.read(bytes, connection.types),
    envelope: null,
    is_last: true,
    is_event: false,
    is_pushed: false,
    epoch: connection.epoch,
  };
}

export function not_carried_out(): ClientError {
  return new ClientError(
    'late',
    'the connection was lost before the answer came, and the request may have been carried out',
  );
}
