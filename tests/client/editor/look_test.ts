// How the page is: light, without faults of access, from one server, calm.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { nil } from 'muster-client';

import { Editor, given, test, until, World } from './page.js';

const schema = ['--schema', given('MUSTER_SCHEMA')];
const health = 'golden.Health';

test('all of it is at most 450 kB when it is gzipped', async () => {
  const folder = given('MUSTER_PAGE');
  let bytes = 0;
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    const path = join(folder, name);
    if (statSync(path).isFile()) bytes += gzipSync(readFileSync(path), { level: 9 }).length;
  }
  assert.ok(bytes > 50_000 && bytes <= 450 * 1024, `${bytes} bytes`);
});

interface Finding {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary: string }[];
}

async function findings(editor: Editor): Promise<string[]> {
  await editor.page.evaluate(readFileSync(given('MUSTER_AXE'), 'utf8'));
  const violations = (await editor.page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  )) as Finding[];
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}\n  ${node.failureSummary}`));
}

test('axe finds no serious fault: nothing selected, one, several, a refused edit, a menu, a question, a form', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp');
  for (let i = 0; i < 3; ++i) await other.create(camp, `orc ${i}`, [health, { value: 50 + i }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const found = new Set<string>();
  const look = async (where: string): Promise<void> => {
    for (const each of await findings(editor)) found.add(`${where}: ${each}`);
  };
  await editor.row('camp').waitFor();
  await look('nothing selected');
  await editor.open_row('camp');
  await editor.select('orc 0');
  await editor.part(health).waitFor();
  await editor.type(health, 'value', '700');
  await look('one selected, one edit refused');
  await editor.select('orc 0', 'orc 1');
  await page.getByRole('tab', { name: 'Send' }).click();
  await page.getByRole('button', { name: 'Choose a message' }).click();
  await page.keyboard.type('Chat');
  await page.keyboard.press('Enter');
  await look('two selected, a form');
  await editor.row('orc 1').click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Duplicate' }).waitFor();
  await look('a menu');
  assert.deepEqual([...found], []);
});

test('the page is light if the system is, or if one says so, and axe finds no serious fault in it', async (t) => {
  const world = await World.serve(t, ['--schema', given('MUSTER_SCENE')]);
  const other = await world.connect();
  await other.create(nil, 'crate', ['scene.Transform', {}], ['scene.Shape', {}], ['scene.Light', {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const background = (): Promise<string> =>
    page.locator('.tree').evaluate((panel) => getComputedStyle(panel).backgroundColor);
  const dark = await background();
  await page.emulateMedia({ colorScheme: 'light' });
  await until('it is light', async () => (await background()) !== dark);
  const light = await background();
  await editor.select('crate');
  await editor.picture('light');
  const found = new Set<string>();
  const look = async (where: string): Promise<void> => {
    for (const each of await findings(editor)) found.add(`${where}: ${each}`);
  };
  await look('one selected');
  await editor.type('scene.Light', 'intensity', '-5');
  await page.locator('.refused').first().waitFor();
  await look('an edit refused');
  await page.keyboard.press('F1');
  await page.getByRole('dialog', { name: 'Keyboard map' }).waitFor();
  await look('the keyboard map');
  await editor.picture('light-keys');
  await page.keyboard.press('Escape');
  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.type('colors: dark');
  await look('the palette');
  await page.keyboard.press('Enter');
  await until('it is dark', async () => (await background()) === dark);
  await page.reload();
  await editor.live();
  await until('it stays after a reload', async () => (await background()) === dark);
  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.type('colors: as');
  await page.keyboard.press('Enter');
  await until('it is light again', async () => (await background()) === light);
  await page.getByRole('tab', { name: 'History' }).click();
  await page.getByRole('button', { name: 'Play' }).click();
  await page.locator('.run-word').getByText('Run', { exact: true }).waitFor();
  await page.getByRole('tab', { name: 'Edits of the run' }).click();
  await look('a run');
  await editor.picture('light-run');
  assert.deepEqual([...found], []);
});

test('rows do not move under the pointer when others come, and a long name hides nothing', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp');
  const long = 'a name that is much longer than any row of the tree could ever be wide, and then some more of it';
  await other.create(camp, long, [health, { value: 1 }]);
  for (let i = 0; i < 200; ++i) await other.create(camp, `orc ${i}`);
  const editor = await Editor.open(t, world);
  await editor.open_row('camp');
  await editor.row(long).waitFor();
  const width = await editor.page.evaluate(() => document.documentElement.scrollWidth);
  assert.equal(width, 1280);
  const list = editor.page.locator('.tree-list');
  await list.evaluate((element) => element.scrollTo(0, 2400));
  await editor.row('orc 110').waitFor();
  const before = await editor.row('orc 110').boundingBox();
  for (let i = 200; i < 260; ++i) await other.create(camp, `orc ${i}`);
  await editor.page.locator('.status-bar').getByText('262', { exact: true }).waitFor();
  assert.deepEqual(await editor.row('orc 110').boundingBox(), before);
});
