// Every kind of field, from the schema alone: what is typed, chosen and dragged reaches the world,
// and what the world says is shown.
import assert from 'node:assert/strict';

import { nil } from 'muster-client';
import type { Entity } from 'muster-client';

import { component, Editor, given, pause, test, until, World } from './page.js';

const schema = ['--schema', given('MUSTER_SCHEMA')];
const health = 'golden.Health';

test('every field kind is edited, and another client sees each', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, {}]);
  const elf = await other.create(nil, 'elf');
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('orc');
  const part = editor.part(health);
  const value = async (): Promise<Record<string, any>> => component(other, orc, health);
  const becomes = (what: string, is_so: (value: Record<string, any>) => boolean): Promise<unknown> =>
    until(`${what} is as it was edited`, async () => is_so(await value()));

  await editor.type(health, 'value', '2*30+1');
  await becomes('a number', (now) => now.value === 61);
  await editor.type(health, 'regen', '0.3');
  await becomes('a float', (now) => now.regen === Math.fround(0.3));
  await until('it is shown', async () => (await editor.box(health, 'regen').inputValue()) === '0.3');
  await part.getByRole('combobox', { name: 'team' }).selectOption({ label: 'red' });
  await becomes('an enum', (now) => now.team === 1);
  await part.getByRole('combobox', { name: 'gate' }).selectOption({ label: 'broken' });
  await becomes('a negative enum', (now) => now.gate === -2);
  await part.getByRole('button', { name: 'class', exact: true }).click();
  await becomes('a flag', (now) => now.traits === 7);
  await part.getByRole('button', { name: 'fire' }).click();
  await becomes('another flag', (now) => now.traits === 6);
  await part.getByRole('checkbox', { name: 'alive' }).click();
  await becomes('a bool', (now) => now.alive === false);
  await editor.type(health, 'at y', '-7.5');
  await becomes('a part of a vector', (now) => now.at.y === -7.5 && now.at.x === 1);
  await editor.type(health, 'tint as #rrggbb', '#ff8000');
  await becomes('a colour', (now) => now.tint.join() === '255,128,0,255');
  await part.locator('[data-path="slots[1]"]').getByRole('textbox', { name: 'count' }).fill('9');
  await page.keyboard.press('Enter');
  await becomes('a nested struct in an array', (now) => now.slots[1].count === 9 && now.slots[0].count === 2);
  await part.locator('[data-path="slots[0]"]').getByRole('textbox', { name: 'item' }).fill('a sharp axe');
  await page.keyboard.press('Enter');
  await becomes('a text', (now) => now.slots[0].item !== 0n);
  assert.equal(await other.fetch_text((await value()).slots[0].item as bigint), 'a sharp axe');
  await editor.type(health, 'big', '18446744073709551614');
  await becomes('64 bits', (now) => now.big === 2n ** 64n - 2n);
  await editor.type(health, 'low', '-5');
  await becomes('64 bits with a sign', (now) => now.low === -5n);
  await editor.type(health, 'precise', '0.1+0.2');
  await becomes('a double', (now) => Math.abs(now.precise - 0.3) < 1e-15);
  await editor.type(health, 'm 5', '2.5');
  await becomes('a matrix', (now) => now.place.m[5] === 2.5 && now.place.m[0] === 1);
  await part.locator('[data-path="flags[1]"]').getByRole('checkbox').click();
  await becomes('an array of bools', (now) => now.flags.join() === 'true,true,true');
  await part
    .locator('[data-path="target"]')
    .getByRole('button', { name: /Choose an entity/ })
    .click();
  await page.keyboard.type('elf');
  await page.keyboard.press('Enter');
  await becomes('a reference', (now) => now.target.index === elf.index);
  await part.getByText('elf', { exact: true }).waitFor();
  await part.locator('[data-path="target"]').getByRole('button', { name: 'target: none' }).click();
  await becomes('no reference', (now) => now.target.index === 0);

  await editor.box(health, 'class').scrollIntoViewIfNeeded();
  const box = (await editor.box(health, 'class').boundingBox())!;
  await page.mouse.move(box.x + 20, box.y + 12);
  await page.mouse.down();
  await page.mouse.move(box.x + 40, box.y + 12, { steps: 4 });
  await page.mouse.move(box.x + 50, box.y + 12, { steps: 4 });
  await page.mouse.up();
  await becomes('a dragged number', (now) => now.class > 10 && now.class < 40);
  await page.locator('.tree-list').focus();
  await page.keyboard.press('ControlOrMeta+z');
  await becomes('one drag is one step', (now) => now.class === 0);

  await editor.type(health, 'value', '700');
  await part.getByText('700 is out of range: 0 to 100').waitFor();
  await editor.type(health, 'value', 'many');
  await part.getByText("'many' is not a number").waitFor();
  assert.equal((await value()).value, 61);
  await editor.picture('every-field');
});

