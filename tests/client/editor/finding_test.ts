// Finding: by values, which the list follows; kept searches; stored views; links to an entity.
import assert from 'node:assert/strict';

import { nil } from 'muster-client';
import type { StructValue } from 'muster-client';

import { Editor, given, test, until, World } from './page.js';

const scene = ['--schema', given('MUSTER_SCENE')];
const transform = 'scene.Transform';

test('entities are found by values of their fields, and the list follows the values; a kept search is there after a reload', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const at = (y: number): [string, StructValue] => [transform, { position: { x: 0, y, z: 0 } }];
  const low = await other.create(nil, 'low', at(-3));
  await other.create(nil, 'high', at(5), ['scene.Light', { kind: 1 }]);
  await other.create(nil, 'sun', at(0.1), ['scene.Light', { kind: 2 }]);
  await other.create(nil, 'model', at(7), ['scene.MeshReference', { asset: 'my house.glb' }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const field = page.getByRole('searchbox', { name: 'Search entities' });
  const finds = async (query: string, names: string[]): Promise<void> => {
    await field.fill(query);
    const shown = (): Promise<string[]> =>
      page.locator('.tree-row .tree-name').allTextContents();
    await until(`'${query}' finds ${names}`, async () => (await shown()).join() === names.join());
  };
  await finds('Transform.position.y<0', ['low']);
  await finds('scene.transform.POSITION.y>=0.1', ['high', 'sun', 'model']);
  await finds('Transform.position.y=0.1', ['sun']);
  await finds('Light.kind=spot', ['high']);
  await finds('has:light Light.kind!=spot', ['sun']);
  await finds('MeshReference.asset="my house.glb"', ['model']);
  await finds('h Transform.position.y>0', ['high']);
  await finds('Transform.position.y>0 light', []);
  await field.fill('Nothing.at<3');
  await page.getByRole('status').getByText("No component is called 'Nothing'.").waitFor();
  await field.fill('Light.lumens<3');
  await page.getByRole('status').getByText("scene.Light has no field 'lumens'.").waitFor();
  await finds('Transform.position.y<0', ['low']);
  await page.getByRole('button', { name: 'Keep this search' }).click();
  await other.set_field(low, transform, 'position.y', 2);
  await until('it is found no more', async () => (await page.locator('.tree-row').count()) === 0);
  await other.set_field(low, transform, 'position.y', -2);
  await editor.row('low').waitFor();
  await editor.picture('found-by-value');

  await page.reload();
  await editor.live();
  await editor.row('sun').waitFor();
  await page.getByRole('button', { name: 'Transform.position.y<0', exact: true }).click();
  await until('only that', async () => (await page.locator('.tree-row .tree-name').allTextContents()).join() === 'low');
  await page.getByRole('button', { name: 'Forget Transform.position.y<0' }).click();
  assert.equal(await page.getByRole('group', { name: 'Kept searches' }).count(), 0);
});

test('a field finds others with its value, is reset, and gives and takes its value as text', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const place = { position: { x: 1, y: 2, z: 3 }, scale: { x: 2, y: 2, z: 2 } };
  await other.create(nil, 'crate', [transform, place], ['scene.Light', { intensity: 7 }]);
  const barrel = await other.create(nil, 'barrel', [transform, {}], ['scene.Light', { intensity: 7 }]);
  await other.create(nil, 'rock', [transform, {}], ['scene.Light', {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const choose = async (component: string, path: string, item: string): Promise<void> => {
    await editor.part(component).locator(`.row[data-path="${path}"] .row-label`).click({ button: 'right' });
    await page.getByRole('menuitem', { name: item }).click();
  };
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await editor.select('crate');
  const bold = (path: string): Promise<boolean> =>
    editor.part(transform).locator(`.row[data-path="${path}"] .row-label`).evaluate((label) => label.classList.contains('is-changed'));
  assert.deepEqual([await bold('position'), await bold('rotation'), await bold('scale')], [true, false, true]);
  await choose(transform, 'position', 'Copy value');
  await until('it is in the clipboard', async () => (await page.evaluate(() => navigator.clipboard.readText())) === '[1, 2, 3]');
  await choose(transform, 'scale', 'Reset to default');
  await until('it is', async () => !(await bold('scale')));
  await editor.select('barrel');
  await choose(transform, 'position', 'Paste value');
  await until('it is there too', async () => {
    const { position } = (await other.show(barrel)).components[transform] as { position: object };
    return Object.values(position).join() === '1,2,3';
  });
  await page.evaluate(() => navigator.clipboard.writeText('no number'));
  await choose('scene.Light', 'intensity', 'Paste value');
  await page.locator('.notice').first().waitFor();
  await choose('scene.Light', 'intensity', 'Find entities with this value');
  await until('both are found', async () => (await page.locator('.tree-row .tree-name').allTextContents()).join() === 'crate,barrel');
});

test('a stored view is gone back to, also after a reload; a link shows an entity and a view to others', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp', [transform, {}]);
  await other.create(camp, 'crate', [transform, { position: { x: 30, y: 0, z: 0 } }], ['scene.Shape', {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const link = async (): Promise<string> => {
    await page.keyboard.press('ControlOrMeta+k');
    await page.keyboard.type('copy a link');
    await page.keyboard.press('Enter');
    await page.locator('.notice').getByText(/^Copied/).first().waitFor();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  await editor.open_row('camp');
  await editor.row('crate').click();
  await page.locator('.viewport-root').focus();
  await page.keyboard.press('1');
  await page.keyboard.press('f');
  await page.locator('.viewport-status', { hasText: 'at rest' }).waitFor();
  await page.keyboard.press('b');
  const dialog = page.getByRole('dialog', { name: 'Views' });
  await dialog.getByRole('textbox').fill('front');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  const front = await link();
  assert.match(front, /#entity=\/camp\/crate&view=30,0,0,/);
  assert.ok(!front.includes('token'), front);
  await page.keyboard.press('7');
  await until('one looks from above', async () => (await link()) !== front);
  await page.keyboard.press('Alt+1');
  await until('it is the view again', async () => (await link()) === front);
  await page.reload();
  await editor.live();
  await editor.row('camp').waitFor();
  await page.locator('.viewport-canvas').waitFor();
  await page.keyboard.press('b');
  await editor.picture('views');
  await dialog.getByRole('button', { name: 'front' }).first().click();
  await until('it is the view again', async () => (await link()).split('view=')[1] === front.split('view=')[1]);

  const [, named] = front.split('#');
  const guest = await Editor.open(t, world, undefined, `${world.url_for(world.token_for('view'))}&${named}`);
  await until('it is selected', async () => (await guest.row('crate').getAttribute('aria-selected')) === 'true');
});
