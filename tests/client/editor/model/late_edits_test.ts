// Edits whose answer comes late or never, and edits of what somebody else has changed since.
import assert from 'node:assert/strict';

import { ClientError, id_text, nil } from 'muster-client';
import type { Entity } from 'muster-client';

import type { Copies } from '../../../../client/editor/src/model/copies.js';
import { placeholder } from '../../../../client/editor/src/model/operations.js';
import { default_value } from '../../../../client/editor/src/model/values.js';
import { test } from '../../ts/support.js';
import { camp, elf, health, i32, orc, refused, rock } from './camp.js';
import { mismatch, settled } from './played.js';
import type { Played } from './played.js';

/** Returns a copy of the orc below `parent`. */
function copy_of_orc(parent: Entity): Copies {
  const entity = placeholder();
  return { made: [{ entity, parent, name: 'orc', components: {} }], roots: [entity], left_out: [] };
}
/** Makes the page wait for news of the world until the test calls `told`. */
function late(play: Played): { awaited: [bigint, bigint][]; told: () => void } {
  const late = { awaited: [] as [bigint, bigint][], told: (): void => {} };
  play.told_of = (structure, components) => {
    late.awaited.push([structure, components]);
    return new Promise((resolve) => (late.told = resolve));
  };
  return late;
}

test('an edit that was on its way when the connection was lost is kept, and sent again without what was expected', async (t) => {
  const play = await camp(t);
  play.holds = true;
  const edit = play.edits.set_field([orc], health, 'value', 61, 50);
  const naming = play.edits.rename(elf, 'lost');
  await settled();
  play.sent();
  play.server.stream.end('gone');
  assert.deepEqual([await edit, await naming], [false, false]);
  assert.deepEqual(play.edits.unacknowledged.value.map(({ label }) => label), ['value of orc', 'rename elf']);
  assert.deepEqual([play.edits.pending.value, play.edits.refusals.value.size, play.notes, play.history], [[], 0, [], [null, null]]);
  assert.deepEqual(play.problems, ['rename elf: gone']);
  // The next session is lost as well: none of them is.
  const next = await camp(t);
  next.holds = true;
  play.now = next.client;
  const sending = play.edits.send_unacknowledged();
  await settled();
  assert.deepEqual(next.sent(), ['SetField 1:1 golden.Health.value=61']);
  play.is_connected = false;
  next.server.stream.end('gone again');
  await sending;
  assert.deepEqual(play.edits.unacknowledged.value.map(({ label }) => label), ['value of orc', 'rename elf']);
  play.is_connected = true;
  const other = await camp(t);
  play.now = other.client;
  await play.edits.send_unacknowledged();
  assert.deepEqual(other.sent(), ['SetField 1:1 golden.Health.value=61', "Rename 2:1 'lost'"]);
  assert.deepEqual([play.edits.unacknowledged.value, play.history], [[], [null, null]]);
  await play.edits.send_unacknowledged();
  assert.deepEqual(other.sent(), []);
});

test('an edit that is answered too late is kept as one of which nothing is known, and said', async (t) => {
  const play = await camp(t);
  const { client } = play;
  client.push_batch = () => Promise.reject(new ClientError('late', 'no answer'));
  assert.equal(await play.edits.rename(orc, 'late'), false);
  assert.deepEqual([play.edits.unacknowledged.value.map(({ label }) => label), play.notes], [['rename orc'], ['rename orc: no answer']]);
  client.push_batch = () => Promise.reject(new ClientError('mistaken', 'nonsense'));
  assert.equal(await play.edits.rename(elf, 'x'), false);
  assert.equal(play.edits.unacknowledged.value.length, 1);
  play.edits.forget_unacknowledged();
  assert.deepEqual(play.edits.unacknowledged.value, []);
});

test('what somebody else has changed since is not taken back without asking', async (t) => {
  const play = await camp(t);
  await play.edits.set_field([orc], health, 'value', 61);
  play.faults.push(mismatch(play.client.types.get(health), 'value', i32(99), orc));
  play.sent();
  play.edits.undo();
  await settled();
  assert.deepEqual([play.sent(), play.history], [['SetFieldIf 1:1 golden.Health.value=50 where 61'], ['value of orc', null]]);
  const [notice] = play.notices.list.value;
  const sentence = 'undo: value of orc: somebody else has changed it since. golden.Health.value is not what was expected';
  assert.deepEqual([notice.kind, notice.text, notice.actions.map(({ title }) => title), play.problems], ['problem', sentence, ['Overwrite'], [sentence]]);
  notice.actions[0].run();
  await settled();
  assert.deepEqual([play.sent(), play.history], [['SetField 1:1 golden.Health.value=50'], [null, 'value of orc']]);
  // Redo asks, too.
  play.faults.push(mismatch(play.client.types.get(health), 'value', i32(98), orc));
  play.edits.redo();
  await settled();
  assert.deepEqual([play.sent(), play.history], [['SetFieldIf 1:1 golden.Health.value=61 where 50'], [null, 'value of orc']]);
  play.notices.list.value.at(-1)!.actions[0].run();
  await settled();
  assert.deepEqual([play.sent(), play.history], [['SetField 1:1 golden.Health.value=61'], ['value of orc', null]]);
});