test('two edits of one field within a moment are two edits: the second builds on the first, and is no conflict with it', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, {}]);
  const traits = async (): Promise<unknown> => (await component(other, orc, health)).traits;
  const editor = await Editor.open(t, world);
  await editor.select('orc');
  const part = editor.part(health);
  await part.getByRole('button', { name: 'class', exact: true }).waitFor();
  assert.equal(await traits(), 3);
  // Sooner than any watch can tell of the first.
  await part.locator('.flags').evaluate(async (flags) => {
    const press = (name: string): void =>
      Array.from(flags.querySelectorAll('button')).find((each) => each.textContent === name)!.click();
    const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
    press('class');
    await turn();
    press('fire');
    await turn();
    press('class');
  });
  await until('all three count', async () => (await traits()) === 2);
  await part.getByRole('button', { name: 'class', exact: true, pressed: false }).waitFor();
  await part.getByRole('button', { name: 'fire', pressed: false }).waitFor();
  assert.equal(await part.locator('.is-wrong').count(), 0);
  await editor.page.locator('.tree-list').focus();
  for (const back of [6, 7, 3]) {
    await editor.page.keyboard.press('ControlOrMeta+z');
    await until('one step is taken back', async () => (await traits()) === back);
  }
});

test('values of several entities: mixed ones say so, what is typed goes to all, one step takes it back', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const orcs: Entity[] = [];
  for (let i = 0; i < 3; ++i)
    orcs.push(await other.create(nil, `orc ${i}`, [health, { value: 50 + i, at: { x: 1, y: i, z: 3 } }]));
  await other.set(orcs[0], ['golden.Config', { speed: 1 }]);
  const values = async (): Promise<unknown[]> =>
    Promise.all(orcs.map(async (orc) => (await component(other, orc, health)).value));
  const editor = await Editor.open(t, world);
  await editor.select('orc 0', 'orc 1', 'orc 2');
  const box = editor.box(health, 'value');
  // The first one's value stands there until those of the others have come.
  await until('all three are shown', async () => (await box.getAttribute('placeholder')) === 'mixed');
  assert.equal(await box.inputValue(), '');
  assert.equal(await editor.box(health, 'at x').inputValue(), '1');
  assert.equal(await editor.box(health, 'at y').getAttribute('placeholder'), 'mixed');
  await editor.page.getByText('1 of 3 have it').waitFor();
  await editor.type(health, 'value', '7');
  await until('all have it', async () => (await values()).join() === '7,7,7');
  await editor.page.locator('.tree-list').focus();
  await editor.page.keyboard.press('ControlOrMeta+z');
  await until('each has its own again', async () => (await values()).join() === '50,51,52');
});

