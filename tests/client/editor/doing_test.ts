// Finding and doing: one table of commands, of which the palette, the keyboard map, menus and the
// document are made; the tree by keys.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { nil } from 'muster-client';

import { Editor, given, has_children, test, until, World } from './page.js';

const scene = ['--schema', given('MUSTER_SCENE')];
const transform = 'scene.Transform';

test('every command is found in the palette by parts of its words, with its keys, and runs; one that cannot says why', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await other.create(nil, 'crate', [transform, {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const palette = page.getByRole('dialog', { name: 'Run a command' });
  await editor.select('crate');
  await page.keyboard.press('ControlOrMeta+k');
  await palette.waitFor();
  await editor.picture('palette');
  await page.keyboard.type('dupl');
  const found = palette.getByRole('option').first();
  assert.match((await found.textContent())!, /^Duplicate.*Ctrl\+D$/);
  await page.keyboard.press('Enter');
  await palette.waitFor({ state: 'detached' });
  await until('it has run', async () => (await has_children(other, nil)).join() === 'crate,crate~2');

  // From a text field too; what was typed is committed.
  await editor.select('crate');
  await editor.box(transform, 'position x').click();
  await page.keyboard.type('4');
  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.type('apply level');
  assert.equal(await palette.getByRole('option').first().getAttribute('aria-disabled'), 'true');
  await page.keyboard.press('Enter');
  await page.locator('.notice').getByText(/no run is on/i).waitFor();
  await until('what was typed is there', async () => {
    const { position } = (await other.show(await other.entity('crate'))).components[transform] as { position: { x: number } };
    return position.x === 4;
  });
});

test('the keyboard map has the keys of every command, no two have the same, and the document has the same table', async (t) => {
  const world = await World.serve(t, scene);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.locator('.viewport-canvas').waitFor();
  await page.keyboard.press('F1');
  await page.getByRole('dialog', { name: 'Keyboard map' }).waitFor();
  await editor.picture('keyboard-map');
  const rows = await page.locator('.keyboard-sections section').evaluateAll((sections) =>
    sections.flatMap((section) =>
      Array.from(section.querySelectorAll('.keyboard-row')).map((row) => [
        section.querySelector('h2')!.textContent!,
        row.querySelector('dt')!.textContent!,
        row.querySelector('kbd')!.textContent!,
      ]),
    ),
  );
  const keys = rows.filter(([, , key]) => /^(F\d+|.|(Ctrl|Shift|Alt)\+.*)$/.test(key)).flatMap(([, , key]) => key.split(', '));
  assert.ok(keys.length > 20, keys.join());
  assert.deepEqual(keys.filter((key, i) => keys.indexOf(key) !== i && key !== 'Ctrl'), []);

  const table = ['| | | |', '|---|---|---|', ...rows.map(([section, title, key]) => `| ${section} | ${title} | ${key} |`)].join('\n');
  const path = join(given('MUSTER_SOURCES'), 'docs/editor-keys.md');
  if (process.env.MUSTER_WRITE_KEYS) {
    const head = readFileSync(path, 'utf8').split('| | | |')[0];
    writeFileSync(path, head + table + '\n');
  }
  assert.ok(readFileSync(path, 'utf8').includes(table), `docs/editor-keys.md lacks this table:\n${table}`);
});

test('the menu of the selection has commands for the selection, and none of the view', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await other.create(nil, 'crate', [transform, {}]);
  const editor = await Editor.open(t, world);
  await editor.row('crate').click({ button: 'right' });
  const items = editor.page.getByRole('menu', { name: 'Selection' }).locator('[role^=menuitem]');
  const titles = await items.allTextContents();
  assert.ok(titles.length <= 19, titles.join('\n'));
  assert.deepEqual(titles.filter((title) => /Look from|grid|shadow|Rotate|Scale|Snap/.test(title)), []);
  await editor.picture('menu');
  await items.getByText('All commands…').click();
  await editor.page.getByRole('dialog', { name: 'Run a command' }).waitFor();
});

test('rows are moved among their siblings, below another and out again by keys; a row knows its place among all', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp', [transform, { position: { x: 3, y: 0, z: 0 } }]);
  for (const name of ['a', 'b', 'c', 'd']) await other.create(camp, name, [transform, {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const children = (expected: string, of = camp): Promise<unknown> =>
    until(`the children are ${expected}`, async () => (await has_children(other, of)).join() === expected);
  await editor.open_row('camp');
  await editor.row('c').waitFor();
  assert.deepEqual(
    [await editor.row('c').getAttribute('aria-posinset'), await editor.row('c').getAttribute('aria-setsize')],
    ['3', '4'],
  );
  await editor.row('c').click();
  await page.keyboard.press('Alt+ArrowUp');
  await children('a,c,b,d');
  await page.keyboard.press('Alt+ArrowDown');
  await children('a,b,c,d');
  await editor.row('b').click();
  await editor.row('c').click({ modifiers: ['Control'] });
  await page.keyboard.press('Alt+ArrowDown');
  await children('a,d,b,c');
  await page.keyboard.press('Alt+ArrowRight');
  await children('a,d');
  await children('b,c', await other.entity('d'));
  await editor.row('c').waitFor();
  await page.keyboard.press('Alt+ArrowLeft');
  await children('a,d,b,c');
  await page.keyboard.press('Alt+ArrowLeft');
  await until('they are roots', async () => (await has_children(other, nil)).length === 3);
  assert.equal(((await other.show(await other.entity('b'))).components[transform].position as { x: number }).x, 3);
  const roots = async (): Promise<string> => {
    const names = await page.locator('[role=treeitem][aria-level="1"]').evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-label')));
    return names.join();
  };
  await until('they are behind their parent', async () => (await roots()) === 'camp,b,c');
  await page.keyboard.press('Alt+ArrowUp');
  await until('they are before it', async () => (await roots()) === 'b,c,camp');
  const [from, to] = [(await editor.row('camp').boundingBox())!, (await editor.row('c').boundingBox())!];
  await page.mouse.move(from.x + 60, from.y + 12);
  await page.mouse.down();
  await page.mouse.move(to.x + 60, to.y + 8);
  await page.mouse.move(to.x + 60, to.y + 3);
  await page.mouse.up();
  await until('it is between them', async () => (await roots()) === 'b,camp,c');
  await page.keyboard.press('ControlOrMeta+z');
  await until('it is behind them', async () => (await roots()) === 'b,c,camp');
  await page.keyboard.press('ControlOrMeta+z');
  await until('they are behind their parent again', async () => (await roots()) === 'camp,b,c');
  await page.keyboard.press('ControlOrMeta+z');
  await children('a,d,b,c');
});

test('an entity that is dropped with Alt held keeps its values and moves with its new parent', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await other.create(nil, 'camp', [transform, { position: { x: 3, y: 0, z: 0 } }]);
  const crate = await other.create(nil, 'crate', [transform, { position: { x: 1, y: 0, z: 0 } }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const x = async (): Promise<number> => ((await other.show(crate)).components[transform].position as { x: number }).x;
  const hung = async (alt: boolean): Promise<void> => {
    const [from, to] = [await editor.row('crate').boundingBox(), await editor.row('camp').boundingBox()];
    await page.mouse.move(from!.x + 60, from!.y + 12);
    await page.mouse.down();
    await page.mouse.move(to!.x + 60, to!.y + 8);
    await page.mouse.move(to!.x + 60, to!.y + 12);
    if (alt) await page.keyboard.down('Alt');
    await page.mouse.up();
    if (alt) await page.keyboard.up('Alt');
    await until('it hangs there', async () => (await has_children(other, nil)).length === 1);
  };
  await hung(false);
  assert.equal(await x(), -2);
  await page.keyboard.press('ControlOrMeta+z');
  await until('it is back', async () => (await has_children(other, nil)).length === 2);
  await hung(true);
  assert.equal(await x(), 1);
});

test('forced colours show the selected row, the open tab and the pressed button', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await other.create(nil, 'crate', [transform, {}]);
  await other.create(nil, 'rock', [transform, {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.emulateMedia({ forcedColors: 'active' });
  await editor.select('crate');
  const background = (name: string): Promise<string> =>
    editor.row(name).evaluate((row) => getComputedStyle(row).backgroundColor);
  assert.notEqual(await background('crate'), await background('rock'));
  const tab = await page
    .getByRole('tab', { selected: true })
    .evaluate((element) => getComputedStyle(element, '::after').backgroundColor);
  assert.equal(tab, await background('crate'));
});

test('the history lists the steps; a click goes back to before one, and does it again', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const crate = await other.create(nil, 'crate', [transform, {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const position = async (): Promise<string> =>
    Object.values((await other.show(crate)).components[transform].position as object).join();
  await editor.select('crate');
  await editor.type(transform, 'position x', '1');
  await editor.type(transform, 'position y', '2');
  await other.create(nil, 'rock', [transform, {}]);
  await page.getByRole('tab', { name: 'History' }).click();
  await editor.type(transform, 'scale x', '3');
  const steps = page.getByRole('list', { name: 'Your steps' }).getByRole('listitem');
  await until('own steps are listed', async () => (await steps.count()) === 3);
  assert.match((await steps.first().textContent())!, /scale/);
  await editor.picture('history');
  await steps.nth(1).getByRole('button').click();
  await until('two are undone', async () => (await position()) === '1,0,0');
  await until('they are listed as undone', async () => (await page.locator('.step.is-undone').count()) === 2);
  await steps.nth(0).getByRole('button').click();
  await until('both are done again', async () => (await position()) === '1,2,0');
  await until('no step is undone', async () => (await page.locator('.step.is-undone').count()) === 0);
  await page.getByRole('checkbox', { name: 'Everyone' }).check();
  const all = page.getByRole('list', { name: 'Steps of everyone' });
  await all.getByRole('listitem').filter({ hasText: 'Create rock' }).filter({ hasText: 'admin_user' }).waitFor();
  await all.getByRole('listitem').filter({ hasText: 'Undo: Set scale.x of crate' }).filter({ hasText: 'you' }).waitFor();
  await editor.picture('history_everyone');
});
