// Spawned trees and their templates. A tree's entities name their nodes (scene.SpawnedFrom). A
// value that differs from the node's is overridden. A change of a template goes to the server as
// one step with the changes of all trees, so one undo takes back both. The step is computed here,
// because only the author's change must be carried over, and the server needs no rule for it. It
// expects the values and the revisions from which it was computed; if another user has changed one
// of them, the server refuses the whole step, and it is computed again.
import { effect, signal } from '@preact/signals';
import { hash64, id_text, is_nil, nil, Replica, same_entity, session } from 'muster-client';
import type { Client, ClientError, Entity, muster, StructValue } from 'muster-client';

import type { Model } from '../model/model.js';
import { placeholder } from '../model/operations.js';
import type { FieldChange, Made, Operation } from '../model/operations.js';
import { is_in_templates, is_own_place, properties, spawned_from, Template } from './template.js';
import type { Types } from './template.js';
import { at_path, same_value } from '../model/values.js';

export interface Link {
  /** The template's name. */
  name: string;
  /** The path of the node. */
  node: string;
  revision: number;
}

/** A spawned tree. */
export interface Instance {
  /** Null if the entity of the root is gone or no longer linked. */
  root: Entity | null;
  revision: number;
  /** By the paths of their nodes. */
  entities: Map<string, Entity>;
}

/** A new definition of a template, and what else belongs to the same step. */
export interface Definition {
  now: muster.DefineTemplate;
  /** The entities from which it was made, in the order of its nodes. They are linked to it. */
  made_of?: readonly Entity[];
}

/** Components of entities, by id. */
export type Values = ReadonlyMap<string, Record<string, StructValue>>;

const read_at_once = 1000;
const tries_max = 4;

/** Reads all components of entities. Entities that are gone are left out. */
export async function read_values(client: Client, entities: readonly Entity[]): Promise<Values> {
  const values = new Map<string, Record<string, StructValue>>();
  for (let i = 0; i < entities.length; i += read_at_once) {
    const replica = new Replica();
    await replica.follow(client, { entities: entities.slice(i, i + read_at_once) });
    await replica.stop();
    for (const { entity, components } of replica) values.set(id_text(entity), components);
  }
  return values;
}

/** Computes what changes in a tree when its template changes from `old` to `now`. */
export function carried(
  old: Template,
  now: Template,
  instance: Instance,
  values: Values,
  types: Types,
  is_driven: (component: string) => boolean,
): Operation[] {
  const { entities } = instance;
  const changes: FieldChange[] = [];
  const operations: Operation[] = [];
  const unlinked: Entity[] = [];
  const to = (path: string): Entity | undefined => entities.get(path);
  for (const [path, entity] of entities) {
    const own = values.get(id_text(entity));
    if (!own || !old.has(path)) continue;
    if (!now.has(path)) {
      unlinked.push(entity);
      continue;
    }
    for (const component of new Set([...old.components(path), ...now.components(path)])) {
      const type = types.get(component);
      if (!is_in_templates(type)) continue;
      const [before, after] = [old.value(path, component, to), now.value(path, component, to)];
      const current: StructValue | undefined = own[component];
      if (before && after && current) {
        for (const property of properties(type)) {
          const [was, wanted] = [at_path(before, property), at_path(after, property)];
          if (is_own_place(path, component, property) || same_value(was, wanted)) continue;
          if (!same_value(at_path(current, property), was)) continue;
          const expected = is_driven(component) ? {} : { expected: was };
          changes.push({ entity, component, path: property, value: wanted, ...expected });
        }
      } else if (!before && after && !current)
        operations.push({ kind: 'set', component, values: [{ entity, value: after }] });
      else if (before && !after && current && same_value(current, before))
        operations.push({ kind: 'remove', component, entities: [entity] });
    }
  }
  if (changes.length > 0) operations.unshift({ kind: 'fields', changes });
  if (unlinked.length > 0) operations.push({ kind: 'remove', component: spawned_from, entities: unlinked });
  const made = missing_nodes(now, instance, (path) => !old.has(path));
  if (made.length > 0) operations.push({ kind: 'create', made });
  return operations;
}

