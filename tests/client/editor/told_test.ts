// What the page says and shows when it is not as usual: no key, no WebGL, a paused clock, little room, many fields, another tab.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { nil } from 'muster-client';

import { component, Editor, has_children, given, test, token, until, World } from './page.js';

const schema = ['--schema', given('MUSTER_SCHEMA')];
const scene = ['--schema', given('MUSTER_SCENE')];
const health = 'golden.Health';
const transform = 'scene.Transform';

test('a page without the key, or with one of yesterday, says so, shows nothing that never comes, and takes the key', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  await other.create(nil, 'camp');
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const here = page.url();
  const box = page.getByRole('textbox', { name: 'Address or token' });
  for (const [hash, words, given] of [
    ['', "This page needs the server's token", world.url],
    ['#token=of-another-start-of-the-server', 'the token is not valid here', token],
  ]) {
    await page.goto('about:blank');
    await page.goto(here.replace(/#.*/, '') + hash);
    await page.locator('.band', { hasText: words }).waitFor();
    assert.equal(await page.locator('.skeleton').count(), 0);
    assert.equal(await page.getByText('Click an entity').count(), 0);
    await box.fill('not this one');
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await page.locator('.band', { hasText: 'the token is not valid here' }).waitFor();
    await box.fill(given);
    await box.press('Enter');
    await editor.live();
    await editor.row('camp').waitFor();
    assert.equal(await page.locator('.band').count(), 0);
    // The address in the browser is the one to keep.
    await page.reload();
    await editor.live();
  }
});

test('a browser without WebGL has a sentence where the picture would be, and all else', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await other.create(nil, 'crate', [transform, {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.addInitScript(() => {
    const get = HTMLCanvasElement.prototype.getContext as (kind: string) => unknown;
    Object.assign(HTMLCanvasElement.prototype, {
      getContext(this: HTMLCanvasElement, kind: string, ...more: []) {
        return /webgl/.test(kind) ? null : get.call(this, kind, ...more);
      },
    });
  });
  await page.reload();
  await editor.live();
  await page.locator('.viewport').getByText('The viewport is not available').waitFor();
  await editor.select('crate');
  await editor.type(transform, 'position x', '5');
  await until('it is edited', async () => {
    const { position } = await component(other, await other.entity('crate'), transform);
    return (position as { x: number }).x === 5;
  });
});

test('the list of messages follows bursts until somebody scrolls up, and again from its end', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, {}]);
  const editor = await Editor.open(t, world);
  const list = editor.page.locator('.message-list');
  const to_end = (): Promise<number> =>
    list.evaluate((element) => element.scrollHeight - element.clientHeight - element.scrollTop);
  let sent = 0;
  const burst = async (): Promise<void> => {
    for (let i = 0; i < 25; ++i) await other.push(orc, 'golden.Damage', { amount: ++sent });
    await until('all have come', () =>
      list.evaluate((element, least) => element.scrollHeight >= least, sent * 22),
    );
  };
  for (let i = 0; i < 3; ++i) {
    await burst();
    await until('the end is in sight', async () => (await to_end()) < 30);
  }
  // A late event of a scroll that was no hand's: rows have come since.
  await list.evaluate((element) => {
    const space = element.querySelector<HTMLElement>('.tree-space')!;
    space.style.height = `${space.offsetHeight + 400}px`;
    element.dispatchEvent(new Event('scroll'));
  });
  await burst();
  await until('the end is in sight', async () => (await to_end()) < 30);
  // Neither is one of the page, whatever is listed.
  await list.evaluate((element) => element.scrollTo(0, 0));
  await burst();
  await until('the end is in sight', async () => (await to_end()) < 30);
  await list.hover();
  await editor.page.mouse.wheel(0, -300);
  await until('it is scrolled', async () => (await to_end()) > 200);
  const at = await list.evaluate((element) => element.scrollTop);
  await burst();
  assert.equal(await list.evaluate((element) => element.scrollTop), at);
  await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await burst();
  await until('the end is in sight', async () => (await to_end()) < 30);
});

