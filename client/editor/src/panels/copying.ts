// Copies the selection, either directly (duplicate) or through the clipboard.
import { id_text, is_nil, nil, same_entity } from 'muster-client';
import type { Entity } from 'muster-client';

import { pasted_trees, trees_text } from '../model/clipboard.js';
import { copy_trees, make_copies, read_trees, topmost } from '../model/copies.js';
import type { Copies } from '../model/copies.js';
import type { Model } from '../model/model.js';
import { last_name } from '../model/values.js';
import { hang } from './hang.js';
import type { Ui } from './ui.js';

/** Returns the selected entities, without those below another selected one. */
export function chosen(model: Model): Entity[] {
  return topmost(model.world, model.selection.entities.peek());
}

/** The last copied text, for browsers that deny access to the clipboard. */
let kept = '';
let is_denied = false;
/** The text that is being copied. A paste waits for it. */
let on_the_way: Promise<string> | null = null;

/**
 * Writes text to the clipboard. Must be called during a key press or click; the text may be
 * available later.
 */
export async function copy_text(given: string | Promise<string>): Promise<void> {
  const coming = Promise.resolve(given);
  on_the_way = coming;
  try {
    const written = write_clipboard(coming).then(
      () => true,
      () => false,
    );
    kept = await coming;
    is_denied = !(await written);
  } finally {
    if (on_the_way === coming) on_the_way = null;
  }
}
async function write_clipboard(coming: Promise<string>): Promise<void> {
  const blob = coming.then((text) => new Blob([text], { type: 'text/plain' }));
  blob.catch(() => {});
  await navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
}
/** Resolves with the text in the clipboard. `given` is the text of a paste event. */
export async function pasted_text(given?: string): Promise<string> {
  if (on_the_way) return on_the_way;
  if (is_denied) return kept;
  if (given !== undefined) return given;
  try {
    return await navigator.clipboard.readText();
  } catch {
    if (kept !== '') return kept;
    throw new Error('Press Ctrl+V to paste.');
  }
}

interface Duplication {
  originals: readonly Entity[];
  copies: readonly Entity[];
}
let last: Duplication = { originals: [], copies: [] };
/** Remembers a duplication, so that the next one can repeat how its copies were moved. */
export function duplicated(originals: readonly Entity[], copies: readonly Entity[]): void {
  last = originals.length === copies.length ? { originals, copies } : { originals: [], copies: [] };
}
export const last_duplication = (): Duplication => last;

export async function duplicate_selected(model: Model): Promise<void> {
  const client = model.client.peek();
  const entities = chosen(model);
  const selected = model.selection.entities.peek();
  if (!client || entities.length === 0) return;
  try {
    const copies = await copy_trees(client, entities);
    const now = await model.edits.duplicate(entities, copies);
    duplicated(entities, now);
    if (now.length > 0) select_when_there(model, now, selected);
    tell_left_out(model, copies);
  } catch (error) {
    complain(model, error);
  }
}

/** Copies the selection to the clipboard. Cut entities move when they are pasted. */
export async function copy_selected(model: Model, ui: Ui, is_cut = false): Promise<void> {
  const client = model.client.peek();
  const entities = chosen(model);
  if (!client || entities.length === 0) return;
  try {
    const read = async (): Promise<string> => {
      const copied = await read_trees(client, entities);
      if (copied.length === 0) throw new Error('These entities have been deleted.');
      const text = trees_text(copied, model.world_here());
      ui.cut.value = is_cut ? { entities, text } : null;
      return text;
    };
    await copy_text(read());
  } catch (error) {
    complain(model, error);
  }
}

/**
 * Pastes entities as children of the active one. If the active entity is one of the originals, each
 * copy is inserted after its original.
 */
export async function paste_entities(model: Model, ui: Ui, coming: Promise<string>): Promise<void> {
  const client = model.client.peek();
  const selected = model.selection.entities.peek();
  const parent = model.selection.active ?? nil;
  if (!client) return;
  try {
    const text = await coming;
    const cut = ui.cut.peek();
    if (cut?.text === text) {
      ui.cut.value = null;
      return await move_cut(model, cut.entities, parent);
    }
    const { copied, roots, is_from_here, unknown } = pasted_trees(model.types.peek(), text, model.world_here());
    const copies = make_copies(client, copied, roots);
    const are_originals = (entities: readonly Entity[]): boolean => {
      const ids = new Set(entities.map(id_text));
      return is_from_here && ids.has(id_text(parent)) && entities.every((entity) => model.world.get(entity));
    };
    const now = are_originals(roots)
      ? await model.edits.duplicate(roots, copies)
      : await model.edits.paste(copies, parent);
    if (now.length > 0) select_when_there(model, now, selected);
    tell_left_out(model, copies);
    if (unknown.length > 0)
      model.notices.say('problem', `Pasted without ${unknown.map(last_name).join(', ')}: this world does not have them.`);
  } catch (error) {
    complain(model, error);
  }
}

async function move_cut(model: Model, entities: readonly Entity[], parent: Entity): Promise<void> {
  const moved = entities.filter((entity) => model.world.get(entity));
  if (moved.length === 0) throw new Error('These entities have been deleted.');
  if (moved.some((entity) => same_entity(entity, parent))) return;
  if (!is_nil(parent)) model.order.open(parent);
  if (await hang(model, moved, parent)) model.selection.set(moved);
}

function tell_left_out(model: Model, { left_out }: Copies): void {
  if (left_out.length > 0)
    model.log.note(`Copied without ${left_out.join(', ')}: this session may not write them.`);
}
function complain(model: Model, error: unknown): void {
  model.notices.say('problem', (error as Error).message);
}

/**
 * Selects new entities as soon as the page knows them, unless the selection is no longer `before`.
 */
export function select_when_there(
  model: Model,
  entities: readonly Entity[],
  before: readonly Entity[] = model.selection.entities.peek(),
): void {
  const is_there = (): boolean => entities.every((entity) => model.world.get(entity));
  const select = (): void => {
    if (model.selection.entities.peek() !== before) return;
    model.selection.set(entities);
    model.reveal(entities[entities.length - 1]);
  };
  if (is_there()) return select();
  const end = model.on_change(() => {
    if (!is_there()) return;
    end();
    select();
  });
  setTimeout(end, 5000);
}
