// Edits of the page: what is sent for each, what becomes of one that is refused, lost or not answered yet, and how it is taken back.
import assert from 'node:assert/strict';

import { muster, nil, session } from 'muster-client';
import type { Entity } from 'muster-client';

import { refusal_key } from '../../../../client/editor/src/model/edits.js';
import type { Made } from '../../../../client/editor/src/model/operations.js';
import { default_value } from '../../../../client/editor/src/model/values.js';
import { test } from '../../ts/support.js';
import { camp, config, elf, health, i32, orc, refused, rock } from './camp.js';
import { entity, mismatch, settled } from './played.js';

test('a field of several becomes what was typed, by one batch and as one step; undo and redo are guarded by what was there', async (t) => {
  const play = await camp(t);
  assert.equal(await play.edits.set_field([orc, elf], health, 'value', 7), true);
  assert.deepEqual(play.sent(), ['SetField 1:1 golden.Health.value=7', '  SetField 2:1 golden.Health.value=7']);
  assert.deepEqual(play.history, ['value of 2 entities', null]);
  play.edits.undo();
  await settled();
  assert.deepEqual(play.sent(), ['SetFieldIf 1:1 golden.Health.value=50 where 7', '  SetFieldIf 2:1 golden.Health.value=60 where 7']);
  assert.deepEqual(play.history, [null, 'value of 2 entities']);
  play.edits.redo();
  await settled();
  assert.deepEqual(play.sent(), ['SetFieldIf 1:1 golden.Health.value=7 where 50', '  SetFieldIf 2:1 golden.Health.value=7 where 60']);
  assert.deepEqual(play.history, ['value of 2 entities', null]);
  play.edits.redo(); // there is nothing
  await settled();
  assert.deepEqual([play.sent(), play.problems], [[], []]);
});

test('each of several may get its own value; what is so already is neither sent nor a step', async (t) => {
  const play = await camp(t);
  assert.equal(await play.edits.set_field([orc, elf], health, 'value', (of: Entity) => of.index * 10), true);
  assert.deepEqual(play.sent(), ['SetField 1:1 golden.Health.value=10', '  SetField 2:1 golden.Health.value=20']);
  assert.equal(await play.edits.set_field([orc, elf], health, 'value', (of: Entity) => 40 + of.index * 10), true);
  assert.deepEqual([play.sent(), play.history], [[], ['value of 2 entities', null]]);
  assert.equal(await play.edits.set_field([orc], health, 'value', 50), true);
  assert.deepEqual([play.sent(), play.history[0]], [[], 'value of 2 entities']);
  // As soon as one of them is another it is sent for all.
  await play.edits.set_field([orc, elf], health, 'value', 50);
  assert.equal(play.sent().length, 2);
});

test('where it is known what was there when editing began, the edit is for that alone', async (t) => {
  const play = await camp(t);
  await play.edits.set_field([orc], health, 'value', 61, 50);
  assert.deepEqual(play.sent(), ['SetFieldIf 1:1 golden.Health.value=61 where 50']);
  assert.deepEqual(play.history, ['value of orc', null]);
  await play.edits.set_field([orc], health, 'value', 50, 50); // the same as before, and yet it is asked: it may be another by now
  assert.deepEqual(play.sent(), ['SetFieldIf 1:1 golden.Health.value=50 where 50']);
  await play.edits.set_field([orc, elf], health, 'value', 62, 50); // not for several
  assert.deepEqual(play.sent(), ['SetField 1:1 golden.Health.value=62', '  SetField 2:1 golden.Health.value=62']);
  play.driven.add(health); // nor for what handlers write all the time
  await play.edits.set_field([orc], health, 'value', 63, 50);
  assert.deepEqual(play.sent(), ['SetField 1:1 golden.Health.value=63']);
  play.edits.undo();
  await settled();
  assert.deepEqual(play.sent(), ['SetField 1:1 golden.Health.value=50']);
  await play.edits.set_field([orc], health, 'slots[1].item', 'axe');
  assert.deepEqual(play.sent(), ["SetField 1:1 golden.Health.slots[1].item='axe'"]);
  assert.deepEqual(play.history[0], 'slots[1].item of orc');
});

