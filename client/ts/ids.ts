// Ids that the server has granted to this session, for new entities.
import { answer_of } from './received.js';
import type { Connection } from './connection.js';
import { Granted, RequestGrant } from './session.js';
import type { Entity } from './types.js';

const grant_count = 256;
const none: Granted = { first: 0, count: 0 };

export class Ids {
  private grant = { ...none };
  private granting: Promise<void> | null = null;

  constructor(private readonly connection: Connection) {
    connection.on_epoch(() => (this.grant = { ...none }));
  }

  /** Returns an id that is valid in the current epoch. Requests more ids if none is left. */
  async next(): Promise<Entity> {
    while (this.grant.count === 0) {
      this.granting ??= this.request().finally(() => (this.granting = null));
      await this.granting;
    }
    --this.grant.count;
    return { index: this.grant.first++, generation: 1 };
  }
  private async request(): Promise<void> {
    const { connection } = this;
    const [received] = await connection.ask(connection.control(RequestGrant, { count: grant_count }));
    const granted = answer_of(received, Granted);
    // A grant of an earlier epoch is not valid.
    if (received.epoch === connection.epoch) this.grant = granted;
  }
}
