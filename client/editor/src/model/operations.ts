// Edits as data: the effect of a step on the world, and its messages. Each operation has an
// inverse. Undo sends the inverse with the values that it expects, or without them if a handler
// writes the component. Without a connection, edits are not queued.
import { id_text, muster } from 'muster-client';
import type { BatchPlan, Client, Entity, Row, StructValue } from 'muster-client';

import type { OwnPart } from './own_writes.js';
import { part_with_references, with_references } from './values.js';

export interface FieldChange {
  entity: Entity;
  component: string;
  path: string;
  value: unknown;
  /** Refused if the field has a different value. */
  expected?: unknown;
}
export interface Made {
  entity: Entity;
  parent: Entity;
  before: Entity;
  name: string;
  components: Record<string, StructValue>;
}

export type Operation =
  | { kind: 'fields'; changes: FieldChange[] }
  | { kind: 'set'; component: string; values: { entity: Entity; value: StructValue }[] }
  | { kind: 'remove'; component: string; entities: Entity[] }
  | { kind: 'rename'; names: { entity: Entity; name: string }[] }
  | { kind: 'reparent'; places: { entity: Entity; parent: Entity; before: Entity }[] }
  /** Parents come before children. When redone, they get new ids; see Aliases. */
  | { kind: 'create'; made: Made[] }
  | { kind: 'spawn'; entity: Entity; template: string; parent: Entity; name: string }
  | { kind: 'destroy'; entities: Entity[] };

/** Maps the ids in steps to current entities, because redo creates entities with new ids. */
export class Aliases {
  private readonly now = new Map<string, Entity>();

  of(entity: Entity): Entity {
    let at = entity;
    for (let next; (next = this.now.get(id_text(at)));) at = next;
    return at;
  }
  set(entity: Entity, now: Entity): void {
    const at = this.of(entity);
    if (id_text(at) !== id_text(now)) this.now.set(id_text(at), now);
  }
}

const messages_max = 2000;

type Message = { target: Entity; value: unknown; rows?: Row[] };

async function push_all(client: Client, type_name: string, messages: Message[]): Promise<bigint> {
  const type = client.types.get(type_name);
  let last = 0n;
  for (let i = 0; i < messages.length; i += messages_max) {
    const plan: BatchPlan = { kind: 'each', type, messages: messages.slice(i, i + messages_max) };
    last = (await client.push_plan(plan)).sequence;
  }
  return last;
}

type Fields = Extract<Operation, { kind: 'fields' }>;
type Values = Extract<Operation, { kind: 'set' }>;

/** Returns the changes with current entity ids. */
function changes_now(client: Client, { changes }: Fields, aliases: Aliases): FieldChange[] {
  const now = (entity: Entity): Entity => aliases.of(entity);
  return changes.map((change) => {
    const type = client.types.component(change.component);
    const part = (value: unknown): unknown => part_with_references(type, change.path, value, now);
    return { ...change, entity: now(change.entity), value: part(change.value), expected: part(change.expected) };
  });
}
function values_now(client: Client, { component, values }: Values, aliases: Aliases): Values['values'] {
  const now = (entity: Entity): Entity => aliases.of(entity);
  const type = client.types.component(component);
  return values.map(({ entity, value }) => ({ entity: now(entity), value: with_references(type, value, now) }));
}

/** Returns the values that an operation writes to existing components, with current entity ids. */
export function written_by(client: Client, operation: Operation, aliases: Aliases): OwnPart[] {
  if (operation.kind === 'fields')
    return changes_now(client, operation, aliases).map(({ expected: _, ...change }) => change);
  if (operation.kind !== 'set') return [];
  const { component } = operation;
  return values_now(client, operation, aliases).map((each) => ({ ...each, component, path: '' }));
}

/**
 * Sends an operation. Resolves when the world has applied all of it, with the sequence of the last
 * batch (0 if there was none). Fails with the ClientError of the first refused batch.
 */
export async function apply(client: Client, operation: Operation, aliases: Aliases): Promise<bigint> {
  switch (operation.kind) {
    case 'fields': {
      const changes = changes_now(client, operation, aliases);
      let last = 0n;
      for (let i = 0; i < changes.length; i += messages_max)
        last = (await client.set_fields(changes.slice(i, i + messages_max))).sequence;
      return last;
    }
    case 'set': {
      const type = client.types.component(operation.component);
      return push_all(
        client,
        'muster.Set',
        values_now(client, operation, aliases).map(({ entity, value }) => ({
          target: entity,
          value: { mode: muster.SetMode.add_or_replace },
          rows: [{ type, value }],
        })),
      );
    }
    case 'remove': {
      const component = client.types.component(operation.component).id;
      const messages = operation.entities.map((entity) => ({ target: aliases.of(entity), value: { component } }));
      return push_all(client, 'muster.Remove', messages);
    }
    case 'rename':
      return push_all(
        client,
        'muster.Rename',
        operation.names.map(({ entity, name }) => ({ target: aliases.of(entity), value: { name } })),
      );
    case 'reparent':
      return push_all(
        client,
        'muster.Reparent',
        operation.places.map(({ entity, parent, before }) => ({
          target: aliases.of(entity),
          value: { parent: aliases.of(parent), before: aliases.of(before) },
        })),
      );
    case 'create':
      return create_all(client, operation.made, aliases);
    case 'spawn': {
      const root = await client.spawn(operation.template, aliases.of(operation.parent), operation.name);
      aliases.set(operation.entity, root);
      return client.so_far.sequence;
    }
    case 'destroy':
      return push_all(
        client,
        'muster.Destroy',
        operation.entities.map((entity) => ({ target: aliases.of(entity), value: {} })),
      );
  }
}

async function create_all(client: Client, made: Made[], aliases: Aliases): Promise<bigint> {
  // A batch has a single set of components, so consecutive entities with the same set share one.
  let run: Message[] = [];
  let run_has = '';
  let last = 0n;
  const flush = async (): Promise<void> => {
    if (run.length > 0) last = await push_all(client, 'muster.Create', run);
    run = [];
  };
  // Allocate all ids first, because values may refer to entities that come later.
  for (const { entity } of made) aliases.set(entity, await client.next_id());
  for (const { entity, parent, before, name, components } of made) {
    const target = aliases.of(entity);
    const rows = Object.entries(components).map(([component, value]) => {
      const type = client.types.component(component);
      return { type, value: with_references(type, value, (other) => aliases.of(other)) };
    });
    const has = rows.map(({ type }) => type.id).join();
    if (has !== run_has || run.length >= messages_max) await flush();
    run_has = has;
    run.push({
      target,
      value: { parent: aliases.of(parent), before: aliases.of(before), name, clash: muster.NameClash.suffix },
      ...(rows.length > 0 && { rows }),
    });
  }
  await flush();
  return last;
}

let placeholders = 0;
/** Returns an id that no world has. It stands for an entity that an operation will create. */
export function placeholder(): Entity {
  return { index: ++placeholders, generation: 0xffffffff };
}
