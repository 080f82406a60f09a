// The hands of an editor: things land where one looks, are grouped, moved by keys, aligned,
// dropped, copied in rows, hidden and locked. Each is seen by another client, and is one step.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { nil } from 'muster-client';
import type { Client, Entity } from 'muster-client';

import { component, Editor, given, has_children, test, until, World } from './page.js';

const scene = ['--schema', given('MUSTER_SCENE')];
const transform = 'scene.Transform';
type Three = [number, number, number];

const vec = ([x, y, z]: Three): { x: number; y: number; z: number } => ({ x, y, z });
async function place(other: Client, entity: Entity): Promise<Three> {
  const { x, y, z } = (await component(other, entity, transform)).position as { x: number; y: number; z: number };
  return [x, y, z].map((each) => Math.round(each * 1000) / 1000 + 0) as Three;
}
async function box(other: Client, name: string, at: Three, parent = nil, size: Three = [1, 1, 1]): Promise<Entity> {
  return other.create(parent, name, [transform, { position: vec(at) }], ['scene.Shape', { size: vec(size) }]);
}
async function open(t: TestContext, make: (other: Client) => Promise<unknown>) {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await make(other);
  const editor = await Editor.open(t, world);
  await editor.page.locator('.viewport-status', { hasText: /\d+ entit/ }).waitFor();
  return { world, other, editor, page: editor.page };
}
async function at(other: Client, name: string, expected: Three): Promise<void> {
  await until(`${name} is at ${expected}`, async () => {
    const found = await place(other, await other.entity(name));
    return found.every((each, i) => Math.abs(each - expected[i]) < 0.002);
  });
}
async function run(editor: Editor, command: string): Promise<void> {
  await editor.page.keyboard.press('ControlOrMeta+k');
  await editor.page.getByRole('dialog', { name: 'Run a command' }).waitFor();
  await editor.page.keyboard.type(command);
  await editor.page.keyboard.press('Enter');
}

test('a new thing lands on the surface in the middle of the view, beside what is selected and not inside it', async (t) => {
  const { other, editor, page } = await open(t, (other) => box(other, 'ground', [0, -0.5, 0], nil, [40, 1, 40]));
  const create = async (title: string): Promise<void> => {
    await page.keyboard.press('Shift+A');
    await page.getByRole('menuitem', { name: title, exact: true }).click();
  };
  await create('Box');
  const first = await place(other, await until('it is there', () => other.entity('box').catch(() => null)));
  assert.equal(first[1], 0.5, 'it stands on the ground');
  await until('it is selected', async () => (await editor.row('box').getAttribute('aria-selected')) === 'true');
  await create('Sphere');
  const second = await place(other, await until('it is there', () => other.entity('sphere').catch(() => null)));
  assert.equal(second[1], 0.5);
  assert.ok(Math.abs(second[0] - first[0]) >= 1 || Math.abs(second[2] - first[2]) >= 1, `${first} and ${second}`);
  assert.deepEqual(await has_children(other, nil), ['ground', 'box', 'sphere'], 'it is beside the box in the tree too');
  await editor.row('sphere').waitFor();
  await page.keyboard.press('Escape');
  await create('Light');
  const light = await place(other, await until('it is there', () => other.entity('light').catch(() => null)));
  assert.ok(light[1] >= 2, 'a light is above the ground');
  await editor.picture('landed');
  await page.keyboard.press('ControlOrMeta+z');
  await until('it is one step', async () => (await has_children(other, nil)).length === 3);
});

