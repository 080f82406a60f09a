// Runs in the page's model: what waits when a run begins or ends is dropped, and it is said.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { muster, session } from 'muster-client';

import { Run } from '../../../../client/editor/src/model/run.js';
import { Selection } from '../../../../client/editor/src/model/selection.js';
import { test } from '../../ts/support.js';
import { entity, Played, settled } from './played.js';

const orc = entity(1);

async function opened(t: TestContext) {
  const play = await Played.open(t);
  const run = new Run(play.edits, play.steps, play.log, play.notices, () => {});
  run.follow(play.client);
  let epoch = 100n;
  const begin = (playing: boolean): void => play.server.tell(session.NewEpoch, { epoch: ++epoch, playing }, { request: 0n });
  const asked: string[] = [];
  for (const [key, playing] of [[session.Play, true], [session.StopPlaying, false]] as const)
    play.server.answers.set(key.name, () => {
      asked.push(playing ? 'play' : 'stop');
      begin(playing);
      return [session.RunState, { playing, sequence: 50n, epoch }];
    });
  return { play, run, begin, asked };
}

test('play waits for earlier edits; edits that are made until it is answered are dropped, and it is said', async (t) => {
  const { play, run, asked } = await opened(t);
  play.holds = true;
  void play.edits.rename(orc, 'chief');
  await settled();
  run.toggle();
  assert.equal(run.is_asking(), true);
  const late = play.edits.rename(orc, 'late');
  await settled();
  assert.deepEqual(asked, []);
  play.answer('Rename #1:1', session.Ack, { sequence: 9n });
  play.holds = false;
  assert.equal(await late, false);
  await settled();
  assert.deepEqual([asked, run.playing.value, run.is_asking()], [['play'], true, false]);
  assert.deepEqual(play.sent(), ["Rename 1:1 'chief'"]);
  assert.deepEqual(play.notes, ['Rename #1:1: a run began or ended before this edit was sent, so it was not sent']);
  assert.equal(await play.edits.rename(orc, 'of the run'), true);
});

test('two pages that play at once both get a run, and neither complains', async (t) => {
  const { play, run, begin } = await opened(t);
  play.server.answers.set(session.Play.name, () => {
    begin(true); // the other one was first
    return [session.Fault, { code: session.FaultCode.refused, reason: 'no_run', text: 'a run is on already' }];
  });
  run.toggle();
  await settled();
  assert.deepEqual([run.playing.value, run.is_asking(), play.problems], [true, false, []]);
  play.server.answers.set(session.StopPlaying.name, () => [session.Fault, { code: session.FaultCode.refused, text: 'the disk is full' }]);
  run.toggle();
  await settled();
  assert.deepEqual([run.playing.value, play.problems], [true, ['Stop: the disk is full']]);
});

test('runs of others are announced, and each announcement replaces the one before', async (t) => {
  const { play, run, begin } = await opened(t);
  begin(true);
  assert.deepEqual(play.notes, ['Somebody else started a run. Edits are dropped when it is stopped.']);
  begin(false);
  assert.deepEqual(play.notes, ['Somebody else stopped the run. The world is the level again.']);
  run.toggle();
  await settled();
  assert.deepEqual([run.playing.value, play.notes], [true, []]);
});

test('an undo that waits when a run begins is not asked for, nor does the choice of a conflict outlive it', async (t) => {
  const { play, begin } = await opened(t);
  play.holds = true;
  void play.edits.rename(orc, 'chief');
  await settled();
  play.steps.undo();
  begin(true);
  play.answer('Rename #1:1', session.Ack, { sequence: 9n });
  await settled();
  assert.deepEqual(play.asked, []);
  assert.ok(play.notes.includes('Undo: nothing was undone, because a run has begun or ended in the meantime.'));

  play.holds = false;
  const conflict = {
    label: 'Rename orc',
    skipped: 1,
    skipped_reasons: Uint8Array.of(session.SkipReason.edited_by_other),
    skipped_entities: [orc],
    skipped_components: [0],
    skipped_fields: [''],
    skipped_mine: ['a'],
    skipped_theirs: ['b'],
  };
  play.plans.push(conflict);
  play.steps.undo();
  await settled();
  const { actions } = play.notices.list.value.find(({ actions: all }) => all.length > 0)!;
  play.asked = [];
  begin(false);
  assert.equal(play.notices.list.value.some(({ actions: all }) => all.length > 0), false);
  actions[0].run();
  await settled();
  assert.deepEqual(play.asked, []);
});

test('a drag ends with the run: nothing more of it is sent, and its unanswered steps do not complain one by one', async (t) => {
  const { play, begin } = await opened(t);
  play.set_value(orc, 'golden.Health', { value: 5 });
  play.holds = true;
  const drag = play.edits.drag('Set value of orc');
  drag.set(orc, 'golden.Health', 'value', 6);
  drag.commit();
  await settled();
  assert.equal(play.sent().length, 1);
  begin(true);
  play.answer('Set value of orc', session.Fault, { code: session.FaultCode.refused, reason: 'epoch_over', text: 'too late' });
  await drag.finished;
  drag.set(orc, 'golden.Health', 'value', 7);
  drag.cancel();
  await settled();
  assert.deepEqual(play.sent(), []);
  assert.deepEqual(play.problems, ['Set value of orc: this drag was dropped, because a run has begun.']);
  begin(false);
  assert.equal(play.problems.length, 1);
});

test('after a reconnect to another state, edits without an answer are named and cannot be sent again', async (t) => {
  const { play, run } = await opened(t);
  play.holds = true;
  void play.edits.rename(orc, 'chief');
  await settled();
  play.client.close();
  run.lost();
  await settled();
  assert.equal(play.edits.unacknowledged.value.length, 1);
  const { client, server } = await (await import('../../ts/scripted.js')).Scripted.open({ epoch: 7n, playing: true });
  server.answers.set(muster.Step.name, () => null);
  run.follow(client);
  assert.deepEqual([run.playing.value, play.edits.unacknowledged.value], [true, []]);
  assert.ok(play.notes.includes("While the page was not connected, a run began. Not acknowledged before, and dropped: 'Rename #1:1'."));
  client.close();
});

test('an id that is given anew after a run does not bring back the selection of its earlier entity', () => {
  const selection = new Selection();
  selection.set([orc]);
  selection.lose([orc]);
  selection.forget_lost();
  selection.regain([orc]);
  assert.deepEqual(selection.entities.value, []);
});
