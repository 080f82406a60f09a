// Embeds the viewport in the page, and implements ViewWorld with the page's Model.
import { effect } from '@preact/signals';
import type { Model } from '../model/model.js';
import type { TransformValue } from './contents.js';
import { Portraits } from './portraits.js';
import { Stage } from './stage.js';
import './viewport.css';
import type { Entity, FieldEdit, TransformEdit, ViewWorld } from './world.js';

const transform = 'scene.Transform';
const transform_key: { name: string; value?: TransformValue } = { name: transform };

/** Shows the viewport in `host`, which must have a place and a size, until it is disposed of. */
export function mount_viewport(host: HTMLElement, model: Model): { stage: Stage; dispose(): void } {
  const stage = new Stage(host, world_of(model));
  const unregister = model.commands.register(stage.commands);
  model.placer.value = stage.arranger;
  const portraits = new Portraits(stage.renderer, stage.contents.models);
  model.assets.portray.value = (path) => portraits.draw(path);
  return {
    stage,
    dispose(): void {
      model.placer.value = null;
      model.assets.portray.value = null;
      portraits.dispose();
      unregister();
      stage.dispose();
    },
  };
}

function world_of(model: Model): ViewWorld {
  return {
    entities: () => model.world,
    get: (entity) => model.world.get(entity),
    transform: (entity) => model.world.component(entity, transform_key),
    column: (name) => model.world.column(name),
    text: (hash) => model.text(hash),
    has_transforms: () => model.knows(transform),
    follow: (changes) => model.on_change(changes),
    selection: () => model.selection.entities.peek(),
    select(entities, how) {
      if (model.picking.peek() && entities.length === 1) return model.pick(entities[0]);
      if (how === 'only') model.selection.set(entities);
      else if (how === 'add') model.selection.add(entities);
      else toggle(model, entities);
      // Reveal a clicked entity in the tree, but not the entities of a rectangle, which would open
      // half of it.
      if (entities.length === 1 && model.selection.has(entities[0])) model.reveal(entities[0]);
    },
    on_selection: (changed) => later(() => void model.selection.entities.value, changed),
    may_edit: () => model.may_edit.peek(),
    is_hidden: (entity) => model.seen.is_hidden(entity),
    is_locked: (entity) => model.seen.is_locked(entity),
    hides_some: () => model.seen.is_hiding,
    on_hidden: (changed) => later(() => void model.seen.version.value, changed),
    on_may_edit: (changed) => later(() => void model.may_edit.value, changed),
    begin_edit(title): TransformEdit {
      const drag = model.edits.drag(title);
      return {
        get is_over() {
          return drag.is_over;
        },
        put(values) {
          for (const { entity, position, rotation, scale } of values) {
            if (position) drag.set(entity, transform, 'position', position);
            if (rotation) drag.set(entity, transform, 'rotation', rotation);
            if (scale) drag.set(entity, transform, 'scale', scale);
          }
        },
        end: () => drag.commit(),
        cancel: () => drag.cancel(),
      };
    },
    begin_field_edit(title, entity, component): FieldEdit {
      const drag = model.edits.drag(title);
      return {
        get is_over() {
          return drag.is_over;
        },
        put: (path, value) => drag.set(entity, component, path, value),
        end: () => drag.commit(),
        cancel: () => drag.cancel(),
      };
    },
    fetch_file: (path) => model.fetch_file(path),
    on_files: (changed) => model.assets.on_change(changed),
    was_read: (path, why) => model.assets.was_read(path, why),
    log: (level, text) => (level === 'problem' ? model.log.problem(text) : model.log.note(text)),
    menu: (x, y) => model.commands.menu_at(x, y),
    others: () => model.people.others.peek(),
    on_others: (changed) => later(() => void model.people.others.value, changed),
    tell_camera: (position, target) => model.people.look(position, target),
    held: (entities) => model.people.held(entities),
    hovered: () => model.hovered.peek(),
    hover(entity) {
      model.hovered.value = entity;
    },
    on_hovered: (changed) => later(() => void model.hovered.value, changed),
  };
}

/** Changes the selection once, because each change notifies all subscribers. */
function toggle(model: Model, entities: readonly Entity[]): void {
  const out = entities.filter((entity) => model.selection.has(entity));
  const gone = new Set(out.map(({ index }) => index));
  const kept = model.selection.entities.peek().filter(({ index }) => !gone.has(index));
  model.selection.set([...kept, ...entities.filter(({ index }) => !gone.has(index))]);
}

/** Calls `changed` when the signals that `read` reads change, but not for their current values. */
function later(read: () => void, changed: () => void): () => void {
  let is_first = true;
  return effect(() => {
    read();
    if (!is_first) changed();
    is_first = false;
  });
}