test('a paused world has no ticks in a second; saving says why it is not possible; a chooser opens where its menu was', async (t) => {
  const world = await World.serve(t, [...schema, '--hz', '20']);
  const other = await world.connect();
  const editor = await Editor.open(t, world, { width: 1280, height: 720 }, world.url_for(world.token_for('edit')));
  const { page } = editor;
  const bar = page.locator('.status-bar');
  await until('it counts', async () => /\d+(\.\d)?\s*ticks\/s/.test(await bar.innerText()) && !/\b0\.0\s*ticks/.test(await bar.innerText()));
  await other.set_clock({ paused: true });
  await page.locator('.clock-state', { hasText: 'paused' }).waitFor();
  assert.doesNotMatch(await bar.innerText(), /ticks\/s/);
  const save = page.getByRole('button', { name: 'Save over file' });
  assert.match((await save.getAttribute('title'))!, /needs the right to control/);

  const plus = page.getByRole('button', { name: 'Create an entity' });
  await plus.click();
  await page.getByRole('menuitem', { name: 'Spawn a template' }).click();
  const chooser = page.getByRole('dialog', { name: 'Spawn a template' });
  await chooser.waitFor();
  const [from, to] = [(await plus.boundingBox())!, (await chooser.boundingBox())!];
  assert.ok(Math.abs(to.x - from.x) < 60 && Math.abs(to.y - from.y) < 60, JSON.stringify([from, to]));
  await page.keyboard.press('Escape');
  await page.locator('.tree-list').click({ button: 'right', position: { x: 60, y: 300 } });
  await page.getByRole('menuitem', { name: 'Create…' }).click();
  const menu = (await page.getByRole('menu').boundingBox())!;
  const list = (await page.locator('.tree-list').boundingBox())!;
  assert.ok(Math.abs(menu.x - list.x - 60) < 20, JSON.stringify([menu, list]));
});

test('values are pasted from the clipboard, after a reload and in another world, where references mean nobody', async (t) => {
  const [world, elsewhere] = [await World.serve(t, schema), await World.serve(t, schema)];
  const [other, there] = [await world.connect(), await elsewhere.connect()];
  const elf = await other.create(nil, 'elf');
  await other.create(nil, 'orc', [health, { value: 61, big: 2n ** 60n + 1n, mesh: 'meshes/orc.glb', target: elf, at: { x: 1, y: -2.5, z: 3 } }]);
  await other.create(nil, 'imp', [health, {}]);
  const far = await there.create(nil, 'imp', [health, {}]);
  await there.create(nil, 'rock');
  const more = async (editor: Editor, item: string): Promise<void> => {
    await editor.part(health).getByRole('button', { name: 'More for Health' }).click();
    await editor.page.getByRole('menuitem', { name: item }).click();
  };
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await editor.select('orc');
  await more(editor, 'Copy values');
  const text = await until('it is in the clipboard', () => page.evaluate(() => navigator.clipboard.readText()));
  await page.reload();
  await editor.live();
  await editor.select('imp');
  await more(editor, 'Paste values');
  const imp = await other.entity('imp');
  await until('it has them', async () => (await component(other, imp, health)).value === 61);
  const value = await component(other, imp, health);
  assert.deepEqual([value.big, value.target, value.at], [2n ** 60n + 1n, elf, { x: 1, y: -2.5, z: 3 }]);
  assert.equal(await other.fetch_text(value.mesh as bigint), 'meshes/orc.glb');

  const second = await Editor.open(t, elsewhere);
  await second.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const put = (words: string): Promise<void> => second.page.evaluate((all) => navigator.clipboard.writeText(all), words);
  await second.page.bringToFront();
  await second.select('imp');
  for (const wrong of ['', 'no JSON', '{"golden.Config": {"speed": 1}}', text.replace('61', '"many"')]) {
    await put(wrong);
    await more(second, 'Paste values');
    await second.page.locator('.notice', { hasText: /the clipboard/i }).first().waitFor();
    await second.page.locator('.notice').getByRole('button', { name: 'Close' }).first().click();
  }
  assert.equal((await component(there, far, health)).value, 100);
  await put(text);
  await more(second, 'Paste values');
  await until('it has them', async () => (await component(there, far, health)).value === 61);
  assert.deepEqual((await component(there, far, health)).target, nil);
});

