// What a designer does that no other file here has: each step is seen in the page and by a second client, and what that one does in the page.
// Elsewhere: find, create, spawn, duplicate, rename, drop onto, delete, components (structure_test); every field, several at once, conflicts,
// refusals (fields_test); pick, rectangle, handles, models (view_test, levels_test); messages, step, a killed server (link_test).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { nil, session } from 'muster-client';

import { component, Editor, given, has_children, test, until, World } from './page.js';

const scene = given('MUSTER_SCENE');
const transform = 'scene.Transform';

test('shapes, lights and cameras are created and drawn; what is moved and turned stands in the inspector, whoever did it', async (t) => {
  const world = await World.serve(t, ['--schema', scene]);
  const other = await world.connect();
  const editor = await Editor.open(t, world);
  const { page } = editor;
  for (const [title, name, kind] of [
    ['Light', 'light', 'scene.Light'],
    ['Camera', 'camera', 'scene.Camera'],
    ['Box', 'box', 'scene.Shape'],
  ]) {
    await page.getByRole('button', { name: 'Create an entity' }).click();
    await page.getByRole('menuitem', { name: title, exact: true }).click();
    const made = await until(`others see the ${name}`, () => other.entity(name).catch(() => null));
    await until('with what makes it one', () => component(other, made, kind));
    await until('it is selected', async () => (await editor.row(name).getAttribute('aria-selected')) === 'true');
    await page.locator('.tree-list').focus();
    await page.keyboard.press('Escape');
    await until('nothing is', async () => (await page.locator('.tree-row[aria-selected=true]').count()) === 0);
  }
  assert.deepEqual(await has_children(other, nil), ['light', 'camera', 'box']);
  const status = page.locator('.viewport-status');
  await until('all three are in the viewport', async () => (await status.textContent())?.startsWith('3 entities'));

  const box = await other.entity('box');
  await editor.select('box');
  await page.keyboard.press('1');
  await page.keyboard.press('f');
  await page.locator('.viewport-status', { hasText: 'at rest' }).waitFor();
  const canvas = (await page.locator('.viewport-canvas').boundingBox())!;
  const [x, y] = [canvas.x + canvas.width / 2, canvas.y + canvas.height / 2];
  await page.mouse.move(x + 80, y);
  await page.mouse.down();
  await page.mouse.move(x + 110, y, { steps: 2 });
  await page.mouse.move(x + 140, y, { steps: 2 });
  await page.mouse.up();
  const shown = editor.box(transform, 'position x');
  await until('the inspector shows where others see it', async () => {
    const { x: at } = (await component(other, box, transform)).position as { x: number };
    return at > 0.01 && Math.abs(Number(await shown.inputValue()) - at) < 0.01;
  });
  await editor.type(transform, 'rotation z', '90');
  await until('others see it turned', async () => {
    const { z, w } = (await component(other, box, transform)).rotation as { z: number; w: number };
    return Math.abs(z - Math.SQRT1_2) < 1e-6 && Math.abs(w - Math.SQRT1_2) < 1e-6;
  });
  await until('it shows what was typed', async () => (await editor.box(transform, 'rotation z').inputValue()) === '90');
  await other.set_field(box, transform, 'position.x', -7.5);
  await until('it shows where another has put it', async () => (await shown.inputValue()) === '-7.5');
});