test('a refused field shows the words of the world, nothing is a step, and the next edit of the field forgets them', async (t) => {
  const play = await camp(t);
  const key = refusal_key(health, 'value');
  play.faults.push(refused);
  assert.equal(await play.edits.set_field([orc], health, 'value', 700), false);
  const refusal = play.edits.refusals.value.get(key)!;
  assert.deepEqual([refusal.sentence, refusal.mine, refusal.theirs, refusal.overwrite], ['the world says no', 700, undefined, undefined]);
  assert.deepEqual([play.history, play.problems, play.notes], [[null, null], ['value of orc: the world says no'], []]);
  assert.deepEqual([play.edits.pending.value, play.edits.unacknowledged.value], [[], []]);
  play.edits.show_wrong(config, 'speed', 'that is no number');
  assert.deepEqual([...play.edits.refusals.value.keys()], [key, 'golden.Config|speed']);
  assert.deepEqual(play.edits.refusals.value.get('golden.Config|speed'), { sentence: 'that is no number', mine: undefined, theirs: undefined });
  await play.edits.set_field([orc], health, 'value', 70);
  assert.deepEqual([...play.edits.refusals.value.keys()], ['golden.Config|speed']);
  play.edits.show_wrong(health, 'value', 'a');
  play.edits.forget_refusal(key);
  assert.deepEqual([...play.edits.refusals.value.keys()], ['golden.Config|speed']);
  play.edits.show_wrong(health, 'value', 'a');
  play.edits.forget_refusal();
  assert.equal(play.edits.refusals.value.size, 0);
});

test('a conflict shows both values, and mine is written only when that is asked for', async (t) => {
  const play = await camp(t);
  play.faults.push(mismatch(play.client.types.get(health), 'value', i32(80), orc));
  assert.equal(await play.edits.set_field([orc], health, 'value', 61, 50), false);
  const refusal = play.edits.refusals.value.get(refusal_key(health, 'value'))!;
  assert.deepEqual([refusal.mine, refusal.theirs], [61, 80]);
  assert.deepEqual(play.sent(), ['SetFieldIf 1:1 golden.Health.value=61 where 50']);
  refusal.overwrite!();
  await settled();
  assert.deepEqual(play.sent(), ['SetField 1:1 golden.Health.value=61']);
  assert.deepEqual([play.edits.refusals.value.size, play.history], [0, ['value of orc', null]]);
});

test('who may not edit is told why, and nothing is sent', async (t) => {
  const play = await camp(t);
  play.may = false;
  const type = play.client.types.get(config);
  const calls = [
    () => play.edits.set_field([orc], health, 'value', 1),
    () => play.edits.add_component([rock], type),
    () => play.edits.set_component([orc], health, {}),
    () => play.edits.remove_component([orc], health),
    () => play.edits.rename(orc, 'other'),
    () => play.edits.reparent([orc], elf),
    () => play.edits.destroy([orc]),
  ];
  for (const call of calls) {
    play.notices.close(play.notices.list.value[0]?.number ?? 0);
    assert.equal(await call(), false);
    assert.deepEqual(play.notes, ['it may not']);
  }
  assert.deepEqual(await play.edits.create('create', [{ entity: rock, parent: nil, name: 'a', components: {} }], [rock]), []);
  assert.equal(await play.edits.spawn('t', nil, 'a'), null);
  play.may = true;
  play.is_connected = false;
  assert.equal(await play.edits.rename(orc, 'other'), false);
  assert.deepEqual([play.sent(), play.history, play.problems], [[], [null, null], []]);
  play.is_connected = true;
  await play.edits.rename(orc, 'other');
  play.may = false;
  play.sent();
  play.edits.undo();
  await settled();
  assert.deepEqual([play.sent(), play.history], [[], ['rename orc', null]]); // the step is still there
});

