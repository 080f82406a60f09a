// Levels as people have them: each model file of examples/levels, imported, is a world that the page shows and where hands reach things.
import assert from 'node:assert/strict';
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { nil, Replica } from 'muster-client';

import { Editor, given, has_children, test, until, World } from './page.js';

const folder = join(given('MUSTER_SOURCES'), 'examples/levels');
const levels = (readdirSync(folder, { recursive: true }) as string[])
  .filter((name) => /\.(gltf|glb)$/.test(name))
  .sort();

test('there are levels', () => {
  assert.ok(levels.length >= 3, levels.join());
  return Promise.resolve();
});

for (const level of levels)
  test(`${level}: its roots are in the tree, every mesh of it is drawn, and what is clicked is selected`, async (t) => {
    const world = await World.serve(t, ['--existing'], (made) => {
      cpSync(folder, join(made.folder, 'levels'), { recursive: true });
      made.run('import', join('levels', level), made.path);
    });
    const other = await world.connect();
    const copy = new Replica({});
    await copy.follow(other);
    const meshes = new Set<string>();
    for (const { components } of copy) {
      const mesh = components['scene.MeshReference'];
      if (mesh) meshes.add(`${String(mesh.asset)} ${String(mesh.index)}`);
    }
    assert.ok(meshes.size > 0, 'the level has meshes');

    const editor = await Editor.open(t, world);
    const { page } = editor;
    for (const name of await has_children(other, nil)) await editor.row(name).waitFor();
    const status = page.locator('.viewport-status');
    // One draw is of all instances of one mesh that has one material.
    await until(`all ${meshes.size} meshes are drawn`, async () => {
      const [, entities, draws] =
        /^([\d,]+) entit\w+ · (\d+) draws · at rest$/.exec((await status.textContent()) ?? '') ?? [];
      return entities === copy.size.toLocaleString('en') && Number(draws) >= meshes.size;
    });

    const box = (await page.locator('.viewport-canvas').boundingBox())!;
    let id: number[] = [];
    for (const [x, y] of [
      [0.5, 0.5],
      [0.5, 0.6],
      [0.4, 0.5],
      [0.6, 0.5],
      [0.5, 0.4],
    ]) {
      await page.mouse.click(box.x + box.width * x, box.y + box.height * y);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      const shown = await page.locator('.about-id').allTextContents();
      id = shown.join().split(':').map(Number);
      if (copy.get({ index: id[0], generation: id[1] })?.components['scene.MeshReference']) break;
    }
    await page.getByRole('region', { name: 'scene.MeshReference', exact: true }).waitFor();
    // Wherever it hangs, the tree shows it.
    const row = page.locator(`#row-${id.join('-')}`);
    await row.waitFor();
    assert.equal(await row.getAttribute('aria-selected'), 'true');

    await page.getByRole('tab', { name: 'Log' }).click();
    assert.equal(await page.getByText('cannot be drawn').count(), 0);
  });
