// Values that follow a hand: how often they are sent, which of them, and what becomes of refusals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';

import { ClientError } from 'muster-client';
import type { Entity } from 'muster-client';

import { Drag } from '../../../../client/editor/src/model/drag.js';
import type { FieldChange } from '../../../../client/editor/src/model/operations.js';
import { Hands } from '../../ts/hands.js';

const orc: Entity = { index: 1, generation: 1 };
const elf: Entity = { index: 2, generation: 1 };
const brief = (changes: readonly FieldChange[]) =>
  changes.map(
    ({ entity, component, path, value, expected }) =>
      `${entity.index} ${component}.${path}=${value}${expected === undefined ? '' : ` where ${expected}`}`,
  );
/** As the world refuses a part that holds something else. */
const mismatch = (entity: Entity, field: string) =>
  new ClientError('refused', 'not what was expected', { reason: 'value_mismatch', entity, field } as never);

/** `driven` is a component that handlers write, so that nothing is expected of it. */
function begun(t: TestContext, is_ready = true, driven = 'C') {
  const hands = new Hands(t);
  const sent: { changes: string[]; land(): void; fail(error: unknown): void }[] = [];
  const failed: unknown[] = [];
  const overtaken: string[] = [];
  let asked = 0;
  const drag = new Drag('a drag', {
    send: (changes) => new Promise((land, fail) => sent.push({ changes: brief(changes), land, fail })),
    ready: () => (++asked, is_ready),
    before: (entity, component, path) => (component === 'unknown' ? undefined : `${entity.index}${path} before`),
    is_driven: (component) => component === driven,
    overtaken: ({ entity, path }) => void overtaken.push(`${entity.index} ${path}`),
    failed: (error) => void failed.push(error),
    changed_part: (error) => {
      const fault = (error as ClientError).fault;
      return fault?.reason === 'value_mismatch' ? { entity: fault.entity, path: fault.field } : undefined;
    },
  });
  let is_finished = false;
  void drag.finished.then(() => (is_finished = true));
  return { hands, drag, sent, failed, overtaken, asked: () => asked, finished: () => is_finished };
}

test('the first value is sent at once, and of those that come within a picture the newest', async (t) => {
  const { hands, drag, sent } = begun(t);
  drag.set(orc, 'C', 'x', 1);
  assert.equal(sent.length, 0); // not within the call
  hands.pass(0);
  assert.deepEqual(sent[0].changes, ['1 C.x=1']);
  sent[0].land();
  await hands.turn();
  drag.set(orc, 'C', 'x', 2);
  drag.set(elf, 'C', 'x', 5);
  drag.set(orc, 'C', 'y', 7);
  drag.set(orc, 'C', 'x', 3);
  hands.pass(16);
  assert.equal(sent.length, 1);
  hands.pass(1);
  assert.equal(sent.length, 2);
  assert.deepEqual(sent[1].changes.sort(), ['1 C.x=3', '1 C.y=7', '2 C.x=5']);
});

test('two batches are on the way at most: a slow server gets the newest values only', async (t) => {
  const { hands, drag, sent } = begun(t);
  for (let value = 0; value < 10; ++value) {
    drag.set(orc, 'C', 'x', value);
    hands.pass(20);
  }
  assert.deepEqual(
    sent.map(({ changes }) => changes[0]),
    ['1 C.x=0', '1 C.x=1'],
  );
  sent[1].land();
  await hands.turn();
  hands.pass(20);
  assert.deepEqual(sent[2].changes, ['1 C.x=9']);
  sent[0].land();
  sent[2].land();
  await hands.turn();
  hands.pass(100);
  assert.equal(sent.length, 3); // nothing is sent twice
});

test('in the end the last value is sent at once, and the drag is finished when all of it was answered', async (t) => {
  const { hands, drag, sent, finished } = begun(t);
  drag.set(orc, 'C', 'x', 1);
  hands.pass(0);
  drag.set(orc, 'C', 'x', 2);
  drag.set(elf, 'C', 'y', 3);
  drag.commit();
  assert.deepEqual(sent.map(({ changes }) => changes), [['1 C.x=1'], ['1 C.x=2', '2 C.y=3']]);
  drag.commit();
  drag.cancel();
  drag.set(orc, 'C', 'x', 9);
  hands.pass(100);
  sent[0].land();
  await hands.turn();
  assert.deepEqual([sent.length, finished()], [2, false]);
  sent[1].land();
  await hands.turn();
  assert.deepEqual([sent.length, finished()], [2, true]);
});

test('where it is given up everything is as it was before, and nothing else is sent', async (t) => {
  const { hands, drag, sent, finished } = begun(t);
  drag.set(orc, 'C', 'x', 1);
  hands.pass(0);
  drag.set(orc, 'C', 'x', 2);
  drag.set(elf, 'C', 'x', 2); // of which nothing was sent
  drag.cancel();
  hands.pass(100);
  assert.deepEqual(sent.map(({ changes }) => changes), [['1 C.x=1'], ['1 C.x=1x before']]);
  sent[0].land();
  sent[1].land();
  await hands.turn();
  drag.commit();
  drag.cancel();
  drag.set(orc, 'C', 'x', 3);
  hands.pass(100);
  assert.deepEqual([sent.length, finished()], [2, true]);
});