test('group and ungroup keep places in the world and the order of siblings; each is one step', async (t) => {
  const { other, editor, page } = await open(t, async (other) => {
    const turned = { x: 0, y: Math.SQRT1_2, z: 0, w: Math.SQRT1_2 };
    const camp = await other.create(nil, 'camp', [transform, { position: vec([10, 0, 0]), rotation: turned }]);
    for (const [i, name] of ['a', 'b', 'c', 'd'].entries()) await box(other, name, [i * 2, 0, 0], camp);
  });
  const camp = await other.entity('camp');
  await editor.open_row('camp');
  await editor.select('c', 'a');
  await page.keyboard.press('ControlOrMeta+g');
  await until('they are a group', async () => (await has_children(other, camp)).join() === 'group,b,d');
  const group = await other.entity('group');
  assert.deepEqual(await has_children(other, group), ['a', 'c']);
  assert.deepEqual(await place(other, group), [2, 0, 0], 'the group is in their middle');
  assert.deepEqual(await place(other, await other.entity('a')), [-2, 0, 0]);
  await until('it is selected', async () => (await editor.row('group').getAttribute('aria-selected')) === 'true');
  await editor.picture('group');
  await page.keyboard.press('ControlOrMeta+Shift+g');
  await until('the group is gone', async () => (await has_children(other, camp)).join() === 'a,c,b,d');
  assert.deepEqual(await place(other, await other.entity('c')), [4, 0, 0]);
  await page.keyboard.press('ControlOrMeta+z');
  await until('it is back', async () => (await has_children(other, camp)).join() === 'group,b,d');
  await page.keyboard.press('ControlOrMeta+z');
  await until('all is as it was', async () => (await has_children(other, camp)).join() === 'a,b,c,d');
  assert.deepEqual(await place(other, await other.entity('c')), [4, 0, 0]);
});

test('keys nudge by the steps of snapping; a held key is one step; a drop ends on what is below', async (t) => {
  const { other, editor, page } = await open(t, async (other) => {
    await box(other, 'ground', [0, -0.5, 0], nil, [40, 1, 40]);
    await box(other, 'table', [3, 0.5, 0], nil, [2, 1, 2]);
    await box(other, 'cup', [3, 4, 0], nil, [0.5, 0.5, 0.5]);
    await box(other, 'ball', [8, 6, 0]);
  });
  await editor.select('cup');
  const canvas = (await page.locator('.viewport-canvas').boundingBox())!;
  await page.mouse.move(canvas.x + 300, canvas.y + 440);
  await page.locator('.viewport-root').focus();
  await page.keyboard.press('End');
  await at(other, 'cup', [3, 1.25, 0]);
  await page.keyboard.press('1');
  await page.keyboard.down('ArrowRight');
  await page.keyboard.down('ArrowRight');
  await page.keyboard.up('ArrowRight');
  await at(other, 'cup', [4, 1.25, 0]);
  await page.keyboard.press('PageUp');
  await at(other, 'cup', [4, 1.75, 0]);
  await page.keyboard.press('Shift+ArrowLeft');
  await at(other, 'cup', [-1, 1.75, 0]);
  await page.keyboard.press('End');
  await at(other, 'cup', [-1, 0.25, 0]);
  for (const expected of [[-1, 1.75, 0], [4, 1.75, 0], [4, 1.25, 0], [3, 1.25, 0], [3, 4, 0]] as Three[]) {
    await page.keyboard.press('ControlOrMeta+z');
    await at(other, 'cup', expected);
  }
  // In the tree, arrows go through the rows and move nothing.
  await editor.row('ball').click();
  await page.keyboard.press('ArrowUp');
  await until('it is another row', async () => (await editor.row('cup').getAttribute('aria-selected')) === 'true');
  assert.deepEqual(await place(other, await other.entity('ball')), [8, 6, 0]);
});

test('several are aligned with the last one, and distributed with equal gaps', async (t) => {
  const { other, editor } = await open(t, async (other) => {
    await box(other, 'a', [0, 0, 0], nil, [1, 1, 1]);
    await box(other, 'b', [2, 3, 1], nil, [2, 1, 1]);
    await box(other, 'c', [9, 1, 2], nil, [1, 4, 1]);
  });
  await editor.select('a', 'b', 'c');
  await run(editor, 'align along y low');
  await at(other, 'a', [0, -0.5, 0]);
  await at(other, 'b', [2, -0.5, 1]);
  await run(editor, 'distribute along x');
  // From 0.5 to 8.5 there are 8 m; b takes 2 of them.
  await at(other, 'b', [4.5, -0.5, 1]);
  await at(other, 'c', [9, 1, 2]);
  await editor.page.keyboard.press('ControlOrMeta+z');
  await at(other, 'b', [2, -0.5, 1]);
});

