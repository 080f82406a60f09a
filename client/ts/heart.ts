// The signs of life of a session: those that it sends, and those that it expects.
import { ClientError } from './client_error.js';

/** By default, a stream on which nothing arrives for so long is lost. */
export const default_silence_max_ms = 30_000;

export class Heart {
  private beating: ReturnType<typeof setInterval> | undefined;
  private listening: ReturnType<typeof setInterval> | undefined;
  private has_sent = false;
  private has_heard = false;
  private quiet_turns = 0;

  /** `beat` sends a heartbeat, which the server answers. `lose` is told that the stream is lost. */
  constructor(
    private readonly silence_max_ms: number,
    private readonly beat: () => void,
    private readonly lose: (error: ClientError) => void,
  ) {}

  /** The server ends a session whose client is silent for `silence_ns_max`; 0 is no limit. */
  start(silence_ns_max: bigint): void {
    this.stop();
    this.quiet_turns = 0;
    // A third of the allowed silence, so the session survives two late heartbeats.
    if (silence_ns_max !== 0n) this.beating = every(Number(silence_ns_max / 3_000_000n), () => this.keep_alive());
    if (this.silence_max_ms !== 0) this.listening = every(this.silence_max_ms / 3, () => this.listen());
  }
  stop(): void {
    clearInterval(this.beating);
    clearInterval(this.listening);
  }
  sent(): void {
    this.has_sent = true;
  }
  heard(): void {
    this.has_heard = true;
  }

  private keep_alive(): void {
    if (!this.has_sent) this.beat();
    this.has_sent = false;
  }
  /** Counts turns rather than time, since the program may have been halted itself. */
  private listen(): void {
    this.quiet_turns = this.has_heard ? 0 : this.quiet_turns + 1;
    this.has_heard = false;
    if (this.quiet_turns >= 3) this.lose(new ClientError('lost', `nothing has come from the server for ${this.silence_max_ms / 1000} s`));
    else if (this.quiet_turns > 0) this.beat();
  }
}

function every(ms: number, call: () => void): ReturnType<typeof setInterval> {
  const timer = setInterval(call, Math.max(Math.min(ms, 2 ** 31 - 1), 1));
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
