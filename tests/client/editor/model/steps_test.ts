// Undo and redo: the questions to the server, and the notices about its answers. Also the console's
// log and the notices themselves.
import assert from 'node:assert/strict';
import { test as node_test } from 'node:test';

import { muster, session } from 'muster-client';

import { Log } from '../../../../client/editor/src/model/log.js';
import { Notices } from '../../../../client/editor/src/model/notices.js';
import { test } from '../../ts/support.js';
import { camp, config, elf, health, orc, refused, rock } from './camp.js';
import { settled } from './played.js';
import type { Played } from './played.js';

const { SkipReason } = session;
/** An answer that leaves these parts out. */
function skipping(play: Played, rows: readonly { reason: number; entity?: object; component?: string; field?: string; mine?: string; theirs?: string }[]): object {
  return {
    skipped_reasons: Uint8Array.from(rows, ({ reason }) => reason),
    skipped_entities: rows.map(({ entity }) => entity ?? orc),
    skipped_components: rows.map(({ component }) => (component ? play.client.types.get(component).id : 0)),
    skipped_fields: rows.map(({ field }) => field ?? ''),
    skipped_users: rows.map(() => 2n),
    skipped_mine: rows.map(({ mine }) => mine ?? ''),
    skipped_theirs: rows.map(({ theirs }) => theirs ?? ''),
  };
}
const value_of_orc = { reason: SkipReason.edited_by_other, component: health, field: 'value', mine: '50', theirs: '99' };
const whole = { label: 'Set value of orc', done: 1 };

test('undo looks what it would do, does it and says nothing when nothing is in the way; redo as well', async (t) => {
  const play = await camp(t);
  play.plans.push(whole, whole);
  play.undones.push(whole, whole);
  play.steps.undo();
  play.steps.redo();
  await settled();
  await settled();
  assert.deepEqual([play.asked, play.notes, play.problems, play.sent()], [['undo dry', 'undo', 'redo dry', 'redo'], [], [], []]);
});

test('where there is no step it is said', async (t) => {
  const play = await camp(t);
  play.steps.undo();
  play.steps.redo();
  await settled();
  await settled();
  assert.deepEqual([play.asked, play.notes], [['undo dry', 'redo dry'], ['There is nothing to undo.', 'There is nothing to redo.']]);
  assert.deepEqual(play.problems, []);
});

test('undo waits for edits and drags that were begun before it, and further presses wait for it, in their order', async (t) => {
  const play = await camp(t);
  play.holds = true;
  const naming = play.edits.rename(orc, 'a');
  await settled(); // it is renamed by a text that the world has to know first
  const drag = play.edits.drag('Drag value');
  drag.set(orc, health, 'value', 70);
  play.steps.undo();
  play.steps.undo();
  play.steps.redo();
  assert.equal(drag.is_over, true); // it is this drag that is undone
  drag.set(orc, health, 'value', 80);
  await settled();
  assert.deepEqual(play.sent(), ["Rename 1:1 'a'", 'SetFieldIf 1:1 golden.Health.value=70 where 50']);
  assert.deepEqual([play.asked, play.steps.may_undo(), play.steps.may_redo()], [[], true, true]);
  play.answer('Drag value', session.Ack, {});
  await settled();
  assert.deepEqual(play.asked, []);
  play.answer('Rename orc', session.Ack, {});
  assert.equal(await naming, true);
  await settled();
  assert.deepEqual(play.asked, ['undo dry']); // not answered yet
  play.holds = false;
  play.plans.push(whole, whole);
  play.undones.push(whole, whole, whole);
  play.server.tell(session.Undone, whole, { request: play.server.request_of(session.Undo) });
  for (let i = 0; i < 3; ++i) await settled();
  assert.deepEqual(play.asked, ['undo dry', 'undo', 'undo dry', 'undo', 'redo dry', 'redo']);
  assert.deepEqual([play.edits.is_busy(), play.notes], [false, []]);
});

test('an edit that is made while an undo is not answered is sent after it, in its order', async (t) => {
  const play = await camp(t);
  play.holds = true;
  play.steps.undo();
  await settled();
  const edits = [play.edits.set_field([orc], health, 'value', 5), play.edits.rename(elf, 'oak'), play.edits.destroy([rock])];
  const drag = play.edits.drag('Drag value');
  drag.set(orc, health, 'regen', 70);
  drag.commit();
  await settled();
  // A rename is worked out after the undo.
  assert.deepEqual([play.sent(), play.edits.pending.value.length], [[], 3]);
  play.holds = false;
  play.undones.push(whole);
  play.server.tell(session.Undone, whole, { request: play.server.request_of(session.Undo) });
  assert.deepEqual(await Promise.all(edits), [true, true, true]);
  await drag.finished;
  assert.deepEqual(play.sent().map((line) => line.split(' ')[0]).sort(), ['Destroy', 'Rename', 'SetField', 'SetFieldIf']);
  const names = play.server.sent.map(({ name }) => name);
  assert.ok(names.lastIndexOf(session.Undo.name) < names.indexOf(muster.Step.name));
});

