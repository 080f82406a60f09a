// Edits of a run that are applied to the level: a field, a component, an entity, a new entity, and
// those of the list that appears after the run. Each can be taken back.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { nil } from 'muster-client';
import type { Client, Entity } from 'muster-client';

import { component, Editor, given, has_children, test, until, World } from './page.js';

const scene = ['--schema', given('MUSTER_SCENE')];
const transform = 'scene.Transform';
const color = 'scene.Color';

async function yard(t: TestContext) {
  const world = await World.serve(t, scene);
  const other = await world.connect();
  const box = (name: string) => other.create(nil, name, [transform, {}], ['scene.Shape', {}], [color, {}]);
  const [crate, rock] = [await box('crate'), await box('rock')];
  const editor = await Editor.open(t, world);
  return { world, other, crate, rock, editor };
}
async function position(other: Client, entity: Entity): Promise<number[]> {
  return Object.values((await component(other, entity, transform)).position as object) as number[];
}
async function play(editor: Editor): Promise<void> {
  await editor.page.keyboard.press('ControlOrMeta+Enter');
  await editor.page.locator('.run-word').getByText('Run', { exact: true }).waitFor();
}
async function stop(editor: Editor): Promise<void> {
  await editor.page.locator('.tree-list').focus();
  await editor.page.keyboard.press('ControlOrMeta+Enter');
  await editor.page.locator('.run-word').getByText('Level', { exact: true }).waitFor();
}
const notice = (editor: Editor, text: string | RegExp): Promise<void> =>
  editor.page.locator('.notice').getByText(text).first().waitFor();
async function undo(editor: Editor): Promise<void> {
  await editor.page.locator('.tree-list').focus();
  await editor.page.keyboard.press('ControlOrMeta+z');
}

test('one click at a field that was edited in a run applies this edit to the level and no other; undo takes it back', async (t) => {
  const { other, crate, editor } = await yard(t);
  await editor.select('crate');
  await play(editor);
  const keep = (field: string) => editor.page.getByRole('button', { name: `Apply ${field} to the level` });
  assert.equal(await keep('position').count(), 0, 'a field that was not edited has nothing to apply');
  await editor.type(transform, 'position x', '5');
  await editor.type(transform, 'scale y', '3');
  await keep('scale').waitFor();
  await editor.picture('keep-a-field');
  await keep('position').click();
  await notice(editor, /will be applied to the level when the run ends/);
  await stop(editor);
  await until('the position is kept', async () => (await position(other, crate)).join() === '5,0,0');
  assert.equal(((await component(other, crate, transform)).scale as { y: number }).y, 1);
  await undo(editor);
  await until('it is taken back', async () => (await position(other, crate)).join() === '0,0,0');
  await editor.page.keyboard.press('ControlOrMeta+y');
  await until('it is done again', async () => (await position(other, crate)).join() === '5,0,0');
});

test('a component and an entity are applied from their menus, also an entity that was made in the run', async (t) => {
  const { other, crate, rock, editor } = await yard(t);
  const { page } = editor;
  await play(editor);
  await editor.select('crate');
  await editor.type(transform, 'position x', '5');
  await editor.type(color, 'value as #rrggbb', '#ff0000');
  await editor.part(color).getByRole('button', { name: 'More for Color' }).click();
  await page.getByRole('menuitem', { name: 'Apply to level' }).click();
  await notice(editor, /will be applied/);
  await editor.select('rock');
  await editor.type(transform, 'position z', '7');
  await editor.type(transform, 'scale x', '2');
  await editor.menu('rock', 'Apply to level');
  await until('the entity is marked', async () => {
    await page.getByRole('tab', { name: 'Edits of the run' }).click();
    return (await page.locator('.step.is-marked').count()) >= 3;
  });
  await editor.row('rock').click();
  await page.keyboard.press('ControlOrMeta+d');
  await editor.row('rock~2').waitFor();
  await editor.menu('rock~2', 'Apply to level');
  await stop(editor);
  await until('the new one is there', () => other.entity('rock~2'));
  assert.deepEqual(await position(other, crate), [0, 0, 0]);
  assert.equal(((await component(other, crate, color)).value as { g: number }).g, 0);
  assert.deepEqual(await position(other, rock), [0, 0, 7]);
  assert.equal(((await component(other, rock, transform)).scale as { x: number }).x, 2);
  await undo(editor);
  await until('all of it is one step', async () => (await has_children(other, nil)).join() === 'crate,rock');
  assert.deepEqual(await position(other, rock), [0, 0, 0]);
});

test('the list that appears when a run was stopped has the edits of all users, and applies those that are chosen', async (t) => {
  const { other, crate, rock, editor } = await yard(t);
  const { page } = editor;
  await editor.select('crate');
  await play(editor);
  await editor.type(transform, 'position x', '5');
  await editor.type(transform, 'position y', '6');
  await other.set_field(rock, transform, 'position.z', 9);
  await stop(editor);
  const list = page.getByRole('list', { name: 'Edits of the run' });
  await list.waitFor();
  await until('all three are listed', async () => (await list.getByRole('listitem').count()) === 3);
  await editor.picture('keep-after-the-run');
  assert.deepEqual(await position(other, crate), [0, 0, 0]);
  await list.getByRole('checkbox', { name: /position.y of crate/ }).check();
  await list.getByRole('checkbox', { name: /of rock/ }).check();
  await page.getByRole('button', { name: 'Apply to level', exact: true }).click();
  await notice(editor, /Applied 2 edits to the level/);
  assert.deepEqual(await position(other, crate), [0, 6, 0]);
  assert.deepEqual(await position(other, rock), [0, 0, 9]);
  await undo(editor);
  await until('both are taken back', async () => (await position(other, rock)).join() === '0,0,0');
  assert.deepEqual(await position(other, crate), [0, 0, 0]);
  await page.getByRole('button', { name: 'Apply all' }).click();
  await until('all are applied', async () => (await position(other, crate)).join() === '5,6,0');
});

test('an edit that cannot be kept is told, and one who may only look is offered nothing', async (t) => {
  const { world, other, editor } = await yard(t);
  await editor.select('crate');
  await play(editor);
  await editor.menu('crate', 'Apply to level');
  await notice(editor, /^Not applied to the level: /);
  const viewer = await Editor.open(t, world, undefined, world.url_for(world.token_for('view')));
  await other.set_field(await other.entity('crate'), transform, 'position.x', 3);
  await viewer.page.getByRole('tab', { name: 'Edits of the run' }).click();
  const box = viewer.page.getByRole('list', { name: 'Edits of the run' }).getByRole('checkbox');
  await box.waitFor();
  assert.ok(await box.isDisabled());
  assert.ok(await viewer.page.getByRole('button', { name: 'Apply all' }).isDisabled());
});
