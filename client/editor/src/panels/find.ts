// Search: by parts of names and paths, by components and values of their fields, by id.
import { signal } from '@preact/signals';
import { Replica } from 'muster-client';
import type { Client, Entity } from 'muster-client';

import { meets, parse_query } from '../model/conditions.js';
import type { Condition } from '../model/conditions.js';
import type { Model } from '../model/model.js';
import type { TreeLine } from './tree.js';

const found_max = 1000;
/** Limit on updates of the values in a search, per second. */
const rate_max = 4;

export interface Findings {
  lines: TreeLine[];
  total: number;
  /** Set if nothing can be found, or if the values are not there yet. */
  note?: string;
}

/** The entities with the components of the current search, and the values of these components. */
class Values {
  private copy: Replica | null = null;
  private key = '';
  private client: Client | null = null;
  /** Changes when the values do. */
  readonly version = signal(0);
  is_there = false;

  /** Returns the copy as soon as it is complete. */
  follow(client: Client | null, conditions: readonly Condition[]): Replica | null {
    const key = conditions.map(({ type, path }) => `${type.id}${path === '' ? '' : '.'}`).join(' ');
    if (key === this.key && client === this.client) return this.is_there ? this.copy : null;
    void this.copy?.stop().catch(() => {});
    this.key = key;
    this.client = client;
    this.is_there = false;
    this.copy = null;
    if (!client || conditions.length === 0) return null;
    const components = [...new Set(conditions.filter(({ path }) => path !== '').map(({ type }) => type.name))];
    const copy = new Replica({ change: () => void ++this.version.value });
    this.copy = copy;
    const scope = { with: conditions.map(({ type }) => type.name), values: components.length > 0, components, rate_max };
    copy.follow(client, scope).then(
      () => {
        if (this.copy !== copy) return;
        this.is_there = true;
        ++this.version.value;
      },
      () => {},
    );
    return null;
  }
}
const values = new Values();

/** Ends what a search with conditions follows. */
export function end_find(): void {
  values.follow(null, []);
}

export function find(model: Model, query: string): Findings {
  void values.version.value;
  const lines: TreeLine[] = [];
  let total = 0;
  const add = (entity: Entity, name: string): void => {
    if (++total > found_max) return;
    const path = model.shown_place(entity);
    lines.push({ entity, depth: 0, name, children: 0, is_open: false, place: total, siblings: 0, path });
  };
  const id = /^#?(\d+):(\d+)$/.exec(query.trim());
  if (id) {
    const record = model.world.get({ index: Number(id[1]), generation: Number(id[2]) });
    if (record) add(record.entity, record.name);
    return { lines, total };
  }
  const { words, conditions, fault } = parse_query(query, model.types.value.values());
  if (fault !== '') return { lines, total: 0, note: fault };
  const copy = values.follow(model.client.value, conditions);
  if (conditions.length > 0 && !copy) return { lines, total: 0, note: 'Searching' };
  const names = { text: (hash: bigint) => model.text(hash), name: (entity: Entity) => model.world.get(entity)?.name ?? '' };
  for (const { entity, name } of model.world) {
    if (copy) {
      const record = copy.get(entity);
      if (!record) continue;
      const is_met = (condition: Condition): boolean =>
        condition.path === '' || meets(condition, record.components[condition.type.name] ?? {}, names);
      if (!conditions.every(is_met)) continue;
    }
    const low = name.toLowerCase();
    const others = words.filter((word) => !low.includes(word));
    if (others.length > 0) {
      // Names of ancestors only narrow a search; they match alone only if a word contains a slash.
      if (others.length === words.length && !words.some((word) => word.includes('/'))) continue;
      const path = model.path(entity).toLowerCase();
      if (!others.every((word) => path.includes(word))) continue;
    }
    add(entity, name);
  }
  return { lines, total };
}