test('what somebody else has changed since is shown with both values, and nothing is undone before one of them is chosen', async (t) => {
  const play = await camp(t);
  play.sequence = 7n;
  play.tell_history(['Set value of orc']);
  play.plans.push({ label: 'Set value of orc', done: 0, ...skipping(play, [value_of_orc]) });
  play.steps.undo();
  await settled();
  assert.deepEqual(play.asked, ['undo dry']);
  const sentence = "Undo 'Set value of orc': Somebody else has set value of orc to 99 since. Undo would set it to 50. Nothing was changed.";
  const [{ text, kind, actions }] = play.notices.list.value;
  assert.deepEqual([text, kind, actions.map(({ title }) => title), play.problems], [sentence, 'problem', ['Overwrite', 'Undo the step before it'], [sentence]]);
  play.undones.push(whole);
  actions[0].run();
  await settled();
  assert.deepEqual(play.asked, ['undo dry', 'undo overwrite']);
  // A redo, some parts of which can be done.
  play.asked.length = 0;
  play.plans.push({ label: 'Set value of 2 entities', done: 1, ...skipping(play, [value_of_orc]) });
  play.steps.redo();
  await settled();
  const redo = play.notices.list.value.at(-1)!;
  assert.match(redo.text, /^Redo 'Set value of 2 entities': Somebody else/);
  assert.deepEqual(redo.actions.map(({ title }) => title), ['Overwrite', 'Redo the rest']);
  play.undones.push({ label: 'Set value of 2 entities', done: 1, ...skipping(play, [value_of_orc]) });
  redo.actions[1].run();
  await settled();
  assert.deepEqual(play.asked, ['redo dry', 'redo']);
  assert.equal(play.notes.at(-1), "Redid 'Set value of 2 entities'. Somebody else has set value of orc to 99 since. It was not set to 50.");
});

test('what is offered goes when a newer step comes, and never undoes another one', async (t) => {
  const play = await camp(t);
  play.sequence = 7n;
  play.plans.push({ label: 'Set value of orc', done: 0, ...skipping(play, [value_of_orc]) });
  play.steps.undo();
  await settled();
  const [{ actions }] = play.notices.list.value;
  // The history is told of as it was when that was asked: the offer stays.
  play.tell_history(['Set value of orc']);
  await settled();
  assert.equal(play.notices.list.value.length, 1);
  play.tell_history(['Rename elf', 'Set value of orc'], [], 8n);
  await settled();
  assert.deepEqual(play.notices.list.value, []);
  actions[0].run(); // a press that came too late
  await settled();
  assert.deepEqual(play.asked, ['undo dry']);
});

test('what cannot be undone in any way is left out at once, and it is said what and why', async (t) => {
  const play = await camp(t);
  play.names.delete('3:1');
  const rows = [
    { reason: SkipReason.not_alive, entity: rock },
    { reason: SkipReason.component_missing, component: health, field: 'regen' },
    { reason: SkipReason.component_exists, entity: elf, component: config },
    { reason: SkipReason.id_released, entity: rock },
    { reason: SkipReason.would_be_circle },
  ];
  play.plans.push({ label: 'Edit', done: 1, ...skipping(play, rows) });
  play.undones.push({ label: 'Edit', done: 1, ...skipping(play, rows) });
  play.steps.undo();
  await settled();
  assert.deepEqual(play.asked, ['undo dry', 'undo']);
  assert.deepEqual(play.notes, [
    "Undid 'Edit'. '#3:1': the entity does not exist any more. 'regen of orc': it does not have Health any more. 'Config of elf': it has Config again. 2 more.",
  ]);
  play.undones.push({ label: 'Edit', done: 1, ...skipping(play, rows.slice(3)) });
  play.plans.push(whole);
  play.steps.undo();
  await settled();
  assert.equal(play.notes.at(-1), "Undid 'Edit'. '#3:1' was deleted too long ago. 'orc': its old parent is below it now.");
});

test('an entity that others have worked on since it was created is not destroyed before that is chosen', async (t) => {
  const play = await camp(t);
  play.plans.push({ label: 'Create orc', done: 0, ...skipping(play, [{ reason: SkipReason.worked_on_by_other }, { reason: SkipReason.edited_by_other, entity: elf, component: config }]) });
  play.steps.undo();
  await settled();
  assert.match(play.notes[0], /^Undo 'Create orc': Somebody else has worked on orc or below it since\. Somebody else has edited Config of elf since\./);
});

