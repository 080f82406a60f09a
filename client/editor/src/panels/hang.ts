// Moves entities to another parent in the tree. They stay in place, or with `keeps_local` keep
// their values and move with the new parent.
import { is_nil, nil } from 'muster-client';
import type { Entity } from 'muster-client';

import type { FieldChange } from '../model/operations.js';
import { moved_roots, root_order } from '../model/root_order.js';
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
  const keeps = model.knows(component) && !keeps_local ? kept : undefined;
  if (!is_nil(parent) || !model.knows(root_order)) return model.edits.reparent(entities, parent, before, keeps);
  const next = is_nil(before) ? null : before;
  return model.edits.reparent(entities, nil, nil, keeps, () =>
    moved_roots(model.order.children(nil) ?? [], entities, next, (root) => model.root_place(root)),
  );
}
