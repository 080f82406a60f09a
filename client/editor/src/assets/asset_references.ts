// Which components refer to which files, and how a rename changes them.
import { hash64, id_text, Replica, session } from 'muster-client';
import type { Client, Entity, FieldDescriptor, muster, StructValue, TypeDescriptor } from 'muster-client';

import type { Model } from '../model/model.js';
import type { FieldChange, Operation } from '../model/operations.js';
import { at_path, with_path } from '../model/values.js';
import { Template, ValueWriter } from '../templates/template.js';

export interface AssetUse {
  entity: Entity;
  component: string;
  /** The path of the field. */
  field: string;
  /** The file, relative to the world's folder. */
  path: string;
}

/** Returns the paths of the fields of a component that name files. */
function asset_fields(type: TypeDescriptor, before = ''): string[] {
  const parts = (field: FieldDescriptor): string[] => {
    const path = before + field.name;
    return field.is_array ? Array.from({ length: field.count }, (_, i) => `${path}[${i}]`) : [path];
  };
  return type.fields.flatMap((field) => {
    if (field.element === 'structure') return parts(field).flatMap((path) => asset_fields(field.type!, path + '.'));
    return field.asset && field.element === 'text' ? parts(field) : [];
  });
}

/** Returns the components that can name files, with the paths of those fields. */
function referring_types(model: Model): Map<TypeDescriptor, string[]> {
  const found = new Map<TypeDescriptor, string[]>();
  for (const type of model.types.peek().values()) {
    const fields = type.role === 'component' ? asset_fields(type) : [];
    if (fields.length > 0) found.set(type, fields);
  }
  return found;
}

/** Reads which entities refer to files. */
export async function asset_uses(model: Model, client: Client): Promise<AssetUse[]> {
  const uses: AssetUse[] = [];
  for (const [type, fields] of referring_types(model)) {
    const copy = new Replica();
    await copy.follow(client, { with: [type], values: true, components: [type] });
    await copy.stop();
    for (const { entity, components } of copy)
      for (const field of fields) {
        const value = at_path(components[type.name], field);
        const path = typeof value === 'bigint' && value !== 0n ? await client.fetch_text(value) : '';
        if (path !== '') uses.push({ entity, component: type.name, field, path });
      }
  }
  return uses;
}

/**
 * Returns the operations that make everything that refers to `from` refer to `to`: the components
 * of entities and of templates.
 */
export async function rename_operations(model: Model, client: Client, from: string, to: string): Promise<Operation[]> {
  const before = hash64(from);
  const changes: FieldChange[] = (await asset_uses(model, client))
    .filter(({ path }) => path === from)
    .map(({ entity, component, field }) => ({ entity, component, path: field, value: to, expected: before }));
  const operations: Operation[] = changes.length > 0 ? [{ kind: 'fields', changes }] : [];
  const types = referring_types(model);
  for (const name of (await client.templates()).names) {
    const template = new Template(await client.ask(session.GetTemplate, { name }), model.types.peek());
    if (!template.definition.texts.includes(from)) continue;
    const definition = renamed_in(template, types, before, to);
    if (definition) operations.push({ kind: 'define', definition });
  }
  return operations;
}

/**
 * Returns a definition that names `to` instead, or null if the template does not refer to the file.
 */
function renamed_in(
  template: Template,
  types: ReadonlyMap<TypeDescriptor, string[]>,
  before: bigint,
  to: string,
): muster.DefineTemplate | null {
  const writer = new ValueWriter(() => undefined, () => '');
  let is_changed = false;
  const nodes = template.definition.nodes.map((node, number) => {
    let { components } = node;
    for (const [type, fields] of types)
      for (const field of fields) {
        const value = template.value(template.paths[number], type.name, () => undefined);
        if (at_path(value, field) !== before) continue;
        const put = components.find((each) => each.type === type.id)!;
        const now = writer.part(type, put, with_path(value, field, to) as StructValue, field);
        components = components.map((each) => (each === put ? now : each));
        is_changed = true;
      }
    return components === node.components ? node : { ...node, components };
  });
  const texts = [...new Set([...template.definition.texts, ...writer.texts])];
  return is_changed ? { ...template.definition, nodes, texts } : null;
}

/** Groups uses by file. */
export function by_path(uses: readonly AssetUse[]): Map<string, Entity[]> {
  const found = new Map<string, Map<string, Entity>>();
  for (const { entity, path } of uses) {
    const all = found.get(path) ?? new Map<string, Entity>();
    all.set(id_text(entity), entity);
    found.set(path, all);
  }
  return new Map([...found].map(([path, entities]) => [path, [...entities.values()]]));
}