test('in little room everything is in reach, and nothing lies over anything else', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  await other.create(nil, 'crate', [transform, {}], ['scene.Shape', {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('crate');
  for (const [width, height] of [
    [800, 600],
    [640, 360],
  ]) {
    await page.setViewportSize({ width, height });
    await until(`nothing is wider than ${width}`, () =>
      page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
    );
    await editor.picture(`narrow-${width}`);
    const outside = await page.evaluate(() => {
      const view = document.querySelector('.viewport')!.getBoundingClientRect();
      const off: string[] = [];
      for (const button of Array.from(document.querySelectorAll('.viewport-toolbar button, .top-bar button, .console-head button'))) {
        const box = button.getBoundingClientRect();
        if (box.width === 0 && box.height === 0) continue;
        const within = button.closest('.viewport') ? view : new DOMRect(0, 0, innerWidth, innerHeight);
        if (button.matches('.viewport-menu *')) continue;
        if (box.left < within.left || box.right > within.right + 0.5 || box.bottom > within.bottom + 0.5)
          off.push(`${button.getAttribute('aria-label') ?? button.textContent}`);
        const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
        if (!button.contains(document.elementFromPoint(x, y))) off.push(`covered: ${button.getAttribute('aria-label') ?? button.textContent} at ${x},${y}`);
      }
      const panes = ['.tree', '.viewport', '.console', '.inspector'].map((each) => document.querySelector(each)!.getBoundingClientRect());
      for (const [i, a] of panes.entries())
        for (const b of panes.slice(i + 1))
          if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) off.push('panes');
      if (view.width < innerWidth * 0.38) off.push(`viewport ${view.width}`);
      return off;
    });
    assert.deepEqual(outside, []);
  }
});

test('of many fields of one long stem each can be told and found; what was closed is closed after a reload', async (t) => {
  const options = ['-I', given('MUSTER_SOURCES')];
  const world = await World.serve(t, options, ({ folder }) => {
    const path = join(folder, 'many.fbs');
    const fields = Array.from({ length: 40 }, (_, i) => `  a_long_stem_of_field_number_${i}:float;`);
    fields.push('  a_list_with_a_stem_that_is_longer_than_the_inspector_of_the_page_is_wide:[float:3];');
    writeFileSync(path, ['include "schema/muster.fbs";', 'namespace many;', 'struct Fields (component) {', ...fields, '}'].join('\n'));
    options.push('--schema', path);
  });
  const other = await world.connect();
  await other.create(nil, 'crate', ['many.Fields', {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('crate');
  const part = editor.part('many.Fields');
  const cut = await part.locator('.label-text').evaluateAll((labels) =>
    labels.filter((label) => label.scrollWidth > label.clientWidth + 1 || label.scrollHeight > label.clientHeight + 1).length,
  );
  assert.equal(cut, 0, 'labels are whole');
  // In two lines at most, since numbers leave the room for them.
  const highest = await part.locator('.label-text').evaluateAll((labels) => Math.max(...labels.map((label) => label.clientHeight)));
  assert.ok(highest <= 32, `${highest} px`);
  const beyond = await part.locator('.block-name').evaluateAll((names) =>
    names.filter((name) => {
      const [inner, outer] = [name, name.closest('.block-head')!].map((each) => each.getBoundingClientRect());
      return inner.right > outer.right || inner.bottom > outer.bottom + 1;
    }).length,
  );
  assert.equal(beyond, 0, 'those of lists too');
  await editor.picture('many-fields');
  // The edge of the labels is pulled, for all rows.
  const label = part.locator('.row-label').first();
  const before = (await label.boundingBox())!;
  await page.mouse.move(before.x + before.width + 3, before.y + 8);
  await page.mouse.down();
  await page.mouse.move(before.x + before.width - 20, before.y + 8);
  await page.mouse.move(before.x + before.width - 37, before.y + 8);
  await page.mouse.up();
  await until('it is narrower', async () => Math.abs((await label.boundingBox())!.width - before.width + 40) < 3);
  await part.getByRole('searchbox', { name: 'Find a field' }).fill('number 37');
  await until('one is left', async () => (await part.locator('.row').count()) === 1);
  await editor.type('many.Fields', 'a long stem of field number 37', '5');
  await until('it is edited', async () => (await component(other, await other.entity('crate'), 'many.Fields')).a_long_stem_of_field_number_37 === 5);
  await part.getByRole('button', { name: /^Fields/ }).click();
  await until('it is closed', async () => (await part.locator('.row').count()) === 0);
  await page.reload();
  await editor.live();
  await editor.select('crate');
  await part.waitFor();
  assert.equal(await part.getByRole('button', { name: /^Fields/ }).getAttribute('aria-expanded'), 'false');
});

test('an edit that the world refused is told from those that it applied', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  for (const name of ['orc', 'elf']) await other.create(nil, name);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  for (const [row, name] of [
    ['elf', 'orc'],
    ['elf', 'imp'],
  ]) {
    await editor.menu(row, 'Rename');
    await page.getByRole('textbox', { name: 'New name' }).waitFor();
    await page.keyboard.type(name);
    await page.keyboard.press('Enter');
    await page.locator('.message', { hasText: `name '${name}'` }).waitFor();
  }
  const renames = page.locator('.message', { hasText: 'Rename' });
  await until('the refused one says so', async () => /refused: /.test(await renames.nth(0).innerText()));
  assert.doesNotMatch(await renames.nth(1).innerText(), /refused/);
  assert.match(await renames.nth(1).innerText(), /imp/);
});

test('a deletion says how many it took; the line of the file counts one input, and says what it knows', async (t) => {
  const world = await World.serve(t, [...schema, '--autosave', '0']);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp');
  for (const name of ['orc', 'elf', 'imp', 'owl', 'ox']) await other.create(camp, name);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.open_row('camp');
  const file = page.locator('.truth-file');
  await until('it is not known when it was saved', async () =>
    /^File saved earlier, \d+ inputs since$/.test(await file.innerText()),
  );
  await page.keyboard.press('ControlOrMeta+s');
  await until('it is saved', async () => /^File saved just now, no inputs since$/.test(await file.innerText()));
  await other.destroy(await other.entity('ox'));
  await until('one input is counted', async () => / 1 input since$/.test(await file.innerText()));
  const notices = page.locator('.notice');
  await editor.select('orc', 'elf');
  await page.keyboard.press('Delete');
  await until('two are gone', async () => (await has_children(other, camp)).join() === 'imp,owl');
  // All of them were in sight.
  assert.equal(await notices.filter({ hasText: 'Deleted' }).count(), 0);
  await editor.select('camp');
  await page.keyboard.press('Delete');
  await notices.getByText("Deleted 'camp' and 2 below it.", { exact: true }).waitFor();
});

test('everything that can be created has an icon of its own', async (t) => {
  const world = await World.serve(t, scene);
  const editor = await Editor.open(t, world);
  await editor.page.getByRole('button', { name: 'Create an entity' }).click();
  const items = editor.page.getByRole('menuitem');
  await items.first().waitFor();
  const icons = await items.locator('svg.icon').evaluateAll((all) => all.map((icon) => icon.innerHTML));
  assert.ok(icons.length >= 8);
  assert.ok(icons.every((icon) => icon !== ''), icons.join('\n'));
  assert.equal(new Set(icons).size, icons.length);
});

test('a world without places says what adds them', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  await other.create(nil, 'camp');
  const editor = await Editor.open(t, world);
  await editor.page.locator('.viewport-note', { hasText: /muster import.*muster new --schema/ }).waitFor();
});
test('a button downloads a file that holds what the world did, and shows the command', async (t) => {
  const world = await World.serve(t, [...schema, '--hz', '60']);
  const other = await world.connect();
  await other.create(nil, 'camp');
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await page.getByRole('tab', { name: 'Log' }).click();
  const coming = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Send this bug' }).click();
  const download = await coming;
  const name = download.suggestedFilename();
  assert.match(name, /^town-tick\d+\.slice$/);
  await page.getByText(`muster replay ${name} --check`).waitFor();
  await download.saveAs(join(world.folder, name));
  const replayed = JSON.parse(world.run('replay', name, '--check', '--json')) as { differences: unknown[] };
  assert.deepEqual(replayed.differences, []);
  const viewer = await fetch(`http://${world.address}/slice`, {
    headers: { Authorization: `Bearer ${world.token_for('edit')}` },
  });
  assert.equal(viewer.status, 403);
});
