// Steps: several batches in one message, which is split only if a frame is too small. Also the
// history that the server reports.
import assert from 'node:assert/strict';

import { batches_of, ClientError, dry_run, expect, muster, nil, session } from 'muster-client';
import type { Client, Entity, StepPart } from 'muster-client';

import { Scripted } from './scripted.js';
import { test } from './support.js';
import { World } from './world.js';

const entity = (index: number): Entity => ({ index, generation: 1 });
const health = 'golden.Health';

/** A client of a server that acknowledges every step, with its sequence and three messages. */
async function opened(frame_bytes_max = 1 << 20): Promise<{ client: Client; server: Scripted; steps: () => muster.Step[] }> {
  const { client, server } = await Scripted.open({ frame_bytes_max });
  let sequence = 10n;
  server.answers.set(muster.Step.name, () => [session.Ack, { sequence: ++sequence, handled: 3, dead: 1 }]);
  server.answers.set(muster.InternText.name, () => [session.Ack, { sequence }]);
  const steps = () => server.sent.filter(({ name }) => name === muster.Step.name).map(({ value }) => value as muster.Step);
  return { client, server, steps };
}
const rename = (client: Client, ...names: [number, string][]): StepPart => ({
  kind: 'each',
  type: client.types.get(muster.Rename),
  messages: names.map(([index, name]) => ({ target: entity(index), value: { name } })),
});

test('batches, fields and fields of which something is expected are one message, in their order, behind their texts', async (t) => {
  const { client, server, steps } = await opened();
  t.after(() => client.close());
  const spawn: StepPart = { kind: 'shared', type: client.types.get(muster.Spawn), targets: [entity(7), entity(8)], value: { what: 'camp', parent: nil, name: 'a camp' } };
  const edit = { entity: entity(2), component: health, path: 'value' };
  const ack = await client.push_step(
    [rename(client, [1, 'orc'], [2, 'elf']), spawn, { kind: 'fields', edits: [{ ...edit, value: 5 }] }, { kind: 'fields', edits: [{ ...edit, value: 6, expected: 5 }] }],
    { label: 'Edit everything', gesture: 9n },
  );
  assert.deepEqual([ack.sequence, ack.handled, ack.epoch], [11n, 3, client.epoch]);
  const [step, ...more] = steps();
  assert.deepEqual([step.label, step.gesture, step.act, more], ['Edit everything', 9n, muster.StepAct.edit, []]);
  const batches = batches_of(step, client.types);
  assert.deepEqual(batches.map(({ type, count }) => [type.name, count]), [['muster.Rename', 2], ['muster.Spawn', 2], ['muster.SetField', 1], ['muster.SetFieldIf', 1]]);
  assert.deepEqual(batches[1].target(1), entity(8));
  const names = server.sent.map(({ name }) => name);
  assert.ok(names.indexOf(muster.InternText.name) < names.indexOf(muster.Step.name));
});

test('without options a step has no label and no gesture; one without batches is refused before it is sent', async (t) => {
  const { client, steps } = await opened();
  t.after(() => client.close());
  await client.push_step([rename(client, [1, ''])]);
  assert.deepEqual([steps()[0].label, steps()[0].gesture], ['', 0n]);
  await assert.rejects(client.push_step([]), { kind: 'mistaken', message: 'a step needs at least one batch' });
  const update: StepPart = { kind: 'world', type: client.types.get(muster.Update), values: [{ dt: 1 }] };
  await assert.rejects(client.push_step([update]), { kind: 'mistaken', message: 'muster.Update may not be sent from outside' });
  const mixed: StepPart = { kind: 'fields', edits: [{ entity: nil, component: health, path: 'value', value: 1, expected: 2 }, { entity: nil, component: health, path: 'regen', value: 1 }] };
  await assert.rejects(client.push_step([mixed]), { kind: 'mistaken' });
  assert.equal(steps().length, 1);
});

