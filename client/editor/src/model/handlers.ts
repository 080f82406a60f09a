// The world's handlers and the components that they write, taken from their signatures.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import type { Client } from 'muster-client';

export interface Writer {
  /** Empty if the handler has no name. */
  handler: string;
  /** Full name of the message or component that triggers the handler. */
  message: string;
  enabled: boolean;
}

export class Handlers {
  private readonly by_component = signal<ReadonlyMap<string, readonly Writer[]>>(new Map());

  /** Keyed by the full name of the component that they write. */
  get writers(): ReadonlySignal<ReadonlyMap<string, readonly Writer[]>> {
    return this.by_component;
  }
  async read(client: Client): Promise<void> {
    const found = new Map<string, Writer[]>();
    for (const { name, message, enabled, writes } of await client.handlers())
      for (const id of writes) {
        const component = client.types.find(id)?.name ?? '';
        const writer = { handler: name, message: client.types.find(message)?.name ?? '', enabled };
        found.set(component, [...(found.get(component) ?? []), writer]);
      }
    this.by_component.value = found;
  }
}
