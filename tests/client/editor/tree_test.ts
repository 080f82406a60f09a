// The tree as a person works in it: duplicates and their names, rows that are hung elsewhere, the way back from a search, odd names.
import assert from 'node:assert/strict';

import { nil } from 'muster-client';
import type { Client, Entity } from 'muster-client';

import { component, Editor, given, has_children, test, until, World } from './page.js';

const scene = ['--schema', given('MUSTER_SCENE')];
const transform = 'scene.Transform';

interface Value {
  position: { x: number; y: number; z: number };
  rotation: { x: number; y: number; z: number; w: number };
  scale: { x: number; y: number; z: number };
}
const value_of = async (other: Client, entity: Entity): Promise<Value> =>
  (await component(other, entity, transform)) as unknown as Value;
const rounded = ({ position, rotation, scale }: Value): number[] =>
  [position, rotation, scale].flatMap((part) => Object.values(part).map((each) => Math.round(each * 1000) / 1000 + 0));

test('a duplicate stands behind its original and has the next free name, however quickly one follows another', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const wood = await other.create(nil, 'wood');
  for (const name of ['tree-1', 'tree-2', 'wall_09', 'oak']) await other.create(wood, name, [transform, {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const children = (expected: string): Promise<unknown> =>
    until(`the children are ${expected}`, async () => (await has_children(other, wood)).join() === expected);
  const is_selected = (name: string): Promise<unknown> =>
    until(`${name} is selected`, async () => (await editor.row(name).getAttribute('aria-selected')) === 'true');
  await editor.open_row('wood');
  await editor.select('tree-1');
  await page.keyboard.press('ControlOrMeta+d');
  await is_selected('tree-3');
  await children('tree-1,tree-3,tree-2,wall_09,oak');
  await page.keyboard.press('ControlOrMeta+d');
  await is_selected('tree-4');
  await children('tree-1,tree-3,tree-4,tree-2,wall_09,oak');
  await editor.select('wall_09');
  await page.keyboard.press('ControlOrMeta+d');
  await page.keyboard.press('ControlOrMeta+d');
  await until('both are there', async () => (await has_children(other, wood)).length === 8);
  assert.deepEqual((await has_children(other, wood)).filter((name) => /wall/.test(name)).sort(), ['wall_09', 'wall_10', 'wall_11']);
  await editor.select('tree-2', 'oak');
  await page.keyboard.press('ControlOrMeta+d');
  await until('both are there', async () => /tree-2,tree-5,.*oak,oak~2$/.test((await has_children(other, wood)).join()));
  await page.locator('.tree-list').focus();
  for (let i = 0; i < 5; ++i) await page.keyboard.press('ControlOrMeta+z');
  await children('tree-1,tree-2,wall_09,oak');
  for (let i = 0; i < 2; ++i) await page.keyboard.press('ControlOrMeta+y');
  await children('tree-1,tree-3,tree-4,tree-2,wall_09,oak');
});

test('a name of the greatest length has duplicates too', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const name = 'x'.repeat(255);
  await other.create(nil, name);
  const editor = await Editor.open(t, world);
  await editor.select(name);
  for (let count = 2; count < 5; ++count) {
    await editor.page.keyboard.press('ControlOrMeta+d');
    await until('there is one more', async () => (await has_children(other, nil)).length === count);
  }
  assert.deepEqual(await has_children(other, nil), [name, ...['2', '3', '4'].map((end) => 'x'.repeat(254) + end)]);
});

test('what is hung elsewhere stays where it is in the world, also what hangs below it without a place between; undo too', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const turned = { position: { x: 10, y: 0, z: 0 }, rotation: { x: 0, y: Math.SQRT1_2, z: 0, w: Math.SQRT1_2 }, scale: { x: 2, y: 2, z: 2 } };
  const house = await other.create(nil, 'house', [transform, turned]);
  const crate = await other.create(nil, 'crate', [transform, { position: { x: 1, y: 2, z: 3 } }]);
  const group = await other.create(nil, 'group');
  const barrel = await other.create(group, 'barrel', [transform, { position: { x: 10, y: 0, z: -2 } }]);
  const flat = await other.create(nil, 'flat', [transform, { scale: { x: 1, y: 0, z: 1 } }]);
  const before = rounded(await value_of(other, crate));
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const hangs = (name: string, expected: string): Promise<unknown> =>
    until(`${name} hangs there`, async () => (await other.show(await other.entity(name))).about.path === expected);
  await editor.row('crate').dragTo(editor.row('house'));
  await hangs('crate', '/house/crate');
  // In the space of the house, which is turned a quarter and twice as large.
  const half = Math.round(Math.SQRT1_2 * 1000) / 1000;
  await until('it is where it was', async () => rounded(await value_of(other, crate)).join() === [-1.5, 1, -4.5, 0, -half, 0, half, 0.5, 0.5, 0.5].join());
  await editor.row('group').dragTo(editor.row('house'));
  await hangs('barrel', '/house/group/barrel');
  await until('so is what is below', async () => rounded(await value_of(other, barrel)).slice(0, 3).join() === [1, 0, 0].join());

  await page.locator('.tree-list').focus();
  await page.keyboard.press('ControlOrMeta+z');
  await hangs('barrel', '/group/barrel');
  await until('it has its own values', async () => (await value_of(other, barrel)).position.z === -2);
  await page.keyboard.press('ControlOrMeta+z');
  await hangs('crate', '/crate');
  await until('it has its own values', async () => rounded(await value_of(other, crate)).join() === before.join());
  await page.keyboard.press('ControlOrMeta+y');
  await hangs('crate', '/house/crate');
  await until('and those of there', async () => rounded(await value_of(other, crate))[0] === -1.5);

  // A menu shows what can be done at the time it opens.
  await until('the page knows', async () => (await editor.row('crate').getAttribute('aria-level')) === '2');
  await editor.menu('crate', 'Move to the top of the tree');
  await hangs('crate', '/crate');
  await until('it is where it was', async () => rounded(await value_of(other, crate)).join() === before.join());
  await until('the page knows', async () => (await editor.row('crate').getAttribute('aria-level')) === '1');
  // In a space without height nothing has a place that could be kept.
  await editor.row('crate').dragTo(editor.row('flat'));
  await hangs('crate', '/flat/crate');
  assert.deepEqual(rounded(await value_of(other, crate)), before);
  assert.ok(house && flat);
});