test('a row is dropped between two others; values of a component are copied, pasted and reset', async (t) => {
  const world = await World.serve(t, ['--schema', scene]);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp');
  for (const name of ['a', 'b', 'c'])
    await other.create(camp, name, [transform, { position: { x: name.charCodeAt(0), y: 0, z: 0 } }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const order = (expected: string): Promise<unknown> =>
    until(`all see ${expected}`, async () => {
      const rows = await page
        .locator('.tree-row[aria-level="2"]')
        .evaluateAll((found) =>
          found
            .sort((one, next) => one.getBoundingClientRect().y - next.getBoundingClientRect().y)
            .map((row) => row.getAttribute('aria-label')),
        );
      return rows.join('') === expected && (await has_children(other, camp)).join('') === expected;
    });
  await editor.open_row('camp');
  await order('abc');
  await editor.row('c').dragTo(editor.row('a'), { targetPosition: { x: 60, y: 2 } });
  await order('cab');
  await editor.row('c').dragTo(editor.row('b'), { targetPosition: { x: 60, y: 22 } });
  await order('abc');
  await page.locator('.tree-list').focus();
  await page.keyboard.press('ControlOrMeta+z');
  await order('cab');

  const x_of = async (name: string): Promise<number> =>
    ((await component(other, await other.entity(name), transform)).position as { x: number }).x;
  const more = async (item: string): Promise<void> => {
    await editor.part(transform).getByRole('button', { name: 'More for Transform' }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  await editor.select('a');
  await more('Copy values');
  await editor.select('b', 'c');
  await more('Paste values');
  await until('both have them', async () => (await x_of('b')) === 97 && (await x_of('c')) === 97);
  await more('Reset to defaults');
  await until('both are where things begin', async () => (await x_of('b')) === 0 && (await x_of('c')) === 0);
  assert.equal(await x_of('a'), 97);
  await until('it is shown', async () => (await editor.box(transform, 'position x').inputValue()) === '0');

  await page.locator('.tree-list').focus();
  await page.keyboard.press('Delete');
  await order('a');
});

test('speed, pause and save are the same for all who look', async (t) => {
  const world = await World.serve(t, ['--schema', scene, '--hz', '20', '--autosave', '0']);
  const other = await world.connect();
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.getByRole('button', { name: 'Speed: 1' }).click();
  await page.getByRole('menuitemcheckbox', { name: '4×' }).click();
  await until('others see the speed', async () => (await other.ask(session.GetClock)).speed === 4);
  await other.set_clock({ speed: 0.5, paused: true });
  await page.getByRole('button', { name: 'Speed: 0.5' }).waitFor();
  await page.locator('.clock-state', { hasText: 'paused' }).waitFor();

  await other.create(nil, 'orc');
  const before = await other.ask(session.GetClock);
  assert.ok(before.saved_sequence < before.sequence);
  await editor.row('orc').waitFor();
  await page.getByRole('button', { name: 'Save over file' }).click();
  await until('others see it saved', async () => (await other.ask(session.GetClock)).saved_sequence >= before.sequence);
  await page.getByText(/^File saved .*, no inputs since/).waitFor();
  await other.create(nil, 'elf');
  await page.getByText(/^File saved .*, \d+ inputs? since/).waitFor();
  await other.ask(session.Save);
  await page.getByText(/^File saved .*, no inputs since/).waitFor();
});

test('a schema made on the spot, while the page is open: its types are there at once, and places are drawn once it has some', async (t) => {
  const world = await World.serve(t, []);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp');
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.getByText('Nothing to show in 3D').waitFor();
  await editor.select('camp');

  await other.ask(session.AddSchema, { bytes: readFileSync(given('MUSTER_SCHEMA')) });
  await page.getByRole('button', { name: 'Add a component' }).click();
  await page.getByRole('option', { name: /^Health/ }).click();
  await editor.type('golden.Health', 'value', '61');
  await until('others see it', async () => (await component(other, camp, 'golden.Health')).value === 61);
  await page.getByText('Nothing to show in 3D').waitFor();

  await other.ask(session.AddSchema, { bytes: readFileSync(scene) });
  await page.getByText('No entity has a position').waitFor();
  await other.set(camp, [transform, { position: { x: 2, y: 0, z: 0 } }], ['scene.Shape', {}]);
  await until('it is drawn', async () => !(await page.locator('.viewport-note').isVisible()));
  await until('it stands where', async () => (await editor.box(transform, 'position x').inputValue()) === '2');
  assert.equal(await page.locator('.tab .badge').count(), 0, 'nothing went wrong');
});
