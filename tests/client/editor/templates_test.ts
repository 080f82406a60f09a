// Templates: made from a selection, spawned by click and by drag.
import assert from 'node:assert/strict';

import { nil, session } from 'muster-client';

import { component, Editor, given, has_children, test, until, World } from './page.js';

const transform = 'scene.Transform';

test('a template is made of a selection, and spawned where one looks and where it is dropped, each as one step', async (t) => {
  const world = await World.serve(t, ['--schema', given('MUSTER_SCENE')]);
  const other = await world.connect();
  const ground = { size: { x: 40, y: 1, z: 40 } };
  await other.create(nil, 'ground', [transform, { position: { x: 0, y: -0.5, z: 0 } }], ['scene.Shape', ground]);
  const house = await other.create(nil, 'house-1', [transform, { position: { x: 90, y: 3, z: 0 }, scale: { x: 2, y: 2, z: 2 } }]);
  const red = { value: { r: 1, g: 0, b: 0, a: 1 } };
  await other.create(house, 'roof', [transform, { position: { x: 0, y: 1, z: 0 } }], ['scene.Shape', { kind: 4 }], ['scene.Color', red]);
  await other.create(house, '', [transform, {}], ['scene.MeshReference', { asset: 'walls "a".glb' }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.locator('.viewport-canvas').waitFor();
  await editor.select('house-1');
  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.type('make a template');
  await page.keyboard.press('Enter');
  const form = page.getByRole('dialog', { name: 'Make a template' });
  assert.equal(await form.getByRole('textbox').inputValue(), 'house');
  await form.getByRole('button', { name: 'Make' }).click();
  const list = page.getByRole('list', { name: 'Templates' });
  await list.getByRole('button', { name: 'house' }).waitFor();
  assert.match((await list.textContent())!, /3 entities/);

  const selected = page.locator('[role=treeitem][aria-selected=true]');
  // New trees would be children of the selected entity. A new tree is selected when its row
  // appears.
  const deselect = async (): Promise<void> => {
    await page.keyboard.press('Escape');
    await selected.waitFor({ state: 'detached' });
  };
  await page.locator('.tree-list').focus();
  await deselect();
  await page.locator('.viewport-root').focus();
  await page.keyboard.press('7');
  await list.getByRole('button', { name: 'house' }).click();
  const first = await until('it is there', () => other.entity('/house').catch(() => null));
  await selected.and(editor.row('house')).waitFor();
  const { position, scale } = (await component(other, first, transform)) as Record<string, Record<string, number>>;
  assert.equal(scale.y, 2);
  assert.ok(Math.abs(position.y) < 0.01 && Math.abs(position.x) < 60, JSON.stringify(position));
  const [roof, part] = (await other.ask(session.ListChildren, { entity: first })).entities;
  assert.equal(((await component(other, roof, 'scene.Color')).value as { r: number }).r, 1);
  assert.equal(((await component(other, roof, 'scene.Shape')).kind as number), 4);
  assert.ok((await other.show(part)).components['scene.MeshReference']);
  await page.keyboard.press('ControlOrMeta+z');
  await until('it is one step', async () => (await has_children(other, nil)).length === 2);
  await editor.row('house').waitFor({ state: 'detached' });

  /** Drops the template at an offset from the middle of the viewport, in pixels. */
  const drop = async (right: number, down = 0): Promise<void> => {
    const from = (await list.getByRole('button', { name: 'house' }).boundingBox())!;
    const canvas = (await page.locator('.viewport-canvas').boundingBox())!;
    await page.mouse.move(from.x + 40, from.y + 10);
    await page.mouse.down();
    await page.mouse.move(from.x + 60, from.y - 30);
    await page.mouse.move(canvas.x + canvas.width / 2 + right, canvas.y + canvas.height / 2 + down, { steps: 3 });
    await page.mouse.up();
  };
  await drop(100);
  const second = await until('it is there', () => other.entity('/house').catch(() => null));
  await selected.and(editor.row('house')).waitFor();
  await deselect();
  await drop(-100);
  const third = await until('another is there', () => other.entity('/house~2').catch(() => null));
  const x = async (of: typeof third): Promise<number> => ((await component(other, of, transform)).position as { x: number }).x;
  assert.ok((await x(second)) > (await x(third)) + 5, `${await x(second)} ${await x(third)}`);
  await editor.picture('templates');
  // Dropped elsewhere, it does nothing.
  await selected.and(editor.row('house~2')).waitFor();
  const { width } = (await page.locator('.viewport-canvas').boundingBox())!;
  await drop(-width / 2 - 100);
  await page.keyboard.press('ControlOrMeta+z');
  await until('one is gone', async () => (await has_children(other, nil)).join() === 'ground,house-1,house');

  // The trees follow their template, except for what is overridden in them. A new tree is beside
  // the selected one.
  await editor.row('house~2').waitFor({ state: 'detached' });
  await editor.row('house').click();
  await list.getByRole('button', { name: 'house' }).click();
  await selected.and(editor.row('house~2')).waitFor();
  const roofs = await Promise.all(['house-1', 'house', 'house~2'].map((each) => other.entity(`/${each}/roof`)));
  const sizes = (): Promise<string[]> =>
    Promise.all(roofs.map(async (each) => Object.values((await component(other, each, 'scene.Shape')).size as object).join()));
  const is_size = (...wanted: string[]): Promise<true> =>
    until(`the sizes are ${wanted.join(' ')}`, async () => (await sizes()).join(' ') === wanted.join(' ') || null);
  await other.set_field(roofs[1], 'scene.Shape', 'size', { x: 3, y: 1, z: 1 });
  await editor.open_row('house-1');
  await editor.row('roof').click();
  const size = editor.part('scene.Shape').locator('[data-path=size] .row-label');
  const changed = size.and(page.locator('.is-changed'));
  await size.waitFor();
  await changed.waitFor({ state: 'detached' });
  await editor.type('scene.Shape', 'size y', '5');
  await changed.waitFor();
  const choose = async (item: string): Promise<void> => {
    await size.click({ button: 'right' });
    await page.getByRole('menuitem', { name: item }).click();
  };
  await choose('Apply to template');
  await is_size('1,5,1', '3,1,1', '1,5,1');
  await changed.waitFor({ state: 'detached' });
  await page.locator('.tree-list').focus();
  await page.keyboard.press('ControlOrMeta+z');
  await is_size('1,5,1', '3,1,1', '1,1,1');
  await changed.waitFor();
  await page.keyboard.press('ControlOrMeta+y');
  await is_size('1,5,1', '3,1,1', '1,5,1');
  await editor.open_row('house');
  await editor.row('roof').nth(1).click();
  await until('the other roof is shown', async () => (await editor.box('scene.Shape', 'size x').inputValue()) === '3');
  await changed.waitFor();
  await editor.picture('template_overrides');
  await choose('Revert to template');
  await is_size('1,5,1', '1,5,1', '1,5,1');

  await other.create(house, 'chimney', [transform, {}], ['scene.Shape', {}]);
  await editor.row('chimney').waitFor();
  await editor.row('house-1').click();
  const of_template = async (item: string): Promise<void> => {
    await page.getByRole('button', { name: 'More for the template house' }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  await of_template('Apply the whole tree');
  await until('all have a chimney', async () => (await has_children(other, second)).length + (await has_children(other, house)).length === 6);
  assert.ok((await other.show(await other.entity('/house~2/chimney'))).components['scene.SpawnedFrom']);
  await page.locator('.tree-list').focus();
  await page.keyboard.press('ControlOrMeta+z');
  await until('one step takes it back', async () => (await has_children(other, second)).length === 2);
  assert.equal((await has_children(other, house)).length, 3);
  await editor.row('house~2').click();
  await of_template('Unlink');
  const is_linked = async (path: string): Promise<boolean> =>
    (await other.show(await other.entity(path))).components['scene.SpawnedFrom'] !== undefined;
  await until('it is unlinked', async () => !(await is_linked('/house~2')) && !(await is_linked('/house~2/roof')));
  assert.ok(await is_linked('/house/roof'));
});
