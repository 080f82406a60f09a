// Edits as data, and the batches that carry them out. Without a connection, edits are not queued.
import { id_text, muster, nil } from 'muster-client';
import type { BatchPlan, Client, Entity, FieldEdit, Row, StepPart, StructValue } from 'muster-client';

import type { OwnPart } from './own_writes.js';
import { spawned_from } from '../templates/template.js';
import { with_references } from './values.js';

export interface FieldChange {
  entity: Entity;
  component: string;
  path: string;
  value: unknown;
  /** Refused if the field has a different value. */
  expected?: unknown;
}
export interface Made {
  /** From placeholder(). */
  entity: Entity;
  parent: Entity;
  before: Entity;
  name: string;
  components: Record<string, StructValue>;
}

export type Operation =
  | { kind: 'fields'; changes: readonly FieldChange[] }
  | { kind: 'set'; component: string; values: readonly { entity: Entity; value: StructValue }[] }
  | { kind: 'remove'; component: string; entities: readonly Entity[] }
  | { kind: 'rename'; names: readonly { entity: Entity; name: string }[] }
  /** Parents may be entities that an earlier operation creates. */
  | { kind: 'reparent'; places: readonly { entity: Entity; parent: Entity; before: Entity }[] }
  /** Parents come before children. */
  | { kind: 'create'; made: readonly Made[] }
  /**
   * `entity`, from placeholder(), is the root. If `links` is given, it contains the values of
   * scene.SpawnedFrom for the nodes.
   */
  | { kind: 'spawn'; entity: Entity; template: string; parent: Entity; name: string; links?: readonly StructValue[] }
  | { kind: 'define'; definition: muster.DefineTemplate }
  | { kind: 'destroy'; entities: readonly Entity[] };

/** The ids that were issued for placeholders, by the text of the placeholder. */
export type Issued = ReadonlyMap<string, Entity>;

/** Returns the values that an operation writes to existing components. */
export function written_by(operation: Operation): OwnPart[] {
  if (operation.kind === 'fields') return operation.changes.map(({ expected: _, ...change }) => change);
  if (operation.kind !== 'set') return [];
  const { component } = operation;
  return operation.values.map((each) => ({ ...each, component, path: '' }));
}

/** Returns the parts of a step that carry out operations. Issues the ids of new entities. */
export async function prepared(
  client: Client,
  operations: readonly Operation[],
): Promise<{ parts: StepPart[]; issued: Issued }> {
  const parts: StepPart[] = [];
  const issued = new Map<string, Entity>();
  for (const operation of operations)
    if (operation.kind === 'create') {
      // Issue all ids first, because values may refer to entities that come later.
      for (const { entity } of operation.made) issued.set(id_text(entity), await client.next_id());
      parts.push(...created(client, operation.made, (entity) => issued.get(id_text(entity)) ?? entity));
    } else if (operation.kind === 'spawn') {
      const plan = await client.plan_spawn(operation.template, operation.parent, operation.name);
      issued.set(id_text(operation.entity), plan.targets[0]);
      parts.push(plan);
      const values = (operation.links ?? []).slice(0, plan.targets.length);
      if (values.length > 0)
        parts.push(
          ...edited(client, {
            kind: 'set',
            component: spawned_from,
            values: values.map((value, i) => ({ entity: plan.targets[i], value })),
          }),
        );
    } else if (operation.kind === 'reparent') {
      const now = (entity: Entity): Entity => issued.get(id_text(entity)) ?? entity;
      const places = operation.places.map((place) => ({ ...place, parent: now(place.parent), before: now(place.before) }));
      parts.push(...edited(client, { ...operation, places }));
    } else if (operation.kind === 'fields') {
      const changes = operation.changes.map((change) => ({
        ...change,
        entity: issued.get(id_text(change.entity)) ?? change.entity,
      }));
      parts.push(...edited(client, { ...operation, changes }));
    } else {
      parts.push(...edited(client, operation));
    }
  return { parts, issued };
}

/**
 * Sends operations as one step. Issues other ids if the server was started again before it had the
 * step.
 */
export async function push_operations(
  client: Client,
  operations: readonly Operation[],
  options: Parameters<Client['push_step']>[1],
): Promise<{ issued: Issued; sequence: bigint }> {
  for (let is_again = false; ; is_again = true) {
    const { parts, issued } = await prepared(client, operations);
    try {
      return { issued, sequence: (await client.push_step(parts, options)).sequence };
    } catch (error) {
      const { fault } = error as { fault?: { reason: string } };
      if (is_again || fault?.reason !== 'id_not_granted') throw error;
    }
  }
}

type Messages = (BatchPlan & { kind: 'each' })['messages'];

function edited(client: Client, operation: Exclude<Operation, { kind: 'create' | 'spawn' }>): StepPart[] {
  const each = (name: string, messages: Messages): StepPart[] => [
    { kind: 'each', type: client.types.get(name), messages },
  ];
  switch (operation.kind) {
    case 'fields': {
      // The edits of one batch have either all an expected value, or none.
      const guarded: FieldEdit[] = operation.changes.filter(({ expected }) => expected !== undefined);
      const plain: FieldEdit[] = operation.changes.filter(({ expected }) => expected === undefined);
      return [plain, guarded].filter(({ length }) => length > 0).map((edits) => ({ kind: 'fields', edits }));
    }
    case 'set': {
      const type = client.types.component(operation.component);
      const value = { mode: muster.SetMode.add_or_replace };
      const { values } = operation;
      return each('muster.Set', values.map((of) => ({ target: of.entity, value, rows: [{ type, value: of.value }] })));
    }
    case 'remove': {
      const value = { component: client.types.component(operation.component).id };
      return each('muster.Remove', operation.entities.map((target) => ({ target, value })));
    }
    case 'define': {
      const type = client.types.get('muster.DefineTemplate');
      return [{ kind: 'table', type, messages: [{ target: nil, value: operation.definition }] }];
    }
    case 'rename':
      return each('muster.Rename', operation.names.map(({ entity, name }) => ({ target: entity, value: { name } })));
    case 'reparent':
      return each('muster.Reparent', operation.places.map(({ entity, ...value }) => ({ target: entity, value })));
    case 'destroy':
      return each('muster.Destroy', operation.entities.map((target) => ({ target, value: {} })));
  }
}

function created(client: Client, made: readonly Made[], now: (entity: Entity) => Entity): StepPart[] {
  const type = client.types.get('muster.Create');
  // A batch has a single set of components, so consecutive entities with the same set share one.
  const runs: { has: string; messages: Messages[number][] }[] = [];
  for (const { entity, parent, before, name, components } of made) {
    const rows: Row[] = Object.entries(components).map(([component, value]) => {
      const of = client.types.component(component);
      return { type: of, value: with_references(of, value, now) };
    });
    const has = rows.map((row) => row.type.id).join();
    if (runs.at(-1)?.has !== has) runs.push({ has, messages: [] });
    const value = { parent: now(parent), before: now(before), name, clash: muster.NameClash.suffix };
    runs.at(-1)!.messages.push({ target: now(entity), value, ...(rows.length > 0 && { rows }) });
  }
  return runs.map(({ messages }) => ({ kind: 'each', type, messages }));
}

let placeholders = 0;
/** Returns an id that no world has. It stands for an entity that an operation will create. */
export function placeholder(): Entity {
  return { index: ++placeholders, generation: 0xffffffff };
}
