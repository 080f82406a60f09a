// Commands that move the selected entities in the tree by keys.
import { id_text, is_nil, nil, same_entity } from 'muster-client';
import type { Entity } from 'muster-client';

import type { Command } from '../model/commands.js';
import type { Model } from '../model/model.js';
import { root_order } from '../model/root_order.js';
import { chosen } from './copying.js';
import { hang } from './hang.js';

/** Returns the siblings in order; asks the server if the tree does not know the newest order. */
export async function siblings_of(model: Model, parent: Entity): Promise<readonly Entity[]> {
  const known = model.order.sequence >= model.edits.acknowledged.peek() ? model.order.children(parent) : undefined;
  if (known) return known;
  const all: Entity[] = [];
  const client = model.client.peek();
  if (client) for await (const page of client.children_all(parent)) all.push(...page.entities);
  return is_nil(parent) ? all.sort((a, b) => model.root_place(a) - model.root_place(b)) : all;
}

const parent_of = (model: Model, entity: Entity): Entity => model.world.get(entity)?.parent ?? nil;

/**
 * Returns the chosen entities in the order of the tree if they are siblings, and null otherwise.
 */
async function chosen_siblings(model: Model): Promise<{ parent: Entity; all: readonly Entity[]; first: number; last: number; moved: Entity[] } | null> {
  const entities = chosen(model);
  if (entities.length === 0) return null;
  const parent = parent_of(model, entities[0]);
  if (!entities.every((entity) => same_entity(parent_of(model, entity), parent))) {
    model.notices.say('problem', 'These entities have different parents. Select siblings to move them in the tree.');
    return null;
  }
  const ids = new Set(entities.map(id_text));
  const all = await siblings_of(model, parent);
  const places = all.map((_, i) => i).filter((i) => ids.has(id_text(all[i])));
  if (places.length === 0) return null;
  return { parent, all, first: places[0], last: places[places.length - 1], moved: places.map((i) => all[i]) };
}

/** Each move begins when the one before it is known. */
let moving: Promise<void> = Promise.resolve();

async function move(model: Model, way: 'up' | 'down' | 'in' | 'out'): Promise<void> {
  await model.edits.caught_up();
  const found = await chosen_siblings(model);
  if (!found) return;
  const { parent, all, first, last, moved } = found;
  if (way === 'up' || way === 'down') {
    if (is_nil(parent) && !model.knows(root_order))
      return model.notices.say('problem', 'Without scene.RootOrder, entities at the top of the tree are ordered by their ids.');
    if (way === 'up' ? first === 0 : last === all.length - 1) return;
    await hang(model, moved, parent, (way === 'up' ? all[first - 1] : all[last + 2]) ?? nil);
  } else if (way === 'in') {
    const above = all[first - 1];
    if (!above) return model.notices.say('problem', 'There is no sibling above to move it below.');
    model.order.open(above);
    await hang(model, moved, above);
  } else {
    if (is_nil(parent)) return;
    const outer = parent_of(model, parent);
    const around = await siblings_of(model, outer);
    const at = around.findIndex((each) => same_entity(each, parent));
    await hang(model, moved, outer, around[at + 1] ?? nil);
  }
  const last_moved = moved[moved.length - 1];
  model.reveal(last_moved);
}

export function tree_commands(model: Model): Command[] {
  const command = (id: string, title: string, keys: string, way: Parameters<typeof move>[1]): Command => ({
    id: `entity.${id}`,
    title,
    keys: [keys],
    enabled: () => model.selection.entities.value.length > 0 && model.may_edit.value,
    run: () => {
      moving = moving
        .then(() => move(model, way))
        .catch((error: Error) => model.notices.say('problem', error.message));
    },
  });
  return [
    command('up', 'Move up among its siblings', 'Alt+ArrowUp', 'up'),
    command('down', 'Move down among its siblings', 'Alt+ArrowDown', 'down'),
    command('in', 'Move below the sibling above', 'Alt+ArrowRight', 'in'),
    command('out', 'Move out of its parent', 'Alt+ArrowLeft', 'out'),
  ];
}
