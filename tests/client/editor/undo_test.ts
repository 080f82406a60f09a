// Undo in the page: it is the server's, so it outlives the page, and each user has their own.
import assert from 'node:assert/strict';

import { nil, session } from 'muster-client';
import type { Client, Entity } from 'muster-client';

import { component, Editor, given, has_children, pause, test, until, World } from './page.js';

const scene = ['--schema', given('MUSTER_SCENE')];
const schema = ['--schema', given('MUSTER_SCHEMA')];
const transform = 'scene.Transform';
const health = 'golden.Health';

const undo = (editor: Editor): Promise<void> => editor.page.keyboard.press('ControlOrMeta+z');
const redo = (editor: Editor): Promise<void> => editor.page.keyboard.press('ControlOrMeta+y');
const button = (editor: Editor, name: string) => editor.page.getByRole('button', { name, exact: true });
const value_of = async (other: Client, entity: Entity): Promise<unknown> => (await component(other, entity, health)).value;
/** Moves the focus out of the inspector's fields, where keys are for text. */
const leave = (editor: Editor): Promise<void> => editor.page.locator('.tree-list').focus();

test('a deleted tree comes back with its ids, its order, the references to it, and its selection', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const camp = await other.create(nil, 'camp');
  const [, orc, elf] = [await other.create(camp, 'owl'), await other.create(camp, 'orc', [health, { value: 50 }]), await other.create(camp, 'elf')];
  const bag = await other.create(orc, 'bag', [health, { value: 3, target: elf }]);
  const rock = await other.create(nil, 'rock', [health, { value: 1, target: bag }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.open_row('camp');
  await editor.select('orc', 'elf');
  await page.keyboard.press('Delete');
  await until('they are gone', async () => (await has_children(other, camp)).join() === 'owl');
  assert.equal(await page.getByRole('dialog').count(), 0);
  await until('nothing is selected', async () => (await page.locator('.tree-row[aria-selected=true]').count()) === 0);
  await button(editor, 'Undo: Delete 2 entities').waitFor();
  await undo(editor);
  await until('they are back in their places', async () => (await has_children(other, camp)).join() === 'owl,orc,elf');
  assert.deepEqual((await other.ask(session.ListChildren, { entity: orc })).entities, [bag]);
  assert.deepEqual([await value_of(other, orc), (await component(other, bag, health)).target], [50, elf]);
  assert.deepEqual((await component(other, rock, health)).target, bag);
  for (const name of ['orc', 'elf'])
    await until(`${name} is selected`, async () => (await editor.row(name).getAttribute('aria-selected')) === 'true');
  await button(editor, 'Redo: Delete 2 entities').waitFor();
  await redo(editor);
  await until('they are gone again', async () => (await has_children(other, camp)).join() === 'owl');
});

test('steps can be undone after a reload, by another page of the same user, and by the command', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, { value: 50 }]);
  const editor = await Editor.open(t, world);
  await editor.select('orc');
  for (const value of ['1', '2', '3']) {
    await editor.type(health, 'value', value);
    await until('it is written', async () => (await value_of(other, orc)) === Number(value));
  }
  await editor.page.reload();
  await editor.live();
  await button(editor, 'Undo: Set value of orc').waitFor();
  await undo(editor);
  await until('the last one is undone', async () => (await value_of(other, orc)) === 2);
  const second = await Editor.open(t, world);
  await button(second, 'Redo: Set value of orc').waitFor();
  await undo(second);
  await until('the one before it, too', async () => (await value_of(other, orc)) === 1);
  await redo(editor);
  await redo(editor);
  await until('both are done again', async () => (await value_of(other, orc)) === 3);
  await button(editor, 'Nothing to redo').waitFor();
  world.run('undo', '--world', world.path);
  await until('the command has undone the last one', async () => (await value_of(other, orc)) === 2);
  await button(editor, 'Redo: Set value of orc').waitFor();
  await redo(editor);
  await until('the page has done it again', async () => (await value_of(other, orc)) === 3);
  await button(editor, 'Nothing to redo').waitFor();
});

