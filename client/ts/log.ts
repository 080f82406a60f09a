// The game's own log: lines that handlers write.
import { ClientError } from './client_error.js';
import type { Connection } from './connection.js';
import { answer_of } from './received.js';
import { LogLines, ReadLog } from './session.js';
import type { Entity } from './types.js';

/** A line of the game's log. */
export interface LogRow {
  /** Counts the lines of a start of the server, from 1. */
  number: bigint;
  /** The input that was being handled. */
  sequence: bigint;
  /** The time of the world's clock. */
  clock_ns: bigint;
  level: 'info' | 'warning' | 'error';
  /** The entity that the line is about, or nil. It may be dead. */
  entity: Entity;
  /** The handler's name; empty if it has none. */
  handler: string;
  text: string;
  /** The number of lines of the same handler that were lost before this one. */
  lost_before: bigint;
}

const levels = ['info', 'warning', 'error'] as const;

/** Throws ClientError (lost) if the columns are inconsistent. */
export function log_rows(page: LogLines): LogRow[] {
  const count = page.numbers.length;
  const columns = [page.sequences, page.clocks_ns, page.levels, page.entities, page.handlers, page.texts, page.lost_before];
  if (columns.some((column) => column.length !== count))
    throw new ClientError('lost', 'the server sent LogLines whose columns do not fit together');
  return Array.from(page.numbers, (number, i) => ({
    number,
    sequence: page.sequences[i],
    clock_ns: page.clocks_ns[i],
    level: levels[page.levels[i]] ?? 'error',
    entity: page.entities[i],
    handler: page.handlers[i],
    text: page.texts[i],
    lost_before: page.lost_before[i],
  }));
}

/** Follows the game's log; see Client.follow_log. */
export async function follow_log(
  connection: Connection,
  told: (lines: LogRow[], is_anew: boolean) => void,
): Promise<void> {
  let log = 0n;
  let last = 0n;
  let turn = 0;
  /** Pages that arrive before the answer is taken; null afterward. */
  let newer: LogLines[] | null = [];
  const take = (page: LogLines): void => {
    const is_anew = page.log !== log;
    if (is_anew) last = 0n;
    log = page.log;
    const lines = log_rows(page).filter(({ number }) => number > last);
    last = lines.at(-1)?.number ?? last;
    if (lines.length > 0 || is_anew) told(lines, is_anew);
  };
  const begin = async (): Promise<void> => {
    const own = ++turn;
    newer = [];
    for (let after = last; ; after = 0n) {
      const [answer] = await connection.ask(connection.control(ReadLog, { after, follow: 1 }));
      if (own !== turn) return;
      const page = answer_of(answer, LogLines);
      // The line was one of another log.
      if (after > 0n && page.log !== log) {
        newer = [];
        continue;
      }
      take(page);
      break;
    }
    const waiting = newer;
    newer = null;
    waiting.forEach(take);
  };
  connection.on_told(LogLines, (page) => {
    if (newer) newer.push(page);
    else take(page);
  });
  connection.on_resumed(() => void begin().catch(() => {}));
  await begin();
}
