// What the viewport says of models that it cannot draw, and of its own tools.
import assert from 'node:assert/strict';

import { nil } from 'muster-client';
import type { Client, Entity } from 'muster-client';
import type { Page } from 'playwright-core';

import { Editor, given, test, until, World } from './page.js';

const scene = ['--schema', given('MUSTER_SCENE')];
const transform = 'scene.Transform';

async function model(other: Client, name: string, asset: string, size = 2): Promise<Entity> {
  return other.create(
    nil,
    name,
    [transform, {}],
    ['scene.Shape', { size: { x: size, y: size, z: size } }],
    ['scene.MeshReference', { asset, mesh: 'walls', index: 0 }],
  );
}
const at_rest = (page: Page): Promise<void> => page.locator('.viewport-status', { hasText: 'at rest' }).waitFor();
/** The part of the picture that is as orange as the stripes of a model that is missing. */
async function orange(page: Page): Promise<number> {
  const picture = await page.locator('.viewport').screenshot();
  return page.evaluate(async (bytes) => {
    const image = await createImageBitmap(new Blob([Uint8Array.from(bytes)], { type: 'image/png' }));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const draw = canvas.getContext('2d')!;
    draw.drawImage(image, 0, 0);
    const { data } = draw.getImageData(0, 0, image.width, image.height);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i] > 110 && data[i] - data[i + 2] > 70 && data[i + 1] > 50) ++found;
    return found / (data.length / 4);
  }, [...picture]);
}

test('a model that cannot be drawn is named in the picture, with the reason, and in the Log once', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await model(other, 'castle', '../models/castle.gltf');
  await model(other, 'tower', '../models/castle.gltf');
  await model(other, 'house', 'house.glb');
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const sign = page.locator('.viewport-sign');
  const outside = "it is outside the world's folder, and models must be in that folder or below it";
  await sign.filter({ hasText: '../models/castle.gltf' }).getByText(`I${outside.slice(1)}.`, { exact: true }).waitFor();
  await sign.filter({ hasText: 'house.glb' }).getByText(/no such file/).waitFor();
  assert.equal(await sign.count(), 2);
  await page.getByRole('tab', { name: 'Log' }).click();
  const line = page.locator('.log-line', { hasText: 'castle.gltf' });
  assert.equal(await line.locator('span').last().innerText(), `../models/castle.gltf cannot be drawn: ${outside}`);
  for (const name of ['castle', 'tower']) await other.destroy(await other.entity(name));
  await until('one is left', async () => (await sign.count()) === 1);
});

test('a camera inside the box of a model that is missing sees the rest of the world', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await model(other, 'castle', 'castle.gltf', 100);
  await other.create(nil, 'crate', [transform, {}], ['scene.Shape', {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.locator('.viewport-sign').waitFor();
  await at_rest(page);
  const before = await orange(page);
  assert.ok(before > 0.05, `${before}`);
  await editor.select('crate');
  await page.keyboard.press('f');
  await until('the box is not in the way', async () => (await orange(page)) < 0.02);
  // Nor does it catch the pointer.
  await at_rest(page);
  const box = (await page.locator('.viewport-canvas').boundingBox())!;
  await page.mouse.click(box.x + 40, box.y + box.height - 80);
  await until('nothing is selected', async () => (await page.locator('.tree-row[aria-selected=true]').count()) === 0);
});

test('a model of a kind that is not drawn counts in the badge of the Log', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await model(other, 'house', 'house.obj');
  const editor = await Editor.open(t, world);
  const log = editor.page.getByRole('tab', { name: 'Log' });
  await log.getByText('1', { exact: true }).waitFor();
  await log.click();
  await editor.page.getByText('house.obj is shown as boxes: the viewport draws only glTF (.gltf, .glb).').waitFor();
});

test('the steps of snapping are shown while it is on', async (t) => {
  const world = await World.serve(t, scene);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const steps = page.locator('.viewport-steps-button');
  assert.equal(await steps.innerText(), 'Snap off');
  await page.getByRole('button', { name: 'Snap to increments' }).click();
  assert.match(await steps.innerText(), /0\.5 m · 15°/);
});

test('the numbers of a drag stand above the status line of the viewport', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await other.create(nil, 'crate', [transform, {}], ['scene.Shape', {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.evaluate(() => {
    const said: { text: string; y: number }[] = [];
    Object.assign(window, { said });
    const fill = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
      if (this.canvas.className === 'viewport-overlay') said.push({ text, y });
      return fill.call(this, text, x, y, ...more);
    };
  });
  await editor.select('crate');
  await page.keyboard.press('1');
  await page.keyboard.press('f');
  await at_rest(page);
  const box = (await page.locator('.viewport-canvas').boundingBox())!;
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x + 80, y);
  await page.mouse.down();
  await page.mouse.move(x + 120, y, { steps: 3 });
  await page.mouse.move(box.x + box.width - 60, box.y + box.height - 10, { steps: 3 });
  const numbers = await until('numbers are shown', () =>
    page.evaluate(() => {
      const { said } = window as unknown as { said: { text: string; y: number }[] };
      return said.filter(({ text }) => / m$/.test(text)).at(-1);
    }),
  );
  await page.mouse.up();
  const status = (await page.locator('.viewport-status').boundingBox())!;
  assert.ok(box.y + numbers.y + 8 <= status.y, JSON.stringify([numbers, status, box]));
});