test('a copy that was moved is repeated with the same offset; an array is one step, along a line and on a grid', async (t) => {
  const { other, editor, page } = await open(t, (other) => box(other, 'post-1', [0, 0, 0]));
  await editor.select('post-1');
  await page.keyboard.press('ControlOrMeta+d');
  await until('the copy is selected', async () => (await editor.row('post-2').getAttribute('aria-selected')) === 'true');
  await editor.type(transform, 'position x', '1.5');
  await at(other, 'post-2', [1.5, 0, 0]);
  await page.locator('.tree-list').focus();
  await page.keyboard.press('ControlOrMeta+Shift+d');
  await at(other, 'post-3', [3, 0, 0]);
  await until('it is selected', async () => (await editor.row('post-3').getAttribute('aria-selected')) === 'true');
  await page.keyboard.press('ControlOrMeta+Shift+d');
  await at(other, 'post-4', [4.5, 0, 0]);
  await until('it is selected', async () => (await editor.row('post-4').getAttribute('aria-selected')) === 'true');

  const form = page.getByRole('dialog', { name: 'Array' });
  await run(editor, 'array');
  await form.waitFor();
  await form.getByRole('spinbutton', { name: 'Number' }).fill('3');
  await form.getByRole('spinbutton', { name: 'Distance (m) Z' }).fill('2');
  await form.getByRole('spinbutton', { name: 'Distance (m) X' }).fill('0');
  await editor.picture('array');
  await form.getByRole('button', { name: 'Make' }).click();
  await at(other, 'post-6', [4.5, 0, 4]);
  await page.keyboard.press('ControlOrMeta+z');
  await until('the array is one step', async () => (await has_children(other, nil)).length === 4);
  await editor.select('post-1');
  await run(editor, 'array');
  await form.getByRole('radio', { name: 'On a grid' }).check();
  await form.getByRole('spinbutton', { name: 'Number Y' }).fill('2');
  await form.getByRole('button', { name: 'Make' }).click();
  await until('all are there', async () => (await has_children(other, nil)).length === 4 + 17);
  const places = new Set<string>();
  for (const name of await has_children(other, nil)) places.add((await place(other, await other.entity(name))).join());
  assert.ok(places.has('2,1,2') && places.has('0,1,0'), [...places].join(' '));
});

test('what is hidden is not drawn and not clicked, what is locked is not clicked; both stay after a reload, not in the level', async (t) => {
  const { other, editor, page } = await open(t, async (other) => {
    const camp = await other.create(nil, 'camp', [transform, {}]);
    await box(other, 'front', [0, 0, 2], camp);
    await box(other, 'back', [0, 0, -2], nil, [3, 3, 1]);
  });
  await page.locator('.viewport-root').focus();
  await page.keyboard.press('q'); // without handles
  await page.keyboard.press('1');
  await page.keyboard.press('f');
  await page.locator('.viewport-status', { hasText: 'at rest' }).waitFor();
  const canvas = (await page.locator('.viewport-canvas').boundingBox())!;
  const click = async (): Promise<void> => {
    await page.mouse.click(canvas.x + canvas.width / 2, canvas.y + canvas.height / 2);
  };
  const is_selected = (name: string): Promise<unknown> =>
    until(`${name} is selected`, async () => (await editor.row(name).getAttribute('aria-selected')) === 'true');
  await click();
  await is_selected('front');
  await editor.row('camp').click();
  await page.keyboard.press('h');
  await page.getByRole('button', { name: /show everything/ }).waitFor();
  await click();
  await is_selected('back');
  await editor.picture('hidden');
  await page.reload();
  await editor.live();
  await page.getByRole('button', { name: /show everything/ }).click();
  await until('nothing is hidden', async () => (await page.locator('.tree-row.is-unseen').count()) === 0);
  await editor.row('camp').click();
  await page.keyboard.press('l');
  await page.locator('.viewport-root').focus();
  await page.keyboard.press('q');
  await page.keyboard.press('1');
  await page.locator('.viewport-status', { hasText: 'at rest' }).waitFor();
  await page.locator('.tree-list').focus();
  await page.keyboard.press('Escape');
  await page.keyboard.press('f');
  await click();
  await is_selected('back');
  await page.keyboard.press('Shift+H');
  await page.getByRole('button', { name: /Only a part is shown/ }).waitFor();
  await page.keyboard.press('Alt+h');
  const { components } = await other.show(await other.entity('camp'));
  assert.deepEqual(Object.keys(components).filter((name) => /[hH]id|[lL]ock/.test(name)), []);
});

