// A level and runs of it in the page: the changes of a run are gone when it ends, in all pages and
// without a reload, and no edit that was begun in the one gets into the other.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { nil, session } from 'muster-client';
import type { Client, Entity } from 'muster-client';

import { component, Editor, given, has_children, pause, test, until, World } from './page.js';

const scene = ['--schema', given('MUSTER_SCENE'), '--hz', '20'];
const transform = 'scene.Transform';

const button = (editor: Editor, name: string) => editor.page.getByRole('button', { name, exact: true });
const notice = (editor: Editor, text: string | RegExp) => editor.page.locator('.notice').getByText(text, { exact: true });
const says = (editor: Editor, word: 'Level' | 'Run'): Promise<void> =>
  editor.page.locator('.run-word').getByText(word, { exact: true }).waitFor();
const x_of = async (other: Client, entity: Entity): Promise<number> =>
  ((await component(other, entity, transform)).position as { x: number }).x;
const shown_x = (editor: Editor): Promise<string> => editor.box(transform, 'position x').inputValue();
const leave = (editor: Editor): Promise<void> => editor.page.locator('.tree-list').focus();
/** The color in the middle of the viewport. */
async function middle(editor: Editor): Promise<string> {
  const { x, y, width, height } = (await editor.page.locator('.viewport').boundingBox())!;
  const clip = { x: x + width / 2 - 2, y: y + height / 2 - 2, width: 4, height: 4 };
  return (await editor.page.screenshot({ clip, animations: 'disabled' })).toString('base64');
}

async function town(t: Parameters<typeof World.serve>[0]) {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await other.set_clock({ paused: true });
  const camp = await other.create(nil, 'camp', [transform, {}]);
  const box = ['scene.Shape', { kind: 0, size: { x: 4, y: 4, z: 4 } }] as const;
  const color = ['scene.Color', { value: { r: 1, g: 0.1, b: 0.1, a: 1 } }] as const;
  const crate = await other.create(camp, 'crate', [transform, { position: { x: 5, y: 0, z: 0 } }], box, color);
  const rock = await other.create(camp, 'rock', [transform, { position: { x: 9, y: 0, z: 0 } }]);
  return { world, other, camp, crate, rock };
}

test('play, ticks, edits and stop: tree, inspector, viewport, history and clock are those of the level again, without a reload', async (t) => {
  const { world, other, camp, crate } = await town(t);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.open_row('camp');
  await editor.select('crate');
  await editor.type(transform, 'position x', '6');
  await until('the level is edited', async () => (await x_of(other, crate)) === 6);
  await leave(editor);
  await page.keyboard.press('f');
  await pause(600);
  const level_middle = await middle(editor);
  await says(editor, 'Level');
  await page.evaluate(() => Object.assign(globalThis, { not_reloaded: true }));
  await editor.picture('a-level');

  await button(editor, 'Play').click();
  await says(editor, 'Run');
  await button(editor, 'Nothing to undo').waitFor();
  await until('it ticks', async () => (await other.ask(session.GetClock)).tick > 3n);
  await editor.type(transform, 'position x', '40');
  await until('the run is edited', async () => (await x_of(other, crate)) === 40);
  await button(editor, 'Undo: Set position.x of crate').waitFor();
  await editor.row('rock').click();
  await page.keyboard.press('Delete');
  await editor.menu('camp', 'Duplicate');
  await editor.row('camp~2').waitFor();
  await until('rock is deleted', async () => (await has_children(other, camp)).join() === 'crate');
  await until('the viewport shows the run', async () => (await middle(editor)) !== level_middle);
  await editor.row('crate').first().click();
  await editor.picture('a-run');

  await button(editor, 'Stop').click();
  await says(editor, 'Level');
  await editor.row('rock').waitFor();
  await until('the copy is gone', async () => (await editor.row('camp~2').count()) === 0);
  assert.deepEqual([await x_of(other, crate), await has_children(other, camp)], [6, ['crate', 'rock']]);
  await until('the inspector shows the level', async () => (await shown_x(editor)) === '6');
  assert.equal(await editor.row('crate').getAttribute('aria-selected'), 'true', 'the selection stays');
  await until('the viewport shows the level', async () => (await middle(editor)) === level_middle);
  await notice(editor, 'The world is the level again, without your edits of the run.').waitFor();
  assert.equal((await other.ask(session.GetClock)).paused, 1);
  assert.equal(await page.evaluate(() => 'not_reloaded' in globalThis), true);

  await button(editor, 'Undo: Set position.x of crate').waitFor();
  await leave(editor);
  await page.keyboard.press('ControlOrMeta+z');
  await until('the edit of the level is undone', async () => (await x_of(other, crate)) === 5);
  await button(editor, 'Redo: Set position.x of crate').waitFor();
});