test('components are added to those that lack them, taken from those that have them, and come back with their values', async (t) => {
  const play = await camp(t);
  const speed = (value: number) => ({ speed: value });
  play.set_value(elf, config, speed(2.5));
  await play.edits.add_component([orc, elf, rock], play.client.types.get(config));
  assert.deepEqual(play.sent(), ['Set 1:1 mode 0 golden.Config={"speed":0}', '  Set 3:1 mode 0 golden.Config={"speed":0}']);
  assert.equal(play.history[0], 'add Config to 2 entities');
  play.edits.undo();
  await settled();
  assert.deepEqual(play.sent(), ['Remove 1:1 golden.Config', '  Remove 3:1 golden.Config']);
  play.edits.redo();
  await settled();
  assert.equal(play.sent()[0], 'Set 1:1 mode 0 golden.Config={"speed":0}');

  await play.edits.remove_component([orc, elf, rock], config);
  assert.deepEqual([play.sent(), play.history[0]], [['Remove 2:1 golden.Config'], 'remove Config from elf']);
  play.edits.undo();
  await settled();
  assert.deepEqual(play.sent(), ['Set 2:1 mode 0 golden.Config={"speed":2.5}']);

  play.set_value(orc, config, speed(1));
  await play.edits.set_component([orc, elf], config, speed(9));
  assert.deepEqual(play.sent(), ['Set 1:1 mode 0 golden.Config={"speed":9}', '  Set 2:1 mode 0 golden.Config={"speed":9}']);
  assert.equal(play.history[0], 'Config of 2 entities');
  play.edits.undo();
  await settled();
  assert.deepEqual(play.sent(), ['Set 1:1 mode 0 golden.Config={"speed":1}', '  Set 2:1 mode 0 golden.Config={"speed":2.5}']);
});

