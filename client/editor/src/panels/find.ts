// Search: by parts of names and paths, by components, by id.
import { signal } from '@preact/signals';
import { id_text } from 'muster-client';
import type { Entity } from 'muster-client';

import type { Model } from '../model/model.js';
import type { TreeLine } from './tree.js';

const found_max = 1000;

/** The server's answers to has:Component, by component. */
const having = new Map<string, Set<string>>();
const having_version = signal(0);
let asked = '';

function ask_having(model: Model, components: readonly string[]): void {
  const key = components.join(' ');
  const client = model.client.peek();
  if (!client || asked === key) return;
  asked = key;
  const ids: number[] = [];
  for (const component of components) {
    const type = component_named(model, component);
    if (!type) return;
    ids.push(type);
  }
  void (async () => {
    const found = new Set<string>();
    for await (const page of client.find_all({ components: ids }))
      for (const entity of page.entities) found.add(id_text(entity));
    having.set(key, found);
    ++having_version.value;
  })().catch(() => {});
}
function component_named(model: Model, text: string): number | undefined {
  const low = text.toLowerCase();
  const components = [...model.types.peek().values()].filter((type) => type.role === 'component');
  const fits = (name: string): boolean => name.toLowerCase() === low || name.toLowerCase().endsWith('.' + low);
  return (
    components.find((type) => fits(type.name)) ?? components.find((type) => type.name.toLowerCase().includes(low))
  )?.id;
}

export function find(model: Model, query: string): { lines: TreeLine[]; total: number } {
  void having_version.value;
  const words: string[] = [];
  const components: string[] = [];
  for (const part of query.split(/\s+/)) {
    if (/^has:/i.test(part)) {
      if (part.length > 4) components.push(part.slice(4));
    } else if (part !== '') words.push(part.toLowerCase());
  }
  let has: Set<string> | undefined;
  if (components.length > 0) {
    ask_having(model, components);
    has = having.get(components.join(' '));
    if (!has) return { lines: [], total: 0 };
  } else {
    asked = ''; // ask again next time, because the world changes
  }
  const id = /^#?(\d+):(\d+)$/.exec(query.trim());
  const lines: TreeLine[] = [];
  let total = 0;
  const add = (entity: Entity, name: string): void => {
    if (++total > found_max) return;
    const path = model.shown_place(entity);
    lines.push({ entity, depth: 0, name, children: 0, is_open: false, place: total, siblings: 0, path });
  };
  if (id) {
    const record = model.world.get({ index: Number(id[1]), generation: Number(id[2]) });
    if (record) add(record.entity, record.name);
    return { lines, total };
  }
  for (const { entity, name } of model.world) {
    if (has && !has.has(id_text(entity))) continue;
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
