// Sends texts to the world. Messages contain hashes, and the world must know a text first.
import { encode_batch } from './batch.js';
import { hash64 } from './bytes.js';
import { answer_of } from './received.js';
import type { Connection } from './connection.js';
import { epoch_over } from './epoch.js';
import { InternText } from './muster.js';
import { Ack } from './session.js';
import { nil } from './types.js';

/** Approximate limit on the bytes of texts in one batch; a text has at most 65,536. */
const told_at_once = 1 << 18;

export class Texts {
  private readonly known = new Set<string>();
  private readonly telling = new Map<string, Promise<unknown>>();
  /** Resolves when the last waiting call has sent its message. */
  private last: Promise<void> | null = null;

  constructor(private readonly connection: Connection) {
    // The level may lack texts that came in a run.
    connection.on_epoch(() => {
      this.known.clear();
      this.telling.clear();
    });
  }

  /**
   * Sends the texts that the world does not know yet, and then calls `send`. Rejects without
   * calling `send` if the world refuses a text, or if a run begins or ends. Parallel calls send in
   * the order of the calls.
   */
  async before<T>(texts: Iterable<string>, send: () => Promise<T>): Promise<T> {
    const { switches } = this.connection;
    const told = this.tell(texts);
    if (!told && !this.last) return send();
    const earlier = this.last;
    let sent = (): void => {};
    const gate = new Promise<void>((resolve) => (sent = resolve));
    this.last = gate;
    try {
      await earlier;
      await told;
      if (this.connection.switches !== switches) throw epoch_over();
      return send(); // not awaited, because other calls need not wait for its answer
    } finally {
      sent();
      if (this.last === gate) this.last = null;
    }
  }

  /** Sends unknown texts. Returns null if the world knows all of them. */
  private tell(texts: Iterable<string>): Promise<unknown> | null {
    const unknown = [...new Set(texts)].filter((text) => text !== '' && !this.known.has(text));
    if (unknown.length === 0) return null;
    let batch: string[] = [];
    let bytes = 0;
    for (const text of unknown) {
      if (this.telling.has(text)) continue;
      batch.push(text);
      bytes += 64 + 3 * text.length;
      if (bytes < told_at_once) continue;
      this.send(batch);
      batch = [];
      bytes = 0;
    }
    if (batch.length > 0) this.send(batch);
    const all = Promise.all(unknown.map((text) => this.telling.get(text)));
    all.catch(() => {}); // waiting callers get the error; a call that has failed does not wait
    return all;
  }

  private send(texts: string[]): void {
    const type = this.connection.types.get(InternText);
    const messages = texts.map((text) => ({ target: nil, value: { text } }));
    const telling = this.connection.ask(encode_batch({ kind: 'table', type, messages })).then(
      ([answer]) => {
        over();
        answer_of(answer, Ack);
        for (const text of texts) {
          if (answer.epoch === this.connection.epoch) {
            this.known.add(text);
            this.connection.registered.add(text);
          }
          this.connection.remember_text(hash64(text), text);
        }
      },
      (error: unknown) => {
        // If a batch of several texts fails, accepted ones are sent again when they are needed.
        over();
        throw error;
      },
    );
    const over = (): void => {
      for (const text of texts) if (this.telling.get(text) === telling) this.telling.delete(text);
    };
    telling.catch(() => {});
    for (const text of texts) this.telling.set(text, telling);
  }
}
