// Everything a person can do, by name: keys, menus and buttons call the same list.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';

export interface Command {
  /** "entity.delete" */
  id: string;
  /** A verb: "Delete". */
  title: string;
  /**
   * As tinykeys has them: 'w', '$mod+d', 'Shift+A'. They work unless a text field has the focus.
   */
  keys?: string[];
  /** Name of an icon of src/parts/icon.tsx. */
  icon?: string;
  /** Commands of one group stand together in menus. */
  group?: string;
  /** Always true without it. */
  enabled?(): boolean;
  /** Says why it is not enabled, in words that a sentence is made of. */
  hint?(): string | undefined;
  /** For commands that switch something. */
  checked?(): boolean;
  /** `at`: where the menu was that it was chosen from. */
  run(at?: MenuPlace): void;
}

export interface MenuPlace {
  x: number;
  y: number;
}

export class Commands {
  private readonly by_id = signal<ReadonlyMap<string, Command>>(new Map());
  /** Where the context menu of the selection is open. */
  readonly menu = signal<MenuPlace | null>(null);

  /** `refused` is called with the hint of a command that was run while it was not enabled. */
  constructor(private readonly refused: (why: string) => void = () => {}) {}

  get all(): ReadonlySignal<ReadonlyMap<string, Command>> {
    return this.by_id;
  }
  get(id: string): Command | undefined {
    return this.by_id.value.get(id);
  }
  /** Returns what takes them back. A command of the same id is replaced. */
  register(list: readonly Command[]): () => void {
    this.by_id.value = new Map([...this.by_id.peek(), ...list.map((command) => [command.id, command] as const)]);
    return () => {
      const left = new Map(this.by_id.peek());
      for (const command of list) if (left.get(command.id) === command) left.delete(command.id);
      this.by_id.value = left;
    };
  }
  /** Returns false if there is no such command, or if it is not enabled. */
  run(id: string, at?: MenuPlace): boolean {
    const command = this.by_id.peek().get(id);
    if (!command) return false;
    if (command.enabled?.() === false) {
      const why = command.hint?.();
      if (why) this.refused(why);
      return false;
    }
    command.run(at);
    return true;
  }
  /** Opens the context menu of the selection at a point of the window. */
  menu_at(x: number, y: number): void {
    this.menu.value = { x, y };
  }
}
