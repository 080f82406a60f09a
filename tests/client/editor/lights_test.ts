// Lights light the picture, cameras show what they see. The picture is read from screenshots.
import assert from 'node:assert/strict';

import { nil } from 'muster-client';
import type { Client, Entity } from 'muster-client';

import { browse, component, Editor, given, test, until, World } from './page.js';

const scene = ['--schema', given('MUSTER_SCENE')];
const transform = 'scene.Transform';

interface Clip {
  x: number;
  y: number;
  width: number;
  height: number;
}
/** Returns the mean red, green and blue of a part of the page, each from 0 to 255. */
async function mean(editor: Editor, clip: Clip): Promise<[number, number, number]> {
  await editor.page.locator('.viewport-status', { hasText: 'at rest' }).waitFor();
  const png = (await editor.page.screenshot({ clip })).toString('base64');
  const page = await (await browse()).newPage();
  try {
    return await page.evaluate(async (data) => {
      const image = new Image();
      image.src = `data:image/png;base64,${data}`;
      await image.decode();
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [image.width, image.height];
      const draw = canvas.getContext('2d')!;
      draw.drawImage(image, 0, 0);
      const { data: bytes } = draw.getImageData(0, 0, image.width, image.height);
      const sums: [number, number, number] = [0, 0, 0];
      for (let i = 0; i < bytes.length; i += 4) for (let j = 0; j < 3; ++j) sums[j as 0 | 1 | 2] += bytes[i + j];
      return sums.map((sum) => sum / (bytes.length / 4)) as [number, number, number];
    }, png);
  } finally {
    await page.close();
  }
}
async function middle(editor: Editor, dx = 0, dy = 0, size = 40): Promise<Clip> {
  const box = (await editor.page.locator('.viewport-canvas').boundingBox())!;
  return { x: box.x + box.width / 2 + dx - size / 2, y: box.y + box.height / 2 + dy - size / 2, width: size, height: size };
}
async function ground(other: Client): Promise<Entity> {
  const color = { value: { r: 0.5, g: 0.5, b: 0.5, a: 1 } };
  return other.create(nil, 'ground', [transform, { position: { x: 0, y: -0.5, z: 0 } }], ['scene.Shape', { size: { x: 30, y: 1, z: 30 } }], ['scene.Color', color]);
}

test('lights light the ground, with their color and within their range, and can be switched off; it has the surface of its Material', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await ground(other);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.locator('.viewport-root').focus();
  await page.keyboard.press('7');
  const clip = await middle(editor, 30, 0, 20);
  const before = await mean(editor, clip);
  const red = { r: 1, g: 0, b: 0, a: 1 };
  const above = { position: { x: 0, y: 2, z: 0 } };
  const lamp = await other.create(nil, 'lamp', [transform, above], ['scene.Light', { kind: 0, intensity: 30, color: red }]);
  await editor.row('lamp').waitFor();
  const lit = await until('it is red below the lamp', async () => {
    const now = await mean(editor, clip);
    return now[0] > 100 && now[0] > now[1] * 1.5 ? now : null;
  });
  await editor.picture('lamp');
  await other.set_field(lamp, 'scene.Light', 'range', 1);
  await until('the range ends above the ground', async () => (await mean(editor, clip))[0] < lit[0] - 30);
  await other.set_field(lamp, 'scene.Light', 'range', 0);
  await until('it is red again', async () => Math.abs((await mean(editor, clip))[0] - lit[0]) < 5);

  // A spot that shines along the ground does not light it; downward, it does.
  await other.set_field(lamp, 'scene.Light', 'kind', 1);
  await other.set_field(lamp, 'scene.Light', 'outer_angle', 120);
  await until('the spot is elsewhere', async () => (await mean(editor, clip))[0] < lit[0] - 30);
  const down = { x: -Math.SQRT1_2, y: 0, z: 0, w: Math.SQRT1_2 };
  await other.set_field(lamp, transform, 'rotation', down);
  await until('it shines down', async () => {
    const [r, g] = await mean(editor, await middle(editor, 14, 14, 8));
    return r > g * 1.5;
  });
  await editor.select('lamp');
  await editor.picture('spot');
  // Its range has a knob on the left, which is pulled as one step.
  await other.set_field(lamp, 'scene.Light', 'kind', 0);
  await other.set_field(lamp, 'scene.Light', 'range', 10);
  const range = async (): Promise<number> => (await component(other, lamp, 'scene.Light')).range as number;
  const root = page.locator('.viewport-root');
  const frames = (): Promise<unknown> =>
    page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await until('the range is larger', async () => {
    if ((await range()) > 12) return true;
    await editor.row('lamp').click(); // a press beside the knob selects something else
    const { x, y, width } = await middle(editor);
    for (let left = 70; left < 180; left += 6) {
      const knob = { x: x + width / 2 - left, y: y + width / 2 };
      await page.mouse.move(knob.x, knob.y);
      await frames();
      if ((await root.getAttribute('data-hand')) !== 'hot') continue;
      await page.mouse.down();
      await page.mouse.move(knob.x - 20, knob.y);
      await page.mouse.move(knob.x - 50, knob.y);
      await page.mouse.up();
      for (let i = 0; i < 50 && (await range()) < 12; ++i) await frames();
      break;
    }
    return null;
  });
  await editor.picture('range');
  await page.keyboard.press('ControlOrMeta+z');
  await until('one step takes it back', async () => (await range()) === 10);
  await page.locator('.tree-list').focus();
  await page.keyboard.press('Escape');

  await other.set_field(lamp, 'scene.Light', 'kind', 2);
  await other.set_field(lamp, 'scene.Light', 'intensity', 2);
  await until('all of it is red', async () => {
    const now = await mean(editor, clip);
    return now[0] > now[1] * 1.5;
  });
  await page.getByRole('button', { name: "Show the light of the level's own lights" }).click();
  await until('it is as it was', async () => {
    const now = await mean(editor, clip);
    return now.every((each, i) => Math.abs(each - before[i]) < 4);
  });

  // A Material takes the place of the Color, and its values are edited like all others.
  const floor = await other.entity('/ground');
  const material = { base_color: { r: 0, g: 0, b: 1, a: 1 }, roughness: 1 };
  await other.set(floor, ['scene.Material', material]);
  await until('the ground is blue', async () => {
    const [r, , b] = await mean(editor, clip);
    return b > r + 40;
  });
  await other.set_field(floor, 'scene.Material', 'emission.g', 1);
  await until('it glows green', async () => {
    const [r, g] = await mean(editor, clip);
    return g > r + 80;
  });
  await editor.picture('material');
  await editor.select('ground');
  const emission = editor.box('scene.Material', 'emission as #rrggbb');
  await emission.fill('#ff0000');
  await emission.press('Enter');
  await editor.part('scene.Material').getByRole('slider', { name: 'metal' }).fill('0.5');
  await until('the world has both', async () => {
    const { emission, metal } = (await component(other, floor, 'scene.Material')) as { emission: Record<string, number>; metal: number };
    return emission.r === 1 && emission.g === 0 && metal === 0.5;
  });
  await until('it glows red', async () => {
    const [r, g] = await mean(editor, clip);
    return r > g + 80;
  });
});