test('an overwrite that comes after another edit does nothing, and one that is refused leaves the step where it was', async (t) => {
  const play = await camp(t);
  const conflict = () => mismatch(play.client.types.get(health), 'value', i32(99), orc);
  await play.edits.set_field([orc], health, 'value', 61);
  play.faults.push(conflict());
  play.edits.undo();
  await settled();
  const [notice] = play.notices.list.value;
  play.faults.push(refused);
  notice.actions[0].run();
  await settled();
  assert.deepEqual(play.history, ['value of orc', null]);
  assert.equal(play.problems.at(-1), 'undo: value of orc: the world says no');
  play.edits.undo();
  await settled();
  play.faults.push(conflict());
  play.edits.redo();
  await settled();
  play.faults.push(refused);
  play.notices.list.value.at(-1)!.actions[0].run();
  await settled();
  assert.deepEqual(play.history, [null, 'value of orc']);
  await play.edits.rename(elf, 'other');
  play.sent();
  notice.actions[0].run();
  await settled();
  assert.deepEqual(play.sent(), []);
});

test('redo places a copy before its sibling even if the page does not know yet that redo created the sibling', async (t) => {
  const play = await camp(t);
  play.parents.set('1:1', rock);
  const chest = placeholder();
  const made = await play.edits.create('create chest', [{ entity: chest, parent: rock, name: 'chest', components: {} }], [chest]);
  play.parents.set(id_text(made[0]), rock);
  play.next.set('1:1', made[0]);
  await play.edits.duplicate([orc], copy_of_orc(rock));
  assert.match(play.sent().at(-1)!, new RegExp(`'orc~2' under 3:1 before ${id_text(made[0])} `));
  play.edits.undo();
  play.edits.undo();
  await settled();
  play.parents.delete(id_text(made[0]));
  play.sent();
  play.sequence = 8n;
  const page = late(play);
  play.edits.redo();
  play.edits.redo();
  for (let i = 0; i < 3; ++i) await settled();
  const [again, ...more] = play.sent();
  assert.match(again, /^Create \S+ 'chest' under 3:1 before 0:0 /);
  assert.deepEqual([more, page.awaited], [[], [[8n, 0n]]]);
  const id = again.split(' ')[1];
  const [index, generation] = id.split(':').map(Number);
  assert.notEqual(id, id_text(made[0]));
  play.parents.set(id_text({ index, generation }), rock);
  page.told();
  await settled();
  assert.match(play.sent().join(), new RegExp(`'orc~2' under 3:1 before ${id} `));
  assert.deepEqual(play.history, ['duplicate orc', null]);
  // If the sibling has really moved, the copy is the last child.
  play.edits.undo();
  await settled();
  play.parents.set(id, nil);
  play.sent();
  page.awaited.length = 0;
  play.edits.redo();
  await settled();
  assert.deepEqual([play.sent(), page.awaited], [[], [[8n, 0n]]]);
  page.told();
  await settled();
  assert.match(play.sent().join(), /'orc~2' under 3:1 before 0:0 /);
});

test('a copy gets the parent that its original has after all earlier edits', async (t) => {
  const play = await camp(t);
  play.sequence = 8n;
  const page = late(play);
  await play.edits.reparent([orc], elf);
  play.sent();
  const copying = play.edits.duplicate([orc], copy_of_orc(elf));
  await settled();
  assert.deepEqual([play.sent(), page.awaited], [[], [[8n, 0n]]]);
  play.parents.set('1:1', elf);
  page.told();
  assert.equal((await copying).length, 1);
  assert.match(play.sent().join(), /^Create \S+ 'orc~2' under 2:1 /);
});

test('the next sibling is as of the last edit of the tree, even if that edit is known already', async (t) => {
  const play = await camp(t);
  play.sequence = 8n;
  await play.edits.rename(elf, 'oak');
  play.names.set('2:1', 'oak');
  play.sequence = 9n;
  await play.edits.set_component([orc], health, default_value(play.client.types.get(health)));
  await play.edits.duplicate([orc], copy_of_orc(nil));
  assert.deepEqual(play.sinces, [8n]);
  play.sequence = 10n;
  await play.edits.rename(elf, 'ash');
  play.names.set('2:1', 'ash');
  await play.edits.rename(elf, 'ash'); // waits until the page knows the name, and changes nothing
  await play.edits.duplicate([orc], copy_of_orc(nil));
  assert.deepEqual(play.sinces, [8n, 10n]);
  // Sequences of another server mean nothing.
  play.edits.lost();
  await play.edits.duplicate([orc], copy_of_orc(nil));
  assert.deepEqual(play.sinces, [8n, 10n, 0n]);
});
