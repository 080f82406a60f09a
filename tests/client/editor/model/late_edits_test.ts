// Edits whose answer comes late or never.
import assert from 'node:assert/strict';

import { ClientError, id_text, nil } from 'muster-client';
import type { Entity } from 'muster-client';

import type { Copies } from '../../../../client/editor/src/model/copies.js';
import { placeholder } from '../../../../client/editor/src/model/operations.js';
import { default_value } from '../../../../client/editor/src/model/values.js';
import { test } from '../../ts/support.js';
import { camp, elf, health, orc } from './camp.js';
import { settled } from './played.js';
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
