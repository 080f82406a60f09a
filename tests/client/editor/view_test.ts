// What hands do in the viewport: pick, select by a box, drag handles, take back. Each is seen by a second client.
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

import { nil } from 'muster-client';
import type { Client, Entity } from 'muster-client';

import { component, Editor, given, test, until, World } from './page.js';

interface Vec3 {
  x: number;
  y: number;
  z: number;
}
const transform = 'scene.Transform';

/** A world with the types of a scene: the living room, and what a test puts there. */
async function scene(t: TestContext): Promise<{ world: World; other: Client }> {
  const world = await World.serve(t, ['--existing'], (made) => {
    copyFileSync(join(given('MUSTER_SOURCES'), 'examples/levels/living_room.glb'), join(made.folder, 'room.glb'));
    made.run('import', 'room.glb', made.path);
  });
  return { world, other: await world.connect() };
}
function crate(other: Client, name: string, x: number, y = 0, parent = nil): Promise<Entity> {
  return other.create(
    parent,
    name,
    [transform, { position: { x, y, z: 0 } }],
    ['scene.Shape', {}],
    ['scene.Color', {}],
  );
}
async function place(other: Client, entity: Entity): Promise<Vec3> {
  return (await component(other, entity, transform)).position as Vec3;
}

/** The viewport's middle and size, once it rests. */
async function canvas(
  editor: Editor,
): Promise<{ x: number; y: number; left: number; top: number; width: number; height: number }> {
  await editor.page.locator('.viewport-status', { hasText: 'at rest' }).waitFor();
  const box = (await editor.page.locator('.viewport-canvas').boundingBox())!;
  return {
    x: box.x + box.width / 2,
    y: box.y + box.height / 2,
    left: box.x,
    top: box.y,
    width: box.width,
    height: box.height,
  };
}
/** Looks at one entity from the front, in the middle of the picture. */
async function look_at(
  editor: Editor,
  name: string,
): Promise<{ x: number; y: number; left: number; top: number; width: number; height: number }> {
  await editor.select(name);
  await editor.page.keyboard.press('1');
  await editor.page.keyboard.press('f');
  return canvas(editor);
}
async function drag(editor: Editor, from: [number, number], to: [number, number]): Promise<void> {
  const { mouse } = editor.page;
  await mouse.move(...from);
  await mouse.down();
  await mouse.move((from[0] + to[0]) / 2, (from[1] + to[1]) / 2);
  await mouse.move(...to);
}
const selected = (editor: Editor): Promise<(string | null)[]> =>
  editor.page
    .locator('.tree-row[aria-selected=true]')
    .evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-label')));
const is_selected = (editor: Editor, ...names: string[]): Promise<unknown> =>
  until(
    `${names.join() || 'nothing'} is selected`,
    async () => (await selected(editor)).sort().join() === names.sort().join(),
  );

test('a click picks what is seen there, with Shift and Ctrl more; a rectangle selects what is in it', async (t) => {
  const { world, other } = await scene(t);
  await other.destroy(await other.entity('room'));
  for (const [i, x] of [-3, 0, 3].entries()) await crate(other, `crate ${i}`, x);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const { x, y, left, top, width, height } = await look_at(editor, 'crate 1');
  await page.mouse.click(left + 30, top + height - 60);
  await is_selected(editor);
  await page.mouse.click(x, y);
  await is_selected(editor, 'crate 1');

  // All three in one picture.
  await page.mouse.click(left + 30, top + height - 60);
  await page.keyboard.press('f');
  await canvas(editor);
  await drag(editor, [left + 12, top + 60], [left + width - 12, top + height - 12]);
  await page.mouse.up();
  await is_selected(editor, 'crate 0', 'crate 1', 'crate 2');
  await page.keyboard.press('q');
  await page.keyboard.down('Control');
  await page.mouse.click(x, y);
  await page.keyboard.up('Control');
  await is_selected(editor, 'crate 0', 'crate 2');
  await page.mouse.click(x, y);
  await is_selected(editor, 'crate 1');
});

