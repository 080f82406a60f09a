// Edits of the page: what is sent for each, and what becomes of one that is refused, lost or not answered yet.
import assert from 'node:assert/strict';

import { muster, nil, session } from 'muster-client';
import type { Entity } from 'muster-client';

import { refusal_key } from '../../../../client/editor/src/model/edits.js';
import type { Made } from '../../../../client/editor/src/model/operations.js';
import { default_value } from '../../../../client/editor/src/model/values.js';
import { test } from '../../ts/support.js';
import { camp, config, elf, health, i32, orc, refused, rock } from './camp.js';
import { entity, mismatch, settled } from './played.js';

test('a field of several becomes what was typed, by one step that says what it does', async (t) => {
  const play = await camp(t);
  assert.equal(await play.edits.set_field([orc, elf], health, 'value', 7), true);
  assert.deepEqual(play.steps_sent(), {
    'Set value of 2 entities': ['SetField 1:1 golden.Health.value=7', '  SetField 2:1 golden.Health.value=7'],
  });
});

test('each of several may get its own value; what is so already is not sent', async (t) => {
  const play = await camp(t);
  assert.equal(await play.edits.set_field([orc, elf], health, 'value', (of: Entity) => of.index * 10), true);
  assert.deepEqual(play.sent(), ['SetField 1:1 golden.Health.value=10', '  SetField 2:1 golden.Health.value=20']);
  assert.equal(await play.edits.set_field([orc, elf], health, 'value', (of: Entity) => 40 + of.index * 10), true);
  assert.deepEqual(play.sent(), []);
  assert.equal(await play.edits.set_field([orc], health, 'value', 50), true);
  assert.deepEqual(play.sent(), []);
  // As soon as one of them is another it is sent for all, and so is what the page does not know.
  await play.edits.set_field([orc, elf], health, 'value', 50);
  assert.equal(play.sent().length, 2);
  await play.edits.set_field([rock], health, 'value', 50);
  assert.equal(play.sent().length, 1);
});

test('where it is known what was there when editing began, the edit is for that alone', async (t) => {
  const play = await camp(t);
  await play.edits.set_field([orc], health, 'value', 61, 50);
  assert.deepEqual(play.steps_sent(), { 'Set value of orc': ['SetFieldIf 1:1 golden.Health.value=61 where 50'] });
  await play.edits.set_field([orc], health, 'value', 50, 50); // the same as before, and yet it is asked: it may be another by now
  assert.deepEqual(play.sent(), ['SetFieldIf 1:1 golden.Health.value=50 where 50']);
  await play.edits.set_field([orc, elf], health, 'value', 62, 50); // not for several
  assert.deepEqual(play.sent(), ['SetField 1:1 golden.Health.value=62', '  SetField 2:1 golden.Health.value=62']);
  play.driven.add(health); // nor for what handlers write all the time
  await play.edits.set_field([orc], health, 'value', 63, 50);
  assert.deepEqual(play.sent(), ['SetField 1:1 golden.Health.value=63']);
  await play.edits.set_field([orc], health, 'slots[1].item', 'axe');
  assert.deepEqual(play.steps_sent(), { 'Set slots[1].item of orc': ["SetField 1:1 golden.Health.slots[1].item='axe'"] });
});

test('a refused field shows the words of the world, and the next edit of the field forgets them', async (t) => {
  const play = await camp(t);
  const key = refusal_key(health, 'value');
  play.faults.push(refused);
  assert.equal(await play.edits.set_field([orc], health, 'value', 700), false);
  const refusal = play.edits.refusals.value.get(key)!;
  assert.deepEqual([refusal.sentence, refusal.mine, refusal.theirs, refusal.overwrite], ['the world says no', 700, undefined, undefined]);
  assert.deepEqual([play.problems, play.notes], [['Set value of orc: the world says no'], []]);
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
  assert.equal(play.edits.refusals.value.size, 0);
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
  play.steps.undo();
  play.steps.redo();
  await settled();
  play.may = true;
  play.is_connected = false;
  assert.equal(await play.edits.rename(orc, 'other'), false);
  assert.deepEqual([play.sent(), play.asked, play.problems], [[], [], []]);
});

