// The page's own state: sizes of panels, open nodes, dialogs.
import { signal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import { id_text } from 'muster-client';
import type { Entity, FieldDescriptor, TypeDescriptor } from 'muster-client';

import type { Seen } from '../model/seen.js';
import type { Anchor } from '../parts/popover.js';

export interface PickRequest {
  at: Anchor;
  title: string;
  chosen(entity: Entity): void;
}

/** A field of the inspector whose menu is open. */
export interface FieldMenuRequest {
  at: Anchor;
  type: TypeDescriptor;
  entities: readonly Entity[];
  path: string;
  field: FieldDescriptor;
  as_element: boolean;
  values: readonly unknown[];
  read_only: string | null;
}

/** A view of the viewport that has a name. `view` is the text of view_text. */
export interface KeptView {
  name: string;
  view: string;
}

export type ConsoleTab = 'messages' | 'game' | 'send' | 'history' | 'run' | 'templates' | 'assets' | 'log';
export type Dialog = 'palette' | 'keys' | 'array' | 'views' | 'template';

const open_kept_max = 500;

export class Ui {
  readonly pick: Signal<PickRequest | null> = signal(null);
  readonly renaming: Signal<Entity | null> = signal(null);
  /** Entities that were cut but not pasted yet, and their text in the clipboard. */
  readonly cut: Signal<{ entities: readonly Entity[]; text: string } | null> = signal(null);
  readonly field_menu: Signal<FieldMenuRequest | null> = signal(null);
  /** The open dialog over the page. */
  readonly dialog: Signal<Dialog | null> = signal(null);
  /** Changes when this page has defined templates. */
  readonly templates_turn = signal(0);
  readonly search = signal('');
  readonly tab: Signal<ConsoleTab> = signal('messages');
  /** Full name of the type whose form is open. */
  readonly message_type = signal('');
  readonly spawn_at: Signal<Anchor | null> = signal(null);
  readonly create_at: Signal<Anchor | null> = signal(null);
  /** `labels` is the width of the inspector's labels; 0 makes them as wide as needed. */
  readonly sizes = signal({ tree: 260, inspector: 336, console: 200, labels: 0 });
  /** Components whose fields are hidden in the inspector, by full name. */
  readonly closed: Signal<ReadonlySet<string>> = signal(new Set<string>());
  /** Stored searches. */
  readonly searches: Signal<readonly string[]> = signal([]);
  /** Stored views, in the order in which they were made. */
  readonly views: Signal<readonly KeptView[]> = signal([]);
  /** The key in the browser's storage. */
  private place = '';

  /**
   * Restores what was stored for this world: sizes, open nodes, hidden and locked entities,
   * searches and views. Returns the open nodes;
   * empty if the world is already current.
   */
  remember(world: string, seen: Seen): Entity[] {
    const place = `muster.page.${world}`;
    if (place === this.place) return [];
    this.place = place;
    this.seen = seen;
    try {
      const kept = JSON.parse(localStorage.getItem(place) ?? 'null') as {
        sizes?: object;
        open?: string[];
        closed?: string[];
        seen?: object;
        searches?: string[];
        views?: KeptView[];
      } | null;
      seen.restore(kept?.seen ?? {});
      this.searches.value = kept?.searches ?? [];
      this.views.value = kept?.views ?? [];
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
  keep_views(views: readonly KeptView[]): void {
    this.views.value = views;
    this.keep();
  }
  keep_searches(searches: readonly string[]): void {
    this.searches.value = searches;
    this.keep();
  }
  toggle_component(name: string): void {
    const closed = new Set(this.closed.peek());
    if (!closed.delete(name)) closed.add(name);
    this.closed.value = closed;
    this.keep();
  }
  private open: string[] = [];
  private seen: Seen | null = null;
  /** Stores everything that belongs to this world. */
  keep(): void {
    try {
      const kept = {
        sizes: this.sizes.peek(),
        open: this.open,
        closed: [...this.closed.peek()],
        seen: this.seen?.kept(),
        searches: this.searches.peek(),
        views: this.views.peek(),
      };
      if (this.place) localStorage.setItem(this.place, JSON.stringify(kept));
    } catch {
      // Storage is not available.
    }
  }
  /** Sets the width of the inspector's labels. */
  widen_labels(width: number): void {
    const labels = width <= 0 ? 0 : Math.round(Math.max(48, Math.min(400, width)));
    this.sizes.value = { ...this.sizes.peek(), labels };
    this.keep();
  }
  resize(which: 'tree' | 'inspector' | 'console', size: number): void {
    const [min, max] = which === 'console' ? [64, innerHeight - 240] : [180, Math.min(640, innerWidth - 480)];
    this.sizes.value = { ...this.sizes.peek(), [which]: Math.round(Math.max(min, Math.min(max, size))) };
    this.keep();
  }
}