test('with Shift, what is dragged stands on the surface under the pointer', async (t) => {
  const { other, editor, page } = await open(t, async (other) => {
    await box(other, 'table', [0, 0.5, 0], nil, [6, 1, 6]);
    await box(other, 'cup', [0, 3, 0], nil, [0.5, 0.5, 0.5]);
  });
  await editor.select('cup');
  await page.locator('.viewport-root').focus();
  await page.keyboard.press('f');
  await page.locator('.viewport-status', { hasText: 'at rest' }).waitFor();
  const canvas = (await page.locator('.viewport-canvas').boundingBox())!;
  await page.mouse.move(canvas.x + canvas.width / 2, canvas.y + canvas.height / 2);
  await page.mouse.down();
  await page.keyboard.down('Shift');
  await page.mouse.move(canvas.x + canvas.width / 2, canvas.y + canvas.height * 0.8, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await until('it stands on the table or the ground', async () => {
    const [, y] = await place(other, await other.entity('cup'));
    return y === 1.25 || y === 0.25;
  });
});

test('turning several about their middle, the last one, or each its own origin', async (t) => {
  const { other, editor, page } = await open(t, async (other) => {
    await box(other, 'a', [-2, 0, 0]);
    await box(other, 'b', [2, 0, 0]);
  });
  const pivot = page.getByRole('button', { name: /Turn and scale about/ });
  const turn = async (): Promise<Three> => {
    await page.locator('.viewport-root').focus();
    await page.keyboard.press('7');
    await page.keyboard.press('f');
    await page.keyboard.press('e');
    await page.locator('.viewport-status', { hasText: 'at rest' }).waitFor();
    const canvas = (await page.locator('.viewport-canvas').boundingBox())!;
    // The ring about Y is a circle when one looks from above.
    const [x, y] = [canvas.x + canvas.width / 2, canvas.y + canvas.height / 2];
    await page.mouse.move(x + ring, y);
    await page.mouse.down();
    await page.mouse.move(x + ring * 0.7, y - ring * 0.7, { steps: 4 });
    await page.mouse.up();
    await until('it is turned', async () => {
      const { y: turned } = (await component(other, await other.entity('a'), transform)).rotation as { y: number };
      return Math.abs(turned) > 0.2;
    });
    const found = await place(other, await other.entity('a'));
    await page.keyboard.press('ControlOrMeta+z');
    await at(other, 'a', [-2, 0, 0]);
    return found;
  };
  const ring = await editor.select('a', 'b').then(() => 84);
  for (let i = 0; i < 3; ++i) await pivot.click();
  await page.getByRole('button', { name: 'Turn and scale about: Each' }).waitFor();
  assert.deepEqual(await turn(), [-2, 0, 0]);
  await pivot.click();
  await page.getByRole('button', { name: 'Turn and scale about: Origins' }).waitFor();
  const [x, , z] = await turn();
  assert.ok(Math.abs(x) < 1.9 && Math.abs(z) > 0.5, `${x} ${z}`);
});
