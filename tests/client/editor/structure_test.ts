// Entities: found, selected, created, spawned, duplicated, renamed, hung elsewhere, deleted, and all of it taken back.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { nil, session } from 'muster-client';

import { component, Editor, given, has_children, pause, test, until, World } from './page.js';

const schema = ['--schema', given('MUSTER_SCHEMA')];
const health = 'golden.Health';

test('the tree shows children in order and follows the world; search finds by name, by component, by id', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp');
  for (let i = 0; i < 4; ++i) await other.create(camp, `orc ${i}`, [health, { value: 50 + i }]);
  await other.create(nil, 'a tower', ['golden.Config', { speed: 2 }]);
  const editor = await Editor.open(t, world);
  await editor.open_row('camp');
  const names = (): Promise<(string | null)[]> =>
    editor.page.locator('.tree-row').evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-label')));
  const all = ['camp', 'orc 0', 'orc 1', 'orc 2', 'orc 3', 'a tower'];
  await until('all are in the tree', async () => (await names()).join() === all.join());

  const first = await other.create_before(camp, await other.entity('orc 0'), 'the first');
  await other.destroy(await other.entity('orc 2'));
  await other.rename(await other.entity('orc 1'), 'the second');
  const now = ['camp', 'the first', 'orc 0', 'the second', 'orc 3', 'a tower'];
  await until('the tree follows', async () => (await names()).join() === now.join());
  assert.equal(await editor.row('camp').getAttribute('aria-expanded'), 'true');

  await editor.page.keyboard.press('/');
  await editor.page.keyboard.type('ORC');
  await until('names are found', async () => (await names()).join() === 'orc 0,orc 3');
  await editor.page.keyboard.press('ControlOrMeta+A');
  await editor.page.keyboard.type('has:config');
  await until('components are found', async () => (await names()).join() === 'a tower');
  await editor.page.keyboard.press('ControlOrMeta+A');
  await editor.page.keyboard.type(`${first.index}:${first.generation}`);
  await until('ids are found', async () => (await names()).join() === 'the first');
  await editor.page.keyboard.press('Enter');
  await editor.page.getByRole('textbox', { name: 'Name' }).waitFor();
  assert.equal(await editor.page.getByRole('textbox', { name: 'Name' }).inputValue(), 'the first');
});

test('create, duplicate, rename, reparent, components: each is seen by others, taken back and done again', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp');
  const orc = await other.create(camp, 'orc', [health, { value: 50 }]);
  const bag = await other.create(orc, 'bag', [health, { target: orc }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const undo = (): Promise<void> => page.keyboard.press('ControlOrMeta+z');
  const redo = (): Promise<void> => page.keyboard.press('ControlOrMeta+y');
  const children = (what: string, of = camp): Promise<unknown> =>
    until(`the children are ${what}`, async () => (await has_children(other, of)).join() === what);

  await editor.select('camp');
  await page.keyboard.press('Shift+A');
  await page.getByRole('menuitem', { name: 'Empty' }).click();
  await children('orc,entity');
  await editor.row('entity').waitFor();
  await until(
    'the new one is selected',
    async () => (await editor.row('entity').getAttribute('aria-selected')) === 'true',
  );

  await page.keyboard.press('F2');
  await page.getByRole('textbox', { name: 'New name' }).waitFor();
  await page.keyboard.type('chest');
  await page.keyboard.press('Enter');
  await children('orc,chest');

  await editor.select('orc');
  await page.keyboard.press('ControlOrMeta+d');
  await children('orc,orc~2,chest');
  const copy = await other.entity('orc~2');
  const inner = (await other.ask(session.ListChildren, { entity: copy })).entities[0];
  assert.deepEqual((await component(other, inner, health)).target, copy, 'what referred inside refers inside');
  assert.equal((await component(other, copy, health)).value, 50);

  await editor.row('chest').dragTo(editor.row('orc'));
  await children('orc,orc~2');
  await children('bag,chest', orc);
  await until('the row stands there', async () => (await editor.row('chest').getAttribute('aria-level')) === '3');

  await editor.select('chest');
  await page.getByRole('button', { name: 'Add a component' }).click();
  await page.keyboard.type('config');
  await page.keyboard.press('Enter');
  const chest = await other.entity('chest');
  await until('it has the component', () => component(other, chest, 'golden.Config'));
  await editor.part('golden.Config').waitFor();
  await editor.part('golden.Config').getByRole('button', { name: 'More for Config' }).click();
  await page.getByRole('menuitem', { name: 'Remove Config' }).click();
  await until('it has it no more', async () => !(await other.show(chest)).components['golden.Config']);

  await page.locator('.tree-list').focus();
  await undo();
  await until('it has it again', () => component(other, chest, 'golden.Config'));
  await undo();
  await until('it has it no more', async () => !(await other.show(chest)).components['golden.Config']);
  await undo();
  await children('orc,orc~2,chest');
  await undo();
  await children('orc,chest');
  await undo();
  await children('orc,entity');
  await undo();
  await children('orc');
  for (const what of ['orc,entity', 'orc,chest', 'orc,orc~2,chest', 'orc,orc~2']) {
    await redo();
    await children(what);
  }
  await children('bag,chest', orc);
  assert.deepEqual((await other.ask(session.ListChildren, { entity: orc })).entities[0], bag);
});

test('open nodes are open again after a reload; where the browser keeps nothing they are closed, and all else works', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp');
  const orc = await other.create(camp, 'orc');
  await other.create(orc, 'bag');
  const gone = await other.create(nil, 'gone');
  await other.create(gone, 'with it');
  const editor = await Editor.open(t, world);
  for (const name of ['camp', 'orc', 'gone']) await editor.open_row(name);
  await editor.row('with it').waitFor();
  await editor.row('bag').waitFor();
  await other.destroy(gone);
  await editor.page.reload();
  await editor.live();
  await editor.row('bag').waitFor();
  await editor.page.addInitScript(
    `Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } });`,
  );
  await editor.page.reload();
  await editor.live();
  await editor.row('camp').waitFor();
  assert.equal(await editor.row('orc').count(), 0);
  await editor.open_row('camp');
  await editor.row('orc').waitFor();
});