/** Returns the entities to create for the nodes that a tree lacks. */
export function missing_nodes(
  template: Template,
  { entities, revision }: Instance,
  is_wanted: (path: string) => boolean = () => true,
): Made[] {
  const all = new Map(entities);
  const wanted = template.paths.flatMap((path, number) => {
    if (path === '' || entities.has(path) || !is_wanted(path)) return [];
    const { parent, name } = template.definition.nodes[number];
    const above = all.get(template.paths[parent]);
    if (!above) return [];
    const entity = placeholder();
    all.set(path, entity);
    return { path, entity, parent: above, name };
  });
  return wanted.map(({ path, entity, parent, name }) => {
    const own = template.components(path).map((component) => {
      return [component, template.value(path, component, (each) => all.get(each))!] as const;
    });
    const link = { name: template.name, node: path, revision };
    return {
      entity,
      parent,
      before: nil,
      name,
      components: { ...Object.fromEntries(own), [spawned_from]: link },
    };
  });
}

export class TemplateLinks {
  /** Changes whenever `usual` may return something else. */
  readonly version = signal(0);
  /** The templates of the selection. `key` changes with their revisions. */
  private readonly known = new Map<string, { key: string; template: Template | null }>();

  constructor(private readonly model: Model) {
    let selected: readonly Entity[] = [];
    effect(() => {
      const entities = model.selection.entities.value;
      void model.inspected_version.value;
      const client = model.client.value;
      if (entities !== selected) this.known.clear();
      selected = entities;
      if (client) for (const entity of entities) this.learn(client, entity);
    });
    model.on_change(({ values }) => {
      const client = model.client.peek();
      if (client && values.some(({ component }) => component === spawned_from))
        for (const entity of selected) this.learn(client, entity);
    });
  }

  /** Returns the template and the node that an entity was spawned from. */
  link(entity: Entity): Link | null {
    const value = this.model.component(entity, spawned_from);
    if (!value) return null;
    const name = this.model.text(value.name as bigint);
    return name === '' ? null : { name, node: this.model.text(value.node as bigint), revision: value.revision as number };
  }
  /** Returns the template of a selected entity, if it is known. */
  template(entity: Entity): Template | null {
    const link = this.link(entity);
    return (link && this.known.get(link.name)?.template) ?? null;
  }
  /** Returns the value that the template gives a selected entity. */
  usual(entity: Entity, component: string): StructValue | undefined {
    void this.version.value;
    const link = this.link(entity);
    const template = link && this.known.get(link.name)?.template;
    if (!template) return undefined;
    let instance: Instance | null = null;
    return template.value(link.node, component, (path) => {
      instance ??= this.instance(entity);
      return instance?.entities.get(path);
    });
  }
  /** Returns the tree that an entity was spawned with. */
  instance(entity: Entity): Instance | null {
    const { world } = this.model;
    const link = this.link(entity);
    if (!link) return null;
    const top = this.top(entity, link.name);
    const is_root = this.link(top)!.node === '';
    const entities = new Map<string, Entity>();
    const add = (each: Entity): void => {
      const own = this.link(each);
      const is_mine = own?.name === link.name && (own.node !== '' || each === top);
      if (own?.name === link.name && !is_mine) return; // another tree of the same template
      if (is_mine && !entities.has(own!.node)) entities.set(own!.node, each);
      if (world.child_count(each) > 0) for (const child of world.children(each)) add(child.entity);
    };
    add(top);
    return { root: is_root ? top : null, revision: this.link(top)!.revision, entities };
  }
  /** Returns the root of an entity's tree, or the highest of its entities that is left. */
  private top(entity: Entity, name: string): Entity {
    let top = entity;
    for (let at: Entity = entity; !is_nil(at); at = this.model.world.get(at)?.parent ?? nil) {
      const above = this.link(at);
      if (above?.name !== name) continue;
      top = at;
      if (above.node === '') break;
    }
    return top;
  }
  /** Returns all trees that were spawned from a template. */
  instances(name: string): Instance[] {
    const hash = hash64(name);
    const found: Instance[] = [];
    const seen = new Set<string>();
    for (const { entity, components } of this.model.world) {
      const value = components[spawned_from];
      if (value?.name !== hash || seen.has(id_text(entity))) continue;
      const instance = this.instance(entity);
      if (!instance) continue;
      for (const each of instance.entities.values()) seen.add(id_text(each));
      seen.add(id_text(entity));
      found.push(instance);
    }
    return found;
  }
  /** Asks the server for a template; null if there is none. */
  async read(client: Client, name: string): Promise<Template | null> {
    try {
      return new Template(await client.ask(session.GetTemplate, { name }), this.model.types.peek());
    } catch (error) {
      if ((error as ClientError).fault?.reason === 'unknown_template') return null;
      throw error;
    }
  }
  /** Returns the revision for the next change of a template. */
  next_revision(name: string): number {
    return Math.max(0, ...this.instances(name).map(({ revision }) => revision)) + 1;
  }

