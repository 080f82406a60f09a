// Assets: files are stored beside the world, found, put into it, renamed and replaced, and what is
// missing is told.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { nil, session } from 'muster-client';
import type { Client, Entity } from 'muster-client';
import type { Page } from 'playwright-core';

import { component, Editor, given, has_children, test, until, World } from './page.js';

const scene = ['--schema', given('MUSTER_SCENE')];
const transform = 'scene.Transform';

/** A model of two nodes that shows a triangle of this color. */
function triangle(color: number[], image?: string): string {
  const positions = Buffer.from(new Float32Array([-1, 0, 0, 1, 0, 0, 0, 2, 0]).buffer);
  return JSON.stringify({
    asset: { version: '2.0' },
    scenes: [{ nodes: [0] }],
    nodes: [
      { name: 'Oak', children: [1] },
      { name: 'crown', mesh: 0, matrix: [0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 2, 0, 5, 6, 7, 1] },
    ],
    meshes: [{ name: 'leaves', primitives: [{ attributes: { POSITION: 0 }, material: 0 }] }],
    materials: [{ doubleSided: true, pbrMetallicRoughness: { baseColorFactor: color } }],
    accessors: [{ bufferView: 0, componentType: 5126, count: 3, type: 'VEC3', min: [-1, 0, 0], max: [1, 2, 0] }],
    bufferViews: [{ buffer: 0, byteLength: positions.length }],
    buffers: [{ byteLength: positions.length, uri: 'data:application/octet-stream;base64,' + positions.toString('base64') }],
    ...(image ? { images: [{ uri: image }], textures: [{ source: 0 }] } : {}),
  });
}
const red = triangle([1, 0, 0, 1]);
const blue = triangle([0, 0, 1, 1]);

