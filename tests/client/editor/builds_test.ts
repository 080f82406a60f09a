// A designer builds a level from nothing, with pointer and keyboard alone: ground, 40 shapes in
// groups, lights, a camera, a template whose trees have three variants, and a dropped model. The
// level is saved, played, stopped, and opened elsewhere.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { id_text, nil, session } from 'muster-client';
import type { Client } from 'muster-client';

import { Editor, given, has_children, pause, test, until, World } from './page.js';

const scene = ['--schema', given('MUSTER_SCENE'), '--hz', '20'];
const transform = 'scene.Transform';

class Designer {
  /** Errors in the console of the page. */
  readonly errors: string[] = [];

  constructor(
    readonly editor: Editor,
    readonly other: Client,
  ) {
    editor.page.on('console', (message) => {
      if (message.type() === 'error') this.errors.push(message.text());
    });
  }
  get page() {
    return this.editor.page;
  }
  /** Waits until an entity is there, and selected. */
  async has(name: string): Promise<void> {
    await this.page.locator('[role=treeitem][aria-selected=true]').and(this.editor.row(name)).waitFor();
  }
  async nothing(): Promise<void> {
    await this.page.locator('.tree-list').focus();
    await this.page.keyboard.press('Escape');
    await this.page.locator('[role=treeitem][aria-selected=true]').first().waitFor({ state: 'detached' });
  }
  async create(kind: string): Promise<void> {
    await this.nothing();
    await this.page.keyboard.press('Shift+A');
    await this.page.getByRole('menuitem', { name: kind, exact: true }).click();
    await this.has(kind.toLowerCase());
  }
  async rename(from: string, to: string): Promise<void> {
    await this.page.locator('.tree-list').focus();
    await this.page.keyboard.press('F2');
    await this.page.keyboard.type(to);
    await this.page.keyboard.press('Enter');
    await this.editor.row(to).waitFor();
    assert.notEqual(from, to);
  }
  async set(component: string, label: string, value: number): Promise<void> {
    await this.editor.type(component, label, String(value));
    await until(`${label} is ${value}`, async () => Number(await this.editor.box(component, label).inputValue()) === value);
  }
  async place(x: number, y: number, z: number): Promise<void> {
    for (const [axis, value] of Object.entries({ x, y, z })) await this.set(transform, `position ${axis}`, value);
  }
  async command(words: string): Promise<void> {
    await this.page.locator('.tree-list').focus();
    await this.page.keyboard.press('ControlOrMeta+k');
    await this.page.getByRole('dialog', { name: 'Run a command' }).waitFor();
    await this.page.keyboard.type(words);
    await this.page.keyboard.press('Enter');
  }
  /** Makes a row of `number` of the selected shape, and a group of them. */
  async row_of(name: string, number: number, group: string): Promise<void> {
    await this.command('Array');
    const form = this.page.getByRole('dialog', { name: 'Array' });
    await form.getByRole('spinbutton', { name: 'Number' }).fill(String(number));
    await form.getByRole('spinbutton', { name: 'Distance (m) X' }).fill('1.5');
    await form.getByRole('button', { name: 'Make' }).click();
    const all = async (): Promise<string[]> =>
      (await has_children(this.other, nil)).filter((each) => each === name || each.startsWith(`${name}~`));
    await until('the row is there', async () => (await all()).length === number);
    await this.editor.row(name).click();
    await this.editor.row((await all()).at(-1)!).click({ modifiers: ['Shift'] });
    await this.page.keyboard.press('ControlOrMeta+g');
    await this.has('group');
    await this.rename('group', group);
  }
}

