// Edits whose answer comes late or never.
import assert from 'node:assert/strict';

import { ClientError } from 'muster-client';

import { test } from '../../ts/support.js';
import { camp, elf, health, orc } from './camp.js';
import { settled } from './played.js';

test('an edit that was on its way when the connection was lost is kept, and sent again without what was expected', async (t) => {
  const play = await camp(t);
  play.holds = true;
  const edit = play.edits.set_field([orc], health, 'value', 61, 50);
  const naming = play.edits.rename(elf, 'lost');
  await settled();
  play.sent();
  play.server.stream.end('gone');
  assert.deepEqual([await edit, await naming], [false, false]);
  assert.deepEqual(play.edits.unacknowledged.value.map(({ label }) => label), ['Set value of orc', 'Rename elf']);
  assert.deepEqual([play.edits.pending.value, play.edits.refusals.value.size, play.notes], [[], 0, []]);
  assert.deepEqual(play.problems, ['Rename elf: gone']);
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
  assert.deepEqual(play.edits.unacknowledged.value.map(({ label }) => label), ['Set value of orc', 'Rename elf']);
  play.is_connected = true;
  const other = await camp(t);
  play.now = other.client;
  await play.edits.send_unacknowledged();
  assert.deepEqual(other.sent(), ['SetField 1:1 golden.Health.value=61', "Rename 2:1 'lost'"]);
  assert.deepEqual(play.edits.unacknowledged.value, []);
  await play.edits.send_unacknowledged();
  assert.deepEqual(other.sent(), []);
});

test('an edit that is answered too late is kept as one of which nothing is known, and said', async (t) => {
  const play = await camp(t);
  const { client } = play;
  client.push_batch = () => Promise.reject(new ClientError('late', 'no answer'));
  assert.equal(await play.edits.rename(orc, 'late'), false);
  assert.deepEqual([play.edits.unacknowledged.value.map(({ label }) => label), play.notes], [['Rename orc'], ['Rename orc: no answer']]);
  client.push_batch = () => Promise.reject(new ClientError('mistaken', 'nonsense'));
  assert.equal(await play.edits.rename(elf, 'x'), false);
  assert.equal(play.edits.unacknowledged.value.length, 1);
  play.edits.forget_unacknowledged();
  assert.deepEqual(play.edits.unacknowledged.value, []);
});