function stored(world: World, path: string, content: string): void {
  const file = join(world.folder, 'assets', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
const tile = (page: Page, name: string) =>
  page.getByRole('list', { name: 'Assets', exact: true }).getByRole('button', { name, exact: true });
async function asset_of(other: Client, entity: Entity): Promise<string> {
  return other.fetch_text((await component(other, entity, 'scene.MeshReference')).asset as bigint);
}
/** Drops a file on a part of the page, as from a folder of the desktop. */
async function drop_file(page: Page, onto: string, name: string, content: string): Promise<void> {
  await page.evaluate(
    ({ onto, name, content }) => {
      const place = document.querySelector(onto)!;
      const { left, top, width, height } = place.getBoundingClientRect();
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([content], name));
      const [clientX, clientY] = [left + width / 2, top + height / 2];
      for (const kind of ['dragover', 'drop'])
        place.dispatchEvent(new DragEvent(kind, { dataTransfer, clientX, clientY, bubbles: true, cancelable: true }));
    },
    { onto, name, content },
  );
}

test('a model that is dropped into the view is stored and added there as one step, and again by a drag from the list', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await other.create(nil, 'ground', [transform, { position: { x: 0, y: -0.5, z: 0 } }], ['scene.Shape', { size: { x: 40, y: 1, z: 40 } }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.locator('.viewport-canvas').waitFor();
  await page.locator('.viewport-root').focus();
  await page.keyboard.press('7');
  await drop_file(page, '.viewport-canvas', 'oak.gltf', red);
  const oak = await until('it is there', () => other.entity('/oak').catch(() => null));
  assert.equal(readFileSync(join(world.folder, 'assets/oak.gltf'), 'utf8'), red);
  const { position } = (await component(other, oak, transform)) as Record<string, Record<string, number>>;
  assert.ok(Math.abs(position.y) < 0.01 && Math.abs(position.x) < 20, JSON.stringify(position));
  const crown = await other.entity('/oak/crown');
  assert.equal(await asset_of(other, crown), 'assets/oak.gltf');
  const own = (await component(other, crown, transform)) as Record<string, Record<string, number>>;
  assert.deepEqual([own.position, own.scale], [{ x: 5, y: 6, z: 7 }, { x: 1, y: 1, z: 2 }]);
  assert.ok(Math.abs(own.rotation.z - Math.SQRT1_2) < 1e-6 && Math.abs(own.rotation.w - Math.SQRT1_2) < 1e-6);
  const shape = (await component(other, crown, 'scene.Shape')) as Record<string, Record<string, number>>;
  assert.deepEqual([shape.center, shape.size], [{ x: 0, y: 1, z: 0 }, { x: 2, y: 2, z: 0 }]);
  await page.locator('.viewport-sign').waitFor({ state: 'detached' });

  await editor.row('oak').waitFor();
  await page.keyboard.press('ControlOrMeta+z');
  await until('it was one step', async () => (await has_children(other, nil)).join() === 'ground');
  await page.getByRole('tab', { name: 'Assets' }).click();
  await page.locator('.asset-picture img[src^="data:image/png"]').waitFor();
  const from = (await tile(page, 'oak.gltf').boundingBox())!;
  const view = (await page.locator('.viewport').boundingBox())!;
  await page.mouse.move(from.x + 20, from.y + 20);
  await page.mouse.down();
  await page.mouse.move(view.x + view.width / 2 + 80, view.y + view.height / 2, { steps: 4 });
  await page.mouse.up();
  const again = await until('it is there again', () => other.entity('/oak').catch(() => null));
  assert.ok(((await component(other, again, transform)).position as { x: number }).x > position.x + 0.1);
  await editor.picture('assets');
});

test('a file that is renamed is the same to everything that refers to it, templates too, in one step', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  stored(world, 'oak.gltf', red);
  stored(world, 'needs.gltf', triangle([1, 1, 1, 1], 'bark.png'));
  stored(world, 'bark.png', 'x');
  const tree = await other.create(nil, 'tree', [transform, {}], ['scene.MeshReference', { asset: 'assets/oak.gltf', mesh: 'leaves' }]);
  await other.create(nil, 'rock', [transform, {}], ['scene.MeshReference', { asset: 'rock.glb' }]);
  const mesh = '{ Transform: {}, MeshReference: { asset: "assets/oak.gltf", mesh: "leaves" } }';
  await other.read_templates(`{ templates: [ { name: "tree", components: ${mesh} } ] }`, 'tree.json');
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.getByRole('tab', { name: 'Assets' }).click();
  const rename = async (from: string, to: string): Promise<void> => {
    await page.getByRole('button', { name: `Rename assets/${from}` }).click();
    await page.getByRole('textbox', { name: `New name of assets/${from}` }).fill(to);
    await page.keyboard.press('Enter');
  };
  await rename('bark.png', 'wood');
  await page.locator('.notice', { hasText: 'the model assets/needs.gltf names it' }).waitFor();
  await rename('oak.gltf', 'needs');
  await page.locator('.notice', { hasText: 'there is already a file assets/needs.gltf' }).waitFor();
  await rename('oak.gltf', 'trees/elm');
  await tile(page, 'trees/elm.gltf').waitFor();
  await until('it refers to the new name', async () => (await asset_of(other, tree)) === 'assets/trees/elm.gltf');
  assert.ok(existsSync(join(world.folder, 'assets/trees/elm.gltf')) && !existsSync(join(world.folder, 'assets/oak.gltf')));
  const { texts } = await other.ask(session.GetTemplate, { name: 'tree' });
  assert.ok(texts.includes('assets/trees/elm.gltf'), texts.join());
  const spawned = await other.spawn('tree', nil, 'second');
  assert.equal(await asset_of(other, spawned), 'assets/trees/elm.gltf');
  await page.getByRole('tab', { name: 'History' }).click();
  await page.getByText('Rename oak.gltf to elm.gltf').first().waitFor();
  assert.equal(await asset_of(other, await other.entity('/rock')), 'rock.glb');
});

test('files are found, replaced only when that is chosen, and drawn anew; what is missing is listed with who needs it', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  stored(world, 'oak.gltf', red);
  stored(world, 'rocks/big.gltf', red);
  await other.create(nil, 'lost', [transform, {}], ['scene.MeshReference', { asset: 'assets/none.gltf' }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.getByRole('tab', { name: 'Assets' }).click();
  const missing = page.getByRole('list', { name: 'Missing files' });
  await missing.getByText("assets/none.gltf: there is no such file in the world's folder").waitFor();
  await missing.getByRole('button', { name: '1 use' }).click();
  await page.locator('[role=treeitem][aria-selected=true]').and(editor.row('lost')).waitFor();
  await page.getByRole('searchbox', { name: 'Find assets' }).fill('ROCK big');
  await tile(page, 'rocks/big.gltf').waitFor();
  assert.equal(await tile(page, 'oak.gltf').count(), 0);
  await page.getByRole('searchbox', { name: 'Find assets' }).fill('');

  const picture = tile(page, 'oak.gltf').locator('img');
  const before = await until('it has a picture', () => picture.getAttribute('src'));
  await drop_file(page, '.tree-list', 'oak.gltf', blue);
  const notice = page.locator('.notice', { hasText: 'assets/oak.gltf is there already' });
  await notice.waitFor();
  assert.equal(readFileSync(join(world.folder, 'assets/oak.gltf'), 'utf8'), red);
  await notice.getByRole('button', { name: 'Replace' }).click();
  await until('it is replaced', () => readFileSync(join(world.folder, 'assets/oak.gltf'), 'utf8') === blue);
  await until('it is drawn anew', async () => (await picture.getAttribute('src')) !== before);

  stored(world, 'none.gltf', blue); // by another program
  await missing.waitFor({ state: 'detached' });
  await drop_file(page, '.tree-list', 'notes.txt', 'x');
  await page.locator('.notice', { hasText: 'only models, textures and model data are stored' }).waitFor();
});

test('who may only view sees the files, and changes none', async (t) => {
  const world = await World.serve(t, scene);
  stored(world, 'oak.gltf', red);
  const editor = await Editor.open(t, world, undefined, world.url_for(world.token_for('view')));
  const { page } = editor;
  await page.getByRole('tab', { name: 'Assets' }).click();
  await tile(page, 'oak.gltf').waitFor();
  for (const name of ['Upload…', 'oak.gltf', 'Rename assets/oak.gltf'])
    assert.ok(await page.getByRole('button', { name, exact: true }).isDisabled(), name);
  await drop_file(page, '.viewport-canvas', 'elm.gltf', red);
  await page.locator('.notice', { hasText: 'may only view' }).waitFor();
  assert.ok(!existsSync(join(world.folder, 'assets/elm.gltf')));
});
