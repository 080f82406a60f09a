// The actions on assets: put a model into the world, store files, rename one.
import type { Entity } from 'muster-client';

import type { Model } from '../model/model.js';
import { counted } from '../model/numbers.js';
import { as_sentence } from '../model/sentences.js';
import { parent_for_new } from '../panels/actions.js';
import { select_when_there } from '../panels/copying.js';
import type { Ui } from '../panels/ui.js';
import { AssetError, assets_folder } from './asset_files.js';
import { rename_operations } from './asset_references.js';
import { files_of, is_gltf, json_of, path_beside } from './gltf.js';
import { model_tree } from './gltf_tree.js';

type Point = { x: number; y: number };

/** Adds a model as entities, where the user looks or at a point of the window. */
export async function place_model(model: Model, path: string, at?: Point): Promise<void> {
  const name = file_name(path).replace(/\.[^.]*$/, '');
  try {
    if (!model.knows('scene.MeshReference') || !model.knows('scene.Transform'))
      throw new Error('this world has no scene.fbs, which models need');
    if (!is_gltf(path))
      throw new Error(
        `the page reads only glTF models (.gltf, .glb). In a terminal, "muster import ${path} WORLD" imports other formats`,
      );
    const selected = model.selection.entities.peek();
    const json = json_of(await model.fetch_file(path));
    const parent = parent_for_new(model);
    const { made, root } = model_tree(model, json, path, parent, name);
    const own = made[0].components['scene.Transform'];
    const position = model.placer.peek()?.land(parent, { x: 0, y: 0, z: 0 }, 0, at);
    if (position) made[0].components['scene.Transform'] = { ...own, position: { ...position } };
    const now = await model.edits.create(`Add ${name}`, made, [root]);
    if (now.length > 0) select_when_there(model, now, selected);
  } catch (error) {
    model.notices.say('problem', as_sentence(`${file_name(path)} was not added: ${(error as Error).message}`));
  }
}

export interface GivenFile {
  /** Below the folder that was dropped: "town/textures/grass.png". */
  path: string;
  file: File;
}

/**
 * Stores files, and adds the models among them at a point of the window if one is given. Asks
 * before it replaces files.
 */
export async function store_files(model: Model, ui: Ui, files: readonly GivenFile[], at?: Point): Promise<void> {
  if (!model.may_edit.peek()) return model.notices.say('problem', as_sentence(model.why_not_edit()));
  const stored: string[] = [];
  const taken: GivenFile[] = [];
  const refused: string[] = [];
  // Models come last, so that their textures are there when they are drawn.
  const ordered = [...files].sort((a, b) => Number(is_gltf(a.path)) - Number(is_gltf(b.path)));
  const store = async (given: GivenFile, replaces: boolean): Promise<boolean> => {
    try {
      await model.assets.upload(assets_folder + given.path, given.file, replaces);
      return true;
    } catch (error) {
      if (error instanceof AssetError && error.is_taken && !replaces) taken.push(given);
      else refused.push(`${given.path}: ${(error as Error).message}`);
      return false;
    }
  };
  const add = async (paths: readonly string[]): Promise<void> => {
    if (at) for (const path of paths.filter(is_gltf)) await place_model(model, path, at);
  };
  for (const given of ordered) if (await store(given, false)) stored.push(assets_folder + given.path);
  ui.tab.value = 'assets';
  if (stored.length > 0) {
    const what = stored.length === 1 ? stored[0] : `${counted(stored.length)} files`;
    const foreign = stored.find((path) => /\.(obj|fbx|stl|ply)$/i.test(path));
    const how = foreign ? ` In a terminal, "muster import ${foreign} WORLD" imports it.` : '';
    model.notices.say('done', `Stored ${what}.${how}`);
    await add(stored);
  }
  for (const sentence of refused) model.log.problem(`Not stored: ${sentence}`);
  if (refused.length > 0) {
    const more = refused.length > 1 ? ` ${counted(refused.length - 1)} more are in the log.` : '';
    model.notices.say('problem', `Not stored: ${as_sentence(refused[0])}${more}`);
  }
  if (taken.length === 0) return;
  const who = taken.length === 1 ? `${assets_folder}${taken[0].path} is` : `${counted(taken.length)} of these files are`;
  model.notices.say('problem', `${who} there already.`, [
    {
      title: 'Replace',
      run: () =>
        void (async (): Promise<void> => {
          const done: string[] = [];
          for (const given of taken) if (await store(given, true)) done.push(assets_folder + given.path);
          for (const sentence of refused) model.log.problem(`Not stored: ${sentence}`);
          await add(done);
        })(),
    },
  ]);
}

/** Renames a file, and changes everything that refers to it as one step. */
export async function rename_asset(model: Model, from: string, to: string): Promise<void> {
  const client = model.client.peek();
  if (from === to || !client) return;
  const fail = (why: string): void => model.notices.say('problem', as_sentence(`${from} was not renamed: ${why}`));
  if (model.run.playing.peek()) return fail('end the run first, because the level refers to the file, too');
  try {
    const user = await model_that_needs(model, from);
    if (user) return fail(`the model ${user} names it`);
    const folder = (path: string): string => path.slice(0, path.lastIndexOf('/'));
    if (is_gltf(from) && folder(from) !== folder(to)) {
      const beside = files_of(json_of(await model.fetch_file(from)));
      if (beside.length > 0) return fail(`it needs ${beside[0]} beside it, so it stays in its folder`);
    }
    await model.assets.rename(from, to);
  } catch (error) {
    return fail((error as Error).message);
  }
  const done = await model.edits.take(async () => {
    const operations = await rename_operations(model, client, from, to);
    return operations.length > 0 ? { label: `Rename ${file_name(from)} to ${file_name(to)}`, operations } : null;
  });
  if (done) return;
  // The references stay as they are, and so does the file.
  await model.assets.rename(to, from).catch((error: Error) => fail(error.message));
}

/** Returns a glTF file among the assets that refers to another file. */
async function model_that_needs(model: Model, path: string): Promise<string | undefined> {
  if (is_gltf(path)) return undefined;
  for (const { path: each } of model.assets.list.peek() ?? []) {
    if (!each.toLowerCase().endsWith('.gltf')) continue;
    const named = files_of(json_of(await model.fetch_file(each)));
    if (named.some((uri) => path_beside(each, uri) === path)) return each;
  }
  return undefined;
}

export function file_name(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
/** Selects entities, and shows them. */
export function show_entities(model: Model, entities: readonly Entity[]): void {
  model.selection.set(entities);
  if (entities.length > 0) model.reveal(entities[entities.length - 1]);
  model.placer.peek()?.frame(entities);
}
