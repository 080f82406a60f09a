// Converts the columns of a page of ListHandlers into rows.
import { ClientError } from './client_error.js';
import type { HandlerList } from './session.js';

/** A handler of the world. */
export interface HandlerRow {
  /** The handler's number, valid until the server restarts or reloads its plugin. */
  handler: bigint;
  /** Empty if the handler has no name. */
  name: string;
  /** Type id of its message, or of the component whose changes it handles. */
  message: number;
  follows: 'message' | 'added' | 'removed' | 'changed';
  /** False if the handler is switched off. */
  enabled: boolean;
  /** Type ids of the components that it writes. */
  writes: number[];
  /** Type ids of components that it only reads, on any entity. */
  reads: number[];
}

const follows = ['message', 'added', 'removed', 'changed'] as const;

/** Throws ClientError (lost) if the columns are inconsistent. */
export function handler_rows(page: HandlerList): HandlerRow[] {
  const count = page.handlers.length;
  const sum = (counts: readonly number[]): number => counts.reduce((all, each) => all + each, 0);
  const columns = [page.names, page.messages, page.changes, page.enabled, page.write_counts, page.read_counts];
  if (
    columns.some((column) => column.length !== count) ||
    sum(page.write_counts) !== page.writes.length ||
    sum(page.read_counts) !== page.reads.length
  )
    throw new ClientError('lost', 'the server sent a HandlerList whose columns do not fit together');
  let next_write = 0;
  let next_read = 0;
  return page.handlers.map((handler, i) => ({
    handler,
    name: page.names[i],
    message: page.messages[i],
    follows: follows[page.changes[i]] ?? 'message',
    enabled: page.enabled[i] !== 0,
    writes: [...page.writes.slice(next_write, (next_write += page.write_counts[i]))],
    reads: [...page.reads.slice(next_read, (next_read += page.read_counts[i]))],
  }));
}