/** Everything that is in the world, as text. The hash of a world would include its sequence. */
async function content_of(client: Client, parent = nil): Promise<string> {
  const lines: string[] = [];
  for await (const page of client.children_all(parent))
    for (const entity of page.entities) {
      const { components } = await client.show(entity);
      const text = JSON.stringify(components, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
      lines.push(`${id_text(entity)} ${text} {${await content_of(client, entity)}}`);
    }
  return lines.join('\n');
}

test('a level is built, saved, played, stopped and opened elsewhere', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await other.set_clock({ paused: true });
  const began = Date.now();
  const editor = await Editor.open(t, world);
  const designer = new Designer(editor, other);
  const { page } = editor;
  await page.locator('.viewport-canvas').waitFor();

  await designer.create('Box');
  await designer.rename('box', 'ground');
  await designer.set('scene.Shape', 'size x', 60);
  await designer.set('scene.Shape', 'size z', 60);
  await designer.place(0, -0.5, 0);
  for (const [i, kind] of ['Box', 'Sphere', 'Cylinder', 'Cone'].entries()) {
    await designer.create(kind);
    await designer.place(-8, 0.5, i * 3 - 6);
    await designer.row_of(kind.toLowerCase(), 10, `row ${i + 1}`);
  }
  for (const [i, kind] of ['directional', 'point'].entries()) {
    await designer.create('Light');
    await designer.rename('light', kind);
    await editor.part('scene.Light').getByRole('combobox', { name: 'kind' }).selectOption({ label: kind });
    await designer.set('scene.Light', 'intensity', i === 0 ? 2 : 40);
    await designer.place(i * 4, 6, 0);
  }
  await designer.create('Camera');
  await page.locator('.viewport-root').focus();
  await page.keyboard.press('Shift+0');
  await page.locator('.viewport-preview:not([hidden])').waitFor();

  // A template of a hut, and 20 trees of it.
  await designer.create('Box');
  await designer.rename('box', 'hut');
  await designer.place(10, 0.5, 10);
  await designer.command('Make a template');
  await page.getByRole('dialog', { name: 'Make a template' }).getByRole('button', { name: 'Make' }).click();
  const templates = page.getByRole('list', { name: 'Templates' });
  const face = templates.getByRole('button', { name: 'hut' });
  await face.waitFor();
  await designer.nothing();
  await page.locator('.viewport-root').focus();
  await page.keyboard.press('7');
  await page.keyboard.press('f');
  await pause(500);
  const huts = async (): Promise<number> => (await has_children(other, nil)).filter((each) => /^hut/.test(each)).length;
  const view = (await page.locator('.viewport-canvas').boundingBox())!;
  const before = await huts();
  for (let i = 0; i < 20; ++i) {
    await designer.nothing();
    const from = (await face.boundingBox())!;
    await page.mouse.move(from.x + 40, from.y + 10);
    await page.mouse.down();
    const [column, row] = [i % 5, Math.floor(i / 5)];
    await page.mouse.move(view.x + view.width * (0.3 + 0.1 * column), view.y + view.height * (0.3 + 0.12 * row), { steps: 4 });
    await page.mouse.up();
    await until(`hut ${i + 1} is there`, async () => (await huts()) === before + i + 1);
    const name = (await has_children(other, nil)).at(-1)!;
    await designer.has(name);
    // Three variants: as in the template, higher, and wider.
    if (i % 3 === 1) await designer.set('scene.Shape', 'size y', 3);
    if (i % 3 === 2) await designer.set('scene.Shape', 'size x', 2);
  }

  // A model is dropped from a folder of the desktop.
  const file = join(given('MUSTER_SOURCES'), 'examples/levels/living_room.glb');
  const browser = await page.context().newCDPSession(page);
  await designer.nothing();
  const data = { items: [], files: [file], dragOperationsMask: 1 };
  const at = { x: view.x + view.width / 2, y: view.y + view.height / 2 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) await browser.send('Input.dispatchDragEvent', { type, data, ...at });
  await designer.has('living_room');
  await page.locator('.viewport-sign').waitFor({ state: 'detached' });
  await editor.picture('built');

  await page.locator('.tree-list').focus();
  await page.keyboard.press('ControlOrMeta+s');
  await page.locator('.notice', { hasText: 'Saved' }).waitFor();
  const level = await content_of(other);
  const names = await has_children(other, nil);
  assert.equal(names.filter((each) => /^row/.test(each)).length, 4);
  for (const name of names.filter((each) => /^row/.test(each)))
    assert.equal((await has_children(other, await other.entity(`/${name}`))).length, 10);
  console.log(`built in ${Math.round((Date.now() - began) / 1000)} s, ${(await other.ask(session.GetInfo)).entities} entities`);

  await page.keyboard.press('ControlOrMeta+Enter');
  await page.locator('.run-word').getByText('Run', { exact: true }).waitFor();
  await until('it ticks', async () => (await other.ask(session.GetClock)).tick > 20n);
  await page.keyboard.press('ControlOrMeta+Enter');
  await page.locator('.run-word').getByText('Level', { exact: true }).waitFor();
  await other.set_clock({ paused: true });
  assert.equal(await content_of(other), level, 'the level is back after the run');

  const copy = await World.serve(t, ['--hz', '20'], (elsewhere) => {
    execFileSync(given('MUSTER'), ['backup', world.path, elsewhere.path], { timeout: 60_000 });
  });
  const third = await copy.connect();
  await third.set_clock({ paused: true });
  assert.equal(await content_of(third), level, 'and it is the same elsewhere');
  // The copy has the users of the original.
  const made = copy.run('token', 'create', 'visitor', '--role', 'admin', '--world', copy.path, '--json');
  const again = await Editor.open(t, copy, undefined, copy.url_for((JSON.parse(made) as { token: string }).token));
  await again.row('row 4').waitFor();
  assert.deepEqual(designer.errors, []);
}, 30);