test('a conflict is shown with both values, and either is kept; undo does not write over what others did', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, { value: 50 }]);
  const value = async (): Promise<unknown> => (await component(other, orc, health)).value;
  const editor = await Editor.open(t, world);
  await editor.select('orc');
  const box = editor.box(health, 'value');
  const part = editor.part(health);
  const conflict = async (mine: string, theirs: number): Promise<void> => {
    await box.click();
    await box.fill(mine);
    await other.set_field(orc, health, 'value', theirs);
    await part.getByText(`now ${theirs}`).waitFor();
    assert.equal(await box.inputValue(), mine);
    await box.press('Enter');
    await part.getByText(`Somebody else changed it to ${theirs} while you were editing it.`).waitFor();
    await part.getByText(`theirs ${theirs}, mine ${mine}`).waitFor();
    assert.equal(await value(), theirs);
  };
  await conflict('60', 80);
  await editor.picture('a-conflict');
  await part.getByRole('button', { name: 'Keep theirs' }).click();
  assert.equal(await value(), 80);
  await conflict('61', 81);
  await part.getByRole('button', { name: 'Use mine' }).click();
  await until('mine is written', async () => (await value()) === 61);

  await other.set_field(orc, health, 'value', 99);
  await editor.page.locator('.tree-list').focus();
  await editor.page.keyboard.press('ControlOrMeta+z');
  const sentence = "Undo 'Set value of orc': Somebody else has set value of orc to 99 since. Undo would set it to 81. Nothing was changed.";
  await editor.page.locator('.notice').getByText(sentence, { exact: true }).waitFor();
  assert.equal(await value(), 99);
  await editor.page.getByRole('button', { name: 'Overwrite' }).click();
  await until('it is taken back', async () => (await value()) === 81);

  // A part of a vector has the same words below the row.
  await editor.box(health, 'at y').click();
  await editor.box(health, 'at y').fill('7');
  await other.set_field(orc, health, 'at.y', 33);
  await part.getByText('now 33').waitFor();
  await editor.box(health, 'at y').press('Enter');
  await part.getByText('theirs 33, mine 7').waitFor();
  await part.getByRole('button', { name: 'Use mine' }).click();
  await until('mine is written', async () => ((await component(other, orc, health)).at as { y: number }).y === 7);
});

test('what the world refuses is shown at the field, and the field has its value back', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, { value: 50 }]);
  await other.create(nil, 'elf');
  const editor = await Editor.open(t, world);
  await editor.page.keyboard.press('/');
  await editor.page.keyboard.press('Escape');
  await editor.select('elf');
  await editor.menu('elf', 'Rename');
  await editor.page.keyboard.type('orc');
  await editor.page.keyboard.press('Enter');
  await editor.page.locator('.notice.is-problem').waitFor();
  await editor.row('elf').waitFor();
  await pause(0);
  assert.equal((await other.entity('orc')).index, orc.index);
});

test('a field that was left stays left, and shows what the world has, however late the next picture comes', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('orc');
  await page.evaluate(() => {
    const late: FrameRequestCallback[] = [];
    const hold = (picture: FrameRequestCallback): number => late.push(picture);
    Object.assign(window, { requestAnimationFrame: hold, go_on: () => late.splice(0).forEach((picture) => picture(0)) });
  });
  const fields = [
    { label: 'value', text: '61', end: 'Enter', shown: '61' },
    { label: 'value', text: '62', end: 'Escape', shown: '61' },
    { label: 'tint as #rrggbb', text: '#ff8000', end: 'Enter', shown: '#ff8000' },
    { label: 'tint as #rrggbb', text: '#000000', end: 'Escape', shown: '#ff8000' },
  ];
  for (const { label, text, end, shown } of fields) {
    const box = editor.box(health, label);
    await box.focus();
    await box.fill(text);
    await box.press(end);
    await page.evaluate(() => (window as unknown as { go_on(): void }).go_on());
    assert.equal(await box.evaluate((input) => document.activeElement === input), false, `${label} after ${end}`);
    await until(`${label} shows ${shown}`, async () => (await box.inputValue()) === shown);
  }
  assert.equal((await component(other, orc, health)).value, 61);
  await editor.box(health, 'value').click();
  await page.keyboard.type('7');
  assert.equal(await editor.box(health, 'value').inputValue(), '7', 'what is typed after a click replaces the number');
  await page.keyboard.press('Escape');
});

