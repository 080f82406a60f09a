// What the page knows of a world, and keeps when somebody dies, the server goes, or the world learns types. With the real server.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

import { hash64, nil, session } from 'muster-client';
import type { Client, Entity, ReplicaChanges } from 'muster-client';

import type { Model } from '../../../../client/editor/src/model/model.js';
import { placeholder } from '../../../../client/editor/src/model/operations.js';
import { built, test } from '../../ts/support.js';
import { unsaved, until, World } from '../../ts/world.js';
import { located, opened } from './around.js';

const health = 'golden.Health';

async function camp(client: Client): Promise<{ town: Entity; orc: Entity; elf: Entity }> {
  const town = await client.create(nil, 'town');
  const orc = await client.create(town, 'orc', [health, { value: 50, mesh: 'meshes/orc.glb' }]);
  const elf = await client.create(town, '', [health, { value: 60 }]);
  return { town, orc, elf };
}
/** A file with a token; it goes with the test. */
function token_file(t: TestContext, token: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-tokens-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'token'), token + '\n', { mode: 0o600 });
  return join(folder, 'token');
}
const client_of = (model: Model): Client => model.client.peek()!;
const knows = (model: Model, entity: Entity) => until('the page knows it', () => model.world.get(entity) !== undefined);

test('a page that is open knows the world: names, paths, roots, who may what, and the values of what is selected', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const { town, orc, elf } = await camp(client);
  const model = await opened(t, world);
  assert.deepEqual([model.is_there.value, model.world.size, model.role.value, model.may_edit.value, model.may_control.value], [true, 3, 4, true, true]);
  assert.deepEqual([model.label(orc), model.label(elf), model.path(orc), model.world_path()], ['orc', `#${elf.index}:1`, '/town/orc', 'town.muster']);
  assert.deepEqual([model.knows(health), model.knows('golden.Damage'), model.knows('golden.Nobody')], [true, false, false]);
  assert.deepEqual([model.type_named(client.types.get(health).id)?.name, model.type_named(1)], [health, undefined]);
  assert.deepEqual(model.order.children(nil), [town]); // the roots are open from the beginning
  assert.equal(model.component(orc, health), undefined);
  model.selection.set([orc]);
  assert.equal(model.is_inspecting.value, true);
  await until('it is inspected', () => !model.is_inspecting.value);
  assert.equal(model.component(orc, health)?.value, 50);
  assert.equal(model.text(hash64('meshes/orc.glb')), 'meshes/orc.glb');
  assert.equal(model.text(1n), '');
  assert.equal(model.read_field(client.types.get(health), 'at.y', new Uint8Array([0, 0, 128, 63])), 1);
  const version = model.inspected_version.value;
  await client.set_field(orc, health, 'value', 51);
  await until('the new value is known', () => model.component(orc, health)?.value === 51);
  assert.ok(model.inspected_version.value > version);
  const structure = model.structure_version.value;
  await client.rename(elf, 'elf');
  await until('the name is known', () => model.label(elf) === 'elf');
  assert.ok(model.structure_version.value > structure);
  model.selection.clear();
  await client.set_field(orc, health, 'value', 52);
  await client.create(nil, 'later');
  await until('a later change came', () => [...model.world].some(({ name }) => name === 'later'));
  assert.equal(model.component(orc, health)?.value, 51); // of what is not selected the page keeps what it knew
});

test('who dies leaves the selection; where nobody is left it is said who it was and when, until something else is chosen', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const { orc, elf, town } = await camp(client);
  const model = await opened(t, world);
  model.selection.set([orc, elf]);
  model.hovered.value = orc;
  await client.destroy(orc);
  await until('it has left', () => !model.selection.has(orc));
  assert.deepEqual([model.selection.entities.value, model.gone.value, model.hovered.value], [[elf], [], null]);
  model.hovered.value = town;
  await client.rename(elf, 'elf');
  await until('the name is known', () => model.label(elf) === 'elf');
  await client.destroy(elf);
  await until('nobody is left', () => model.selection.entities.value.length === 0);
  const [gone, ...more] = model.gone.value;
  assert.deepEqual([gone.entity, gone.name, /^destroyed at \d\d:\d\d:\d\d$/.test(gone.how), more, model.hovered.value], [elf, 'elf', true, [], town]);
  model.selection.set([town]);
  assert.deepEqual(model.gone.value, []);
});

test('whoever listens hears of each change until it is taken back, and what was red is forgotten with the selection', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const { orc } = await camp(client);
  const model = await opened(t, world);
  const heard: ReplicaChanges[] = [];
  const end = model.on_change((changes) => void heard.push(changes));
  const wolf = await client.create(nil, 'wolf');
  await knows(model, wolf);
  assert.deepEqual(heard.flatMap(({ created }) => created.map(({ name }) => name)), ['wolf']);
  end();
  await knows(model, await client.create(nil, 'bear'));
  assert.equal(heard.flatMap(({ created }) => created).length, 1);
  model.edits.show_wrong(health, 'value', 'no number');
  model.selection.set([orc]);
  assert.equal(model.edits.refusals.value.size, 0);
});

