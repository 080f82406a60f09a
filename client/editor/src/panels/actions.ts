// The commands of the page, which keys, menus and buttons run.
import { is_nil, nil, session } from 'muster-client';
import type { Entity, StructValue } from 'muster-client';

import { fetch_slice, replay_command } from '../model/bug_slice.js';
import type { Command } from '../model/commands.js';
import type { Model } from '../model/model.js';
import { placeholder } from '../model/operations.js';
import { spawned_from, Template, transform } from '../templates/template.js';
import { default_value } from '../model/values.js';
import {
  chosen,
  copy_selected,
  copy_text,
  duplicate_selected,
  paste_entities,
  pasted_text,
  select_when_there,
} from './copying.js';
import { delete_selected } from './deleting.js';
import { hang } from './hang.js';
import { tree_commands } from './tree_keys.js';
import type { Ui } from './ui.js';

export interface NewThing {
  id: string;
  title: string;
  icon: string;
  name: string;
  /** Full names of the components, and values other than the defaults. */
  components: Record<string, (model: Model) => StructValue>;
  /** Extent along each axis, in meters. */
  size?: number;
  /** Height above the surface on which it is put, in meters. */
  lift?: number;
}

const shapes = ['box', 'sphere', 'cylinder', 'capsule', 'cone'];

/** Returns the objects that can be created with the world's schema. */
export function new_things(model: Model): NewThing[] {
  const plain =
    (name: string, change: StructValue = {}) =>
    (of: Model): StructValue => ({
      ...default_value(of.types.peek().get(name)!),
      ...change,
    });
  const things: NewThing[] = [{ id: 'empty', title: 'Empty', icon: 'circle', name: 'entity', components: {} }];
  if (!model.knows(transform)) return things;
  things[0].components = { [transform]: plain(transform) };
  if (model.knows('scene.Shape'))
    shapes.forEach((shape, kind) => {
      const components: NewThing['components'] = {
        [transform]: plain(transform),
        'scene.Shape': plain('scene.Shape', { kind }),
      };
      if (model.knows('scene.Color'))
        components['scene.Color'] = plain('scene.Color', { value: { r: 0.6, g: 0.6, b: 0.6, a: 1 } });
      things.push({ id: shape, title: shape[0].toUpperCase() + shape.slice(1), icon: shape, name: shape, components, size: 1 });
    });
  for (const [name, title, icon] of [
    ['scene.Light', 'Light', 'light'],
    ['scene.Camera', 'Camera', 'camera'],
  ])
    if (model.knows(name))
      things.push({
        id: title.toLowerCase(),
        title,
        icon,
        name: title.toLowerCase(),
        components: { [transform]: plain(transform), [name]: plain(name) },
        lift: 2,
      });
  return things;
}

export async function create_thing(model: Model, thing: NewThing, parent: Entity): Promise<void> {
  const entity = placeholder();
  const selected = model.selection.entities.peek();
  const components = Object.fromEntries(Object.entries(thing.components).map(([name, make]) => [name, make(model)]));
  const { size = 0, lift = 0 } = thing;
  const position = model.placer.peek()?.land(parent, { x: size, y: size, z: size }, lift);
  if (position && components[transform]) components[transform] = { ...components[transform], position: { ...position } };
  const now = await model.edits.create(
    `Create ${thing.name}`,
    [{ entity, parent, name: thing.name, components }],
    [entity],
  );
  if (now.length > 0) select_when_there(model, now, selected);
}

/** Spawns a template where the user looks, or at a point of the window. */
export async function spawn_template(
  model: Model,
  template: string,
  parent: Entity,
  at?: { x: number; y: number },
): Promise<void> {
  const selected = model.selection.entities.peek();
  const client = model.client.peek();
  if (!client) return;
  try {
    const of = new Template(await client.ask(session.GetTemplate, { name: template }), model.types.peek());
    const has_place = of.components('').includes(transform);
    const position = (has_place && model.placer.peek()?.land(parent, { x: 0, y: 0, z: 0 }, 0, at)) || null;
    const revision = model.templates.next_revision(template) - 1;
    const links = model.knows(spawned_from) ? of.paths.map((node) => ({ name: template, node, revision })) : [];
    const name = template.replace(/^.*\./, '');
    const made = await model.edits.spawn(template, parent, name, position && { ...position }, links);
    if (made) select_when_there(model, [made], selected);
  } catch (error) {
    model.notices.say('problem', (error as Error).message);
  }
}

/**
 * Returns the parent for new entities: the active entity, its parent if it is a thing in the
 * picture or a spawned tree, or nil without a selection.
 */
export function parent_for_new(model: Model): Entity {
  const { active } = model.selection;
  if (!active) return nil;
  const components = model.world.get(active)?.components ?? {};
  const is_thing =
    model.templates.link(active)?.node === '' ||
    drawn.some((name) => components[name] !== undefined || model.world.component(active, { name }));
  return is_thing ? (model.world.get(active)?.parent ?? nil) : active;
}
const drawn = ['Shape', 'MeshReference', 'Light', 'Camera'].map((name) => `scene.${name}`);