test('it is said what was passed over, what is empty now, and what has another name or parent', async (t) => {
  const play = await camp(t);
  play.plans.push(whole, whole);
  play.undones.push({ ...whole, passed_over: 1, nil_references: 2, other_parents: 1, other_names: 3 }, { label: '', done: 1, passed_over: 2 });
  play.steps.undo();
  await settled();
  assert.deepEqual(play.notes, [
    "Undid 'Set value of orc'. One newer step could no longer be undone. 2 references are empty, because their entities do not exist. " +
      'One entity has another parent, because its own does not exist. 3 entities have other names, because their own are taken.',
  ]);
  play.steps.redo();
  await settled();
  assert.equal(play.notes.at(-1), "Redid 'an edit'. 2 newer steps could no longer be redone.");
});

test('an undo that is refused for another reason says why', async (t) => {
  const play = await camp(t);
  play.plans.push(refused, whole);
  play.undones.push(refused);
  play.steps.undo();
  await settled();
  assert.deepEqual([play.asked, play.problems], [['undo dry'], ['Undo: the world says no']]);
  play.steps.redo();
  await settled();
  assert.deepEqual(play.problems.at(-1), 'Redo: the world says no');
});

test('the next steps are those that the server tells of, also where there are many to redo; without a session there are none', async (t) => {
  const play = await camp(t);
  play.sequence = 3n;
  assert.deepEqual([play.history, play.steps.may_undo(), play.steps.may_redo()], [[undefined, undefined], false, false]);
  play.tell_history(['a', 'b']);
  await settled();
  assert.deepEqual([play.history, play.steps.may_undo(), play.steps.may_redo()], [['a', undefined], true, false]);
  play.tell_history([], ['x']);
  await settled();
  assert.deepEqual([play.history, play.steps.may_undo(), play.steps.may_redo()], [[undefined, 'x'], false, true]);
  play.tell_history(['a'], ['x']);
  await settled();
  assert.deepEqual(play.history, ['a', 'x']);
  play.tell_history(['a', 'b'], ['x', 'y', 'z']);
  await settled();
  assert.deepEqual(play.history, ['a', 'x']);
  play.tell_history([], ['x', 'y', 'z']);
  await settled();
  assert.deepEqual(play.history, [undefined, 'x']);
  // An edit that the server has acknowledged may be a step of which it has not told yet.
  assert.equal(play.steps.may_undo(), false);
  play.sequence = 4n;
  await play.edits.rename(orc, 'a');
  assert.equal(play.steps.may_undo(), true);
  play.tell_history([]);
  await settled();
  assert.equal(play.steps.may_undo(), false);
  play.tell_history(['a'], ['x']);
  await settled();
  play.steps.lost();
  assert.deepEqual(play.history, [undefined, undefined]);
  play.tell_history(['a'], ['x']); // of a session that is over
  await settled();
  assert.deepEqual(play.history, [undefined, undefined]);
});

node_test('the console keeps five hundred lines and counts problems until they are looked at', () => {
  const log = new Log();
  log.note('first');
  log.problem('second');
  assert.deepEqual(
    log.lines.value.map(({ number, kind, text }) => [number, kind, text]),
    [
      [1, 'note', 'first'],
      [2, 'problem', 'second'],
    ],
  );
  assert.equal(log.unread.value, 1);
  for (let i = 0; i < 500; ++i) log.problem('more');
  assert.deepEqual([log.lines.value.length, log.lines.value[0].number, log.unread.value], [500, 3, 501]);
  log.clear();
  assert.deepEqual([log.lines.value.length, log.unread.value], [0, 0]);
  log.note('later');
  assert.equal(log.lines.value[0].number, 503);
});

node_test('three notices are shown, each text once, and those without actions go by themselves', (t) => {
  // The test says when time has passed.
  const later: { ms: number; call: () => void }[] = [];
  const real = globalThis.setTimeout;
  t.after(() => (globalThis.setTimeout = real));
  globalThis.setTimeout = ((call: () => void, ms: number) => later.push({ ms, call })) as never;
  const notices = new Notices();
  const texts = () => notices.list.value.map((notice) => notice.text);
  notices.say('done', 'a');
  notices.say('problem', 'b', [{ title: 'again', run: () => {} }]);
  notices.say('done', 'c');
  assert.deepEqual(texts(), ['a', 'b', 'c']);
  notices.say('done', 'a');
  assert.deepEqual(texts(), ['b', 'c', 'a']);
  notices.say('done', 'd');
  assert.deepEqual(texts(), ['c', 'a', 'd']);
  notices.close(notices.list.value[0].number);
  assert.deepEqual(texts(), ['a', 'd']);
  notices.say('problem', 'stays', [{ title: 'again', run: () => {} }]);
  assert.deepEqual(
    later.map(({ ms }) => ms),
    [6000, 6000, 6000, 6000],
  );
  assert.deepEqual(texts(), ['a', 'd', 'stays']);
  for (const { call } of later) call();
  assert.deepEqual(texts(), ['stays']);
});
