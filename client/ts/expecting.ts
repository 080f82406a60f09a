// Edits that expect something of the world, and dry runs.
import type { Client } from './client.js';
import { mistaken } from './client_error.js';
import { InternText } from './muster.js';
import { DryRun, Expect } from './session.js';
import type { Expectation, WouldChange } from './session.js';
import { encode_steps, field_message } from './step.js';
import type { StepOptions, StepPart } from './step.js';
import { nil } from './types.js';
import type { Entity, Init, TypeKey, TypeRef } from './types.js';

type Component = TypeRef<never> | TypeRef;

/** Makes the values of StepOptions.expected. */
export const expect = {
  /** Part of a component has this value, as in set_field. */
  value(client: Client, entity: Entity, component: Component, path: string, value: unknown): Init<Expectation> {
    const field = field_message(client.types, component as TypeRef, path, value, () => undefined);
    return {
      what: Expect.value,
      entity,
      component: field.component,
      field: field.field,
      value: Uint8Array.from(field.value.slice(0, field.bytes)),
    };
  },
  present(client: Client, entity: Entity, component: Component): Init<Expectation> {
    return { what: Expect.present, entity, component: client.types.component(component as TypeRef).id };
  },
  absent(client: Client, entity: Entity, component: Component): Init<Expectation> {
    return { what: Expect.absent, entity, component: client.types.component(component as TypeRef).id };
  },
  /** The entity is a child of `parent`, or a root if that is nil. */
  parent(entity: Entity, parent: Entity): Init<Expectation> {
    return { what: Expect.parent, entity, parent };
  },
  /** The entity has this name, or none if it is empty. */
  name(entity: Entity, name: string): Init<Expectation> {
    return { what: Expect.name, entity, name };
  },
  /** This number of entities is below the entity, at any depth. */
  descendants(entity: Entity, count: number): Init<Expectation> {
    return { what: Expect.descendants, entity, count };
  },
};

/**
 * Asks what push_step would do. Nothing changes, and no handler is called. Fails like push_step if
 * the world would refuse the step. The parts cannot contain messages of the game.
 */
export async function dry_run(
  client: Client,
  parts: readonly StepPart[],
  { expected = [] }: Pick<StepOptions, 'expected'> = {},
): Promise<WouldChange> {
  const texts = new Set<string>();
  const encode = (all: readonly StepPart[]): Uint8Array[] =>
    encode_steps(client.types, all, {}, client.welcome.frame_bytes_max, () => 1n, (text) => texts.add(text));
  let steps = encode(parts);
  if (texts.size > 0) {
    const messages = [...texts].map((text) => ({ target: nil, value: { text } }));
    steps = encode([{ kind: 'table', type: client.types.get(InternText as TypeKey<never>), messages }, ...parts]);
  }
  if (steps.length > 1) throw mistaken('these edits are too many to be tried at once');
  return client.ask(DryRun, { expected: [...expected], batch: steps[0] });
}
