// What is done with spawned trees: revert to their template, apply to it, unlink.
import { id_text } from 'muster-client';
import type { Client, Entity, StructValue, TypeDescriptor } from 'muster-client';

import type { Command } from '../model/commands.js';
import { read_trees } from '../model/copies.js';
import type { Model } from '../model/model.js';
import { counted } from '../model/numbers.js';
import type { Operation } from '../model/operations.js';
import { definition_of, is_in_templates, spawned_from, Template, transform, ValueWriter } from './template.js';
import { missing_nodes, read_values } from './template_links.js';
import { at_path, last_name, same_value, words } from '../model/values.js';
import type { MenuItem } from '../parts/popover.js';

/** Returns true if some of the entities are linked to a template that has the component. */
export function has_usual(model: Model, entities: readonly Entity[], component: string): boolean {
  return entities.some((entity) => model.templates.usual(entity, component) !== undefined);
}

function revert_field(model: Model, entities: readonly Entity[], component: string, path: string): void {
  const linked = entities.filter((entity) => model.templates.usual(entity, component));
  const usual = (entity: Entity): unknown => at_path(model.templates.usual(entity, component), path);
  void model.edits.set_field(linked, component, path, usual);
}

/** Returns the value that an entity gets back. The root of a tree keeps its position. */
function reverted(model: Model, entity: Entity, template: Template, component: string, current?: StructValue): StructValue {
  const { node } = model.templates.link(entity)!;
  const instance = model.templates.instance(entity)!;
  const usual = template.value(node, component, (path) => instance.entities.get(path))!;
  return node === '' && component === transform && current ? { ...usual, position: current.position } : usual;
}

/** Reverts entities: values, removed and added components; with `is_all` also removed entities. */
export async function revert_to_template(model: Model, entities: readonly Entity[], label: string, is_all = false, only?: string): Promise<void> {
  const { templates } = model;
  await model.edits.take(async () => {
    const client = model.client.peek();
    if (!client) return null;
    const operations: Operation[] = [];
    const values = await read_values(client, entities);
    for (const entity of entities) {
      const link = templates.link(entity);
      const template = link && (await templates.read(client, link.name));
      const own = values.get(id_text(entity));
      if (!template?.has(link!.node) || !own) continue;
      const usual = template.components(link!.node);
      for (const component of usual) {
        if (only !== undefined && component !== only) continue;
        const value = reverted(model, entity, template, component, own[component]);
        if (own[component] && same_value(own[component], value)) continue;
        operations.push({ kind: 'set', component, values: [{ entity, value }] });
      }
      for (const component of only === undefined ? Object.keys(own) : [])
        if (is_in_templates(model.types.peek().get(component)) && !usual.includes(component))
          operations.push({ kind: 'remove', component, entities: [entity] });
      if (is_all && link!.node === '') {
        const made = missing_nodes(template, templates.instance(entity)!);
        if (made.length > 0) operations.push({ kind: 'create', made });
      }
    }
    return operations.length > 0 ? { label, operations } : null;
  });
}

function say_applied(model: Model, name: string, changed: number | null): void {
  if (changed === null) return;
  const trees = changed === 0 ? '' : ` ${counted(changed)} other ${changed === 1 ? 'tree has' : 'trees have'} changed with it.`;
  model.notices.say('done', `The template ${name} has been changed.${trees}`);
}

/**
 * Makes an entity's part of a component the one of its template: a field, the whole component if
 * `path` is empty, or all components if `component` is null.
 */
export async function apply_to_template(model: Model, entity: Entity, component: string | null, path: string): Promise<void> {
  const { templates } = model;
  const link = templates.link(entity);
  if (!link) return;
  const what = component === null ? 'the values' : path === '' ? last_name(component) : words(path);
  const changed = await templates.change(`Apply ${what} of ${model.label(entity)} to ${link.name}`, link.name, async (old, client) => {
    if (!old?.has(link.node)) throw new Error(`The template ${link.name} no longer has this entity's node.`);
    const own = (await read_values(client, [entity])).get(id_text(entity)) ?? {};
    const instance = templates.instance(entity)!;
    const nodes = new Map([...instance.entities].map(([node, each]) => [id_text(each), old.number(node)]));
    const writer = new ValueWriter((each) => nodes.get(id_text(each)), (hash) => model.text(hash));
    const number = old.number(link.node)!;
    const of_type = new Map(old.definition.nodes[number].components.map((value) => [value.type, value]));
    for (const type of model.types.peek().values()) {
      if (!is_in_templates(type) || (component !== null && type.name !== component)) continue;
      const current = own[type.name];
      const before = old.find(number, type.name);
      if (!current) {
        if (before) of_type.delete(type.id);
      } else if (before && path !== '') of_type.set(type.id, writer.part(type, before, current, path));
      else of_type.set(type.id, writer.whole(type, placed(old, link.node, type, current)));
    }
    return { now: old.with_components(link.node, [...of_type.values()], [...writer.texts]) };
  });
  say_applied(model, link.name, changed);
}
/** A root's own position does not become the one of the template. */
function placed(old: Template, node: string, type: TypeDescriptor, value: StructValue): StructValue {
  if (node !== '' || type.name !== transform) return value;
  const before = old.value(node, transform, () => undefined);
  return before ? { ...value, position: before.position } : value;
}