test('what was found and selected has its row when the search is cleared; parts of a path and names above are found', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const red = await other.create(nil, 'red');
  for (let i = 0; i < 40; ++i) await other.create(nil, `rock ${i}`);
  const camp = await other.create(red, 'camp');
  await other.create(camp, 'orc');
  await other.create(await other.create(nil, 'blue'), 'camp');
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.row('red').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('red/');
  await until('what is below is found', async () => (await page.locator('.tree-row').count()) === 2);
  const found = (): Promise<string[]> => page.locator('.tree-path').allTextContents();
  for (const [words, places] of [
    ['red camp', '/red'],
    ['CAMP blue', '/blue'],
    ['red orc', '/red/camp'],
    ['red', '/'],
  ]) {
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type(words);
    await until(`${words} is found by the names above it`, async () => (await found()).join() === places);
  }
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type('orc');
  await editor.row('orc').waitFor();
  await page.keyboard.press('Enter');
  await until('it is selected', async () => (await editor.row('orc').getAttribute('aria-selected')) === 'true');
  await page.getByRole('button', { name: 'Clear the search' }).click();
  await until('it has its row', async () => (await editor.row('orc').getAttribute('aria-level')) === '3');
  assert.ok(await editor.row('orc').isVisible());
  await page.keyboard.press('/');
  await page.keyboard.type('rock 3');
  await page.keyboard.press('Escape');
  assert.equal(await editor.row('orc').getAttribute('aria-selected'), 'true');
});

test('a name that turns text around or holds a slash turns and hides nothing', async (t) => {
  const world = await World.serve(t, ['--schema', given('MUSTER_SCHEMA')]);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp', ['golden.Health', {}]);
  await other.create(camp, 'gate/left\\x');
  const odd = 'abc\u202edef';
  await other.create(camp, odd);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.open_row('camp');
  await until('what turns text around is written out', async () =>
    (await page.locator('.tree-name').allTextContents()).includes('abc⟨202E⟩def'),
  );
  await editor.select('camp');
  await editor.part('golden.Health').getByRole('button', { name: /^target: .*Choose an entity/ }).click();
  await page.keyboard.type('gate');
  const option = page.getByRole('option', { name: /gate/ });
  await option.waitFor();
  assert.match((await option.textContent())!, /\/camp$/);
});

test('what is picked in the viewport comes into view in the tree, which is back where it was when nothing is selected', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  for (let i = 0; i < 60; ++i) await other.create(nil, `rock ${i}`);
  const land = await other.create(nil, 'land');
  const size = { x: 50, y: 1, z: 50 };
  await other.create(land, 'ground', [transform, {}], ['scene.Shape', { size }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const list = page.locator('.tree-list');
  const scrolled = (): Promise<number> => list.evaluate((element) => element.scrollTop);
  await editor.row('rock 0').waitFor();
  await list.hover();
  await page.mouse.wheel(0, 50);
  await until('it is scrolled', async () => (await scrolled()) === 50);
  await page.locator('.viewport-status', { hasText: 'at rest' }).waitFor();
  const box = (await page.locator('.viewport-canvas').boundingBox())!;
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await until('it is selected', async () => (await editor.row('ground').getAttribute('aria-selected')) === 'true');
  await until('its row is in view', async () => (await scrolled()) > 500);
  await page.keyboard.press('Escape');
  await until('the tree is back', async () => (await scrolled()) === 50);

  // A hand that has scrolled since keeps its place.
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await until('its row is in view', async () => (await scrolled()) > 500);
  const below = await scrolled();
  await list.hover();
  await page.mouse.wheel(0, -200);
  await until('it is scrolled', async () => (await scrolled()) === below - 200);
  await page.keyboard.press('Escape');
  await until('nothing is selected', async () => (await page.locator('.tree-row[aria-selected=true]').count()) === 0);
  assert.equal(await scrolled(), below - 200);
});