test('what does not fit into a frame goes in several steps of one gesture and label, each of which fits', async (t) => {
  const limit = 4096;
  const { client, server, steps } = await opened(limit);
  t.after(() => client.close());
  const count = 200;
  const label = 'Move all of them';
  const fields: StepPart = { kind: 'fields', edits: Array.from({ length: count }, (_, i) => ({ entity: entity(i), component: health, path: 'value', value: i })) };
  const ack = await client.push_step([rename(client, [1, '']), fields, rename(client, [2, ''])], { label });
  assert.ok(steps().length > 3);
  const sent = server.batches.filter(({ type }) => type.name === muster.Step.name);
  for (const { bytes } of sent) assert.ok(bytes.length + 16 <= limit);
  const gestures = new Set(steps().map(({ gesture }) => gesture));
  assert.equal(gestures.size, 1);
  assert.ok([...gestures][0] > 0n);
  assert.deepEqual(new Set(steps().map((step) => step.label)), new Set([label]));
  const batches = steps().flatMap((step) => batches_of(step, client.types));
  assert.deepEqual([batches[0].type.name, batches.at(-1)!.type.name], ['muster.Rename', 'muster.Rename']);
  const targets = batches.slice(1, -1).flatMap((batch) => Array.from({ length: batch.count }, (_, i) => batch.target(i).index));
  assert.deepEqual(targets, Array.from({ length: count }, (_, i) => i));
  assert.deepEqual([ack.handled, ack.dead, ack.sequence], [3 * sent.length, sent.length, 10n + BigInt(sent.length)]);

  // A gesture that was given stays, and the next own one is another.
  server.sent.length = 0;
  await client.push_step([fields], { label, gesture: 5n });
  assert.deepEqual(new Set(steps().map(({ gesture }) => gesture)), new Set([5n]));
  assert.ok(client.next_gesture() > [...gestures][0]);
});

test('a step that is refused ends those behind it; one message that is larger than a frame is refused here', async (t) => {
  const { client, server, steps } = await opened(4096);
  t.after(() => client.close());
  server.answers.set(muster.Step.name, () => [session.Fault, { code: session.FaultCode.refused, text: 'no', reason: 'name_taken' }]);
  const fields: StepPart = { kind: 'fields', edits: Array.from({ length: 200 }, (_, i) => ({ entity: entity(i), component: health, path: 'value', value: i })) };
  await assert.rejects(client.push_step([fields]), (error: ClientError) => error.kind === 'refused' && error.fault?.reason === 'name_taken');
  assert.equal(steps().length, 1);
  const targets = Array.from({ length: 1000 }, (_, i) => entity(i));
  const spawn: StepPart = { kind: 'shared', type: client.types.get(muster.Spawn), targets, value: { what: '', parent: nil, name: '' } };
  await assert.rejects(client.push_step([spawn]), { kind: 'mistaken', message: /^a batch of \d+ bytes; a step for this server can have at most \d+$/ });
  assert.equal(steps().length, 1);
});

test('batches of a step that do not fit into its bytes are told apart from good ones', async (t) => {
  const { client, steps } = await opened();
  t.after(() => client.close());
  await client.push_step([rename(client, [1, '']), rename(client, [2, ''])]);
  const [{ batches }] = steps();
  for (const bytes of [batches.slice(0, -16), batches.slice(0, 2), new Uint8Array(16)])
    assert.throws(() => batches_of({ batches: bytes }, client.types), { name: 'BadBytes' });
  assert.deepEqual(batches_of({ batches: new Uint8Array(0) }, client.types), []);
});

test('the history is told at once and whenever the server says so, to all who follow it', async (t) => {
  const { client, server } = await opened();
  t.after(() => client.close());
  const page = (labels: string[]): object => ({ sequence: 3n, undo_steps: labels.length, labels, is_redo: new Uint8Array(labels.length), sequences: labels.map(() => 3n), parts: labels.map(() => 1) });
  server.answers.set(session.GetHistory.name, () => [session.History, page(['a', 'b'])]);
  const told: string[][] = [];
  const tell = (history: session.History): void => void told.push(history.labels);
  assert.deepEqual((await client.follow_history(2, tell)).labels, ['a', 'b']);
  await client.follow_history(5, tell);
  const asked = server.sent.filter(({ name }) => name === session.GetHistory.name).map(({ value }) => value as session.GetHistory);
  assert.deepEqual(asked.map(({ offset, limit, follow }) => [offset, limit, follow]), [[0, 2, 1], [0, 5, 1]]);
  server.tell(session.History, page(['a']), { request: 0n });
  assert.deepEqual(told, [['a'], ['a']]);
  // A page that was asked for is for who asked.
  assert.deepEqual((await client.ask(session.GetHistory, { limit: 2 })).labels, ['a', 'b']);
  assert.equal(told.length, 2);
});

