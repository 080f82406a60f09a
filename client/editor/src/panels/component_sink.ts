// Edits one component of the selected entities.
import { id_text, rights } from 'muster-client';
import type { Entity, StructValue, TypeDescriptor } from 'muster-client';

import { refusal_key } from '../model/edits.js';
import type { Model } from '../model/model.js';
import { is_own_place } from '../templates/template.js';
import { at_path, default_value, same_value, words } from '../model/values.js';
import { anchor_of } from '../parts/popover.js';
import { Wrong } from '../parts/sink.js';
import type { NewValue, ValueSink } from '../parts/sink.js';
import { has_usual } from '../templates/template_actions.js';
import type { Ui } from './ui.js';

const usual_values = new WeakMap<TypeDescriptor, StructValue>();
function usual_value(type: TypeDescriptor): StructValue {
  let value = usual_values.get(type);
  if (!value) usual_values.set(type, (value = default_value(type)));
  return value;
}
/** An empty text is a hash of 0 in a default. */
function as_told(value: unknown): unknown {
  return value === '' ? 0n : value;
}

export function component_sink(model: Model, ui: Ui, type: TypeDescriptor, entities: readonly Entity[]): ValueSink {
  const component = type.name;
  const places = new Map(entities.map((entity, i) => [entity.index, i]));
  const for_entity = (value: NewValue) =>
    typeof value === 'function'
      ? (entity: Entity): unknown => (value as (i: number) => unknown)(places.get(entity.index) ?? 0)
      : value;
  const read_only = ((): string | null => {
    if (type.remote === 'none') return 'only the world writes this';
    if (!model.may_edit.value) return model.why_not_edit();
    if (rights.indexOf(type.remote) > model.role.value) return `this needs the right to ${type.remote}`;
    return null;
  })();
  return {
    read_only,
    is_live: true,
    commit: (path, value, was) => {
      if (value instanceof Wrong) model.edits.show_wrong(component, path, value.sentence);
      else void model.edits.set_field(entities, component, path, for_entity(value), was);
    },
    drag: (path) => {
      const whom = entities.length === 1 ? model.label(entities[0]) : `${entities.length} entities`;
      const drag = model.edits.drag(`Set ${words(path)} of ${whom}`);
      return {
        set: (at, value) => {
          const of = for_entity(value);
          for (const entity of entities) drag.set(entity, component, at, typeof of === 'function' ? of(entity) : of);
        },
        commit: () => drag.commit(),
        cancel: () => drag.cancel(),
      };
    },
    angles: (path, i) => {
      const owner = `${id_text(entities[i])}|${component}|${path}`;
      return {
        shown: (rotation) => model.angles.shown(owner, rotation),
        typed: (euler, instead_of) => model.angles.typed(owner, euler, instead_of),
      };
    },
    refusal: (path) => model.edits.refusals.value.get(refusal_key(component, path)),
    forget: (path) => model.edits.forget_refusal(refusal_key(component, path)),
    text: (hash) => model.text(hash),
    label: (entity) => (model.world.get(entity) ? model.label(entity) : undefined),
    click_entity: (chosen) => {
      model.picking.value = chosen;
    },
    menu: (at, path, field, as_element, values) => {
      ui.field_menu.value = { at, type, entities, path, field, as_element, values, read_only };
    },
    differs: (path, values) => {
      const differ = (value: unknown, i: number): boolean => {
        const entity = entities[i];
        const given = entity && model.templates.usual(entity, component);
        if (given && is_own_place(model.templates.link(entity)!.node, component, path)) return false;
        return value !== undefined && !same_value(as_told(value), at_path(given ?? usual_value(type), path));
      };
      return values.some(differ);
    },
    differs_from: has_usual(model, entities, component) ? 'template' : 'default',
    keep: model.run.playing.value
      ? {
          is_edited: (path) => entities.some((entity) => model.kept.has_edited(entity, component, path)),
          apply: (path) => model.kept.keep_places(entities.map((entity) => ({ entity, component: type.id, path }))),
        }
      : undefined,
    pick_entity: (at, chosen) => (ui.pick.value = { at: anchor_of(at), title: 'Choose an entity', chosen }),
    show_entity: (entity) => {
      model.selection.set([entity]);
      model.reveal(entity);
    },
  };
}
