// Commands that change the tree and keep entities in place: group, ungroup, duplicate again, array.
import { id_text, is_nil, nil, same_entity } from 'muster-client';
import type { Entity } from 'muster-client';

import type { Command } from '../model/commands.js';
import { copy_trees, make_copies, read_trees } from '../model/copies.js';
import type { Step } from '../model/edits.js';
import type { Model } from '../model/model.js';
import type { FieldChange, Made, Operation } from '../model/operations.js';
import { placeholder } from '../model/operations.js';
import { default_value } from '../model/values.js';
import { chosen, duplicated, last_duplication, select_when_there } from '../panels/copying.js';
import { siblings_of } from '../panels/tree_keys.js';
import type { Ui } from '../panels/ui.js';
import type { TransformValue } from '../view/contents.js';

const component = 'scene.Transform';
const parent_of = (model: Model, entity: Entity): Entity => model.world.get(entity)?.parent ?? nil;

function transform_of(model: Model, entity: Entity): TransformValue | undefined {
  const value = model.edits.writes.over(entity, component, model.component(entity, component));
  return value as unknown as TransformValue | undefined;
}
/** Returns the fields that keep entities in place below another parent, which may be a new one. */
async function kept_fields(
  model: Model,
  entities: readonly Entity[],
  parent: Entity,
  made?: { entity: Entity; parent: Entity; transform: TransformValue },
): Promise<FieldChange[]> {
  if (!model.knows(component)) return [];
  const { kept_places } = await import('../view/kept_place.js');
  const puts = kept_places(
    {
      transform: (entity) => (entity === made?.entity ? made.transform : transform_of(model, entity)),
      parent: (entity) => (entity === made?.entity ? made.parent : parent_of(model, entity)),
      children: (entity) => model.world.children(entity).map((child) => child.entity),
    },
    entities,
    parent,
  );
  return puts.flatMap(({ entity, ...parts }) =>
    Object.entries(parts).map(([path, value]) => ({ entity, component, path, value })),
  );
}
const fields = (changes: FieldChange[]): Operation[] => (changes.length > 0 ? [{ kind: 'fields', changes }] : []);

/** Returns entities in the order of the tree if they are siblings, and as selected otherwise. */
async function in_order(model: Model, entities: readonly Entity[]): Promise<Entity[]> {
  const parent = parent_of(model, entities[0]);
  if (!entities.every((entity) => same_entity(parent_of(model, entity), parent))) return [...entities];
  const places = new Map((await siblings_of(model, parent)).map((entity, i) => [id_text(entity), i]));
  return [...entities].sort((a, b) => (places.get(id_text(a)) ?? 0) - (places.get(id_text(b)) ?? 0));
}

async function group(model: Model): Promise<void> {
  const selected = model.selection.entities.peek();
  if (chosen(model).length === 0) return;
  const entity = placeholder();
  const make = async (): Promise<Step> => {
    const entities = await in_order(model, chosen(model));
    const parent = parent_of(model, entities[0]);
    const components: Made['components'] = {};
    let made: Parameters<typeof kept_fields>[3];
    if (model.knows(component)) {
      const position = model.placer.peek()?.middle(entities, parent) ?? { x: 0, y: 0, z: 0 };
      const transform = { ...default_value(model.types.peek().get(component)!), position } as unknown as TransformValue;
      components[component] = transform as never;
      made = { entity, parent, transform };
    }
    const changes = await kept_fields(model, entities, entity, made);
    const before = is_nil(parent) ? nil : entities[0];
    return {
      label: `Group ${entities.length === 1 ? model.label(entities[0]) : `${entities.length} entities`}`,
      operations: [
        { kind: 'create', made: [{ entity, parent, before, name: 'group', components }] },
        { kind: 'reparent', places: entities.map((each) => ({ entity: each, parent: entity, before: nil })) },
        ...fields(changes),
      ],
    };
  };
  const issued = await model.edits.take(make, [entity]);
  if (issued && issued.length > 0) select_when_there(model, issued, selected);
}