test('two users undo each their own edits', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const [orc, elf] = [await other.create(nil, 'orc', [health, { value: 50 }]), await other.create(nil, 'elf', [health, { value: 60 }])];
  const size = { width: 1280, height: 720 };
  const ann = await Editor.open(t, world, size, world.url_for(world.token_for('edit')));
  const bob = await Editor.open(t, world);
  await ann.select('orc');
  await bob.select('elf');
  await ann.type(health, 'value', '1');
  await until('hers is written', async () => (await value_of(other, orc)) === 1);
  await bob.type(health, 'value', '2');
  await until('his is written', async () => (await value_of(other, elf)) === 2);
  await leave(ann);
  await undo(ann);
  await until('hers is undone', async () => (await value_of(other, orc)) === 50);
  assert.equal(await value_of(other, elf), 2);
  await undo(ann);
  await ann.page.locator('.notice').getByText('There is nothing to undo.', { exact: true }).waitFor();
  assert.equal(await value_of(other, elf), 2);
  await leave(bob);
  await undo(bob);
  await until('his is undone', async () => (await value_of(other, elf)) === 60);
});

test('a drag is one step, however many values were sent on its way', async (t) => {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const crate = await other.create(nil, 'crate', [transform, { position: { x: 5, y: 7, z: 9 } }]);
  const x_of = async (): Promise<number> => ((await component(other, crate, transform)).position as { x: number }).x;
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('crate');
  await editor.type(transform, 'position y', '8');
  await button(editor, 'Undo: Set position.y of crate').waitFor();
  const box = editor.box(transform, 'position x');
  const at = (await box.boundingBox())!;
  const [x, y] = [at.x + at.width - 10, at.y + at.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  const seen = new Set<number>();
  for (let i = 1; i <= 12; ++i) {
    await page.mouse.move(x + 6 * i, y, { steps: 2 });
    await pause(30);
    seen.add(await x_of());
  }
  await page.mouse.up();
  await leave(editor);
  await until('it is where it was dragged to', async () => (await x_of()) > 6);
  assert.ok(seen.size > 2, 'values were sent on the way');
  await button(editor, 'Undo: Set position.x of crate').waitFor();
  await undo(editor);
  await until('all of it is undone', async () => (await x_of()) === 5);
  await button(editor, 'Undo: Set position.y of crate').waitFor();
  await redo(editor);
  await until('all of it is done again', async () => (await x_of()) > 6);
});

test('a conflict is shown with both values before anything is undone, and can be overwritten or left out', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const [orc, elf] = [await other.create(nil, 'orc', [health, { value: 50 }]), await other.create(nil, 'elf', [health, { value: 60 }])];
  const values = async (): Promise<unknown[]> => [await value_of(other, orc), await value_of(other, elf)];
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const notice = page.locator('.notice');
  await editor.select('orc', 'elf');
  await editor.type(health, 'value', '7');
  await until('both are written', async () => (await values()).join() === '7,7');
  await other.set_field(orc, health, 'value', 99);
  await leave(editor);
  await undo(editor);
  const sentence = "Undo 'Set value of 2 entities': Somebody else has set value of orc to 99 since. Undo would set it to 50. Nothing was changed.";
  await notice.getByText(sentence, { exact: true }).waitFor();
  await editor.picture('an-undo-conflict');
  assert.deepEqual(await values(), [99, 7]);
  await button(editor, 'Overwrite').click();
  await until('both are undone', async () => (await values()).join() === '50,60');
  await redo(editor);
  await until('both are done again', async () => (await values()).join() === '99,7');
  await undo(editor);
  await until('both are undone again', async () => (await values()).join() === '50,60');

  await editor.type(health, 'value', '8');
  await until('both are written', async () => (await values()).join() === '8,8');
  await other.set_field(orc, health, 'value', 98);
  await leave(editor);
  await undo(editor);
  await button(editor, 'Undo the rest').click();
  await until('the other one is undone', async () => (await values()).join() === '98,60');
  await notice.getByText(/^Undid 'Set value of 2 entities'\. Somebody else has set value of orc to 98 since\./).waitFor();
});

