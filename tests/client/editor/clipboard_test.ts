// Entities in the clipboard: copied, cut and pasted, after a reload and in another world.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { nil } from 'muster-client';
import type { Client, Entity } from 'muster-client';

import { component, Editor, given, has_children, pause, test, until, World } from './page.js';

const schema = ['--schema', given('MUSTER_SCHEMA')];
const scene = ['--schema', given('MUSTER_SCENE')];
const health = 'golden.Health';
const transform = 'scene.Transform';

async function open(t: TestContext, world: World, url = world.url): Promise<Editor> {
  const editor = await Editor.open(t, world, { width: 1280, height: 720 }, url);
  await editor.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await editor.page.bringToFront();
  return editor;
}
const clipboard = (editor: Editor): Promise<string> => editor.page.evaluate(() => navigator.clipboard.readText());
const put = (editor: Editor, text: string): Promise<void> =>
  editor.page.evaluate((all) => navigator.clipboard.writeText(all), text);
async function copy(editor: Editor, key: 'c' | 'x' = 'c'): Promise<string> {
  await put(editor, '');
  await editor.page.keyboard.press(`ControlOrMeta+${key}`);
  return until('it is in the clipboard', () => clipboard(editor));
}
const paste = (editor: Editor): Promise<void> => editor.page.keyboard.press('ControlOrMeta+v');
const children = (other: Client, of: Entity, expected: string): Promise<unknown> =>
  until(`the children are ${expected}`, async () => (await has_children(other, of)).join() === expected);

test('copied entities are pasted with all that is below them, after a reload and in another world', async (t) => {
  const [world, elsewhere] = [await World.serve(t, schema), await World.serve(t, schema)];
  const [other, there] = [await world.connect(), await elsewhere.connect()];
  const rock = await other.create(nil, 'rock');
  const orc = await other.create(nil, 'orc', [health, { value: 61, big: 2n ** 60n + 1n, mesh: 'meshes/orc.glb' }]);
  const bag = await other.create(orc, 'bag', [health, { target: orc, slots: [{ owner: rock, item: 'axe' }, {}] }]);
  await other.create(orc, 'axe');
  const town = await other.create(nil, 'town');
  const far = await there.create(nil, 'town');
  for (let i = 0; i < 8; ++i) await there.create(far, `house ${i}`);

  const editor = await open(t, world);
  await editor.select('orc');
  const text = await copy(editor);
  await editor.page.reload();
  await editor.live();
  await editor.select('town');
  await paste(editor);
  await children(other, town, 'orc');
  await until('the copy is selected', async () => (await editor.page.locator('.tree-row.is-selected').getAttribute('aria-level')) === '2');
  const child = async (client: Client, of: Entity, name: string): Promise<Entity> =>
    client.entity(`${(await client.show(of)).about.path}/${name}`);
  const a_copy = await child(other, town, 'orc');
  await children(other, a_copy, 'bag,axe');
  const value = await component(other, a_copy, health);
  assert.deepEqual([value.value, value.big], [61, 2n ** 60n + 1n]);
  assert.equal(await other.fetch_text(value.mesh as bigint), 'meshes/orc.glb');
  const a_bag = await component(other, await child(other, a_copy, 'bag'), health);
  const slots = a_bag.slots as { owner: Entity; item: bigint }[];
  assert.deepEqual([a_bag.target, slots[0].owner], [a_copy, rock], 'references inside follow, others stay');
  assert.equal(await other.fetch_text(slots[0].item), 'axe');
  assert.deepEqual((await component(other, bag, health)).target, orc, 'the original is as it was');

  await editor.select('town');
  await paste(editor);
  await children(other, town, 'orc,orc~2');
  await editor.page.locator('.tree-list').focus();
  for (const left of ['orc', '']) {
    await editor.page.keyboard.press('ControlOrMeta+z');
    await children(other, town, left);
  }
  await editor.page.keyboard.press('ControlOrMeta+y');
  await children(other, town, 'orc');

  const second = await open(t, elsewhere);
  await second.select('town');
  for (const wrong of ['', 'no JSON', '{}', '{"entities":[]}', '{"entities":[{"id":"1:1"}]}', text.replace('"value":61', '"value":"many"')]) {
    await put(second, wrong);
    await paste(second);
    await second.page.locator('.notice', { hasText: /the clipboard/i }).first().waitFor();
    await second.page.locator('.notice').getByRole('button', { name: 'Close' }).first().click();
  }
  assert.equal((await has_children(there, far)).length, 8, 'nothing was made');
  const richer = JSON.parse(text) as { entities: { components: object }[] };
  Object.assign(richer.entities[0].components, { 'other.Game': {} });
  await put(second, JSON.stringify(richer));
  await second.row('town').click();
  await paste(second);
  await until('it is there', async () => (await has_children(there, far)).length === 9);
  await second.page.locator('.notice', { hasText: 'Pasted without Game' }).waitFor();
  const their_copy = await child(there, far, 'orc');
  const their_bag = await component(there, await child(there, their_copy, 'bag'), health);
  assert.deepEqual([their_bag.target, (their_bag.slots as typeof slots)[0].owner], [their_copy, nil]);
});