test('a duplicate has every component that this session may write', async (t) => {
  const options = ['-I', given('MUSTER_SOURCES')];
  const world = await World.serve(t, options, ({ folder }) => {
    const path = join(folder, 'guarded.fbs');
    const components = ['view', 'edit', 'control', 'admin', 'none'].map(
      (right) => `struct For_${right} (component, remote: "${right}") { value:float; }`,
    );
    writeFileSync(path, ['include "schema/muster.fbs";', 'namespace guarded;', ...components].join('\n'));
    options.push('--schema', path);
  });
  const other = await world.connect();
  const camp = await other.create(nil, 'camp');
  const parts = ['view', 'edit', 'control', 'admin'].map((right) => [`guarded.For_${right}`, { value: 5 }] as const);
  await other.create(camp, 'orc', ...parts);
  const editor = await Editor.open(t, world, { width: 1280, height: 720 }, world.url_for(world.token_for('edit')));
  await editor.open_row('camp');
  await editor.select('orc');
  await editor.page.keyboard.press('ControlOrMeta+d');
  const copy = await until('there is a duplicate', () => other.entity('orc~2'));
  const { components } = await other.show(copy);
  assert.deepEqual(
    Object.keys(components)
      .filter((name) => name.startsWith('guarded.'))
      .sort(),
    ['guarded.For_edit', 'guarded.For_view'],
  );
});

test('several rows are selected by Shift and Control, and deleted together', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp');
  for (let i = 0; i < 5; ++i) await other.create(camp, `orc ${i}`);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.open_row('camp');
  await editor.row('orc 1').click();
  await editor.row('orc 3').click({ modifiers: ['Shift'] });
  await editor.row('orc 2').click({ modifiers: ['Control'] });
  await page.getByText('2 entities', { exact: true }).first().waitFor();
  await page.keyboard.press('Delete');
  await until('two are gone', async () => (await has_children(other, camp)).join() === 'orc 0,orc 2,orc 4');
  await page
    .getByText(/destroyed at \d\d:\d\d:\d\d/)
    .first()
    .waitFor();

  await editor.select('camp');
  await page.keyboard.press('Delete');
  await until('nobody is left', async () => (await other.ask(session.GetInfo)).entities === 0);
  await page.locator('.notice').getByText("Deleted 'camp' and 3 below it.", { exact: true }).waitFor();
});

test('a menu is gone before the next key, and opens again where somebody presses next', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  for (const name of ['elf', 'orc']) await other.create(nil, name);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const menu = page.getByRole('menu', { name: 'Selection' });
  await editor.row('orc').click({ button: 'right' });
  await menu.waitFor();
  const first = await menu.boundingBox();
  await editor.row('elf').click({ button: 'right', position: { x: 30, y: 10 } }); // where the menu does not cover it
  await until('the other is selected', async () => (await editor.row('elf').getAttribute('aria-selected')) === 'true');
  await pause(100);
  assert.ok((await menu.boundingBox())!.x < first!.x);
  // No person is that quick; a machine that has much to do makes everybody so.
  await page.evaluate(async () => {
    const press = (key: string): unknown =>
      document.activeElement!.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    press('Escape');
    for (let i = 0; i < 10; ++i) await Promise.resolve();
    press('Delete');
  });
  await until('the key was not for the menu', async () => (await has_children(other, nil)).join() === 'orc');
});

test('a template is spawned where the selection is', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp');
  await other.read_templates(
    '{ templates: [ { name: "golden.squad", components: { Health: { value: 7 } }, children: [ { name: "left" } ] } ] }',
    'squad.json',
  );
  const editor = await Editor.open(t, world);
  await editor.menu('camp', 'Spawn a template');
  await editor.page.getByRole('option', { name: 'golden.squad' }).click();
  await until('it is there', async () => (await has_children(other, camp)).join() === 'squad');
  const squad = await other.entity('squad');
  assert.equal((await component(other, squad, health)).value, 7);
  assert.deepEqual(await has_children(other, squad), ['left']);
  await until('it is selected', async () => (await editor.row('squad').getAttribute('aria-selected')) === 'true');
  await editor.page.locator('.tree-list').focus();
  await editor.page.keyboard.press('ControlOrMeta+z');
  await until('it is gone', async () => (await has_children(other, camp)).length === 0);
});
