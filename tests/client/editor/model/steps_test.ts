// Steps that are taken back and done again, lines of the console, notices over the page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../../../client/editor/src/model/history.js';
import { Log } from '../../../../client/editor/src/model/log.js';
import { Notices } from '../../../../client/editor/src/model/notices.js';

const step = (label: string) => ({ label, does: [], undoes: [] });

test('the last step is taken back first, and done again until another one is made', () => {
  const history = new History();
  assert.deepEqual(history.next.value, { undo: null, redo: null });
  assert.equal(history.take_undo(), undefined);
  assert.equal(history.take_redo(), undefined);
  history.add(step('a'));
  history.add(step('b'));
  assert.deepEqual(history.next.value, { undo: 'b', redo: null });
  history.was_undone(history.take_undo()!);
  assert.deepEqual(history.next.value, { undo: 'a', redo: 'b' });
  history.was_done(history.take_redo()!);
  assert.deepEqual(history.next.value, { undo: 'b', redo: null });
  history.was_undone(history.take_undo()!);
  history.add(step('c'));
  assert.deepEqual(history.next.value, { undo: 'c', redo: null });
  assert.equal(history.take_redo(), undefined);
  assert.deepEqual([history.take_undo()!.label, history.take_undo()!.label, history.take_undo()], ['c', 'a', undefined]);
  history.add(step('d'));
  history.was_undone(step('e'));
  history.clear();
  assert.deepEqual(history.next.value, { undo: null, redo: null });
});

test('five hundred steps are kept, the newest', () => {
  const history = new History();
  for (let i = 0; i < 600; ++i) history.add(step(String(i)));
  const labels: string[] = [];
  for (let each = history.take_undo(); each; each = history.take_undo()) labels.push(each.label);
  assert.deepEqual([labels.length, labels[0], labels.at(-1)], [500, '599', '100']);
});

test('the console keeps five hundred lines and counts problems until they are looked at', () => {
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

test('three notices are shown, each text once, and those without actions go by themselves', (t) => {
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