test('a paste of several trees is undone and redone as a whole, with the same ids', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const [camp, goal] = [await other.create(nil, 'camp'), await other.create(nil, 'goal')];
  const orc = await other.create(camp, 'orc', [health, { value: 50 }]);
  await other.create(orc, 'bag', [health, { target: orc }]);
  await other.create(camp, 'elf');
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.open_row('camp');
  await editor.select('orc', 'elf');
  await page.keyboard.press('ControlOrMeta+c');
  await editor.row('goal').click();
  await page.keyboard.press('ControlOrMeta+v');
  await until('they are pasted', async () => (await has_children(other, goal)).join() === 'orc,elf');
  const { entities } = await other.ask(session.ListChildren, { entity: goal });
  await button(editor, 'Undo: Paste 2 entities').waitFor();
  await undo(editor);
  await until('none is left', async () => (await has_children(other, goal)).length === 0);
  await button(editor, 'Redo: Paste 2 entities').waitFor();
  await redo(editor);
  await until('they are there again', async () => (await has_children(other, goal)).join() === 'orc,elf');
  assert.deepEqual((await other.ask(session.ListChildren, { entity: goal })).entities, entities);
  const [copy] = entities;
  const [bag] = (await other.ask(session.ListChildren, { entity: copy })).entities;
  assert.deepEqual((await component(other, bag, health)).target, copy);
});

test('a step of which another has deleted the entity is left out, and it is said', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const [orc, elf] = [await other.create(nil, 'orc', [health, { value: 50 }]), await other.create(nil, 'elf', [health, { value: 60 }])];
  const editor = await Editor.open(t, world);
  await editor.select('elf');
  await editor.type(health, 'value', '7');
  await until('it is written', async () => (await value_of(other, elf)) === 7);
  await editor.select('orc');
  await editor.type(health, 'value', '8');
  await until('it is written', async () => (await value_of(other, orc)) === 8);
  await other.destroy(orc);
  await until('the row is gone', async () => (await editor.row('orc').count()) === 0);
  await leave(editor);
  await undo(editor);
  await until('the step before it is undone', async () => (await value_of(other, elf)) === 60);
  await editor.page.locator('.notice').getByText("Undid 'Set value of elf'. One newer step could no longer be undone.", { exact: true }).waitFor();
});

test('keys that are pressed while an undo is not answered wait for it: as many steps are undone as keys were pressed', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, { value: 50 }]);
  const editor = await Editor.open(t, world);
  await editor.select('orc');
  for (const value of ['1', '2', '3', '4']) {
    await editor.type(health, 'value', value);
    await until('it is written', async () => (await value_of(other, orc)) === Number(value));
  }
  await leave(editor);
  for (let i = 0; i < 3; ++i) await undo(editor);
  await redo(editor);
  await until('three are undone and one is done again', async () => (await value_of(other, orc)) === 2);
  await pause(200);
  assert.equal(await value_of(other, orc), 2);
});

test('a deletion asks first if an undo could not bring back what a manager holds', async (t) => {
  const world = await World.serve(t, [...scene, '--plugin', given('MUSTER_KEEPING_PLUGIN')]);
  const other = await world.connect();
  const room = await other.create(nil, 'room');
  await other.create(room, 'chest');
  await other.create(room, 'door');
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.open_row('room');
  await editor.select('door');
  await page.keyboard.press('Delete');
  await until('the door is gone', async () => (await has_children(other, room)).join() === 'chest');
  await editor.select('room');
  await page.keyboard.press('Delete');
  const asked = page.getByText("An undo could not bring back what treasures holds for 'room'. Nothing was deleted.");
  await asked.waitFor();
  assert.equal((await has_children(other, room)).join(), 'chest');
  await button(editor, 'Delete anyway').click();
  await until('the room is gone', async () => (await has_children(other, nil)).join() === '');
});