test('components are added to those that lack them, and taken from those that have them', async (t) => {
  const play = await camp(t);
  const speed = (value: number) => ({ speed: value });
  play.set_value(elf, config, speed(2.5));
  await play.edits.add_component([orc, elf, rock], play.client.types.get(config));
  await play.edits.remove_component([orc, elf, rock], config);
  await play.edits.set_component([orc, elf], config, speed(9));
  assert.deepEqual(play.steps_sent(), {
    'Add Config to 2 entities': ['Set 1:1 mode 0 golden.Config={"speed":0}', '  Set 3:1 mode 0 golden.Config={"speed":0}'],
    'Remove Config from elf': ['Remove 2:1 golden.Config'],
    'Set Config of 2 entities': ['Set 1:1 mode 0 golden.Config={"speed":9}', '  Set 2:1 mode 0 golden.Config={"speed":9}'],
  });
});

test('a name is given; the same name is no edit', async (t) => {
  const play = await camp(t);
  assert.equal(await play.edits.rename(orc, 'orc'), true);
  assert.deepEqual(play.sent(), []);
  await play.edits.rename(orc, 'grom');
  await play.edits.rename(rock, 'a rock');
  await play.edits.rename(elf, '');
  assert.deepEqual(play.steps_sent(), { 'Rename orc': ["Rename 1:1 'grom'"], 'Rename #3:1': ["Rename 3:1 'a rock'"], 'Rename elf': ["Rename 2:1 ''"] });
});

test('those that are hung elsewhere, and the values that keep their places, are one step', async (t) => {
  const play = await camp(t);
  await play.edits.reparent([orc, elf], entity(9), rock);
  assert.deepEqual(play.steps_sent(), {
    'Move 2 entities in the tree': ['Reparent 1:1 under 9:1 before 3:1', '  Reparent 2:1 under 9:1 before 3:1'],
  });
  const kept = [{ entity: orc, component: health, path: 'at.x', value: 3 }];
  await play.edits.reparent([orc], entity(9), nil, () => Promise.resolve(kept));
  assert.deepEqual(play.steps_sent(), {
    'Move orc in the tree': ['Reparent 1:1 under 9:1 before 0:0', '  SetField 1:1 golden.Health.at.x=3'],
  });
});

test('trees are created by one step, under ids that were granted for them', async (t) => {
  const play = await camp(t);
  const [first, below] = [entity(1, 0xffffffff), entity(2, 0xffffffff)];
  const made: Omit<Made, 'before'>[] = [
    { entity: first, parent: orc, name: 'camp', components: { [config]: { speed: 2 } } },
    { entity: below, parent: first, name: '', components: {} },
  ];
  assert.deepEqual(await play.edits.create('Create camp', made, [first]), [entity(100)]);
  const lines = (id: number): string[] => [
    `Create ${id}:1 'camp' under 1:1 before 0:0 clash 1 golden.Config={"speed":2}`,
    `  Create ${id + 1}:1 '' under ${id}:1 before 0:0 clash 1`,
  ];
  assert.deepEqual(play.steps_sent(), { 'Create camp': lines(100) });
  assert.deepEqual(await play.edits.create('Create camp', made, [first]), [entity(102)]);
  assert.deepEqual(play.sent(), lines(102));
});

test('a template is spawned under its parent by its name', async (t) => {
  const play = await camp(t);
  const root = await play.edits.spawn('game.orc', orc, 'grom');
  assert.deepEqual(root, entity(100));
  assert.deepEqual(play.steps_sent(), { 'Spawn game.orc': ["Spawn 100:1+101:1 'game.orc' under 1:1 name 'grom'"] });
  play.faults.push(refused);
  assert.equal(await play.edits.spawn('game.orc', orc, 'grom'), null);
});

test('several are deleted together or not at all, and a refusal says whose', async (t) => {
  const play = await camp(t);
  assert.equal(await play.edits.destroy([orc, rock]), true);
  assert.deepEqual(play.steps_sent(), { 'Delete 2 entities': ['Destroy 1:1', '  Destroy 3:1'] });
  play.faults.push(refused, refused);
  assert.equal(await play.edits.destroy([orc]), false);
  assert.deepEqual(await play.edits.create('Create x', [{ entity: entity(5, 9), parent: nil, name: 'a', components: {} }], [entity(5, 9)]), []);
  assert.deepEqual(play.problems, ['Delete orc: the world says no', 'Create x: the world says no']);
  assert.deepEqual(play.notes, play.problems);
});

test('a name that is taken is said with the place where it is; spaces around a name are left out', async (t) => {
  const play = await camp(t);
  play.faults.push({ ...refused, reason: 'name_taken' });
  assert.equal(await play.edits.rename(elf, ' rock '), false);
  assert.deepEqual(play.sent(), ["Rename 2:1 'rock'"]);
  const where = play.parents.has('2:1') ? 'child of orc' : 'entity at the top of the tree';
  assert.deepEqual(play.notes, [`Rename elf: the name 'rock' is taken by another ${where}`]);
  await play.edits.rename(elf, ' elf');
  assert.deepEqual(play.sent(), []);
});

