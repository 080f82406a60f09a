// Connects to the server, monitors the connection, and reconnects.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { Client, ClientError, connect_web_stream, session } from 'muster-client';
import type { ByteStream, SoFar } from 'muster-client';

export type Link =
  | { kind: 'connecting' }
  /** The displayed state is less than two seconds old. */
  | { kind: 'live' }
  /** Connected, but the server has not answered since `since` (performance.now()). */
  | { kind: 'behind'; since: number }
  /** The line was lost, and the session waits for another one. Edits are kept and sent then. */
  | { kind: 'away'; why: string; since: Date }
  /** Not connected. `next` is the time of the next attempt, by performance.now(). */
  | { kind: 'offline'; why: string; next: number; since: Date }
  | { kind: 'reconnecting'; why: string; since: Date }
  /** The server refuses this page, so another attempt is useless. */
  | { kind: 'refused'; why: string; wants_token: boolean };

export interface Status extends session.Info {
  latency_ms: number;
  /** Ticks per second, averaged over the last seconds. */
  ticks_per_second: number;
  /** performance.now() when the answer arrived. */
  at: number;
}

export interface LinkOptions {
  open_stream(): Promise<ByteStream>;
  token: string;
  name: string;
  /** Called for each new session before `link` becomes live. If it fails, the session ends. */
  opened(client: Client): Promise<void>;
  /** Called when the session has ended. */
  lost(error: ClientError): void;
}

const ask_every_ms = 1000;
const behind_after_ms = 2000;
const waits_ms = [500, 1000, 2000, 4000, 8000];
/** Faults that another attempt would only repeat. */
const final_reasons = new Set(['bad_token', 'bad_protocol']);

export class LinkKeeper {
  private readonly state = signal<Link>({ kind: 'connecting' });
  private readonly newest = signal<Status | null>(null);
  private readonly session = signal<Client | null>(null);
  /** The position of the last session. */
  private so_far: SoFar | undefined;
  private attempt = 0;
  private interruptions = 0;
  private lost_at = new Date();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private ticks: { at: number; clock_ns: bigint }[] = [];

  constructor(private readonly options: LinkOptions) {}

  get link(): ReadonlySignal<Link> {
    return this.state;
  }
  /** Null before a session's first answer. */
  get status(): ReadonlySignal<Status | null> {
    return this.newest;
  }
  /** Null without a session. */
  get client(): ReadonlySignal<Client | null> {
    return this.session;
  }

  start(): void {
    void this.connect();
    // The session would otherwise wait for the page.
    addEventListener('pagehide', () => this.session.peek()?.close());
    const wake = (): void => {
      if (this.state.peek().kind === 'offline' && document.visibilityState === 'visible') this.try_now();
    };
    addEventListener('online', wake);
    document.addEventListener('visibilitychange', wake);
    // The user opened an address with another token in this tab.
    addEventListener('hashchange', () => this.use_token(token_here()));
  }
  /** Uses another token. Tries again if the last attempt was refused. */
  use_token(token: string): void {
    if (this.state.peek().kind !== 'refused') return;
    this.options.token = token;
    this.state.value = { kind: 'connecting' };
    void this.connect();
  }
  /** Takes the clock at the beginning of a run, or the level's after it. */
  epoch_began({ clock_ns }: session.NewEpoch): void {
    this.ticks = [];
    const status = this.newest.peek();
    if (status) this.newest.value = { ...status, clock_ns };
  }
  try_now(): void {
    if (this.state.peek().kind !== 'offline') return;
    clearTimeout(this.timer);
    void this.connect();
  }

  private async connect(): Promise<void> {
    const before = this.state.peek();
    if (before.kind === 'offline') this.state.value = { kind: 'reconnecting', why: before.why, since: before.since };
    let client: Client;
    try {
      const stream = await this.options.open_stream();
      const { token, name } = this.options;
      const reopen = (): Promise<ByteStream> => this.options.open_stream();
      client = await Client.open(stream, { token, name, kind: 'editor', before: this.so_far, reopen });
    } catch (error) {
      return this.fail(error as ClientError);
    }
    try {
      await this.options.opened(client);
      if (client.ended) throw client.ended;
    } catch (error) {
      client.close();
      return this.fail(error as ClientError);
    }
    this.so_far = client.so_far;
    this.attempt = 0;
    this.ticks = [];
    this.session.value = client;
    this.state.value = { kind: 'live' };
    client.on_interrupted(({ message }) => {
      ++this.interruptions;
      this.state.value = { kind: 'away', why: message, since: new Date() };
    });
    client.on_resumed(() => (this.state.value = { kind: 'live' }));
    const asking = this.ask(client);
    void client.closed.then((error) => {
      clearInterval(asking);
      this.so_far = client.so_far;
      this.session.value = null;
      this.lost_at = new Date();
      this.options.lost(error);
      this.fail(error);
    });
  }

  private fail(error: ClientError): void {
    const reason = error instanceof ClientError ? (error.fault?.reason ?? '') : '';
    if (final_reasons.has(reason)) {
      this.state.value = { kind: 'refused', why: error.message, wants_token: reason === 'bad_token' };
      return;
    }
    const wait = waits_ms[Math.min(this.attempt++, waits_ms.length - 1)];
    this.state.value = { kind: 'offline', why: error.message, next: performance.now() + wait, since: this.lost_at };
    this.timer = setTimeout(() => void this.connect(), wait);
  }

  /**
   * Periodically asks for the world's status, for the status bar and to check that the server still
   * answers.
   */
  private ask(client: Client): ReturnType<typeof setInterval> {
    let asked_at = 0;
    let latency_ms = 0;
    let { interruptions } = this;
    const once = async (): Promise<void> => {
      const is_resumed = interruptions !== this.interruptions;
      interruptions = this.interruptions;
      if (asked_at !== 0) {
        if (is_resumed) asked_at = performance.now(); // it was asked again
        if (performance.now() - asked_at > behind_after_ms && this.state.peek().kind === 'live')
          this.state.value = { kind: 'behind', since: asked_at };
        return;
      }
      asked_at = performance.now();
      const asked_in = this.interruptions;
      try {
        const info = await client.ask(session.GetInfo);
        const now = performance.now();
        if (asked_in === this.interruptions) latency_ms = now - asked_at;
        this.newest.value = {
          ...info,
          latency_ms,
          ticks_per_second: this.rate(now, info),
          at: now,
        };
        if (this.state.peek().kind === 'behind') this.state.value = { kind: 'live' };
      } catch {
        // If the answer is late, the next one will follow. If the connection is lost, `closed`
        // reports that.
      }
      asked_at = 0;
    };
    void once();
    return setInterval(() => void once(), ask_every_ms);
  }
  private rate(now: number, info: session.Info): number {
    this.ticks = [...this.ticks.slice(-4), { at: now, clock_ns: info.clock_ns }];
    const first = this.ticks[0];
    const seconds = (now - first.at) / 1000;
    return seconds > 0.5 ? (Number(info.clock_ns - first.clock_ns) / 1e9 / seconds) * info.hz : 0;
  }
}

/** Opens a WebSocket to the server that this page came from. */
export function open_stream_here(): Promise<ByteStream> {
  const url = new URL('session', location.href);
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  url.hash = '';
  return connect_web_stream(url.href, 10_000);
}
/** Returns the token in pasted text, which is either an address with a token or the token. */
export function token_in(pasted: string): string {
  const text = pasted.trim();
  const hash = /#(.*)$/s.exec(text)?.[1] ?? (text.startsWith('token=') ? text : '');
  return new URLSearchParams(hash).get('token') ?? text;
}
export function token_here(): string {
  return new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
}