test('a comma, a wrong colour, a sum over different values: each is taken as it is meant, or it is said why not', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const orcs: Entity[] = [];
  for (let i = 0; i < 2; ++i) orcs.push(await other.create(nil, `orc ${i}`, [health, { value: 50 + i }]));
  const value = async (): Promise<Record<string, any>> => component(other, orcs[0], health);
  const editor = await Editor.open(t, world);
  await editor.select('orc 0');
  const part = editor.part(health);
  await editor.type(health, 'regen', '0,125');
  await until('a comma is a point', async () => (await value()).regen === 0.125);
  await editor.type(health, 'regen', '1,250');
  await part.getByText("'1,250' is ambiguous: write 1.25 or 1250").waitFor();
  assert.equal((await value()).regen, 0.125);
  await editor.type(health, 'value', '0x10');
  await until('hexadecimal digits are a number', async () => (await value()).value === 16);
  const before = (await value()).tint.join();
  for (const wrong of ['red', '#12345']) {
    await editor.type(health, 'tint as #rrggbb', wrong);
    await part.getByText(`'${wrong}' is not a color: write #rrggbb`).waitFor();
  }
  assert.equal((await value()).tint.join(), before);

  await editor.select('orc 0', 'orc 1');
  const box = editor.box(health, 'value');
  await until('they differ', async () => (await box.getAttribute('placeholder')) === 'mixed');
  await editor.type(health, 'value', '+1');
  await part.getByText("write +=1 to change each of them").waitFor();
  await editor.type(health, 'value', '+=1');
  const values = async (): Promise<string> =>
    (await Promise.all(orcs.map(async (orc) => (await component(other, orc, health)).value))).join();
  await until('each is one more', async () => (await values()) === '17,52');
});

test('a field whose range is a scale has a slider: a drag is one step, Escape and others end it, keys move it', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const orcs: Entity[] = [];
  for (let i = 0; i < 2; ++i) orcs.push(await other.create(nil, `orc ${i}`, [health, { value: 50 + i }]));
  const values = async (): Promise<number[]> =>
    Promise.all(orcs.map(async (orc) => Number((await component(other, orc, health)).value)));
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('orc 0');
  const part = editor.part(health);
  const slider = part.getByRole('slider', { name: 'value' });
  await slider.waitFor();
  const sliders = part.getByRole('slider');
  const names = await sliders.evaluateAll((all) => all.map((each) => each.getAttribute('aria-label')));
  assert.deepEqual(names, ['value', 'count', 'count'], 'fields with a range have one');
  const shows = (value: number): Promise<unknown> =>
    until(`both show ${value}`, async () => (await slider.inputValue()) === String(value) && (await editor.box(health, 'value').inputValue()) === String(value));
  await shows(50);
  const box = (await slider.boundingBox())!;
  const y = box.y + box.height / 2;
  const pull = async (from: number, to: number): Promise<void> => {
    await page.mouse.move(box.x + box.width * from, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, y, { steps: 5 });
  };
  await pull(0.5, 0.8);
  await until('it follows the hand', async () => (await values())[0] > 70);
  const after = Number(await slider.inputValue());
  await page.mouse.up();
  // The last part of the drag may still be on its way.
  await until('the world has all of it', async () => (await values())[0] === after);
  assert.ok(after > 70 && after < 90, String(after));
  await shows(after);
  await editor.picture('slider');
  await pull(0.8, 0.1);
  await until('it follows the hand', async () => (await values())[0] < 20);
  await page.keyboard.press('Escape');
  await until('it is back', async () => (await values())[0] === after);
  await page.mouse.move(box.x + box.width * 0.3, y);
  await page.mouse.up();
  await shows(after);
  assert.equal(await editor.row('orc 0').getAttribute('aria-selected'), 'true');
  await page.keyboard.press('ControlOrMeta+z');
  await until('a drag is one step', async () => (await values())[0] === 50);
  await shows(50);
  await page.keyboard.press('ControlOrMeta+y');
  await shows(after);

  await pull(0.8, 0.5);
  await until('it follows the hand', async () => (await values())[0] < 60);
  await other.set_field(orcs[0], health, 'value', 5);
  await page.mouse.move(box.x + box.width * 0.4, y, { steps: 3 });
  await page.locator('.notice', { hasText: 'somebody else has changed it' }).waitFor();
  await page.mouse.up();
  await shows(5);

  await slider.press('ArrowRight');
  await until('a key moves it', async () => (await values())[0] === 6);
  await page.keyboard.press('ControlOrMeta+z');
  await until('it is one step too', async () => (await values())[0] === 5);

  await editor.select('orc 0', 'orc 1');
  await until('they differ', async () => (await editor.box(health, 'value').getAttribute('placeholder')) === 'mixed');
  await pull(0.5, 0.25);
  await page.mouse.up();
  await until('both have it', async () => {
    const [a, b] = await values();
    return a === b && a > 10 && a < 40;
  });
});

