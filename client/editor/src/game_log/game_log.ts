// The game's own log: the newest lines that handlers wrote, as far as this page has received them.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import type { Client, ClientError, LogRow } from 'muster-client';

export type LogLevel = LogRow['level'];

const lines_max = 2000;
/** The lists are drawn this often at most, however many lines come. */
const drawn_ms = 100;

export class GameLog {
  /** Errors that came since the list was last shown. */
  readonly unread = signal(0);
  private readonly kept = signal<readonly LogRow[]>([]);
  private readonly why_not = signal('');
  private coming: LogRow[] = [];
  private is_planned = false;
  /** Number of the last line that was cleared. */
  private cleared = 0n;
  private client: Client | null = null;

  get lines(): ReadonlySignal<readonly LogRow[]> {
    return this.kept;
  }
  /** A sentence that says why there are no lines; empty if there may be some. */
  get fault(): ReadonlySignal<string> {
    return this.why_not;
  }
  /** Receives the lines of this session until it ends. */
  follow(client: Client): void {
    this.client = client;
    client
      .follow_log((lines, is_anew) => {
        if (client === this.client) this.take(lines, is_anew);
      })
      .then(
        () => (this.why_not.value = ''),
        (error: ClientError) => {
          if (error.kind === 'refused') this.why_not.value = error.message;
        },
      );
  }
  clear(): void {
    const newest = this.coming.at(-1) ?? this.kept.peek().at(-1);
    this.cleared = newest?.number ?? this.cleared;
    this.coming = [];
    this.kept.value = [];
    this.unread.value = 0;
  }

  private take(lines: readonly LogRow[], is_anew: boolean): void {
    // The numbers of another start of the server count from 1 again.
    if (is_anew && (lines.at(-1)?.number ?? 0n) < this.cleared) this.cleared = 0n;
    if (is_anew) {
      this.coming = [];
      this.kept.value = [];
    }
    for (const line of lines) if (line.number > this.cleared) this.coming.push(line);
    if (this.is_planned || this.coming.length === 0) return;
    this.is_planned = true;
    setTimeout(() => {
      this.is_planned = false;
      this.unread.value += this.coming.filter(({ level }) => level === 'error').length;
      this.kept.value = [...this.kept.peek(), ...this.coming].slice(-lines_max);
      this.coming = [];
    }, drawn_ms);
  }
}

const ranks = { info: 0, warning: 1, error: 2 };

/** Returns the lines of this level and above that contain each word in their text or names. */
export function matching(
  lines: readonly LogRow[],
  lowest: LogLevel,
  filter: string,
  name: (line: LogRow) => string,
): readonly LogRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (lowest === 'info' && words.length === 0) return lines;
  return lines.filter((line) => {
    if (ranks[line.level] < ranks[lowest]) return false;
    const text = `${line.handler} ${name(line)} ${line.text}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