test('what is moved comes back to its place among its siblings, whether their node is open or not', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const town = await client.create(nil, 'town');
  const all: Entity[] = [];
  for (const name of ['a', 'b', 'c']) all.push(await client.create(town, name));
  const model = await opened(t, world);
  const names = async () => (await client.ask(session.ListChildren, { entity: town })).names.join('');
  for (const open of [false, true]) {
    if (open) {
      model.order.open(town);
      await until('its rows are known', () => model.order.children(town)?.length === 3);
    }
    for (const each of all) {
      await model.edits.reparent([each], nil);
      await until('it is moved', () => model.world.get(each)?.parent.index === 0);
      model.steps.undo();
      await until('it is back', async () => (await names()) === 'abc');
      await until('the page knows', () => model.world.get(each)?.parent.index === town.index && (!open || model.order.children(town)?.length === 3));
    }
  }
  model.order.close(town);
  await model.edits.reparent([all[0]], all[2]);
  await until('it is moved', () => model.path(all[0]) === '/town/c/a');
  model.reveal(all[0]);
  assert.deepEqual([town, all[2], all[0]].map((each) => model.order.is_open(each)), [true, true, false]);
});

test('when the server is gone the page keeps what it knows and says why nothing is edited; the next one tells which steps there are', async (t) => {
  // Too short a time to resume.
  const options = [...unsaved, '--token-file', token_file(t, 'the token of the owner here'), '--limit', 'resume_ns_max=1000000'];
  const world = await World.serve(t, 'everything.bfbs', ...options);
  const client = await world.connect();
  const { orc, town } = await camp(client);
  await client.ask(session.Save);
  const model = await opened(t, world);
  model.selection.set([orc]);
  await until('it is inspected', () => model.component(orc, health) !== undefined && !model.is_inspecting.value);
  await model.edits.set_field([orc], health, 'value', 70);
  const later = await client.create(nil, 'later');
  await knows(model, later);
  await until('its step is known', () => model.steps.next.value.undo !== null);
  const shown = (): unknown => model.edits.writes.over(orc, health, model.component(orc, health))?.value;
  await until('the new value is known', () => model.component(orc, health)?.value === 70);
  model.edits.writes.begin([{ entity: orc, component: health, path: 'value', value: 71 }]);
  assert.equal(shown(), 71);
  await world.kill();
  await until('it is offline', () => model.link.value.kind === 'offline');
  assert.equal(shown(), 70); // the world may have it or not
  assert.deepEqual([model.may_edit.value, model.role.value, model.client.value, model.world.size, model.label(orc)], [false, 0, null, 4, 'orc']);
  assert.equal(model.world_path(), 'town.muster');
  assert.equal(model.text(hash64('meshes/orc.glb')), 'meshes/orc.glb');
  assert.equal(await model.edits.rename(orc, 'other'), false);
  assert.equal(model.notices.list.value.at(-1)?.text, 'not connected: editing is disabled until the server is back');
  assert.deepEqual([model.steps.next.value.undo, model.steps.may_undo()], [null, false]);

  await world.start(...options);
  located(world);
  await until('it is live', () => {
    model.keeper.try_now();
    return model.link.value.kind === 'live';
  });
  assert.deepEqual([model.world.size, model.world.get(later)], [3, undefined]);
  // The steps that were saved: three entities were created.
  const history = await client_of(model).ask(session.GetHistory, { limit: 1 });
  assert.deepEqual([history.undo_steps, history.redo_steps], [3, 0]);
  await until('the page knows', () => model.steps.next.value.undo !== null);
  assert.deepEqual(model.selection.entities.value, [orc]);
  await until('what is selected is inspected again', () => model.component(orc, health)?.value === 50);
  const again = await world.connect();
  await again.set_field(orc, health, 'value', 3);
  await until('and followed', () => model.component(orc, health)?.value === 3);
  assert.deepEqual(model.order.children(nil), [town]);
  await again.rename(town, 'city');
  await until('so is the tree', () => model.order.row(town)?.name === 'city');
});

