// The page's own state: sizes of panels, open nodes, dialogs.
import { signal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import { id_text } from 'muster-client';
import type { Entity } from 'muster-client';

import type { Anchor } from '../parts/popover.js';

export interface PickRequest {
  at: Anchor;
  title: string;
  chosen(entity: Entity): void;
}

export type ConsoleTab = 'messages' | 'send' | 'log';

const open_kept_max = 500;

export class Ui {
  readonly pick: Signal<PickRequest | null> = signal(null);
  readonly renaming: Signal<Entity | null> = signal(null);
  /** Entities that were cut but not pasted yet, and their text in the clipboard. */
  readonly cut: Signal<{ entities: readonly Entity[]; text: string } | null> = signal(null);
  readonly search = signal('');
  readonly tab: Signal<ConsoleTab> = signal('messages');
  /** Full name of the type whose form is open. */
  readonly message_type = signal('');
  readonly spawn_at: Signal<Anchor | null> = signal(null);
  readonly create_at: Signal<Anchor | null> = signal(null);
  readonly sizes = signal({ tree: 260, inspector: 336, console: 200 });
  /** Components whose fields are hidden in the inspector, by full name. */
  readonly closed: Signal<ReadonlySet<string>> = signal(new Set<string>());
  /** The key in the browser's storage. */
  private place = '';

  /**
   * Restores the sizes and open nodes that were stored for this world. Returns the open nodes;
   * empty if the world is already current.
   */
  remember(world: string): Entity[] {
    const place = `muster.page.${world}`;
    if (place === this.place) return [];
    this.place = place;
    try {
      const kept = JSON.parse(localStorage.getItem(place) ?? 'null') as {
        sizes?: object;
        open?: string[];
        closed?: string[];
      } | null;
      if (kept?.sizes) this.sizes.value = { ...this.sizes.peek(), ...kept.sizes };
      if (kept?.closed) this.closed.value = new Set(kept.closed);
      return (kept?.open ?? []).map((id) => {
        const [index, generation] = id.split(':').map(Number);
        return { index, generation };
      });
    } catch {
      // Storage is disabled, or contains something else under that key.
      return [];
    }
  }
  /** Stores the open nodes. */
  keep_open(nodes: readonly Entity[]): void {
    this.open = nodes.slice(-open_kept_max).map(id_text);
    this.keep();
  }
  toggle_component(name: string): void {
    const closed = new Set(this.closed.peek());
    if (!closed.delete(name)) closed.add(name);
    this.closed.value = closed;
    this.keep();
  }
  private open: string[] = [];
  private keep(): void {
    try {
      const kept = { sizes: this.sizes.peek(), open: this.open, closed: [...this.closed.peek()] };
      if (this.place) localStorage.setItem(this.place, JSON.stringify(kept));
    } catch {
      // Storage is not available.
    }
  }
  resize(which: 'tree' | 'inspector' | 'console', size: number): void {
    const [min, max] = which === 'console' ? [64, innerHeight - 240] : [180, Math.min(640, innerWidth - 480)];
    this.sizes.value = { ...this.sizes.peek(), [which]: Math.round(Math.max(min, Math.min(max, size))) };
    this.keep();
  }
}