/** Makes or replaces a template, and links the tree to it. Returns the number of nodes. */
export async function make_template(model: Model, name: string, root: Entity): Promise<number | null> {
  let nodes = 0;
  const changed = await model.templates.change(`Make the template ${name}`, name, async (old, client) => {
    const made = await definition(model, client, name, root, old);
    nodes = made.made_of.length;
    return made;
  });
  return changed === null ? null : nodes;
}

/** Makes the template of an entity the tree that it was spawned with. */
export async function apply_all(model: Model, entity: Entity): Promise<void> {
  const { name } = model.templates.link(entity)!;
  const root = model.templates.instance(entity)!.root!;
  const label = `Apply ${model.label(root)} to ${name}`;
  const changed = await model.templates.change(label, name, (old, client) => definition(model, client, name, root, old));
  say_applied(model, name, changed);
}

async function definition(model: Model, client: Client, name: string, root: Entity, old: Template | null) {
  const copied = await read_trees(client, [root]);
  if (copied.length === 0) throw new Error('This entity has been deleted.');
  const sources = copied.map((each) => {
    const link = model.templates.link(each.entity);
    // An entity keeps its node if it was renamed.
    const node = link?.name === name && link.node !== '' ? link.node.slice(link.node.lastIndexOf('/') + 1) : each.name;
    return { ...each, name: node };
  });
  if (sources.some(({ name }) => /^#\d+$/.test(name)))
    throw new Error('The template has nodes without names, so values can only be applied one entity at a time.');
  const now = definition_of(name, sources, model.types.peek(), (hash) => model.text(hash), old);
  return { now, made_of: copied.map(({ entity }) => entity) };
}

/** The items for a field's menu, or with an empty path for a component's. */
export function template_items(model: Model, entities: readonly Entity[], type: TypeDescriptor, path: string): MenuItem[] {
  const component = type.name;
  if (!entities.some((entity) => model.templates.template(entity))) return [];
  const may = model.may_edit.value && is_in_templates(type);
  const may_revert = may && has_usual(model, entities, component);
  const label = `Revert ${last_name(component)}`;
  return [
    {
      title: 'Revert to template',
      icon: 'reset',
      disabled: !may_revert,
      run: () => (path === '' ? complain(model, revert_to_template(model, entities, label, false, component)) : revert_field(model, entities, component, path)),
    },
    {
      title: 'Apply to template',
      icon: 'template',
      disabled: !may || entities.length !== 1,
      hint: entities.length === 1 ? undefined : 'select one entity',
      run: () => complain(model, apply_to_template(model, entities[0], component, path)),
    },
  ];
}

function complain(model: Model, doing: Promise<unknown>): void {
  doing.catch((error: Error) => model.notices.say('problem', error.message));
}

export function link_commands(model: Model): Command[] {
  const { templates } = model;
  const linked = (): Entity[] => model.selection.entities.value.filter((entity) => templates.link(entity));
  const has_links = (): boolean => linked().length > 0 && model.may_edit.value;
  const has_one = (): boolean => linked().length === 1 && model.may_edit.value;
  const hint = (): string => (model.may_edit.value ? 'select an entity that was spawned from a template' : model.why_not_edit());
  const trees = (): Entity[][] => {
    const found = new Map<string, Entity[]>();
    for (const entity of linked()) {
      const all = [...(templates.instance(entity)?.entities.values() ?? [])];
      if (all.length > 0) found.set(id_text(all[0]), all);
    }
    return [...found.values()];
  };
  const whom = (entities: readonly Entity[]): string =>
    entities.length === 1 ? model.label(entities[0]) : `${counted(entities.length)} entities`;
  return [
    {
      id: 'template.revert',
      title: 'Revert to template',
      icon: 'reset',
      enabled: has_links,
      hint,
      run: () => complain(model, revert_to_template(model, linked(), `Revert ${whom(linked())}`)),
    },
    {
      id: 'template.revert_all',
      title: 'Revert the whole tree to its template',
      icon: 'reset',
      enabled: has_links,
      hint,
      run: () => complain(model, revert_to_template(model, trees().flat(), `Revert ${whom(trees().map(([first]) => first))}`, true)),
    },
    {
      id: 'template.apply',
      title: 'Apply to template',
      icon: 'template',
      enabled: has_one,
      hint,
      run: () => complain(model, apply_to_template(model, linked()[0], null, '')),
    },
    {
      id: 'template.apply_all',
      title: 'Apply the whole tree to its template',
      icon: 'template',
      enabled: () => has_one() && templates.instance(linked()[0])?.root != null,
      hint,
      run: () => complain(model, apply_all(model, linked()[0])),
    },
    {
      id: 'template.select',
      title: 'Select all trees of this template',
      icon: 'template',
      enabled: () => linked().length > 0,
      hint: () => 'select an entity that was spawned from a template',
      run: () => {
        const names = new Set(linked().map((entity) => templates.link(entity)!.name));
        const roots = [...names].flatMap((name) => templates.instances(name).flatMap(({ root }) => root ?? []));
        model.selection.set(roots);
      },
    },
    {
      id: 'template.unlink',
      title: 'Unlink from template',
      icon: 'close',
      enabled: has_links,
      hint,
      run: () => {
        const [entities, roots] = [trees().flat(), trees().map(([first]) => first)];
        const operations: Operation[] = [{ kind: 'remove', component: spawned_from, entities }];
        void model.edits.take(() => Promise.resolve({ label: `Unlink ${whom(roots)}`, operations }));
      },
    },
  ];
}