test('a step that was sent in several is one step for undo, and is applied as a whole where it fits', async (t) => {
  const world = await World.serve(t, 'everything.bfbs', '--limit', 'frame_bytes_max=65536');
  const client = await world.connect();
  const all: Entity[] = [];
  for (let i = 0; i < 300; ++i) all.push(await client.next_id());
  const rows = [{ type: client.types.get(health), value: { value: 1 } }];
  const made: StepPart = { kind: 'each', type: client.types.get(muster.Create), messages: all.map((target) => ({ target, value: { parent: nil }, rows })) };
  const alive = async (): Promise<number> => (await client.ask(session.GetInfo)).entities;
  const { handled } = await client.push_step([made], { label: 'Create many' });
  assert.deepEqual([handled, await alive()], [300, 300]);
  const history = await client.ask(session.GetHistory, { limit: 5 });
  assert.deepEqual([history.labels, history.undo_steps], [['Create many'], 1]);
  assert.deepEqual([(await client.ask(session.Undo)).done, await alive()], [300, 0]);
  const { done } = await client.ask(session.Undo, { act: session.UndoAct.redo });
  assert.deepEqual([done, await alive()], [300, 300]);

  // One message of it is refused, and nothing of it is done.
  const named = rename(client, [all[0].index, 'orc'], [all[1].index, 'orc']);
  await assert.rejects(client.push_step([named]), (error: ClientError) => error.fault?.reason === 'name_taken');
  assert.deepEqual((await client.show(all[0])).about.path, `/#${all[0].index}:1`);
});

test('a step is refused if the world is not as expected, and a dry run says what a step would do', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const [town, orc] = [await client.next_id(), await client.next_id()];
  const type = client.types.get(muster.Create);
  const rows = [{ type: client.types.get(health), value: { value: 1 } }];
  const made: StepPart[] = [
    { kind: 'each', type, messages: [{ target: town, value: { parent: nil, name: 'town' } }] },
    { kind: 'each', type, messages: [{ target: orc, value: { parent: town, name: 'orc' }, rows }] },
  ];
  const would = await dry_run(client, made);
  assert.deepEqual([would.created, would.destroyed, would.changed, would.names], [2, 0, 0, ['town', 'orc']]);
  assert.equal((await client.ask(session.GetInfo)).entities, 0);
  await client.push_step(made);

  const destroy: StepPart = { kind: 'each', type: client.types.get(muster.Destroy), messages: [{ target: town, value: {} }] };
  for (const [expected, reason] of [
    [expect.value(client, orc, health, 'value', 2), 'value_mismatch'],
    [expect.absent(client, orc, health), 'component_there'],
    [expect.present(client, town, health), 'missing_component'],
    [expect.parent(orc, nil), 'parent_mismatch'],
    [expect.name(orc, 'elf'), 'name_mismatch'],
    [expect.descendants(town, 2), 'descendants_mismatch'],
  ] as const) {
    const is_refused = (error: ClientError): boolean => error.kind === 'refused' && error.fault?.reason === reason;
    await assert.rejects(dry_run(client, [destroy], { expected: [expected] }), is_refused, reason);
    await assert.rejects(client.push_step([destroy], { expected: [expected] }), is_refused, reason);
  }
  const expected = [expect.value(client, orc, health, 'value', 1), expect.parent(orc, town), expect.descendants(town, 1)];
  assert.equal((await dry_run(client, [destroy], { expected })).destroyed, 2);
  await client.push_step([destroy], { expected });
  assert.equal((await client.ask(session.GetInfo)).entities, 0);
});