test('degrees stay as they were typed when something else was selected, and when they are taken back', async (t) => {
  const transform = 'scene.Transform';
  const world = await World.serve(t, ['--schema', given('MUSTER_SCENE')]);
  const other = await world.connect();
  for (const name of ['crate', 'barrel']) await other.create(nil, name, [transform, {}]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const shows = (expected: string): Promise<unknown> =>
    until(`it shows ${expected}`, async () => {
      const boxes = ['x', 'y', 'z'].map((axis) => editor.box(transform, `rotation ${axis}`).inputValue());
      return (await Promise.all(boxes)).join() === expected;
    });
  await editor.select('crate');
  await editor.type(transform, 'rotation x', '120');
  await editor.type(transform, 'rotation y', '30');
  await shows('120,30,0');
  await editor.select('barrel');
  await shows('0,0,0');
  await editor.select('crate');
  await shows('120,30,0');
  await page.locator('.tree-list').focus();
  await page.keyboard.press('ControlOrMeta+z');
  await shows('120,0,0');
  await page.keyboard.press('ControlOrMeta+z');
  await shows('0,0,0');
});

test('a reference takes an entity by a click with the pipette, and from a row that is dropped on it; Escape ends the choice', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const [orc, chest, bag] = [
    await other.create(nil, 'orc', [health, {}]),
    await other.create(nil, 'chest', [health, {}]),
    await other.create(nil, 'bag', [health, {}]),
  ];
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('orc');
  const pipette = editor.part(health).getByRole('button', { name: 'target: click an entity' });
  const refers_to = (to: Entity): Promise<unknown> =>
    until('it refers to it', async () => ((await component(other, orc, health)).target as Entity).index === to.index);
  await pipette.click();
  await editor.row('chest').click();
  await refers_to(chest);
  assert.equal(await editor.row('orc').getAttribute('aria-selected'), 'true', 'the selection stays');
  await pipette.click();
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('.is-picking').count(), 0);
  assert.equal(await editor.row('orc').getAttribute('aria-selected'), 'true');
  const [from, to] = [
    await editor.row('bag').boundingBox(),
    await editor.part(health).locator('[data-path="target"] .entity').boundingBox(),
  ];
  await page.mouse.move(from!.x + 60, from!.y + 12);
  await page.mouse.down();
  await page.mouse.move(from!.x + 80, from!.y + 30);
  await page.mouse.move(to!.x + 20, to!.y + 10, { steps: 3 });
  await page.mouse.up();
  await refers_to(bag);
});
