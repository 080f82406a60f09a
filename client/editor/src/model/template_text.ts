// Writes a copied tree as a template file; see docs/templates.md.
import { id_text, is_nil } from 'muster-client';
import type { Entity, TypeDescriptor } from 'muster-client';

import type { Copied } from './copies.js';
import { FreeNames } from './names.js';
import { mapped } from './values.js';

interface Node {
  name?: string;
  components: Record<string, unknown>;
  children?: Node[];
}
/** Given by the place and the name at which a template is spawned. */
const of_place = new Set(['muster.Name', 'muster.ChildOf']);
const transform = 'scene.Transform';

/**
 * Returns a file with one template. `copied` is a tree with its root first. The root is at the
 * origin. References among the entities stay among those that are spawned.
 */
export function template_text(name: string, copied: readonly Copied[], types: ReadonlyMap<string, TypeDescriptor>): string {
  const [root] = copied;
  const names = new FreeNames(() => []);
  const nodes = new Map<string, Node>();
  const paths = new Map<string, string>([[id_text(root.entity), '.']]);
  for (const { entity, parent, name: own } of copied) {
    const node: Node = { components: {} };
    nodes.set(id_text(entity), node);
    if (entity === root.entity) continue;
    node.name = names.take(parent, own === '' ? 'part' : own);
    const above = paths.get(id_text(parent))!;
    paths.set(id_text(entity), above === '.' ? node.name : `${above}/${node.name}`);
    (nodes.get(id_text(parent))!.children ??= []).push(node);
  }
  for (const { entity, components } of copied)
    for (const [component, value] of Object.entries(components)) {
      const type = types.get(component);
      if (!type || of_place.has(component) || type.remote === 'none') continue;
      const values = mapped(type, value, (field, each) => {
        if (field.element !== 'entity') return each;
        const to = each as Entity;
        return is_nil(to) ? undefined : (paths.get(id_text(to)) ?? id_text(to));
      });
      if (entity === root.entity && component === transform) values.position = { x: 0, y: 0, z: 0 };
      nodes.get(id_text(entity))!.components[component] = values;
    }
  const file = { templates: [{ ...nodes.get(id_text(root.entity))!, name }] };
  return json(file);
}

/** Like JSON.stringify, but with whole numbers of 64 bits as numbers. */
function json(value: unknown): string {
  const big: string[] = [];
  const text = JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== 'bigint') return each;
    big.push(String(each));
    return `\u0000${big.length - 1}`;
  });
  return text.replace(/"\\u0000(\d+)"/g, (_, i: string) => big[Number(i)]);
}
