// What the page wrote itself: shown until the world tells of it, and what the next edit builds on.
import assert from 'node:assert/strict';

import { session } from 'muster-client';
import type { StructValue } from 'muster-client';

import { OwnWrites } from '../../../../client/editor/src/model/own_writes.js';
import { refusal_key } from '../../../../client/editor/src/model/edits.js';
import { default_value } from '../../../../client/editor/src/model/values.js';
import { test } from '../../ts/support.js';
import { Hands } from '../../ts/hands.js';
import { entity, mismatch, Played, settled } from './played.js';

const orc = entity(1);
const elf = entity(2);
const health = 'golden.Health';
const told: StructValue = { value: 50, at: { x: 1, y: 2 }, slots: [{ count: 1 }, { count: 2 }] };
const part = (path: string, value: unknown) => [{ entity: orc, component: health, path, value }];

test('parts lie over what the world told, the later over the earlier, of that component of that entity alone', () => {
  const writes = new OwnWrites();
  assert.equal(writes.over(orc, health, told), told);
  writes.begin(part('at.y', 7));
  writes.begin(part('slots[1].count', 9));
  writes.begin(part('at.y', 8));
  assert.deepEqual(writes.over(orc, health, told), { value: 50, at: { x: 1, y: 8 }, slots: [{ count: 1 }, { count: 9 }] });
  assert.deepEqual(told.at, { x: 1, y: 2 });
  writes.begin(part('', { value: 3 }));
  assert.deepEqual(writes.over(orc, health, told), { value: 3 });
  assert.equal(writes.over(elf, health, told), told);
  assert.equal(writes.over(entity(1, 2), health, told), told);
  assert.equal(writes.over(orc, 'golden.Config', told), told);
  assert.equal(writes.over(orc, health, undefined), undefined); // what is not there has no part that could be another
});

test('a write is shown until a state of its sequence or a later one, whichever comes first of that and its answer', (t) => {
  new Hands(t);
  const writes = new OwnWrites();
  const value = (): unknown => writes.over(orc, health, told).value;
  const first = writes.begin(part('value', 61));
  writes.told(100n); // not answered yet: nobody knows whether that is before it
  assert.equal(value(), 61);
  writes.acknowledged(first, 102n);
  writes.told(101n);
  assert.equal(value(), 61);
  writes.told(102n);
  assert.equal(value(), 50);
  const second = writes.begin(part('value', 62));
  writes.told(105n);
  writes.acknowledged(second, 104n);
  assert.equal(value(), 50);
  const third = writes.begin(part('value', 63));
  writes.drop(third);
  assert.equal(value(), 50);
  writes.acknowledged(third, 200n);
  assert.equal(value(), 50);
});

test('who looks is told of each change; what the world never tells of is let go two seconds after its answer', (t) => {
  const hands = new Hands(t);
  const writes = new OwnWrites();
  const version = (): number => writes.version.value;
  const before = version();
  const write = writes.begin(part('value', 61));
  assert.notEqual(version(), before);
  const begun = version();
  writes.begin([]);
  hands.pass(60_000); // no answer yet
  assert.equal(version(), begun);
  writes.acknowledged(write, 5n);
  hands.pass(1999);
  assert.equal(writes.over(orc, health, told).value, 61);
  hands.pass(1);
  assert.equal(writes.over(orc, health, told).value, 50);
  assert.notEqual(version(), begun);
});

test('sequences of another start of the server are not compared', (t) => {
  new Hands(t);
  const writes = new OwnWrites();
  writes.told(1000n);
  writes.begin(part('value', 61));
  writes.forget();
  assert.equal(writes.over(orc, health, told).value, 50);
  writes.acknowledged(writes.begin(part('value', 62)), 3n);
  assert.equal(writes.over(orc, health, told).value, 62);
});

test('an edit that follows at once expects what the one before it wrote, and so does a drag', async (t) => {
  const play = await Played.open(t);
  play.set_value(orc, health, { ...default_value(play.client.types.get(health)), value: 50, mesh: 0n });
  play.sequence = 7n;
  const shown = (): unknown => play.edits.writes.over(orc, health, play.values.get('1:1 golden.Health'))!.value;
  await play.edits.set_field([orc], health, 'value', 61, shown());
  assert.equal(shown(), 61);
  await play.edits.set_field([orc], health, 'value', 62, shown());
  assert.deepEqual(play.sent(), ['SetFieldIf 1:1 golden.Health.value=61 where 50', 'SetFieldIf 1:1 golden.Health.value=62 where 61']);
  const drag = play.edits.drag('value of orc');
  drag.set(orc, health, 'value', 70);
  drag.commit();
  await settled();
  assert.deepEqual(play.sent(), ['SetFieldIf 1:1 golden.Health.value=70 where 62']);
  play.edits.writes.told(7n);
  assert.equal(shown(), 50); // what the test says that the world told
});

test('what is refused is not shown any more', async (t) => {
  const play = await Played.open(t);
  play.set_value(orc, health, { ...default_value(play.client.types.get(health)), value: 50, mesh: 0n });
  const shown = (): unknown => play.edits.writes.over(orc, health, play.values.get('1:1 golden.Health'))!.value;
  play.holds = true;
  const edit = play.edits.set_field([orc], health, 'value', 61, 50);
  await settled();
  assert.equal(shown(), 61);
  play.answer('Set value of #1:1', session.Fault, mismatch(play.client.types.get(health), 'value', [80, 0, 0, 0], orc));
  assert.equal(await edit, false);
  assert.equal(shown(), 50);
  assert.deepEqual(play.edits.refusals.value.get(refusal_key(health, 'value'))!.theirs, 80);
});
