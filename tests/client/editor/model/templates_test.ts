// Spawned trees and their templates, with two pages and the real server.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { nil, session } from 'muster-client';
import type { Client, Entity, StructValue } from 'muster-client';

import type { Model } from '../../../../client/editor/src/model/model.js';
import { spawn_template } from '../../../../client/editor/src/panels/actions.js';
import {
  apply_all,
  apply_to_template,
  make_template,
  revert_to_template,
} from '../../../../client/editor/src/templates/template_actions.js';
import { test } from '../../ts/support.js';
import { until, World } from '../../ts/world.js';
import { opened } from './around.js';

const [transform, shape, health] = ['scene.Transform', 'scene.Shape', 'golden.Health'];
const value_of = async (client: Client, entity: Entity, name: string): Promise<StructValue> =>
  (await client.show(entity)).components[name]!;
const problems = (model: Model): string[] => model.log.lines.value.flatMap(({ kind, text }) => (kind === 'problem' ? text : []));

test('a template of the page has the values, texts and references of its tree, and its trees follow it except for what they override', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  await client.ask(session.AddSchema, { bytes: new Uint8Array(readFileSync(process.env.MUSTER_SCENE!)) });
  const gate = await client.create(nil, 'gate');
  const house = await client.create(nil, 'house-1', [transform, { position: { x: 9, y: 0, z: 0 } }]);
  const slots = [{ count: 3, item: 'a lock', owner: gate }, {}];
  const roof = await client.create(house, 'roof', [shape, {}], [health, { target: house, mesh: 'roof.glb', slots }]);
  const [one, two] = [await opened(t, world), await opened(t, world)];
  for (const model of [one, two]) await until('it knows the roof', () => model.world.get(roof) !== undefined);
  assert.equal(await make_template(one, 'house', house), 2);
  await until('the other page knows the link', () => two.templates.link(roof)?.node === 'roof');
  await spawn_template(one, 'house', nil);
  await spawn_template(two, 'house', nil);
  const [house_2, house_3] = [await client.entity('/house'), await client.entity('/house~2')];
  const [roof_2, roof_3] = [await client.entity('/house/roof'), await client.entity('/house~2/roof')];
  const spawned = await value_of(client, roof_3, health);
  assert.deepEqual([spawned.target, (spawned.slots as StructValue[])[0].owner], [house_3, gate]);
  assert.equal(client.text((spawned.slots as StructValue[])[0].item as bigint), 'a lock');
  assert.equal(((await value_of(client, house_2, transform)).position as StructValue).x, 0);
  for (const model of [one, two]) await until('it knows all trees', () => model.templates.instances('house').length === 3);

  // Two users change the template at once: neither change is lost.
  await client.set_field(roof_2, health, 'value', 7); // overridden
  await client.set_field(roof, health, 'value', 50);
  await client.set_field(roof, health, 'mesh', 'other.glb');
  await client.set_field(roof, shape, 'size', { x: 1, y: 5, z: 1 });
  await Promise.all([apply_to_template(one, roof, health, ''), apply_to_template(two, roof, shape, 'size')]);
  const now = (await one.templates.read(one.client.peek()!, 'house'))!;
  const node = (component: string): StructValue => now.value('roof', component, () => undefined)!;
  assert.deepEqual([node(health).value, (node(shape).size as StructValue).y], [50, 5]);
  for (const [each, wanted] of [[roof, 50], [roof_2, 7], [roof_3, 50]] as const) {
    const { value, mesh } = await value_of(client, each, health);
    assert.deepEqual([value, client.text(mesh as bigint), ((await value_of(client, each, shape)).size as StructValue).y], [wanted, 'other.glb', 5]);
  }
  assert.deepEqual([...problems(one), ...problems(two)], []);

  // Components and entities follow, too; what is no longer a node stays.
  await client.remove(roof, shape);
  const tower = await client.create(house, 'tower', [health, { target: roof }]);
  for (const model of [one, two]) await until('it knows the tower', () => model.world.get(tower) !== undefined);
  await apply_all(one, house);
  const tower_3 = await client.entity('/house~2/tower');
  assert.deepEqual((await value_of(client, tower_3, health)).target, roof_3);
  assert.equal((await client.show(roof_3)).components[shape], undefined);
  assert.ok(one.templates.link(tower) !== null);
  await client.destroy(tower);
  await until('it is gone', () => one.world.get(tower) === undefined);
  await apply_all(one, house);
  assert.equal((await client.show(tower_3)).components['scene.SpawnedFrom'], undefined);

  // A revert brings back values, components and entities, but not the place.
  await client.set_field(house_2, transform, 'position', { x: 4, y: 0, z: 0 });
  await client.set_field(house_2, transform, 'scale', { x: 4, y: 4, z: 4 });
  await client.remove(roof_3, health);
  await client.set(house_2, [shape, {}]);
  await client.destroy(roof_2);
  await until('it is gone', () => one.world.get(roof_2) === undefined);
  await revert_to_template(one, [house_2, house_3, roof_3], 'Revert', true);
  const { position, scale } = (await value_of(client, house_2, transform)) as Record<string, StructValue>;
  assert.deepEqual([position.x, scale.x, (await client.show(house_2)).components[shape]], [4, 1, undefined]);
  assert.equal((await value_of(client, roof_3, health)).value, 50);
  assert.equal((await value_of(client, await client.entity('/house/roof'), health)).value, 50);
  assert.deepEqual([...problems(one), ...problems(two)], []);
});