test('an edit is pending until the world has answered', async (t) => {
  const play = await camp(t);
  play.holds = true;
  assert.equal(play.edits.is_busy(), false);
  const first = play.edits.rename(orc, 'a');
  const second = play.edits.set_field([elf], health, 'value', 5);
  await settled();
  assert.deepEqual(
    play.edits.pending.value.map(({ number, label }) => [number, label]),
    [
      [1, 'Set value of elf'],
      [2, 'Rename orc'],
    ].sort(([a], [b]) => Number(a) - Number(b)),
  );
  assert.deepEqual([play.edits.is_busy(), play.edits.acknowledged.value], [true, 0n]);
  play.answer('Set value of elf', session.Ack, { sequence: 4n });
  await settled();
  assert.deepEqual(play.edits.pending.value.map(({ label }) => label), ['Rename orc']);
  play.answer('Rename orc', session.Ack, { sequence: 3n });
  assert.deepEqual([await first, await second], [true, true]);
  assert.deepEqual([play.edits.is_busy(), play.edits.acknowledged.value, play.edits.pending.value], [false, 4n, []]);
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
  assert.deepEqual(play.steps_sent(), { 'Rename a': ["Rename 1:1 'orc'"] });
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
  // A step that is undone while the next one is begun: that one waits for it, and for what it changed.
  play.edits.lost();
  awaited.length = 0;
  play.plans.push({ label: 'a', done: 1 });
  play.undones.push({ label: 'a', done: 1 });
  play.steps.undo();
  assert.deepEqual(awaited, []);
  const moved = play.edits.reparent([elf], orc);
  await settled();
  assert.deepEqual([awaited, play.asked], [[[9n, 9n]], ['undo dry', 'undo']]);
  told();
  assert.equal(await moved, true);
  assert.deepEqual(play.sent().map((line) => line.split(' ')[0]), ['Reparent']);
});

test('what is so already is no step: a name, a component that all have, one that nobody has', async (t) => {
  const play = await camp(t);
  assert.equal(await play.edits.rename(orc, 'orc'), true);
  assert.equal(await play.edits.add_component([orc, elf], play.client.types.get(health)), true);
  assert.equal(await play.edits.remove_component([orc, elf], config), true);
  assert.deepEqual(play.sent(), []);
});

test('a drag sends what it holds in steps of one gesture, and the next drag has another', async (t) => {
  const play = await camp(t);
  const gestures = (): unknown[] =>
    play.server.sent.filter(({ name }) => name === muster.Step.name).map(({ value }) => (value as muster.Step).gesture);
  const drag = play.edits.drag('Drag value');
  drag.set(orc, health, 'value', 51);
  drag.set(orc, health, 'value', 52);
  drag.set(rock, health, 'value', 52); // it has none
  drag.commit();
  await settled();
  assert.deepEqual(play.steps_sent(), { 'Drag value': ['SetFieldIf 1:1 golden.Health.value=52 where 50'] });
  // What handlers write is not guarded, and both parts are one step.
  play.set_value(elf, config, { speed: 1 });
  play.driven.add(config);
  const both = play.edits.drag('Drag both');
  both.set(orc, health, 'value', 53);
  both.set(elf, config, 'speed', 2);
  both.commit();
  await settled();
  assert.deepEqual(play.sent(), ['SetField 2:1 golden.Config.speed=2', '  SetFieldIf 1:1 golden.Health.value=53 where 50']);
  const [first, second] = gestures();
  assert.ok(typeof first === 'bigint' && first > 0n && second === first + 1n);
  // A single edit belongs to no gesture.
  await play.edits.rename(elf, 'oak');
  assert.equal(gestures().at(-1), 0n);
  play.may = false;
  play.edits.drag('Never').set(orc, health, 'value', 1);
  assert.equal(play.notes.at(-1), 'it may not');
});

test('a drag that is refused says why once', async (t) => {
  const play = await camp(t);
  play.faults.push(refused);
  const drag = play.edits.drag('Drag value');
  drag.set(elf, health, 'at.x', 5);
  drag.commit();
  await settled();
  assert.deepEqual(play.sent(), ['SetFieldIf 2:1 golden.Health.at.x=5 where 1']);
  assert.deepEqual(play.problems, ['Drag value: the world says no']);
});
