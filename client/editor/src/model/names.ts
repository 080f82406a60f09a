// Chooses names for copied entities, and makes names safe to display.
import { id_text } from 'muster-client';
import type { Entity } from 'muster-client';

const bytes_max = 255;
const bytes_of = (text: string): number => new TextEncoder().encode(text).length;

/**
 * Returns the first free name after `name`: "tree-3" after "tree-2", "wall_10" after "wall_09",
 * "oak~2" after "oak".
 */
export function next_name(name: string, is_taken: (name: string) => boolean): string {
  if (name === '') return '';
  const [, stem, digits] = /^(.*?)(\d{1,9})$/s.exec(name) ?? [];
  const letters = [...(stem ?? name + '~')];
  for (let number = digits === undefined ? 2 : Number(digits) + 1; ; ++number) {
    const end = String(number).padStart(digits?.length ?? 1, '0');
    while (bytes_of(letters.join('')) + end.length > bytes_max) letters.pop();
    const next = letters.join('') + end;
    if (!is_taken(next)) return next;
  }
}

/** Finds names for several new entities that no sibling has. */
export class FreeNames {
  private readonly taken = new Map<string, Set<string>>();

  constructor(private readonly names_below: (parent: Entity) => Iterable<string>) {}

  /** Returns the wanted name, or the first free one after it, and marks it as taken. */
  take(parent: Entity, wanted: string): string {
    const key = id_text(parent);
    const names = this.taken.get(key) ?? new Set(this.names_below(parent));
    this.taken.set(key, names);
    const name = names.has(wanted) ? next_name(wanted, (each) => names.has(each)) : wanted;
    names.add(name);
    return name;
  }
}

/** Escapes invisible characters and those that change the direction of text. */
export function shown_name(name: string): string {
  return name.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (each) => {
    const code = each.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `⟨${code}⟩`;
  });
}
