// Duplicates of living trees: what they hold, whom their references mean, in which order they are made, and what is left out.
import assert from 'node:assert/strict';

import { nil, Replica } from 'muster-client';
import type { Entity } from 'muster-client';

import { copy_trees, topmost } from '../../../../client/editor/src/model/copies.js';
import { test } from '../../ts/support.js';
import { World } from '../../ts/world.js';

const health = 'golden.Health';

test('a copy has all of the tree in its order, references inside it stay inside, and those that lead outside still do', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const town = await client.create(nil, 'town');
  const rock = await client.create(nil, 'rock');
  const camp = await client.create(town, 'camp', ['golden.Config', { speed: 2 }]);
  const orc = await client.create(camp, 'orc');
  const elf = await client.create_before(camp, orc, 'elf', [health, { value: 7, mesh: 'meshes/elf.glb', target: orc, slots: [{ owner: rock, item: 'axe' }, { owner: town }] }]);
  const bag = await client.create(orc, '');
  await client.set(orc, [health, { target: bag, mesh: '' }]);

  const { made, roots, left_out } = await copy_trees(client, [camp, rock]);
  assert.deepEqual(left_out, []);
  assert.deepEqual(made.map(({ name }) => name), ['camp', 'elf', 'orc', '', 'rock']);
  const [a_camp, an_elf, an_orc, a_bag, a_rock] = made.map(({ entity }) => entity);
  assert.deepEqual(roots, [a_camp, a_rock]);
  assert.deepEqual(made.map(({ parent }) => parent), [town, a_camp, a_camp, an_orc, nil]);
  assert.equal(new Set([a_camp, an_elf, an_orc, a_bag, a_rock].map(({ index }) => index)).size, 5);
  assert.deepEqual(made[0].components, { 'golden.Config': { speed: 2 } });
  const of_elf = made[1].components[health];
  assert.deepEqual([of_elf.value, of_elf.mesh, of_elf.target], [7, 'meshes/elf.glb', an_orc]);
  assert.deepEqual((of_elf.slots as { owner: Entity; item: unknown }[]).map(({ owner, item }) => [owner, item]), [[a_rock, 'axe'], [town, '']]);
  assert.deepEqual([made[2].components[health].target, made[2].components[health].mesh], [a_bag, '']);
  assert.deepEqual(made[3].components, {});
  assert.ok(elf);
});

test('a root that lies in another one of them is made where it is, and one that is gone is not made', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const [town, gone] = [await client.create(nil, 'town'), await client.create(nil, 'gone')];
  const orc = await client.create(town, 'orc');
  await client.destroy(gone);
  const { made, roots } = await copy_trees(client, [town, gone]);
  assert.deepEqual([made.map(({ name }) => name), roots[0], roots[1]], [['town', 'orc'], made[0].entity, undefined]);
  const below = await copy_trees(client, [orc]);
  assert.deepEqual([below.made[0].parent, below.made.length], [town, 1]);
});

test('what this session may not write is left out, by name', async (t) => {
  const world = await World.serve(t);
  const owner = await world.connect();
  const orc = await owner.create(nil, 'orc', ['golden.Config', { speed: 1 }], ['golden.Dead', {}]);
  const elf = await owner.create(nil, 'elf', ['golden.Config', { speed: 1 }]);
  const { token } = world.json<{ token: string }>('token', 'create', 'ann', '--role', 'edit', '--world', world.path);
  const editor = await world.connect('tcp', { token });
  const copied = await copy_trees(editor, [orc, elf]);
  assert.deepEqual([copied.left_out, copied.made.map(({ components }) => Object.keys(components))], [['golden.Config'], [['golden.Dead'], []]]);
  const whole = await copy_trees(owner, [orc]);
  assert.deepEqual([whole.left_out, Object.keys(whole.made[0].components).sort()], [[], ['golden.Config', 'golden.Dead']]);
});

test('of those that were chosen the topmost are meant: nobody twice', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const town = await client.create(nil, 'town');
  const orc = await client.create(town, 'orc');
  const bag = await client.create(orc, 'bag');
  const elf = await client.create(town, 'elf');
  const replica = new Replica();
  await replica.follow(client);
  const top = (...chosen: Entity[]) => topmost(replica, chosen).map(({ index }) => index);
  assert.deepEqual(top(bag, town, elf), [town.index]);
  assert.deepEqual(top(bag, elf), [bag.index, elf.index]);
  assert.deepEqual(top(bag, orc, elf), [orc.index, elf.index]);
  assert.deepEqual(top(town), [town.index]);
  assert.deepEqual(top(), []);
});