test('the selected camera shows what it sees; one looks through it, and sets it from the view as one step', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const green = { value: { r: 0, g: 0.8, b: 0, a: 1 } };
  const wall = { size: { x: 40, y: 40, z: 1 } };
  await other.create(nil, 'wall', [transform, { position: { x: 0, y: 0, z: -20 } }], ['scene.Shape', wall], ['scene.Color', green]);
  const mast = await other.create(nil, 'mast', [transform, { position: { x: 5, y: 0, z: 0 } }]);
  const camera = await other.create(mast, 'eye', [transform, { position: { x: -5, y: 0, z: 0 } }], ['scene.Camera', { aspect: 1 }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.open_row('mast');
  await page.locator('.viewport-root').focus();
  await page.keyboard.press('Shift+1'); // from behind, so that the view itself has no wall
  await editor.row('eye').click();
  const picture = page.getByRole('img', { name: 'What eye sees' });
  await picture.waitFor();
  const is_green = async (): Promise<boolean> => {
    const [r, g] = await mean(editor, (await picture.boundingBox())!);
    return g > r + 40;
  };
  await until('it sees the wall', is_green);
  await editor.picture('camera');
  const turned = { x: 0, y: 1, z: 0, w: 0 };
  await other.set_field(camera, transform, 'rotation', turned);
  await until('it sees nothing', async () => !(await is_green()));
  await other.set_field(camera, transform, 'rotation', { x: 0, y: 0, z: 0, w: 1 });
  await until('it sees the wall again', is_green);

  await page.locator('.viewport-root').focus();
  await page.keyboard.press('q');
  await page.keyboard.press('0');
  await until('the view is full of the wall', async () => {
    const [r, g] = await mean(editor, await middle(editor, 60, -60, 20));
    return g > r + 40;
  });
  await page.keyboard.press('3');
  await page.keyboard.press('Shift+0');
  await until('it looks along -X', async () => {
    const { x, y, z, w } = (await component(other, camera, transform)).rotation as Record<string, number>;
    return Math.abs(y - Math.SQRT1_2) < 1e-3 && Math.abs(w - Math.SQRT1_2) < 1e-3 && Math.abs(x) + Math.abs(z) < 1e-3;
  });
  await page.keyboard.press('ControlOrMeta+z');
  await until('one step takes it back', async () => {
    const { position, rotation } = (await component(other, camera, transform)) as Record<string, Record<string, number>>;
    return Object.values(position).join() === '-5,0,0' && rotation.w === 1;
  });
  assert.equal(await page.locator('.viewport-preview').isVisible(), true);
  await page.locator('.tree-list').focus();
  await page.keyboard.press('Escape');
  await picture.waitFor({ state: 'hidden' });
});