test('two browsers follow each other into a run and out of it, a reload shows the run, and who may not control sees it', async (t) => {
  const { world, other, crate } = await town(t);
  const ann = await Editor.open(t, world);
  const bob = await Editor.open(t, world, { width: 1280, height: 720 }, world.url_for(world.token_for('edit')));
  await button(ann, 'Play').click();
  await Promise.all([says(ann, 'Run'), says(bob, 'Run')]);
  await notice(bob, 'Somebody else started a run. Edits are dropped when it is stopped.').waitFor();
  assert.equal(await ann.page.locator('.notice').count(), 0, 'she knows what she did');
  const stop = button(bob, 'Stop');
  assert.equal(await stop.getAttribute('aria-disabled'), 'true');
  assert.match((await stop.getAttribute('title'))!, /: this session may not play or stop: that needs the right to control$/);
  await stop.click({ force: true });
  await bob.page.locator('.notice').getByText(/^This session may not play or stop/).waitFor();
  await bob.open_row('camp');
  await bob.select('crate');
  await bob.type(transform, 'position x', '40');
  await until('he edits the run', async () => (await x_of(other, crate)) === 40);
  await ann.page.reload();
  await ann.live();
  await says(ann, 'Run');
  await button(ann, 'Stop').waitFor();
  await ann.page.locator('body').press('ControlOrMeta+Enter');
  await Promise.all([says(ann, 'Level'), says(bob, 'Level')]);
  await notice(bob, 'Somebody else stopped the run. The world is the level again.').waitFor();
  await until('he sees the level', async () => (await shown_x(bob)) === '5');
  // A program may do it, too.
  await other.play();
  await Promise.all([says(ann, 'Run'), says(bob, 'Run')]);
  await other.stop_playing();
  await Promise.all([says(ann, 'Level'), says(bob, 'Level')]);
});

test('typed text, a new name, a drag and an undo that were begun in a run do not get into the level, and it is said', async (t) => {
  const { world, other, camp, crate, rock } = await town(t);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.open_row('camp');
  await editor.select('crate');
  const problem = 'What you were typing was dropped, because the run has ended.';

  await other.play();
  await says(editor, 'Run');
  const box = editor.box(transform, 'position x');
  await box.click();
  await box.fill('77');
  await other.stop_playing();
  await notice(editor, problem).waitFor();
  await page.keyboard.press('Enter');
  await until('the field shows the level', async () => (await shown_x(editor)) === '5');
  await editor.picture('what-was-typed-is-dropped');

  await other.play();
  await says(editor, 'Run');
  await leave(editor);
  await page.keyboard.press('F2');
  await page.getByRole('textbox', { name: 'New name' }).fill('barrel');
  await other.stop_playing();
  await until('the box is closed', async () => (await page.getByRole('textbox', { name: 'New name' }).count()) === 0);
  await page.keyboard.press('Enter');

  await other.play();
  await says(editor, 'Run');
  const at = (await box.boundingBox())!;
  const [x, y] = [at.x + at.width - 10, at.y + at.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let i = 1; i <= 6; ++i) await page.mouse.move(x + 8 * i, y);
  await until('values are sent on the way', async () => (await x_of(other, crate)) !== 5);
  await other.stop_playing();
  await notice(editor, 'Set position.x of crate: this drag was dropped, because the run has ended.').waitFor();
  for (let i = 7; i <= 12; ++i) await page.mouse.move(x + 8 * i, y);
  await page.mouse.up();
  await pause(300);
  assert.deepEqual([await x_of(other, crate), await x_of(other, rock), await has_children(other, camp)], [5, 9, ['crate', 'rock']]);
  await until('the field shows the level', async () => (await shown_x(editor)) === '5');
  await button(editor, 'Nothing to undo').waitFor();

  // The next edits are edits of the level.
  await editor.type(transform, 'position x', '8');
  await until('the level is edited', async () => (await x_of(other, crate)) === 8);
});