test('entities that are pasted where they were copied stand right behind the originals, also from the menu', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const wood = await other.create(nil, 'wood');
  for (const name of ['tree-1', 'tree-2', 'oak']) await other.create(wood, name, [transform, {}]);
  const editor = await open(t, world);
  await editor.open_row('wood');
  await editor.select('tree-1');
  await put(editor, 'an older text');
  await editor.page.keyboard.press('ControlOrMeta+c');
  await paste(editor); // sooner than the world may have answered
  await children(other, wood, 'tree-1,tree-3,tree-2,oak');
  await until('it is selected', async () => (await editor.row('tree-3').getAttribute('aria-selected')) === 'true');
  await editor.select('tree-1', 'oak');
  await put(editor, '');
  await editor.menu('oak', 'Copy Ctrl+C');
  await until('they are in the clipboard', () => clipboard(editor));
  await editor.menu('oak', 'Paste Ctrl+V');
  await children(other, wood, 'tree-1,tree-4,tree-3,tree-2,oak,oak~2');
  await until('they are selected', async () => (await editor.row('oak~2').getAttribute('aria-selected')) === 'true');
  // Without a selection they are roots.
  await editor.page.keyboard.press('Escape');
  await paste(editor);
  await children(other, nil, 'wood,tree-1,oak');
});

test('what is cut stays until it is pasted, then moves with its id and its place in the world', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const house = await other.create(nil, 'house', [transform, { position: { x: 10, y: 0, z: 0 } }]);
  const crate = await other.create(nil, 'crate', [transform, { position: { x: 12, y: 0, z: 3 } }]);
  const barrel = await other.create(nil, 'barrel', [transform, {}]);
  const x_of = async (): Promise<number> => ((await component(other, crate, transform)).position as { x: number }).x;
  const editor = await open(t, world);
  const { page } = editor;
  const dimmed = (): Promise<(string | null)[]> =>
    page.locator('.tree-row.is-cut').evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-label')));
  await editor.select('crate');
  await copy(editor, 'x');
  await until('it is dimmed', async () => (await dimmed()).join() === 'crate');
  assert.deepEqual(await has_children(other, nil), ['house', 'crate', 'barrel']);
  await editor.picture('cut');
  await editor.select('house');
  await paste(editor);
  await children(other, house, 'crate');
  assert.deepEqual(await other.entity('crate'), crate);
  await until('it stays in place', async () => (await x_of()) === 2);
  assert.deepEqual(await dimmed(), []);
  await page.locator('.tree-list').focus();
  await page.keyboard.press('ControlOrMeta+z');
  await children(other, nil, 'house,crate,barrel');
  await until('it has its values', async () => (await x_of()) === 12);
  // A second paste makes copies.
  await editor.select('barrel');
  await paste(editor);
  await children(other, barrel, 'crate');

  // Escape takes a cut back: then the clipboard holds a copy.
  await editor.select('house');
  await copy(editor, 'x');
  await until('it is dimmed', async () => (await dimmed()).join() === 'house');
  await page.keyboard.press('Escape');
  await until('it is not', async () => (await dimmed()).length === 0);
  assert.equal(await editor.row('house').getAttribute('aria-selected'), 'true');
  await editor.row('barrel').click();
  await paste(editor);
  await children(other, barrel, 'crate,house');
  assert.ok((await has_children(other, nil)).includes('house'));
});

test('keys of the clipboard belong to text that is typed or chosen; one who may only look can copy, and is told why not paste', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  for (const name of ['orc', 'elf']) await other.create(nil, name, [health, {}]);
  const editor = await open(t, world);
  const { page } = editor;
  await editor.select('orc');
  const name = page.getByRole('textbox', { name: 'Name' });
  await name.click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.press('ControlOrMeta+c');
  await until('the name is in the clipboard', async () => (await clipboard(editor)) === 'orc');
  await page.keyboard.press('End');
  await paste(editor);
  assert.equal(await name.inputValue(), 'orcorc');
  await page.keyboard.press('Escape');
  await editor.type(health, 'value', 'many');
  const refused = editor.part(health).locator('.refused-text');
  await refused.selectText();
  await page.keyboard.press('ControlOrMeta+c');
  await until('the sentence is in the clipboard', async () => /is not a number/.test(await clipboard(editor)));
  // A click on a row ends that choice.
  await editor.row('elf').click();
  await copy(editor).then((text) => assert.match(text, /"name":"elf"/));

  const looking = await open(t, world, world.url_for(world.token_for('view')));
  await looking.page.bringToFront();
  await looking.row('orc').click();
  await copy(looking).then((text) => assert.match(text, /"name":"orc"/));
  await paste(looking);
  await looking.page.locator('.notice', { hasText: 'This session may only view, not edit.' }).waitFor();
  await pause(100);
  assert.deepEqual(await has_children(other, nil), ['orc', 'elf']);
});
