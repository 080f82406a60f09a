// What a hand does by accident, or without looking: it loses nothing, and no other thing than the one that was meant is changed.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { nil } from 'muster-client';
import type { Client } from 'muster-client';

import { component, Editor, given, has_children, pause, test, until, World } from './page.js';

const scene = ['--schema', given('MUSTER_SCENE')];
const transform = 'scene.Transform';

interface Vec3 {
  x: number;
  y: number;
  z: number;
}
async function position(other: Client, name: string): Promise<Vec3> {
  return (await component(other, await other.entity(name), transform)).position as Vec3;
}
const crate = (other: Client, name: string, at: Vec3, parent = nil): Promise<unknown> =>
  other.create(parent, name, [transform, { position: at }]);

test('a press on a chosen number that goes sideways scrubs it, and no text is dropped into another field', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await crate(other, 'crate', { x: 5, y: 7, z: 9 });
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('crate');
  const box = editor.box(transform, 'position x');
  await box.click();
  await until('the number is chosen', () => box.evaluate((input: HTMLInputElement) => input.selectionEnd! > 0));
  const at = (await box.boundingBox())!;
  const [x, y] = [at.x + at.width - 10, at.y + at.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 30, y, { steps: 4 });
  await page.mouse.move(x + 66, y, { steps: 4 });
  await page.mouse.up();
  await until('it is scrubbed', async () => (await position(other, 'crate')).x > 6);
  await page.locator('.tree-list').focus();
  await pause(100);
  const after = await position(other, 'crate');
  assert.deepEqual([after.y, after.z], [7, 9]);
  await page.keyboard.press('ControlOrMeta+z');
  await until('it is one step', async () => (await position(other, 'crate')).x === 5);

  // A second click puts the caret into the number, and text is chosen there as anywhere.
  await box.click();
  await box.click();
  await until('nothing is chosen', () =>
    box.evaluate((input: HTMLInputElement) => document.activeElement === input && input.selectionStart === input.selectionEnd),
  );
  await page.keyboard.press('Escape');

  // Text of any other field stays where it is, too.
  const name = page.getByRole('textbox', { name: 'Name' });
  await name.click({ clickCount: 3 });
  const from = (await name.boundingBox())!;
  await page.mouse.move(from.x + 12, from.y + 10);
  await page.mouse.down();
  await page.mouse.move(x, y, { steps: 6 });
  await page.mouse.move(x - 4, y, { steps: 2 });
  await page.mouse.up();
  await page.locator('.tree-list').focus();
  await pause(100);
  assert.deepEqual(await position(other, 'crate'), { x: 5, y: 7, z: 9 });
  assert.deepEqual(await has_children(other, nil), ['crate']);
});

test('a number that another changes while it is dragged keeps the value of the other, and it is said', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await crate(other, 'crate', { x: 5, y: 7, z: 9 });
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('crate');
  const box = editor.box(transform, 'position x');
  const at = (await box.boundingBox())!;
  const [x, y] = [at.x + at.width - 10, at.y + at.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 20, y, { steps: 3 });
  await until('it moves', async () => (await position(other, 'crate')).x > 5);
  await other.set_field(await other.entity('crate'), transform, 'position.x', 500);
  await page.mouse.move(x + 24, y);
  await page.locator('.notice', { hasText: 'somebody else has changed it' }).waitFor();
  await page.mouse.move(x + 40, y, { steps: 4 });
  await page.mouse.up();
  await until('it shows what the other wrote', async () => (await box.inputValue()) === '500');
  assert.equal((await position(other, 'crate')).x, 500);

  // The same of a handle: what it held is where the other has put it, and the next pull begins there.
  await page.locator('.notice').getByRole('button', { name: 'Close' }).click();
  await editor.select('crate');
  await page.keyboard.press('1');
  await page.keyboard.press('f');
  await page.locator('.viewport-status', { hasText: 'at rest' }).waitFor();
  const canvas = (await page.locator('.viewport-canvas').boundingBox())!;
  const [left, middle] = [canvas.x + canvas.width / 2, canvas.y + canvas.height / 2];
  await page.mouse.move(left + 80, middle);
  await page.mouse.down();
  await page.mouse.move(left + 100, middle, { steps: 3 });
  await until('it moves', async () => (await position(other, 'crate')).x > 500);
  await other.set_field(await other.entity('crate'), transform, 'position.z', 33);
  const there = await position(other, 'crate');
  await page.mouse.move(left + 130, middle, { steps: 2 });
  await page.locator('.notice', { hasText: 'somebody else has changed it' }).waitFor();
  await page.mouse.move(left + 150, middle, { steps: 2 });
  await page.mouse.up();
  await pause(200);
  const after = await position(other, 'crate');
  assert.deepEqual([after.x, after.z], [there.x, 33]);
});

