// Edits whose answer comes late or never, and edits of what somebody else has changed since.
import assert from 'node:assert/strict';

import { ClientError, session } from 'muster-client';

import { test } from '../../ts/support.js';
import { camp, elf, health, i32, orc, refused } from './camp.js';
import { mismatch, settled } from './played.js';

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
  // The same of redo.
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
