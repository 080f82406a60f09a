// Two pages of one world: each sees what the other has selected, drags and looks at.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { nil, session } from 'muster-client';
import type { Entity } from 'muster-client';

import type { Model } from '../../../../client/editor/src/model/model.js';
import type { Person } from '../../../../client/editor/src/people/people.js';
import { test } from '../../ts/support.js';
import { pause, until, World } from '../../ts/world.js';
import { cut_lines, opened } from './around.js';

const health = 'golden.Health';
const { stringify } = JSON;

/** Pages of two users in a world with an orc below a town, and an elf. */
async function two(t: TestContext): Promise<{ ann: Model; bob: Model; town: Entity; orc: Entity; elf: Entity }> {
  const world = await World.serve(t);
  const client = await world.connect();
  const town = await client.create(nil, 'town');
  const orc = await client.create(town, 'orc', [health, { value: 50 }]);
  const elf = await client.create(nil, 'elf', [health, { value: 60 }]);
  const token = (name: string): string => world.json<{ token: string }>('token', 'create', name, '--role', 'admin').token;
  const ann = await opened(t, world, token('Ann'));
  const bob = await opened(t, world, token('Bob'));
  return { ann, bob, town, orc, elf };
}
const named = (model: Model, name: string): Person | undefined =>
  model.people.others.value.find((person) => person.name === name);
const sees = (what: string, model: Model, name: string, is_so: (person: Person) => boolean): Promise<void> =>
  until(what, () => {
    const person = named(model, name);
    return person !== undefined && is_so(person);
  });
const said = (model: Model) => model.notices.list.value.at(-1);

test('each page sees what the other has selected and where it looks from, until that page is closed', async (t) => {
  const { ann, bob, orc, elf } = await two(t);
  ann.selection.set([orc, elf]);
  ann.people.look({ x: 1, y: 2, z: 3 }, { x: 0, y: 0, z: 0 });
  await sees('Bob sees it', bob, 'Ann', ({ selection, camera }) => selection.length === 2 && camera !== null);
  const person = named(bob, 'Ann')!;
  assert.deepEqual([person.selection, person.kind, person.is_agent], [[orc, elf], 'editor', false]);
  assert.deepEqual(person.camera, { position: { x: 1, y: 2, z: 3 }, target: { x: 0, y: 0, z: 0 } });
  await sees('Ann sees Bob', ann, 'Bob', ({ selection }) => selection.length === 0);
  ann.selection.set([]);
  await sees('nothing is selected', bob, 'Ann', ({ selection }) => selection.length === 0);
  ann.client.peek()!.close();
  await until('Ann has left', () => named(bob, 'Ann') === undefined);
});

test('what one drags the other neither drags, changes nor deletes before being asked; then it is changed anyway', async (t) => {
  const { ann, bob, town, orc } = await two(t);
  for (const model of [ann, bob]) {
    model.selection.set([orc]);
    await until('it is inspected', () => model.component(orc, health) !== undefined && !model.is_inspecting.value);
  }
  const drag = ann.edits.drag('Set value of orc');
  drag.set(orc, health, 'value', 51);
  await until('Bob sees it', () => bob.people.held([orc]) !== undefined);
  assert.equal(bob.people.held([orc]), 'Ann is moving orc');
  assert.deepEqual([bob.people.held([town]), bob.people.held([town], true)], [undefined, 'Ann is moving orc']);
  assert.equal(ann.people.held([orc]), undefined);

  const own = bob.edits.drag('Set value of orc');
  own.set(orc, health, 'value', 99);
  own.commit();
  await own.finished;
  assert.equal(said(bob)?.text, 'Ann is moving orc.');
  assert.equal(await bob.edits.set_field([orc], health, 'value', 99), false);
  assert.deepEqual([said(bob)?.text, said(bob)?.actions.map(({ title }) => title)], ['Ann is moving orc. Nothing was changed.', ['Change it anyway']]);
  assert.equal(await bob.edits.destroy([town]), false);
  assert.ok(bob.world.get(orc));
  assert.equal(await bob.edits.rename(orc, 'other'), false);
  said(bob)!.actions[0].run();
  await until('it has the name', () => ann.world.get(orc)?.name === 'other');

  drag.commit();
  await drag.finished;
  await until('it is free', () => bob.people.held([orc]) === undefined);
  assert.equal(await bob.edits.set_field([orc], health, 'value', 70), true);
});

test('a drag goes on over lines that are cut: the world has the last value, it is one step, and others see it again', async (t) => {
  const { ann, bob, orc } = await two(t);
  ann.selection.set([orc]);
  await until('it is inspected', () => ann.component(orc, health) !== undefined && !ann.is_inspecting.value);
  const drag = ann.edits.drag('Set value of orc');
  for (let value = 51; value <= 60; ++value) {
    drag.set(orc, health, 'value', value);
    if (value % 4 === 0) cut_lines();
    await pause(20); // so that several steps are sent
  }
  await sees('Bob sees the drag', bob, 'Ann', ({ dragged }) => dragged.length === 1);
  drag.commit();
  await drag.finished;
  await until('both are live', () => [ann, bob].every((model) => model.link.value.kind === 'live'));
  await until('Bob has the value', () => bob.world.get(orc) !== undefined && bob.people.held([orc]) === undefined);
  const client = ann.client.peek()!;
  assert.equal((await client.show(orc)).components[health]?.value, 60);
  assert.equal((await client.ask(session.GetHistory, { limit: 1 })).undo_steps, 1);
  assert.deepEqual([ann.notices.list.value, ann.edits.unacknowledged.value], [[], []]);
  await sees('Bob sees the selection', bob, 'Ann', ({ selection }) => selection.length === 1);
});

test('of two drags that begin at once one goes on, and the other restores the values and says why', async (t) => {
  const { ann, bob, orc } = await two(t);
  for (const model of [ann, bob]) {
    model.selection.set([orc]);
    await until('it is inspected', () => model.component(orc, health) !== undefined && !model.is_inspecting.value);
  }
  const drags = [ann, bob].map((model) => model.edits.drag('Set value of orc'));
  drags.forEach((drag, i) => drag.set(orc, health, 'value', 51 + i));
  await until('one is over', () => drags.some((drag) => drag.is_over));
  const over = [ann, bob].filter((_, i) => drags[i].is_over);
  assert.ok(over.length >= 1, stringify(over.map((model) => said(model)?.text)));
  for (const model of over) assert.match(said(model)?.text ?? '', /is (already )?(working on|moving) orc|somebody else has changed it/);
  drags.forEach((drag) => drag.commit());
  await Promise.all(drags.map((drag) => drag.finished));
});