test('a page whose line is cut goes on, and its edits are applied once, also by a server that was started again', async (t) => {
  const options = ['--token-file', token_file(t, 'the token of the owner here')];
  const world = await World.serve(t, 'everything.bfbs', ...options);
  const client = await world.connect();
  const { orc, elf, town } = await camp(client);
  const model = await opened(t, world);
  const before = client_of(model);
  model.selection.set([orc]);
  await until('it is inspected', () => model.component(orc, health) !== undefined && !model.is_inspecting.value);
  assert.equal(await model.edits.rename(town, 'camp'), true);
  await client.wait_durable(await client.rename(elf, 'elf'));
  await world.kill();
  await until('the line is away', () => model.link.value.kind === 'away');
  assert.deepEqual([model.may_edit.value, model.selection.entities.value, model.client.value === before], [true, [orc], true]);
  const placed = placeholder();
  const edits = [
    model.edits.set_field([orc], health, 'value', 70, 50),
    model.edits.rename(orc, 'other'),
    model.edits.create('Create tree', [{ entity: placed, parent: nil, name: 'tree', components: {} }], [placed]),
  ] as const;
  assert.equal(model.edits.is_busy(), true);
  assert.equal(model.edits.writes.over(orc, health, model.component(orc, health))?.value, 70);
  await world.start(...options);
  located(world);
  const [set, renamed, created] = await Promise.all(edits);
  assert.deepEqual([set, renamed, created.length], [true, true, 1]);
  await until('it is live', () => model.link.value.kind === 'live');
  assert.equal(model.client.value, before);
  assert.deepEqual([model.edits.unacknowledged.value, model.edits.pending.value, model.selection.entities.value], [[], [], [orc]]);
  const again = await world.connect();
  const shown = await again.show(orc);
  assert.deepEqual([shown.about.name, shown.components[health]?.value], ['other', 70]);
  assert.equal((await again.show(created[0])).about.name, 'tree');
  // Three entities, two names before, and three edits: each is there once.
  assert.equal((await again.ask(session.GetHistory, { limit: 1 })).undo_steps, 8);
  await again.rename(created[0], 'bush');
  await until('it follows the world', () => model.world.get(created[0])?.name === 'bush');
  assert.deepEqual(model.notices.list.value, []);
});

test('a session that may only look is told so, and cannot edit or control', async (t) => {
  const world = await World.serve(t);
  const owner = await world.connect();
  const token = async (name: string, role: session.Role): Promise<string> => (await owner.ask(session.CreateToken, { name, role })).token;
  const looks = await opened(t, world, await token('ann', session.Role.view));
  assert.deepEqual([looks.role.value, looks.may_edit.value, looks.may_control.value], [1, false, false]);
  assert.equal(await looks.edits.rename(nil, 'a'), false);
  assert.equal(looks.notices.list.value.at(-1)?.text, 'this session may only view, not edit');
  const edits = await opened(t, world, await token('bob', session.Role.edit));
  assert.deepEqual([edits.role.value, edits.may_edit.value, edits.may_control.value], [2, true, false]);
});

test('values of what is drawn are known of everyone, and as soon as the world learns what is drawn', async (t) => {
  const scene = process.env.MUSTER_SCENE;
  assert.ok(scene, 'MUSTER_SCENE names the schema of what is drawn');
  const world = await World.serve(t);
  const client = await world.connect();
  const { orc } = await camp(client);
  const model = await opened(t, world);
  const types = model.types.value.size;
  assert.equal(model.knows('scene.Transform'), false);
  await client.ask(session.AddSchema, { bytes: new Uint8Array(readFileSync(scene)) });
  await until('the page knows the types', () => model.knows('scene.Transform'));
  assert.ok(model.types.value.size > types);
  await client.set(orc, ['scene.Transform', { position: { x: 5, y: 0, z: 0 } }], ['scene.Light', {}], [health, { value: 1 }]);
  await until('the place is known', () => (model.component(orc, 'scene.Transform')?.position as { x: number } | undefined)?.x === 5);
  await until('and the light', () => model.component(orc, 'scene.Light') !== undefined);
  assert.equal(model.component(orc, health), undefined);
  assert.deepEqual([model.world.column('scene.Transform')?.count, model.world.column('scene.Light')], [1, undefined]);
  await client.ask(session.AddSchema, { bytes: built('test_types.bfbs') });
  await until('others too', () => model.knows('test.Lamp'));
  assert.deepEqual(model.log.lines.value, []);
});

test('a file of the world is fetched with the token, part by part of its path, and a refusal says why', async (t) => {
  const world = await World.serve(t);
  const model = await opened(t, world);
  const asked: unknown[] = [];
  const real = globalThis.fetch;
  t.after(() => (globalThis.fetch = real));
  let answer: object = { ok: true, arrayBuffer: () => Promise.resolve(new ArrayBuffer(3)) };
  globalThis.fetch = ((url: string, how: { headers: Record<string, string> }) => {
    asked.push([url, how.headers.Authorization]);
    return Promise.resolve(answer);
  }) as never;
  assert.equal((await model.fetch_file('a folder/x#1.glb')).byteLength, 3);
  assert.deepEqual(asked, [['world/a%20folder/x%231.glb', `Bearer ${world.where().token}`]]);
  const fails = async (how: object, message: string): Promise<void> => {
    answer = { ok: false, status: 404, statusText: '', text: () => Promise.resolve(''), ...how };
    await assert.rejects(model.fetch_file('x.glb'), { message });
  };
  await fails({ text: () => Promise.resolve(' no such file \n') }, 'no such file');
  await fails({ text: () => Promise.resolve('n'.repeat(300)) }, 'n'.repeat(200));
  await fails({ statusText: 'Not Found' }, "there is no such file in the world's folder");
  await fails({ text: () => Promise.reject(new Error('gone')), status: 503 }, 'the server answered 503');
});
