// Duplicates of living trees: read whole, then created under new ids; references inside the tree stay inside.
import { id_text, is_nil, Replica, rights } from 'muster-client';
import type { Client, Entity, StructValue } from 'muster-client';

import { placeholder } from './operations.js';
import type { Made } from './operations.js';
import { with_references, with_texts } from './values.js';

const entities_max = 20_000;

/** Components that this session may not write are left out: the server would refuse the whole copy. */
export async function copy_trees(
  client: Client,
  roots: readonly Entity[],
): Promise<{ made: Omit<Made, 'before'>[]; roots: Entity[]; left_out: string[] }> {
  const copy = new Replica();
  await copy.follow(client, { entities: roots, subtree: true });
  await copy.stop();
  if (copy.size > entities_max)
    throw new Error(`these are ${copy.size} entities; at most ${entities_max} are duplicated at once`);
  const now = new Map<string, Entity>();
  for (const { entity } of copy) now.set(id_text(entity), placeholder());
  const left_out = new Set<string>();
  const values = (components: Record<string, StructValue>): Record<string, StructValue> => {
    const kept: Record<string, StructValue> = {};
    for (const [name, value] of Object.entries(components)) {
      const type = client.types.component(name);
      if (type.remote === 'none' || rights.indexOf(type.remote) > client.welcome.role) {
        left_out.add(name);
        continue;
      }
      const texts = with_texts(type, value, (hash) => client.text(hash));
      kept[name] = with_references(type, texts, (entity) => now.get(id_text(entity)));
    }
    return kept;
  };
  const made: Omit<Made, 'before'>[] = [];
  const add = async (entity: Entity): Promise<void> => {
    const record = copy.get(entity);
    if (!record) return;
    const inside = now.get(id_text(record.parent));
    const is_root = roots.some((root) => id_text(root) === id_text(entity));
    made.push({
      entity: now.get(id_text(entity))!,
      parent: is_root || !inside ? record.parent : inside,
      name: record.name,
      components: values(record.components),
    });
    if (copy.child_count(entity) === 0) return;
    for await (const page of client.children_all(entity)) for (const child of page.entities) await add(child);
  };
  for (const root of roots) await add(root);
  return { made, roots: roots.map((root) => now.get(id_text(root))!), left_out: [...left_out] };
}

/** Without those that lie below another one of them. */
export function topmost(world: Replica, entities: readonly Entity[]): Entity[] {
  const chosen = new Set(entities.map(id_text));
  return entities.filter((entity) => {
    for (let at = world.get(entity)?.parent; at && !is_nil(at); at = world.get(at)?.parent)
      if (chosen.has(id_text(at))) return false;
    return true;
  });
}
