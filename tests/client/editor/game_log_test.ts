// The tab Game: lines that handlers write, filtered by level and text; a click selects the entity.
import assert from 'node:assert/strict';

import { nil } from 'muster-client';
import type { Client, Entity } from 'muster-client';

import { Editor, given, pause, test, until, World } from './page.js';

const yard = ['--schema', given('MUSTER_SCENE'), '--plugin', given('MUSTER_WRITING_PLUGIN')];
const transform = 'scene.Transform';

const move = (by: Client, entity: Entity, x: number) =>
  by.set(entity, [transform, { position: { x, y: 0, z: 0 } }]);

test('lines of handlers are shown with tick, level, handler and entity, filtered by level and text, and a click selects the entity', async (t) => {
  const world = await World.serve(t, yard);
  const other = await world.connect();
  const make = (name: string) => other.create(nil, name, [transform, {}]);
  const [crate, rock, stone] = [await make('crate'), await make('rock'), await make('stone')];
  await move(other, crate, 3); // before the page is opened
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const lines = page.locator('.game-line');
  const texts = async (): Promise<string[]> => page.locator('.game-line-text').allTextContents();
  const shows = (what: string, expected: string[]) =>
    until(`${what}: ${expected.join('; ')}`, async () => (await texts()).join('; ') === expected.join('; '));
  const tab = page.getByRole('tab', { name: 'Game' });
  await tab.click();
  await shows('the line of before is there', ['moved to 3']);
  await move(other, rock, 40);
  await move(other, crate, -2);
  await shows('lines come by themselves', ['moved to 3', 'left the yard at 40', 'fell off at -2']);
  assert.deepEqual(await page.locator('.game-line-level').allTextContents(), ['info', 'warning', 'error']);
  assert.deepEqual(await page.locator('.game-line-handler').allTextContents(), Array(3).fill('yard.moved'));
  assert.deepEqual(await page.locator('.game-line .message-target').allTextContents(), ['crate', 'rock', 'crate']);
  await editor.picture('game-log');

  const levels = page.getByRole('combobox', { name: 'Levels' });
  await levels.selectOption('Warnings');
  await shows('warnings and errors', ['left the yard at 40', 'fell off at -2']);
  await levels.selectOption('Errors');
  await shows('errors', ['fell off at -2']);
  await levels.selectOption('All');
  const filter = page.getByRole('searchbox', { name: "Filter the game's log" });
  await filter.fill('yard rock');
  await shows('those that have all words in text, handler or entity', ['left the yard at 40']);
  await page.getByRole('tab', { name: 'Messages' }).click();
  await tab.click();
  await shows('the filter stays', ['left the yard at 40']);

  await lines.first().click();
  const is_selected = (name: string) =>
    until(`${name} is selected`, async () => (await editor.row(name).getAttribute('aria-selected')) === 'true');
  await is_selected('rock');
  await filter.press('Escape');
  await shows('all', ['moved to 3', 'left the yard at 40', 'fell off at -2']);
  await lines.last().getByRole('button', { name: 'crate' }).click();
  await is_selected('crate');

  // Errors that come while another tab is shown are counted.
  await page.getByRole('tab', { name: 'Messages' }).click();
  await move(other, stone, 5);
  await move(other, stone, -5);
  await until('the tab counts it', async () => (await tab.textContent()) === 'Game1');
  await other.destroy(stone);
  await tab.click();
  await until('nothing is unread', async () => (await tab.textContent()) === 'Game');
  await until('the line of a dead entity has its id', async () =>
    /^#\d+:\d+$/.test((await lines.last().locator('.message-target').textContent()) ?? ''),
  );
  await lines.last().click();
  await is_selected('crate');

  await page.getByRole('button', { name: "Clear the game's log" }).click();
  await page.getByText('No lines yet').waitFor();
  await move(other, rock, 6);
  await shows('only what came later', ['moved to 6']);
  // The server recovers the world from its journal, and its handlers do not write again.
  await world.kill();
  await world.start(...yard);
  await editor.live();
  const later = await world.connect();
  await move(later, rock, 7);
  await until('the new line', async () => (await texts()).at(-1) === 'moved to 7');
  assert.equal((await texts()).length, 1);
});

test('more lines than a handler may write are told as lost, and the list goes on at its end', async (t) => {
  const world = await World.serve(t, yard);
  const other = await world.connect();
  const crate = await other.create(nil, 'crate', [transform, {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.getByRole('tab', { name: 'Game' }).click();
  await Promise.all(Array.from({ length: 400 }, (_, i) => move(other, crate, (i % 9) + 1)));
  await pause(1100); // a handler has so many lines in each second
  await move(other, crate, 8);
  const last = page.locator('.game-line-text').last();
  await until('a line of a later second tells how many were lost', async () =>
    /^moved to 8\([\d,. ]+ earlier lines lost\)$/.test((await last.textContent()) ?? ''),
  );
  const list = page.getByRole('log', { name: 'Game log' });
  await until('the list shows its end', () =>
    list.evaluate((element) => element.scrollHeight - element.clientHeight - element.scrollTop < 8),
  );
  assert.ok((await page.locator('.game-line').count()) < 40, 'only lines in sight are drawn');
});
