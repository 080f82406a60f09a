// Deletes the selected entities. Asks first if an undo could not bring back all data that managers
// hold for them.
import { dry_run } from 'muster-client';
import type { Client, Entity, Replica } from 'muster-client';

import type { Model } from '../model/model.js';
import { counted } from '../model/numbers.js';
import { chosen } from './copying.js';

const counted_max = 100_000;

/** Counts the descendants of entities, up to a limit. */
function count_below(world: Replica, entities: readonly Entity[]): number {
  let count = 0;
  const open = [...entities];
  for (let next = open.pop(); next && count < counted_max; next = open.pop())
    for (const child of world.child_count(next) > 0 ? world.children(next) : []) {
      ++count;
      open.push(child.entity);
    }
  return count;
}

/** Returns the managers that hold data of the entities which an undo could not bring back. */
async function losing(client: Client | null, entities: readonly Entity[]): Promise<string[]> {
  if (!client) return [];
  const messages = entities.map((target) => ({ target, value: {} }));
  const type = client.types.get('muster.Destroy');
  // If the world refuses the dry run, it refuses the edit for the same reason, and says so then.
  const would = await dry_run(client, [{ kind: 'each', type, messages }]).catch(() => null);
  return [...(would?.lost_managers ?? [])];
}

export async function delete_selected(model: Model): Promise<void> {
  const entities = chosen(model);
  if (entities.length > 0) await delete_entities(model, entities, false);
}

async function delete_entities(model: Model, entities: readonly Entity[], anyway: boolean): Promise<void> {
  const one = entities.length === 1;
  const who = one ? model.label(entities[0]) : `${counted(entities.length)} entities`;
  const below = count_below(model.world, entities);
  let lost: string[] = [];
  const done = await model.edits.destroy(entities, async () => {
    if (!anyway) lost = await losing(model.client.peek(), entities);
    return lost.length === 0;
  });
  if (lost.length > 0) {
    const holds = `${lost.join(', ')} ${lost.length === 1 ? 'holds' : 'hold'}`;
    const whom = one ? `'${who}'` : who;
    const text = `An undo could not bring back what ${holds} for ${whom}. Nothing was deleted.`;
    const actions = [{ title: 'Delete anyway', run: () => void delete_entities(model, entities, true) }];
    model.notices.say('problem', text, actions, model.selection.entities);
    return;
  }
  // Entities in closed nodes are not in sight.
  if (done && below > 0)
    model.notices.say('done', `Deleted ${one ? `'${who}'` : who} and ${counted(below)} below ${one ? 'it' : 'them'}.`);
}
