// All commands of the page, by name. Keys, menus and buttons use the same list.
import { signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';

export interface Command {
  /** "entity.delete" */
  id: string;
  /** A verb: "Delete". */
  title: string;
  /**
   * In the syntax of tinykeys: 'w', '$mod+d', 'Shift+A'. Active unless a text field has the focus.
   */
  keys?: string[];
  /** True if the keys are also active in a text field, which then loses the focus. */
  is_everywhere?: boolean;
  /** True if the keys are active only in the viewport, or if nothing has the focus. */
  in_viewport?: boolean;
  /** Name of an icon in src/parts/icon.tsx. */
  icon?: string;
  /** Menus show the commands of one group together. */
  group?: string;
  /** If absent, the command is always enabled. */
  enabled?(): boolean;
  /** Returns the reason why the command is not enabled, as part of a sentence. */
  hint?(): string | undefined;
  /** If it returns false, menus do not show the command. */
  is_listed?(): boolean;
  /** For commands that toggle something. */
  checked?(): boolean;
  /** `at` is the position of the menu from which the command was chosen. */
  run(at?: MenuPlace): void;
}

export interface MenuPlace {
  x: number;
  y: number;
}

/** Headings of the palette and the keyboard map, by the first part of a command's id. */
const sections: Record<string, string> = {
  edit: 'Edit',
  entity: 'Entities',
  arrange: 'Arrange',
  view: 'View',
  find: 'Find',
  select: 'Select',
  run: 'Level and run',
  clock: 'Clock',
  template: 'Templates',
  world: 'World',
  page: 'Page',
};
export function section_of(command: Command): string {
  return sections[command.id.split('.')[0]] ?? 'Other';
}

export class Commands {
  private readonly by_id = signal<ReadonlyMap<string, Command>>(new Map());
  /** Position of the open context menu of the selection. */
  readonly menu = signal<MenuPlace | null>(null);

  /** `refused` is called with a command's hint if the command was run while it was not enabled. */
  constructor(private readonly refused: (why: string) => void = () => {}) {}

  get all(): ReadonlySignal<ReadonlyMap<string, Command>> {
    return this.by_id;
  }
  get(id: string): Command | undefined {
    return this.by_id.value.get(id);
  }
  /** Adds commands, replacing those with the same id. Returns a function that removes them. */
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
