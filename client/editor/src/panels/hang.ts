// Moves entities to another parent in the tree. They stay in place, or with `keeps_local` keep
// their values and move with the new parent.
import { nil } from 'muster-client';
import type { Entity } from 'muster-client';

import type { FieldChange } from '../model/operations.js';
import type { Model } from '../model/model.js';
import type { TransformValue } from '../view/contents.js';

const component = 'scene.Transform';

export function hang(
  model: Model,
  entities: readonly Entity[],
  parent: Entity,
  before: Entity = nil,
  keeps_local = false,
): Promise<boolean> {
  const kept = async (): Promise<FieldChange[]> => {
    const { kept_places } = await import('../view/kept_place.js');
    const puts = kept_places(
      {
        transform: (entity) =>
          model.edits.writes.over(entity, component, model.component(entity, component)) as unknown as
            | TransformValue
            | undefined,
        parent: (entity) => model.world.get(entity)?.parent ?? nil,
        children: (entity) => model.world.children(entity).map((child) => child.entity),
      },
      entities,
      parent,
    );
    return puts.flatMap(({ entity, ...parts }) =>
      Object.entries(parts).map(([path, value]) => ({ entity, component, path, value })),
    );
  };
  return model.edits.reparent(entities, parent, before, model.knows(component) && !keeps_local ? kept : undefined);
}
