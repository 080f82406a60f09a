// Who writes what: the handlers of the world, read from their signatures.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import type { Client, TypeKey } from 'muster-client';

import { knows } from './clock.js';

interface HandlerList {
  more: boolean;
  handlers: bigint[];
  names: string[];
  messages: number[];
  enabled: Uint8Array | number[];
  write_counts: number[];
  writes: number[];
}
export interface Writer {
  /** Empty: it has no name. */
  handler: string;
  /** Full name of the message, or the component, that calls it. */
  message: string;
  enabled: boolean;
}

export class Handlers {
  private readonly by_component = signal<ReadonlyMap<string, readonly Writer[]>>(new Map());

  /** By full name of the component that they write. */
  get writers(): ReadonlySignal<ReadonlyMap<string, readonly Writer[]>> {
    return this.by_component;
  }
  async read(client: Client): Promise<void> {
    if (!knows(client, 'muster.session.HandlerList')) return;
    const question = client.types.get('muster.session.ListHandlers') as unknown as TypeKey<unknown>;
    const answer = client.types.get('muster.session.HandlerList') as unknown as TypeKey<HandlerList>;
    const found = new Map<string, Writer[]>();
    for (let after = 0n; ;) {
      const page = await client.ask(question, { after, limit: 0 }, answer);
      let at = 0;
      page.names.forEach((handler, i) => {
        const message = client.types.find(page.messages[i])?.name ?? '';
        for (const end = at + page.write_counts[i]; at < end; ++at) {
          const component = client.types.find(page.writes[at])?.name ?? '';
          found.set(component, [...(found.get(component) ?? []), { handler, message, enabled: !!page.enabled[i] }]);
        }
      });
      if (!page.more || page.handlers.length === 0) break;
      after = page.handlers[page.handlers.length - 1];
    }
    this.by_component.value = found;
  }
}