/** Components of an entity that is nothing but a group. */
const of_groups = new Set([component, 'muster.Name', 'muster.ChildOf']);

/** Returns the components of an entity. Asks the server if they have not arrived yet. */
async function components_of(model: Model, entity: Entity): Promise<object> {
  return model.inspected.get(entity)?.components ?? (await model.client.peek()?.show(entity))?.components ?? { unknown: 1 };
}

async function ungroup(model: Model): Promise<void> {
  const freed: Entity[] = [];
  const make = async (): Promise<Step | null> => {
    const groups = chosen(model).filter((entity) => model.world.child_count(entity) > 0);
    if (groups.length === 0) return null;
    const operations: Operation[] = [];
    const changes: FieldChange[] = [];
    const emptied: Entity[] = [];
    for (const entity of groups) {
      const parent = parent_of(model, entity);
      const children = [...(await siblings_of(model, entity))];
      const before = is_nil(parent) ? nil : entity;
      changes.push(...(await kept_fields(model, children, parent)));
      operations.push({ kind: 'reparent', places: children.map((child) => ({ entity: child, parent, before })) });
      freed.push(...children);
      if (Object.keys(await components_of(model, entity)).every((name) => of_groups.has(name))) emptied.push(entity);
    }
    operations.push(...fields(changes));
    if (emptied.length > 0) operations.push({ kind: 'destroy', entities: emptied });
    return { label: `Ungroup ${groups.length === 1 ? model.label(groups[0]) : `${groups.length} groups`}`, operations };
  };
  if ((await model.edits.take(make)) && freed.length > 0) model.selection.set(freed);
}

/**
 * Duplicates the selection, and moves the copies as the last copies were moved from the originals.
 */
async function duplicate_again(model: Model): Promise<void> {
  const client = model.client.peek();
  const selected = model.selection.entities.peek();
  const entities = chosen(model);
  if (!client || entities.length === 0) return;
  const moves = await relative_moves(model, entities);
  const copies = await copy_trees(client, entities);
  copies.roots.forEach((root, i) => {
    const made = copies.made.find(({ entity }) => entity === root);
    const move = moves?.[i];
    const transform = made?.components[component];
    if (made && move && transform) made.components = { ...made.components, [component]: move(transform as never) as never };
  });
  const now = await model.edits.duplicate(entities, copies);
  if (now.length === 0) return;
  duplicated(entities, now);
  select_when_there(model, now, selected);
}
async function relative_moves(
  model: Model,
  entities: readonly Entity[],
): Promise<((of: TransformValue) => TransformValue)[] | null> {
  const { originals, copies } = last_duplication();
  if (copies.length !== entities.length) return null;
  const { changed_by, matrix_of } = await import('../view/kept_place.js');
  const moves = entities.map((entity) => {
    const at = copies.findIndex((copy) => same_entity(copy, entity));
    const [from, to] = [transform_of(model, originals[at] ?? nil), transform_of(model, entity)];
    if (at < 0 || !from || !to) return null;
    const change = matrix_of(to).multiply(matrix_of(from).invert());
    return (of: TransformValue) => changed_by(of, change);
  });
  return moves.every((move) => move !== null) ? moves : null;
}

export interface ArrayOrder {
  counts: readonly [number, number, number];
  /** Distances along X, Y and Z in meters; for a line, one vector for each copy. */
  steps: readonly [number, number, number];
  /** If set, the number of entities of a line. */
  line: number | null;
}
/** Returns the offset of each copy; the original is not among them. */
export function offsets_of({ counts, steps, line }: ArrayOrder): [number, number, number][] {
  const at = (x: number, y: number, z: number): [number, number, number] => [x * steps[0], y * steps[1], z * steps[2]];
  if (line !== null) return Array.from({ length: Math.max(0, line - 1) }, (_, i) => at(i + 1, i + 1, i + 1));
  const all: [number, number, number][] = [];
  for (let y = 0; y < counts[1]; ++y)
    for (let z = 0; z < counts[2]; ++z) for (let x = 0; x < counts[0]; ++x) if (x + y + z > 0) all.push(at(x, y, z));
  return all;
}

