// Copies entity trees: reads them completely and creates them again under new ids. References
// between copied entities are changed to their copies.
import { id_text, is_nil, Replica, rights } from 'muster-client';
import type { Client, Entity, StructValue } from 'muster-client';

import { counted } from './numbers.js';
import { placeholder } from './operations.js';
import type { Made } from './operations.js';
import { with_references, with_texts } from './values.js';

/** Limit on the number of entities in one copy. */
export const copied_max = 20_000;

/** An entity of a copied tree. Its components contain texts instead of their hashes. */
export interface Copied {
  /** Its id in the original world. */
  entity: Entity;
  parent: Entity;
  name: string;
  components: Record<string, StructValue>;
}

export interface Copies {
  made: Omit<Made, 'before'>[];
  /** The copies of the roots; undefined for a root that no longer exists. */
  roots: Entity[];
  /** Components that were left out of the copies. */
  left_out: string[];
}

/** Reads whole trees, with parents before their children and siblings in order. */
export async function read_trees(client: Client, roots: readonly Entity[]): Promise<Copied[]> {
  const world = new Replica();
  await world.follow(client, { entities: roots, subtree: true });
  await world.stop();
  if (world.size > copied_max)
    throw new Error(`Cannot copy ${counted(world.size)} entities at once. The limit is ${counted(copied_max)}.`);
  const copied: Copied[] = [];
  const add = async (entity: Entity): Promise<void> => {
    const record = world.get(entity);
    if (!record) return;
    const components = Object.entries(record.components).map(([name, value]) => [
      name,
      with_texts(client.types.component(name), value, (hash) => client.text(hash)),
    ]);
    copied.push({
      entity,
      parent: record.parent,
      name: record.name,
      components: Object.fromEntries(components) as Copied['components'],
    });
    if (world.child_count(entity) === 0) return;
    for await (const page of client.children_all(entity)) for (const child of page.entities) await add(child);
  };
  for (const root of roots) await add(root);
  return copied;
}

/**
 * Prepares copies under new ids. Leaves out components that this session may not write; otherwise
 * the server would refuse the whole copy.
 */
export function make_copies(client: Client, copied: readonly Copied[], roots: readonly Entity[]): Copies {
  const now = new Map(copied.map(({ entity }) => [id_text(entity), placeholder()]));
  const are_roots = new Set(roots.map(id_text));
  const left_out = new Set<string>();
  const values = (components: Copied['components']): Copied['components'] => {
    const kept: Copied['components'] = {};
    for (const [name, value] of Object.entries(components)) {
      const type = client.types.component(name);
      if (type.remote === 'none' || rights.indexOf(type.remote) > client.welcome.role) left_out.add(name);
      else kept[name] = with_references(type, value, (entity) => now.get(id_text(entity)));
    }
    return kept;
  };
  const made = copied.map(({ entity, parent, name, components }) => ({
    entity: now.get(id_text(entity))!,
    parent: are_roots.has(id_text(entity)) ? parent : (now.get(id_text(parent)) ?? parent),
    name,
    components: values(components),
  }));
  return { made, roots: roots.map((root) => now.get(id_text(root))!), left_out: [...left_out] };
}

export async function copy_trees(client: Client, roots: readonly Entity[]): Promise<Copies> {
  return make_copies(client, await read_trees(client, roots), roots);
}

/** Returns the entities without those that are below another one of them. */
export function topmost(world: Replica, entities: readonly Entity[]): Entity[] {
  const chosen = new Set(entities.map(id_text));
  return entities.filter((entity) => {
    for (let at = world.get(entity)?.parent; at && !is_nil(at); at = world.get(at)?.parent)
      if (chosen.has(id_text(at))) return false;
    return true;
  });
}