test('an edit that a page has sent before it hears of the stop is refused, and it is said', async (t) => {
  const { world, other, crate } = await town(t);
  const host = await world.late_address(t, 1500);
  const url = world.url.replace(world.address, host);
  const context = await (await import('./page.js')).browse().then((browser) => browser.newContext({ viewport: { width: 1280, height: 720 } }));
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(url);
  await page.locator('.status-link.is-live').waitFor();
  await other.play();
  await page.locator('.run-word').getByText('Run', { exact: true }).waitFor();
  const row = (name: string) => page.getByRole('treeitem', { name, exact: true });
  await row('camp').click();
  await page.keyboard.press('ArrowRight');
  await row('crate').click();
  const box = page.getByRole('region', { name: transform, exact: true }).getByRole('textbox', { name: 'position x', exact: true });
  await box.click();
  await box.fill('70');
  await other.stop_playing();
  await box.press('Enter'); // the page hears of the stop more than a second later
  await page.locator('.notice').getByText(/^Set position\.x of crate: a run began or ended before this/).waitFor();
  assert.equal(await x_of(other, crate), 5);
  await until('the field shows the level', async () => (await box.inputValue()) === '5');
});

const plays = Number(process.env.MUSTER_PLAYS ?? 4);

test(
  'after any number of plays, edits and stops, the file contains the level and the history that it contained',
  async (t) => {
    const { world, other, crate, rock } = await town(t);
    await other.play();
    await other.stop_playing(); // ids that were granted and not used are the world's again
    const saved = async (): Promise<string> => {
      await other.ask(session.Save);
      return execFileSync('python3', [join(given('MUSTER_SOURCES'), 'tests/support/world_rows.py'), world.path], { encoding: 'utf8' });
    };
    const editor = await Editor.open(t, world);
    await editor.open_row('camp');
    await editor.select('crate');
    let level = await saved();
    for (let i = 0; i < plays; ++i) {
      await button(editor, 'Play').click();
      await says(editor, 'Run');
      await editor.type(transform, 'position x', String(40 + i));
      await until('the run is edited', async () => (await x_of(other, crate)) === 40 + i);
      if (i % 2 === 0) {
        await editor.menu('rock', 'Duplicate');
        await editor.row('rock~2').waitFor();
      } else {
        await editor.menu('rock', 'Delete');
        await until('rock is deleted', async () => (await editor.row('rock').count()) === 0);
      }
      await editor.row('crate').click();
      await button(editor, 'Stop').click();
      await says(editor, 'Level');
      await until('the page shows the level', async () => (await editor.row('rock~2').count()) === 0 && (await editor.row('rock').count()) === 1);
      assert.equal(await saved(), level, `after play ${i + 1}`);
      assert.equal(await x_of(other, rock), 9);
      if (i % 3 !== 2) continue;
      await editor.type(transform, 'position y', String(i));
      await until('the level is edited', async () => ((await component(other, crate, transform)).position as { y: number }).y === i);
      level = await saved();
    }
  },
  4 + plays / 4,
);