/** Makes the copies of an array as one step, each below the parent of its original. */
export async function make_array(model: Model, order: ArrayOrder): Promise<void> {
  const client = model.client.peek();
  const entities = chosen(model);
  const offsets = offsets_of(order);
  if (!client || entities.length === 0 || offsets.length === 0) return;
  const read = await read_trees(client, entities);
  const made: ReturnType<typeof make_copies>['made'] = [];
  const roots: Entity[] = [];
  const originals: Entity[] = [];
  for (const [x, y, z] of offsets) {
    const copies = make_copies(client, read, entities);
    copies.roots.forEach((root, i) => {
      const of = copies.made.find(({ entity }) => entity === root);
      const transform = of?.components[component] as unknown as TransformValue | undefined;
      if (!of) return;
      roots.push(root);
      originals.push(entities[i]);
      if (!transform) return;
      const { position } = transform;
      const moved = { ...transform, position: { x: position.x + x, y: position.y + y, z: position.z + z } };
      of.components = { ...of.components, [component]: moved as never };
    });
    made.push(...copies.made);
  }
  await model.edits.duplicate(originals, { made, roots, left_out: [] }, `Array of ${offsets.length + 1}`);
}

export function structure_commands(model: Model, ui: Ui): Command[] {
  const has = (): boolean => model.selection.entities.value.length > 0 && model.may_edit.value;
  const complain = (what: Promise<unknown>): void =>
    void what.catch((error: Error) => model.notices.say('problem', error.message));
  const { seen, selection } = model;
  const is_selecting = (): boolean => selection.entities.value.length > 0;
  return [
    {
      id: 'entity.duplicate_again',
      title: 'Duplicate and move as before',
      keys: ['$mod+Shift+d'],
      enabled: has,
      run: () => complain(duplicate_again(model)),
    },
    {
      id: 'arrange.group',
      title: 'Group',
      icon: 'group',
      keys: ['$mod+g'],
      group: 'arrange',
      enabled: has,
      run: () => complain(group(model)),
    },
    {
      id: 'arrange.ungroup',
      title: 'Ungroup',
      keys: ['$mod+Shift+g'],
      group: 'arrange',
      enabled: () => has() && selection.entities.value.some((entity) => model.world.child_count(entity) > 0),
      run: () => complain(ungroup(model)),
    },
    {
      id: 'arrange.array',
      title: 'Array…',
      enabled: () => has() && model.knows(component),
      run: () => (ui.dialog.value = 'array'),
    },
    {
      id: 'view.hide',
      title: 'Hide or show',
      icon: 'eye-off',
      keys: ['h'],
      group: 'arrange',
      enabled: is_selecting,
      run: () => {
        const entities = selection.entities.peek();
        seen.hide(entities, !entities.every((entity) => seen.hides(entity)));
      },
    },
    {
      id: 'view.isolate',
      title: 'Show only the selection',
      icon: 'eye',
      keys: ['Shift+h'],
      enabled: () => is_selecting() || seen.is_isolating,
      checked: () => seen.is_isolating,
      run: () => seen.isolate(seen.is_isolating ? [] : selection.entities.peek()),
    },
    {
      id: 'view.show_all',
      title: 'Show everything',
      keys: ['Alt+h'],
      enabled: () => seen.is_hiding,
      run: () => seen.show_all(),
    },
    {
      id: 'view.lock',
      title: 'Lock or unlock',
      icon: 'lock',
      keys: ['l'],
      group: 'arrange',
      enabled: is_selecting,
      run: () => {
        const entities = selection.entities.peek();
        seen.lock(entities, !entities.every((entity) => seen.locks(entity)));
      },
    },
    {
      id: 'view.unlock_all',
      title: 'Unlock everything',
      keys: ['Alt+l'],
      enabled: () => seen.is_locking,
      run: () => seen.unlock_all(),
    },
  ];
}