test('a key for something that cannot be done now says why: undo without a step, a step of a running clock', async (t) => {
  const world = await World.serve(t, [...scene, '--hz', '20']);
  const other = await world.connect();
  await crate(other, 'crate', { x: 5, y: 7, z: 9 });
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('crate');
  for (const [key, words] of [
    ['ControlOrMeta+z', 'There is nothing to undo.'],
    ['ControlOrMeta+y', 'There is nothing to redo.'],
    ['.', 'Pause first.'],
  ]) {
    await page.keyboard.press(key);
    await page.locator('.notice').getByText(words, { exact: true }).waitFor();
  }
  assert.equal((await position(other, 'crate')).x, 5); // what the other one did is not undone here
});

test('Escape takes the sentence of a refused field away first, and the selection with the next press', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await crate(other, 'crate', { x: 5, y: 7, z: 9 });
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('crate');
  await editor.type(transform, 'position x', 'five');
  await page.locator('.refused').waitFor();
  await page.keyboard.press('Escape');
  await until('the sentence is gone', async () => (await page.locator('.refused').count()) === 0);
  assert.equal(await editor.row('crate').getAttribute('aria-selected'), 'true');
  await page.keyboard.press('Escape');
  await until('nothing is selected', async () => (await editor.row('crate').getAttribute('aria-selected')) === 'false');
});

test('a name has no spaces around it; one that is taken is refused in the words of the panel; an emptied one shows the id', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const red = await other.create(nil, 'red');
  for (const name of ['tower-12', 'tower-13']) await crate(other, name, { x: 5, y: 7, z: 9 }, red as never);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.open_row('red');
  const name = page.getByRole('textbox', { name: 'Name' });
  const rename = async (to: string): Promise<void> => {
    await name.fill(to);
    await name.press('Enter');
  };
  await editor.select('tower-13');
  await rename('  keep ');
  await until('it is renamed', async () => (await has_children(other, red)).join() === 'tower-12,keep');
  await rename('tower-12');
  await page
    .locator('.notice')
    .getByText("Rename keep: the name 'tower-12' is taken by another child of red", { exact: true })
    .waitFor();
  await rename('   ');
  await until('the name is gone', async () => (await has_children(other, red)).join() === 'tower-12,');
  await page.locator('.tree-name', { hasText: /^#\d+:1$/ }).waitFor();
  await page.locator('.tree-list').focus();
  await page.keyboard.press('ControlOrMeta+z');
  await until('the name is back', async () => (await has_children(other, red)).join() === 'tower-12,keep');
});

test('a file that is dropped on the page does not take it away: it is stored once, wherever it falls', async (t) => {
  const world = await World.serve(t, scene);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const taken = await page.evaluate(() => {
    const files = new DataTransfer();
    files.items.add(new File(['{}'], 'house.gltf'));
    const said = [];
    for (const place of ['.viewport', '.tree-list', '#tree-search'])
      for (const kind of ['dragover', 'drop']) {
        const event = new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true });
        document.querySelector(place)!.dispatchEvent(event);
        said.push(event.defaultPrevented);
      }
    return said;
  });
  assert.deepEqual(taken, Array(6).fill(true));
  await until('it is stored', () => existsSync(join(world.folder, 'assets/house.gltf')));
  await page.locator('.notice', { hasText: 'assets/house.gltf is there already' }).first().waitFor();
});

test('Space pauses and plays after a click on any button; one that was reached by keys is pressed', async (t) => {
  const world = await World.serve(t, [...scene, '--hz', '20']);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const state = page.locator('.clock-state');
  const is = (what: string): Promise<unknown> => until(`it is ${what}`, async () => (await state.innerText()) === what);
  await is('running');
  const grid = page.getByRole('button', { name: 'Show the grid' });
  await grid.click();
  assert.equal(await grid.getAttribute('aria-pressed'), 'false');
  await page.keyboard.press('Space');
  await is('paused');
  assert.equal(await grid.getAttribute('aria-pressed'), 'false');
  // One whose menu gave the focus back.
  await page.getByRole('button', { name: 'Speed: 1' }).click();
  await page.getByRole('menuitemcheckbox', { name: '4×' }).click();
  await page.getByRole('button', { name: 'Speed: 4' }).waitFor();
  await page.keyboard.press('Space');
  await is('running');
  assert.equal(await page.getByRole('menu').count(), 0);

  await grid.click();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Space');
  await until('it is pressed', async () => (await grid.getAttribute('aria-pressed')) === 'false');
  assert.equal(await state.innerText(), 'running');
});