export async function save(model: Model): Promise<void> {
  try {
    await model.clock.save();
    const what = model.run.playing.peek() ? 'the run' : 'the running state';
    model.notices.say('done', `Saved ${what} to ${world_file(model)}.`);
  } catch (error) {
    const { message } = error as Error;
    const sentence = `Not saved: ${model.is_shown_above(message) ? 'the reason is at the top of the page.' : message}`;
    model.log.problem(sentence);
    model.notices.say('problem', sentence);
  }
}
/** Downloads a slice, and shows the command that replays it. */
export async function download_slice(model: Model): Promise<void> {
  try {
    const { name, bytes } = await fetch_slice();
    const link = document.createElement('a');
    link.href = URL.createObjectURL(bytes);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    const command = replay_command(name, model.keeper.status.peek()?.plugins ?? []);
    model.notices.say('done', `Downloaded ${name}, which holds what happened. To do it again: ${command}`, [
      { title: 'Copy the command', run: () => void copy_text(command) },
    ]);
  } catch (error) {
    const sentence = `No file was made: ${(error as Error).message}`;
    model.log.problem(sentence);
    model.notices.say('problem', sentence);
  }
}
export function world_file(model: Model): string {
  const path = model.world_path();
  return path.replace(/^.*\//, '') || 'the world file';
}

function center(): { x: number; y: number; width: number; height: number } {
  return { x: innerWidth / 2 - 130, y: 120, width: 0, height: 0 };
}

export function page_commands(model: Model, ui: Ui): Command[] {
  const has_selection = (): boolean => model.selection.entities.value.length > 0 && model.may_edit.value;
  const complain = (what: Promise<void>): void =>
    void what.catch((error: Error) => {
      model.log.problem(error.message);
      model.notices.say('problem', error.message);
    });
  const has_clock = (): boolean => model.clock.state.value !== null && model.may_control.value;
  const no_clock = (): string | undefined => {
    if (model.clock.state.value === null) return "this server's clock cannot be controlled";
    return model.may_control.value ? undefined : 'this session may not control the clock';
  };
  return [
    {
      id: 'page.palette',
      title: 'All commands…',
      icon: 'search',
      keys: ['$mod+k'],
      is_everywhere: true,
      group: 'all',
      run: () => (ui.dialog.value = 'palette'),
    },
    {
      id: 'page.keys',
      title: 'Keyboard map',
      keys: ['F1'],
      is_everywhere: true,
      run: () => (ui.dialog.value = 'keys'),
    },
    {
      id: 'edit.undo',
      title: 'Undo',
      icon: 'undo',
      keys: ['$mod+z'],
      enabled: () => model.steps.may_undo() && model.may_edit.value,
      hint: () => (model.may_edit.value ? 'there is nothing to undo' : model.why_not_edit()),
      run: () => model.steps.undo(),
    },
    {
      id: 'edit.redo',
      title: 'Redo',
      icon: 'redo',
      keys: ['$mod+y', '$mod+Shift+z'],
      enabled: () => model.steps.may_redo() && model.may_edit.value,
      hint: () => (model.may_edit.value ? 'there is nothing to redo' : model.why_not_edit()),
      run: () => model.steps.redo(),
    },
    {
      id: 'entity.create',
      title: 'Create…',
      icon: 'plus',
      keys: ['Shift+a'],
      group: 'make',
      enabled: () => model.may_edit.value,
      run: (at) => (ui.create_at.value = at ?? center()),
    },
    {
      id: 'entity.spawn',
      title: 'Spawn a template…',
      icon: 'template',
      group: 'make',
      enabled: () => model.may_edit.value,
      run: (at) => (ui.spawn_at.value = at ?? center()),
    },
    {
      id: 'entity.rename',
      title: 'Rename',
      icon: 'pencil',
      keys: ['F2'],
      group: 'entity',
      enabled: () => has_selection() && model.selection.entities.value.length === 1,
      run: () => {
        const entity = model.selection.active!;
        model.reveal(entity);
        ui.renaming.value = entity;
      },
    },
    {
      id: 'entity.duplicate',
      title: 'Duplicate',
      icon: 'duplicate',
      keys: ['$mod+d'],
      group: 'entity',
      enabled: has_selection,
      run: () => void duplicate_selected(model),
    },
    {
      id: 'entity.cut',
      title: 'Cut',
      keys: ['$mod+x'],
      group: 'entity',
      enabled: has_selection,
      run: () => void copy_selected(model, ui, true),
    },
    {
      id: 'entity.copy',
      title: 'Copy',
      icon: 'copy',
      keys: ['$mod+c'],
      group: 'entity',
      enabled: () => model.selection.entities.value.length > 0 && model.client.value !== null,
      run: () => void copy_selected(model, ui),
    },
    {
      id: 'entity.paste',
      title: 'Paste',
      icon: 'clipboard',
      keys: ['$mod+v'],
      group: 'entity',
      enabled: () => model.may_edit.value,
      hint: () => model.why_not_edit(),
      run: () => void paste_entities(model, ui, pasted_text()),
    },
    {
      id: 'entity.unparent',
      title: 'Move to the top of the tree',
      icon: 'tree',
      group: 'entity',
      enabled: () =>
        has_selection() &&
        model.selection.entities.value.some((entity) => !is_nil(model.world.get(entity)?.parent ?? nil)),
      run: () => void hang(model, chosen(model), nil),
    },
    ...tree_commands(model),
    {
      id: 'entity.send',
      title: 'Send a message…',
      icon: 'send',
      group: 'message',
      enabled: () => model.client.value !== null,
      run: () => (ui.tab.value = 'send'),
    },
    {
      id: 'entity.copy_path',
      title: 'Copy path',
      icon: 'copy',
      group: 'message',
      enabled: () => model.selection.entities.value.length > 0,
      run: () => void copy_text(model.selection.entities.peek().map((entity) => model.path(entity)).join('\n')),
    },
    {
      id: 'entity.delete',
      title: 'Delete',
      icon: 'trash',
      keys: ['Delete', '$mod+Backspace'],
      group: 'delete',
      enabled: has_selection,
      run: () => void delete_selected(model),
    },
    {
      id: 'run.toggle',
      title: 'Play or stop',
      icon: 'play',
      keys: ['$mod+Enter'],
      enabled: () => model.may_control.value && !model.run.is_asking(),
      hint: () => {
        if (model.client.value === null) return 'not connected';
        return model.may_control.value ? undefined : 'this session may not play or stop: that needs the right to control';
      },
      run: () => model.run.toggle(),
    },
    {
      id: 'run.keep',
      title: 'Apply to level',
      icon: 'keep',
      group: 'level',
      enabled: () => has_selection() && model.run.playing.value,
      hint: () => (model.run.playing.value ? 'nothing is selected' : 'no run is on: edits change the level at once'),
      is_listed: () => model.run.playing.value,
      run: () =>
        model.kept.keep_places(
          model.selection.entities.peek().map((entity) => ({ entity, component: 0, path: '' })),
        ),
    },
    {
      id: 'run.edits',
      title: 'Edits of the run',
      icon: 'keep',
      run: () => (ui.tab.value = 'run'),
    },
    {
      id: 'edit.history',
      title: 'History',
      run: () => (ui.tab.value = 'history'),
    },
    {
      id: 'clock.toggle',
      title: 'Pause or resume',
      icon: 'pause',
      keys: ['Space'],
      enabled: has_clock,
      hint: no_clock,
      checked: () => model.clock.paused.value,
      run: () => complain(model.clock.paused.peek() ? model.clock.play() : model.clock.pause()),
    },
    {
      id: 'clock.step',
      title: 'Step one tick',
      icon: 'step',
      keys: ['.'],
      enabled: () => has_clock() && model.clock.paused.value,
      hint: () => no_clock() ?? (model.clock.paused.value ? undefined : 'pause first'),
      run: () => complain(model.clock.step(1)),
    },
    {
      id: 'world.save',
      title: 'Save',
      icon: 'save',
      keys: ['$mod+s'],
      is_everywhere: true,
      enabled: () => model.may_control.value && !model.clock.is_saving.value,
      hint: () =>
        model.client.value === null
          ? 'not connected'
          : model.may_control.value
            ? undefined
            : 'this session may not save: that needs the right to control',
      run: () => void save(model),
    },
    {
      id: 'world.slice',
      title: 'Send this bug…',
      icon: 'bug',
      enabled: () => model.may_control.value,
      hint: () =>
        model.client.value === null
          ? 'not connected'
          : model.may_control.value
            ? undefined
            : 'this session may not: that needs the right to control',
      run: () => void download_slice(model),
    },
    {
      id: 'find.tree',
      title: 'Search entities',
      icon: 'search',
      keys: ['/'],
      run: () => document.querySelector<HTMLInputElement>('#tree-search')?.focus(),
    },
    {
      id: 'select.none',
      title: 'Deselect all',
      keys: ['Escape'],
      enabled: () =>
        model.selection.entities.value.length > 0 || ui.cut.value !== null || model.picking.value !== null,
      // The first Escape ends a choice of an entity, removes the messages of refused fields, or
      // cancels a cut.
      run: () => {
        if (model.picking.peek()) model.picking.value = null;
        else if (model.edits.refusals.peek().size > 0) model.edits.forget_refusal();
        else if (ui.cut.peek()) ui.cut.value = null;
        else model.selection.clear();
      },
    },
  ];
}
