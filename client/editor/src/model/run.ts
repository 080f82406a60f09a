// Begins and ends runs. A level is what users build; a run is play on it, and when the run ends,
// its edits are dropped.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { ClientError } from 'muster-client';
import type { Client, session } from 'muster-client';

import type { Edits } from './edits.js';
import type { Log } from './log.js';
import type { Notices } from './notices.js';
import type { Steps } from './steps.js';

/** Why something that was made for an earlier epoch was dropped, as part of a sentence. */
export const run_changed = (playing: boolean): string => (playing ? 'a run has begun' : 'the run has ended');

export class Run {
  private readonly on = signal(false);
  private readonly newest = signal(0n);
  /** The state that this page has asked for; null if it has not asked. */
  private readonly wanted = signal<boolean | null>(null);
  private client: Client | null = null;
  private is_known = false;
  /** The epoch of the session when it was last told of; see Client.is_same_run. */
  private session_epoch = 0n;
  /** Called when this page has ended a run. */
  ended: () => void = () => {};
  /** Called when the session goes on with a server that was started again. */
  restarted: (client: Client) => void = () => {};

  /** `changed` is called when a run has begun or ended, before its effects on the world arrive. */
  constructor(
    private readonly edits: Edits,
    private readonly steps: Steps,
    private readonly log: Log,
    private readonly notices: Notices,
    private readonly changed: (began: session.NewEpoch) => void,
  ) {}

  /** True if a run is on. Stays unchanged while the page is not connected. */
  get playing(): ReadonlySignal<boolean> {
    return this.on;
  }
  /** Changes whenever a run begins or ends; 0 before the first session. */
  get epoch(): ReadonlySignal<bigint> {
    return this.newest;
  }
  /** True from a call of toggle() until the server has answered. */
  is_asking(): boolean {
    return this.wanted.value !== null;
  }

  follow(client: Client): void {
    this.client = client;
    client.on_epoch((began) => {
      if (client !== this.client) return;
      const is_restart = client.is_same_run(this.session_epoch);
      this.session_epoch = began.epoch;
      if (is_restart) this.restarted(client);
      else this.take(began);
    });
    if (this.is_known && client.playing !== this.on.peek()) {
      // They were meant for another world than this one.
      const dropped = this.edits.unacknowledged.peek().map(({ label }) => `'${label}'`);
      this.edits.forget_unacknowledged();
      const more = dropped.length > 0 ? ` Not acknowledged before, and dropped: ${dropped.join(', ')}.` : '';
      this.set(client.playing, client.epoch);
      this.say(`While the page was not connected, ${client.playing ? 'a run began' : 'the run ended'}.${more}`);
    }
    this.is_known = true;
    this.session_epoch = client.epoch;
    this.set(client.playing, client.epoch);
  }
  lost(): void {
    this.client = null;
    this.wanted.value = null;
  }

  /** Begins a run, or ends the current one, after all earlier edits have been answered. */
  toggle(): void {
    const { client } = this;
    if (!client || this.wanted.peek() !== null) return;
    const playing = !this.on.peek();
    this.wanted.value = playing;
    const had_steps = this.steps.next.peek().undo !== null;
    void this.edits
      .turn(async () => {
        // Somebody else may have done it in the meantime.
        if (client.playing === playing) return 0n;
        const { sequence } = await (playing ? client.play() : client.stop_playing());
        if (!playing && had_steps) this.notices.say('done', 'The world is the level again, without your edits of the run.');
        if (!playing) this.ended();
        return sequence;
      })
      .catch((error: unknown) => {
        if (client.playing !== playing || !(error instanceof ClientError && error.kind === 'refused'))
          this.edits.complain(playing ? 'Play' : 'Stop', error);
      })
      .finally(() => {
        if (client === this.client) this.wanted.value = null;
      });
  }

  private set(playing: boolean, epoch: bigint): void {
    this.on.value = playing;
    this.newest.value = epoch;
  }
  private take(began: session.NewEpoch): void {
    const { playing } = began;
    const is_mine = this.wanted.peek() === playing;
    this.set(playing, began.epoch);
    this.edits.epoch_began(run_changed(playing));
    this.steps.epoch_began();
    this.changed(began);
    if (is_mine) this.log.note(playing ? 'A run has begun.' : 'The run has ended. The world is the level again.');
    else if (playing) this.say('Somebody else started a run. Edits are dropped when it is stopped.');
    else this.say('Somebody else stopped the run. The world is the level again.');
  }
  private say(sentence: string): void {
    this.log.note(sentence);
    this.notices.say('done', sentence, [], this.newest);
  }
}