test('what nothing is known of is not touched; a drag that moved nothing sends nothing and is finished', async (t) => {
  const one = begun(t);
  one.drag.set(orc, 'unknown', 'x', 1);
  one.hands.pass(20);
  one.drag.commit();
  const other = begun(t);
  other.drag.cancel();
  other.hands.pass(20);
  await other.hands.turn();
  assert.deepEqual([one.sent, one.finished(), other.sent, other.finished()], [[], true, [], true]);
});

test('where the world cannot be edited it is asked once, and the drag is over', async (t) => {
  const { hands, drag, sent, asked, finished } = begun(t, false);
  drag.set(orc, 'C', 'x', 1);
  drag.set(orc, 'C', 'x', 2);
  drag.commit();
  hands.pass(20);
  await hands.turn();
  assert.deepEqual([sent, asked(), finished()], [[], 1, true]);
  const can = begun(t);
  can.drag.set(orc, 'C', 'x', 1);
  can.drag.set(orc, 'C', 'x', 2);
  assert.equal(can.asked(), 1);
});

test('a refusal ends the drag and is told once', async (t) => {
  const { hands, drag, sent, failed, finished } = begun(t);
  drag.set(orc, 'C', 'x', 1);
  hands.pass(0);
  sent[0].fail('no');
  await hands.turn();
  assert.deepEqual([failed, finished()], [['no'], true]);
  drag.set(orc, 'C', 'x', 2);
  hands.pass(100);
  drag.commit();
  assert.deepEqual([sent.length, failed.length], [1, 1]);

  const other = begun(t);
  other.drag.set(orc, 'C', 'x', 1);
  other.hands.pass(0);
  other.drag.cancel();
  other.sent[1].fail('gone');
  await other.hands.turn();
  assert.deepEqual(other.failed, ['gone']);
});

test('a step is refused as a whole: what somebody else wrote stays, and the rest of it is sent again', async (t) => {
  const { hands, drag, sent, failed, overtaken, finished } = begun(t, true, 'driven');
  drag.set(orc, 'C', 'x', 1);
  drag.set(elf, 'C', 'x', 1);
  drag.set(elf, 'driven', 'x', 1);
  hands.pass(0);
  assert.deepEqual(sent[0].changes, ['1 C.x=1 where 1x before', '2 C.x=1 where 2x before', '2 driven.x=1']);
  sent[0].land();
  await hands.turn();
  drag.set(orc, 'C', 'x', 2);
  drag.set(elf, 'C', 'x', 2);
  hands.pass(17);
  assert.deepEqual(sent[1].changes, ['1 C.x=2 where 1', '2 C.x=2 where 1']);
  drag.set(elf, 'C', 'x', 3);
  drag.set(elf, 'driven', 'x', 3);
  hands.pass(17);
  assert.deepEqual(sent[2].changes, ['2 C.x=3 where 2', '2 driven.x=3']);
  sent[1].fail(mismatch(orc, 'x'));
  await hands.turn();
  drag.set(elf, 'C', 'x', 4);
  hands.pass(100);
  // Nothing is sent before it is known what became of the step on its way, which expected values of the refused one.
  assert.deepEqual([sent.length, overtaken], [3, ['1 x']]);
  sent[2].fail(mismatch(elf, 'x'));
  await hands.turn();
  hands.pass(17);
  assert.deepEqual([overtaken, failed, drag.is_over], [['1 x'], [], false]);
  assert.deepEqual(sent[3].changes, ['2 C.x=4 where 1', '2 driven.x=3']);
  drag.set(orc, 'C', 'x', 9); // it was given up
  drag.commit();
  sent[3].land();
  await hands.turn();
  assert.deepEqual([sent.length, finished()], [4, true]);
});

test('a drag that ends while a refusal is being sorted out still sends its last values', async (t) => {
  const { hands, drag, sent, finished } = begun(t, true, 'driven');
  drag.set(orc, 'C', 'x', 1);
  drag.set(elf, 'C', 'x', 1);
  hands.pass(0);
  drag.set(elf, 'C', 'x', 2);
  hands.pass(17);
  sent[0].fail(mismatch(orc, 'x'));
  await hands.turn();
  drag.commit();
  assert.equal(sent.length, 2);
  sent[1].fail(mismatch(elf, 'x'));
  await hands.turn();
  assert.deepEqual([sent[2].changes, finished()], [['2 C.x=2 where 2x before'], false]);
  sent[2].land();
  await hands.turn();
  assert.equal(finished(), true);
});

test('a drag whose only value was overtaken is over; one that is given up leaves to others what they wrote', async (t) => {
  const { hands, drag, sent, overtaken, finished } = begun(t, true, 'driven');
  drag.set(orc, 'C', 'x', 1);
  hands.pass(0);
  sent[0].fail(mismatch(orc, 'x'));
  await hands.turn();
  drag.set(orc, 'C', 'x', 2);
  hands.pass(17);
  drag.commit();
  assert.deepEqual([sent.length, overtaken, finished(), drag.is_over], [1, ['1 x'], true, true]);

  const other = begun(t, true, 'driven');
  other.drag.set(orc, 'C', 'x', 1);
  other.hands.pass(0);
  other.drag.cancel();
  assert.deepEqual(other.sent[1].changes, ['1 C.x=1x before where 1']);
  other.sent[1].fail(mismatch(orc, 'x'));
  await other.hands.turn();
  assert.deepEqual([other.overtaken, other.failed], [['1 x'], []]);
});