test('what the page does not know of an entity it asks before it is written over', async (t) => {
  const play = await camp(t);
  play.server.answers.set(session.Show.name, () => [session.Shown, { entity: rock }]);
  await play.edits.set_component([rock], config, { speed: 3 });
  assert.notEqual(play.server.request_of(session.Show), 0n);
  const asked = play.server.sent.filter(({ name }) => name === session.Show.name).length;
  await play.edits.set_component([orc, rock], health, {});
  assert.equal(play.server.sent.filter(({ name }) => name === session.Show.name).length, asked + 1); // the orc's is known
  play.sent();
  play.edits.undo(); // of those who had one
  await settled();
  assert.match(play.sent().join(), /^Set 1:1 mode 0 golden\.Health=\{"value":50,[^ ]*$/);
});

test('a name is given and taken back; the same name is no edit', async (t) => {
  const play = await camp(t);
  assert.equal(await play.edits.rename(orc, 'orc'), true);
  assert.deepEqual([play.sent(), play.history], [[], [null, null]]);
  await play.edits.rename(orc, 'grom');
  await play.edits.rename(rock, 'a rock');
  await play.edits.rename(elf, '');
  assert.deepEqual(play.sent(), ["Rename 1:1 'grom'", "Rename 3:1 'a rock'", "Rename 2:1 ''"]);
  const labels: (string | null)[] = [];
  for (let i = 0; i < 3; ++i) {
    labels.push(play.history[0]);
    play.edits.undo();
    await settled();
  }
  assert.deepEqual(play.sent(), ["Rename 2:1 'elf'", "Rename 3:1 ''", "Rename 1:1 'orc'"]);
  assert.deepEqual(labels, ['rename elf', 'rename #3:1', 'rename orc']);
});

test('those that are hung elsewhere come back to where each stood, the last one first', async (t) => {
  const play = await camp(t);
  play.parents.set('1:1', entity(8));
  play.next.set('1:1', elf);
  play.parents.set('2:1', entity(8));
  await play.edits.reparent([orc, elf], entity(9), rock);
  assert.deepEqual(play.sent(), ['Reparent 1:1 under 9:1 before 3:1', '  Reparent 2:1 under 9:1 before 3:1']);
  assert.equal(play.history[0], 'move 2 entities in the tree');
  play.edits.undo();
  await settled();
  assert.deepEqual(play.sent(), ['Reparent 2:1 under 8:1 before 0:0', '  Reparent 1:1 under 8:1 before 2:1']);
  play.edits.redo();
  await settled();
  assert.equal(play.sent().length, 2);
  await play.edits.reparent([orc], entity(9));
  assert.deepEqual(play.sent(), ['Reparent 1:1 under 9:1 before 0:0']);
});

test('what is created again by redo is another entity, and later steps mean that one', async (t) => {
  const play = await camp(t);
  const [first, below] = [entity(1, 0xffffffff), entity(2, 0xffffffff)];
  const made: Omit<Made, 'before'>[] = [
    { entity: first, parent: orc, name: 'camp', components: { [config]: { speed: 2 } } },
    { entity: below, parent: first, name: '', components: {} },
  ];
  const roots = await play.edits.create('create camp', made, [first]);
  assert.deepEqual(roots, [entity(100)]);
  assert.deepEqual(play.sent(), [
    "Create 100:1 'camp' under 1:1 before 0:0 clash 1 golden.Config={\"speed\":2}",
    "Create 101:1 '' under 100:1 before 0:0 clash 1",
  ]);
  play.names.set('100:1', 'camp');
  await play.edits.rename(roots[0], 'new');
  await play.edits.reparent([roots[0]], elf);
  play.sent();
  for (let i = 0; i < 3; ++i) play.edits.undo();
  await settled();
  assert.deepEqual(play.sent(), ['Reparent 100:1 under 0:0 before 0:0', "Rename 100:1 'camp'", 'Destroy 100:1']);
  for (let i = 0; i < 3; ++i) play.edits.redo();
  await settled();
  assert.deepEqual(play.sent(), [
    "Create 102:1 'camp' under 1:1 before 0:0 clash 1 golden.Config={\"speed\":2}",
    "Create 103:1 '' under 102:1 before 0:0 clash 1",
    "Rename 102:1 'new'",
    'Reparent 102:1 under 2:1 before 0:0',
  ]);
  for (let i = 0; i < 3; ++i) play.edits.undo();
  await settled();
  assert.equal(play.sent().at(-1), 'Destroy 102:1');
  play.edits.redo();
  await settled();
  play.edits.undo();
  await settled();
  assert.equal(play.sent().at(-1), 'Destroy 104:1');
});

test('a template is spawned under its parent by its name, and taken back by its root', async (t) => {
  const play = await camp(t);
  const root = await play.edits.spawn('game.orc', orc, 'grom');
  assert.deepEqual(root, entity(100));
  assert.deepEqual(play.sent(), ["Spawn 100:1+101:1 'game.orc' under 1:1 name 'grom'"]);
  assert.equal(play.history[0], 'spawn game.orc');
  play.edits.undo();
  await settled();
  assert.deepEqual(play.sent(), ['Destroy 100:1']);
  play.faults.push(refused);
  assert.equal(await play.edits.spawn('game.orc', orc, 'grom'), null);
});

test('what is deleted stops undo, which says so and touches nothing; a refusal says whose and stops nothing', async (t) => {
  const play = await camp(t);
  await play.edits.rename(elf, 'oak');
  assert.equal(await play.edits.destroy([orc, rock]), true);
  play.sent();
  assert.deepEqual([play.history, play.edits.history.next.value.is_final], [['delete 2 entities', null], true]);
  for (let i = 0; i < 3; ++i) play.edits.undo();
  await settled();
  assert.deepEqual(play.sent(), []);
  assert.deepEqual(play.notes, ["'delete 2 entities' cannot be undone. Nothing was changed."]);
  const [{ actions }] = play.notices.list.value;
  assert.deepEqual(actions.map(({ title }) => title), ["Undo 'rename elf' instead"]);
  actions[0].run();
  await settled();
  assert.deepEqual([play.sent(), play.history], [["Rename 2:1 'elf'"], [null, 'rename elf']]);

  play.faults.push(refused, { ...refused, handled: 1 });
  assert.equal(await play.edits.destroy([orc]), false);
  assert.equal(play.history[0], null);
  // Those of a batch that were not refused are gone all the same.
  assert.equal(await play.edits.destroy([elf, orc]), false);
  assert.deepEqual(play.history, ['delete 2 entities', null]);
  play.faults.push(refused);
  assert.deepEqual(await play.edits.create('create x', [{ entity: entity(5, 9), parent: nil, name: 'a', components: {} }], [entity(5, 9)]), []);
  assert.deepEqual(play.problems, ['delete orc: the world says no', 'delete 2 entities: the world says no', 'create x: the world says no']);
  assert.deepEqual([play.notes, play.history], [play.problems, ['delete 2 entities', null]]);
});

test('what undo offers beside a deletion goes when another step comes, and never undoes another one', async (t) => {
  const play = await camp(t);
  await play.edits.rename(elf, 'oak');
  await play.edits.destroy([rock]);
  await play.edits.destroy([orc]);
  play.edits.undo();
  await settled();
  const [{ text, actions }] = play.notices.list.value;
  assert.equal(text, "'delete orc' cannot be undone. Nothing was changed.");
  assert.deepEqual(actions.map(({ title }) => title), ["Undo 'rename elf' instead"]);
  await play.edits.rename(elf, 'ash');
  assert.deepEqual(play.notices.list.value, []);
  play.sent();
  // A press that came too late.
  actions[0].run();
  await settled();
  assert.deepEqual([play.sent(), play.history[0]], [[], 'rename elf']);
});

test('to overwrite what somebody else has changed is offered until another step comes, and loses none', async (t) => {
  const play = await camp(t);
  await play.edits.rename(elf, 'oak');
  play.faults.push({ ...refused, reason: 'value_mismatch' });
  play.edits.undo();
  await settled();
  const [{ actions }] = play.notices.list.value;
  assert.deepEqual(actions.map(({ title }) => title), ['Overwrite']);
  await play.edits.rename(elf, 'ash');
  assert.deepEqual(play.notices.list.value, []);
  const before = play.history;
  play.sent();
  actions[0].run();
  await settled();
  assert.deepEqual([play.sent(), play.history], [[], before]);
});

test('a name that is taken is said with the place where it is; spaces around a name are left out', async (t) => {
  const play = await camp(t);
  play.faults.push({ ...refused, reason: 'name_taken' });
  assert.equal(await play.edits.rename(elf, ' rock '), false);
  assert.deepEqual(play.sent(), ["Rename 2:1 'rock'"]);
  const where = play.parents.has('2:1') ? 'child of orc' : 'entity at the top of the tree';
  assert.deepEqual(play.notes, [`rename elf: the name 'rock' is taken by another ${where}`]);
  await play.edits.rename(elf, ' elf');
  assert.deepEqual(play.sent(), []);
});

test('an edit is pending until the world has answered, and only then a step; undo waits for it', async (t) => {
  const play = await camp(t);
  play.holds = true;
  assert.equal(play.edits.may_undo(), false);
  const first = play.edits.rename(orc, 'a');
  const second = play.edits.set_field([elf], health, 'value', 5);
  await settled();
  assert.deepEqual(
    play.edits.pending.value.map(({ number, label }) => [number, label]),
    [
      [1, 'rename orc'],
      [2, 'value of elf'],
    ],
  );
  assert.deepEqual([play.edits.may_undo(), play.history], [true, [null, null]]);
  play.sent();
  play.edits.undo();
  play.edits.undo();
  await settled();
  assert.deepEqual(play.sent(), []);
  play.answer(muster.SetField, session.Ack, {});
  await settled();
  assert.deepEqual(play.edits.pending.value.map(({ label }) => label), ['rename orc']);
  assert.deepEqual(play.sent(), []); // the other one was begun before, too
  play.holds = false;
  play.answer(muster.Rename, session.Ack, {});
  await settled();
  assert.deepEqual([await first, await second], [true, true]);
  // Steps are in the order in which the world has answered.
  assert.deepEqual(play.sent(), ["Rename 1:1 'orc'", 'SetFieldIf 2:1 golden.Health.value=60 where 5']);
  assert.deepEqual([play.history, play.edits.may_undo(), play.edits.pending.value], [[null, 'value of elf'], false, []]);
});

test('a step is worked out from what is known when all that was begun before it is known to have been done', async (t) => {
  const play = await camp(t);
  play.sequence = 8n;
  const awaited: [bigint, bigint][] = [];
  let told = (): void => {};
  play.told_of = (structure, components) => {
    awaited.push([structure, components]);
    return new Promise((resolve) => (told = resolve));
  };
  await play.edits.rename(orc, 'a');
  const back = play.edits.rename(orc, 'orc'); // its name is still orc, as far as this page was told
  await settled();
  assert.deepEqual([play.sent(), awaited], [["Rename 1:1 'a'"], [[8n, 0n]]]);
  play.names.set('1:1', 'a');
  told();
  assert.equal(await back, true);
  assert.deepEqual([play.sent(), play.history[0]], [["Rename 1:1 'orc'"], 'rename a']);
  play.names.set('1:1', 'orc');
  play.sequence = 9n;
  const added = play.edits.add_component([orc], play.client.types.get(config));
  await settled();
  told();
  assert.equal(await added, true);
  const removed = play.edits.remove_component([orc], config);
  await settled();
  assert.deepEqual([play.sent().length, awaited.slice(1)], [1, [[8n, 0n], [0n, 9n]]]);
  play.set_value(orc, config, default_value(play.client.types.get(config)));
  told();
  assert.equal(await removed, true);
  assert.deepEqual(play.sent(), ['Remove 1:1 golden.Config']);
  // A step that is undone while the next one is begun: that one waits for it.
  play.edits.lost();
  awaited.length = 0;
  play.edits.undo();
  assert.deepEqual(awaited, []);
  const moved = play.edits.reparent([elf], orc);
  await settled();
  assert.deepEqual(awaited, [[0n, 9n]]);
  told();
  assert.equal(await moved, true);
  assert.deepEqual(play.sent().map((line) => line.split(' ')[0]), ['Set', 'Reparent']);
});

test('what is so already is no step: a name, a component that all have, one that nobody has', async (t) => {
  const play = await camp(t);
  assert.equal(await play.edits.rename(orc, 'orc'), true);
  assert.equal(await play.edits.add_component([orc, elf], play.client.types.get(health)), true);
  assert.equal(await play.edits.remove_component([orc, elf], config), true);
  assert.deepEqual([play.sent(), play.history], [[], [null, null]]);
});

test('undo and redo within a moment wait for one another: as many are done as were asked for, in their order', async (t) => {
  const play = await camp(t);
  await play.edits.set_field([orc], health, 'value', 1);
  await play.edits.set_field([orc], health, 'value', 2);
  play.sent();
  assert.equal(play.edits.may_redo(), false);
  for (const back of [true, false, true, true, false, false]) {
    assert.equal(back ? play.edits.may_undo() : play.edits.may_redo(), true);
    if (back) play.edits.undo();
    else play.edits.redo();
  }
  for (let i = 0; i < 6; ++i) await settled();
  assert.deepEqual(play.sent().map((line) => line.replace(/^.*value=/, '')), ['50 where 2', '2 where 50', '50 where 2', '50 where 1', '1 where 50', '2 where 50']);
  assert.deepEqual([play.history[1], play.edits.may_redo(), play.edits.may_undo()], [null, false, true]);
});

test('a drag that ends before the edit ahead of it is answered is a step after that one', async (t) => {
  const play = await camp(t);
  play.holds = true;
  const first = play.edits.set_field([elf], health, 'value', 5);
  await settled();
  const drag = play.edits.drag('value of orc');
  drag.set(orc, health, 'value', 70);
  drag.commit();
  play.sent();
  play.edits.undo();
  await settled();
  assert.deepEqual([play.sent(), play.history, play.edits.may_undo()], [[], [null, null], true]);
  play.holds = false;
  play.server.tell(session.Ack, {}, { request: play.server.request_of(muster.SetField) });
  play.answer(muster.SetFieldIf, session.Ack, {});
  assert.equal(await first, true);
  await settled();
  assert.deepEqual(play.sent(), ['SetFieldIf 1:1 golden.Health.value=50 where 70']);
  assert.deepEqual(play.history, ['value of elf', 'value of orc']);
});

test('an undo that is refused for another reason stays the next one, and says why', async (t) => {
  const play = await camp(t);
  await play.edits.rename(orc, 'a');
  await play.edits.rename(elf, 'b');
  play.faults.push(refused);
  play.edits.undo();
  await settled();
  assert.deepEqual([play.history, play.problems], [['rename elf', null], ['undo: rename elf: the world says no']]);
  play.edits.undo();
  await settled();
  assert.deepEqual(play.history, ['rename orc', 'rename elf']);
  play.faults.push(refused);
  play.edits.redo();
  await settled();
  assert.deepEqual([play.history, play.problems.at(-1)], [['rename orc', 'rename elf'], 'redo: rename elf: the world says no']);
  play.edits.forget_history();
  assert.deepEqual([play.history, play.edits.may_undo()], [[null, null], false]);
});

test('where there is no step, undo and redo do nothing and say nothing', async (t) => {
  const play = await camp(t);
  for (const may of [true, false]) {
    play.may = may;
    play.edits.undo();
    play.edits.redo();
    await settled();
    assert.deepEqual([play.sent(), play.notes, play.problems, play.history], [[], [], [], [null, null]]);
  }
  play.may = true;
  await play.edits.rename(orc, 'a');
  play.edits.undo();
  await settled();
  play.edits.undo();
  await settled();
  assert.deepEqual(play.history, [null, 'rename orc']);
});

test('a drag sends what it holds and is one step in the end', async (t) => {
  const play = await camp(t);
  const drag = play.edits.drag('drag value');
  drag.set(orc, health, 'value', 51);
  drag.set(orc, health, 'value', 52);
  drag.set(rock, health, 'value', 52); // it has none
  assert.deepEqual(play.history, [null, null]);
  drag.commit();
  await settled();
  assert.deepEqual([play.sent(), play.history], [['SetFieldIf 1:1 golden.Health.value=52 where 50'], ['drag value', null]]);
  play.edits.undo();
  await settled();
  assert.deepEqual(play.sent(), ['SetFieldIf 1:1 golden.Health.value=50 where 52']);
  play.faults.push(refused);
  const other = play.edits.drag('drag other');
  other.set(elf, health, 'at.x', 5);
  other.cancel();
  await settled();
  assert.deepEqual([play.sent(), play.problems, play.history], [['SetFieldIf 2:1 golden.Health.at.x=1 where 1'], ['drag other: the world says no'], [null, 'drag value']]);
  // What handlers write, even in part, is taken back as it is.
  const both = play.edits.drag('drag both');
  play.set_value(elf, config, { speed: 1 });
  both.set(orc, health, 'value', 53);
  both.set(elf, config, 'speed', 2);
  both.commit();
  await settled();
  play.sent();
  play.driven.add(config);
  play.edits.undo();
  await settled();
  assert.deepEqual(play.sent(), ['SetField 1:1 golden.Health.value=50', '  SetField 2:1 golden.Config.speed=1']);
  play.may = false;
  play.edits.drag('never').set(orc, health, 'value', 1);
  assert.equal(play.notes.at(-1), 'it may not');
});
