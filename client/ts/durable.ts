// Waits until an input is on the server's disk.
import { ClientError, mistaken } from './client_error.js';
import { answer_of } from './received.js';
import type { Connection } from './connection.js';
import type { Acknowledged } from './epoch.js';
import { Durability, Durable, FollowDurable } from './session.js';

/**
 * Returns the reason why `sequence` will not become durable, or null if it is durable or may become
 * so.
 */
function hopeless(state: Durable): string | null {
  if (state.error !== '') return `not durable: ${state.error}`;
  if (state.durability !== Durability.checkpoint || state.autosave_ns > 0n) return null;
  return 'not durable until the world is saved: this server writes nothing by itself';
}

const followed = new WeakSet<Connection>();
/** After the session was resumed, asks for what was not told in between. */
function follow_again(connection: Connection): void {
  if (followed.has(connection)) return;
  followed.add(connection);
  connection.on_resumed(() => connection.ask_as_told(connection.control(FollowDurable, {})));
}

/** Resolves with the current Durable; calls `told`, if given, for later ones. */
export async function ask_durable(connection: Connection, told?: (state: Durable) => void): Promise<Durable> {
  if (told) connection.on_durable(told);
  follow_again(connection);
  return answer_of((await connection.ask(connection.control(FollowDurable, {})))[0], Durable);
}

/** Resolves when a sequence, or an Ack's sequence, is durable. */
export function wait_durable(connection: Connection, of: bigint | Acknowledged): Promise<Durable> {
  const sequence = typeof of === 'bigint' ? of : of.sequence;
  if (typeof of !== 'bigint' && !connection.is_comparable(of.epoch)) {
    const lost = 'inputs that were not durable when it ended are lost';
    return Promise.reject(mistaken(`sequence ${sequence} belongs to an earlier run of the server: ${lost}`));
  }
  const { epoch } = connection;
  return new Promise((resolve, reject) => {
    const over = (): void => {
      forget();
      clearTimeout(timer);
    };
    const fail = (error: ClientError): void => {
      over();
      reject(error);
    };
    const look = (state: Durable): void => {
      if (!connection.is_comparable(epoch))
        return fail(mistaken('the server was started again, and inputs that were not durable before are lost'));
      const reason = hopeless(state);
      if (state.sequence >= sequence) {
        over();
        resolve(state);
      } else if (reason !== null) {
        fail(new ClientError('refused', reason));
      }
    };
    const forget = connection.on_durable(look);
    const late = `sequence ${sequence} did not become durable within ${connection.time_max_ms} ms`;
    const timer = setTimeout(() => fail(new ClientError('late', late)), connection.time_max_ms);
    void connection.closed.then(fail);
    ask_durable(connection).then(look, fail);
  });
}