  /**
   * Changes a template, and with it all its trees, as one step. `make` returns the new definition,
   * and operations that belong to the same step. Resolves with the number of trees that changed, or
   * with null after showing the reason if it was refused.
   */
  async change(
    label: string,
    name: string,
    make: (old: Template | null, client: Client, revision: number) => Promise<Definition | null>,
  ): Promise<number | null> {
    const { model } = this;
    const gesture = model.client.peek()?.next_gesture();
    const is_driven = (component: string): boolean => !model.clock.paused.peek() && model.is_driven(component);
    const done = new Set<string>();
    let change: { old: Template | null; now: Template } | null = null;
    let total = 0;
    // The second round is for trees that others spawned before the change arrived at the server.
    for (const is_first of [true, false]) {
      let seen: Instance[] = [];
      let changed = 0;
      let made_of: readonly Entity[] = [];
      const step = async (): Promise<{ label: string; operations: Operation[] } | null> => {
        const client = model.client.peek();
        if (!client) return null;
        const operations: Operation[] = [];
        const revision = this.next_revision(name);
        // With the revisions from before the read, a change of the template in between is refused.
        const trees = this.instances(name);
        if (is_first) {
          const old = await this.read(client, name);
          const made = await make(old, client, revision);
          if (!made) return null;
          change = { old, now: new Template(made.now, model.types.peek()) };
          operations.push({ kind: 'define', definition: made.now });
          made_of = made.made_of ?? [];
        }
        const { old, now } = change!;
        seen = old ? trees.filter((each) => !done.has(key_of(each))) : [];
        const values = await read_values(client, seen.flatMap(({ entities }) => [...entities.values()]));
        changed = 0;
        for (const instance of seen) {
          const is_source = made_of.some((each) => [...instance.entities.values()].some((own) => same_entity(each, own)));
          const own = is_source ? [] : carried(old!, now, instance, values, model.types.peek(), is_driven);
          if (own.length > 0) ++changed;
          operations.push(...own);
          const { root, revision: expected } = instance;
          if (!root || (own.length === 0 && !is_first)) continue;
          const guard = { entity: root, component: spawned_from, path: 'revision', value: revision, expected };
          operations.push({ kind: 'fields', changes: [guard] });
        }
        if (made_of.length > 0 && model.knows(spawned_from)) {
          const values = made_of.map((entity, i) => ({ entity, value: { name, node: now.paths[i], revision } }));
          operations.push({ kind: 'set', component: spawned_from, values });
        }
        return operations.length > 0 ? { label, operations } : null;
      };
      const issued = await model.edits.take(step, [], { gesture, tries: tries_max });
      if (!issued || !change) return null;
      total += changed;
      for (const each of seen) done.add(key_of(each));
    }
    return total;
  }

  private learn(client: Client, entity: Entity): void {
    const link = this.link(entity);
    if (!link) return;
    // A change of the root's revision means a change of the template.
    const key = String(this.link(this.top(entity, link.name))!.revision);
    const known = this.known.get(link.name);
    if (known?.key === key) return;
    const entry = { key, template: known?.template ?? null };
    this.known.set(link.name, entry);
    this.read(client, link.name).then(
      (template) => {
        entry.template = template;
        ++this.version.value;
      },
      () => {},
    );
  }
}

function key_of({ entities }: Instance): string {
  return id_text([...entities.values()][0]);
}