test('a handle moves along its axis: one step to undo, Esc takes it back, steps end on the grid', async (t) => {
  const { world, other } = await scene(t);
  await other.destroy(await other.entity('room'));
  const above = await other.create(nil, 'above', [transform, { scale: { x: 2, y: 2, z: 2 } }]);
  const entity = await crate(other, 'crate', 0, 0, above);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.open_row('above');
  const { x, y } = await look_at(editor, 'crate');
  await drag(editor, [x + 80, y], [x + 140, y + 7]);
  const moved = await until('others see it move', async () => {
    const at = await place(other, entity);
    return at.x > 0.01 ? at : null;
  });
  assert.deepEqual([moved.y, moved.z], [0, 0]);
  await page.keyboard.press('Escape');
  await page.mouse.up();
  await until('it is back', async () => (await place(other, entity)).x === 0);

  await page.getByRole('button', { name: 'Snap to increments' }).click();
  await canvas(editor);
  await drag(editor, [x, y - 80], [x, y - 170]);
  await page.mouse.up();
  // Half a metre in the world is a quarter in a space of twice the size.
  await until('it ends on the grid', async () => {
    const at = await place(other, entity);
    return at.y > 0.01 && Math.abs(at.y * 4 - Math.round(at.y * 4)) < 1e-4 && at.x === 0;
  });
  await page.keyboard.press('ControlOrMeta+z');
  await until('it is taken back in one step', async () => (await place(other, entity)).y === 0);
});

test('rings turn and boxes scale, and nothing but that', async (t) => {
  const { world, other } = await scene(t);
  await other.destroy(await other.entity('room'));
  const entity = await crate(other, 'crate', 1, 1);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const { x, y } = await look_at(editor, 'crate');
  await page.keyboard.press('r');
  await canvas(editor);
  await drag(editor, [x + 92, y], [x + 138, y]);
  await page.mouse.up();
  await until('it is wider', async () => {
    const { x: wide, y: high, z: deep } = (await component(other, entity, transform)).scale as Vec3;
    return Math.abs(wide - 1.5) < 0.06 && high === 1 && deep === 1;
  });

  await page.keyboard.press('e');
  await canvas(editor);
  // From the front the ring of Z is a circle.
  const [a, b] = [0.4, 1.2].map((turn): [number, number] => [x + 84 * Math.cos(turn), y - 84 * Math.sin(turn)]);
  await drag(editor, a, b);
  await page.mouse.up();
  const turned = await until('it is turned', async () => {
    const value = await component(other, entity, transform);
    const rotation = value.rotation as Vec3 & { w: number };
    return Math.abs(rotation.z - Math.sin(0.4)) < 0.03 ? { value, rotation } : null;
  });
  assert.ok(Math.abs(turned.rotation.x) < 1e-6 && Math.abs(turned.rotation.y) < 1e-6);
  assert.deepEqual(turned.value.position, { x: 1, y: 1, z: 0 });
});

test('a model of the world’s folder is drawn, and each of its meshes is picked by its own triangles', async (t) => {
  const { world } = await scene(t);
  const editor = await Editor.open(t, world);
  await canvas(editor);
  await until('the model is there', async () =>
    /([7-9]|\d\d) draws/.test((await editor.page.locator('.viewport-status').textContent()) ?? ''),
  );
  const { x, y } = await canvas(editor);
  await editor.page.mouse.click(x, y);
  await editor.page.getByRole('region', { name: 'scene.MeshReference', exact: true }).waitFor();
});

test('a schema without places: the viewport says so, and the rest works', async (t) => {
  const world = await World.serve(t, ['--schema', given('MUSTER_SCHEMA')]);
  const other = await world.connect();
  await other.create(nil, 'camp');
  const editor = await Editor.open(t, world);
  await editor.page.getByText('Nothing to show in 3D').waitFor();
  await editor.select('camp');
});
