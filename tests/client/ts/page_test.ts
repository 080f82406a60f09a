// What docs/client-ts.md shows is compiled and run here.
import assert from 'node:assert/strict';

// guide: imports
import { ClientError, connect, nil, read_address_file, Replica, session } from 'muster-client/node';
import * as game from './game.js'; // schemac game.fbs --ts game.ts
// guide: end

import { test } from './support.js';
import { until, World } from './world.js';

test('what docs/client-ts.md shows does what the page says', async (t) => {
  const world = await World.serve(t, 'game.bfbs');
  const folder = process.cwd();
  process.chdir(world.folder);
  t.after(() => process.chdir(folder));
  const printed: string[] = [];
  const show = (text: string): void => void printed.push(text);

  // guide: first lines
  const client = await connect(read_address_file('town.muster'));
  const orc = await client.create(nil, 'orc', [game.Health, { value: 50 }]);
  await client.push(orc, game.Damage, { amount: 7 }); // acknowledged when it resolves
  await client.set_field(orc, game.Health, 'value', 25);
  await client.set(orc, ['Unit', { team: 'red', title: 'the first' }]); // by name: no module of types is needed
  console.log((await client.show(orc)).components['game.Health']); // { value: 25 }
  // guide: end
  assert.deepEqual((await client.show(orc)).components['game.Health'], { value: 25 });
  assert.equal((await client.show(orc)).components['game.Unit'].team, game.Team.red);

  await client.set_field(orc, game.Health, 'value', 40);
  // guide: conflict
  try {
    await client.set_field_if(orc, game.Health, 'value', 60, 25);
  } catch (error) {
    if (!(error instanceof ClientError) || !error.fault) throw error;
    show(`${error.message}; it is ${client.fault_value(error.fault)}`);
  }
  // guide: end
  assert.deepEqual(printed, ['game.Health.value of #1:1 (/orc) is not what was expected; it is 40']);

  // guide: copy
  const replica = new Replica({
    change: ({ created, destroyed, values }) => {
      for (const { name } of created) show(`${name} is there`);
      for (const { name } of destroyed) show(`${name} is gone`);
      for (const { entity, component } of values) show(`${replica.path(entity.entity)} has another ${component}`);
    },
    lost: (error) => show(error.message),
  });
  await replica.follow(client); // resolves when the copy is whole
  const health = replica.component(orc, game.Health)?.value; // typed: number | undefined
  // guide: end
  assert.equal(health, 40);
  const wolf = await client.create(orc, 'wolf');
  await until('the wolf is there', () => printed.length >= 3); // who comes and goes between two looks is never told of
  await client.set_field(orc, game.Health, 'value', 41);
  await until('the health was told', () => printed.length >= 4);
  await client.destroy(wolf);
  await until('all was told', () => printed.length >= 5);
  assert.deepEqual(printed.slice(1), ['orc is there', 'wolf is there', '/orc has another game.Health', 'wolf is gone']);

  // guide: many
  const type = client.types.get('muster.Create');
  const messages = [];
  for (let i = 0; i < 100; ++i) {
    const rows = [{ type: client.types.get(game.Health), value: { value: i } }];
    messages.push({ target: await client.next_id(), value: { parent: orc, name: `tree ${i}` }, rows });
  }
  const { handled } = await client.push_plan({ kind: 'each', type, messages }); // one batch, one Ack
  // guide: end
  assert.equal(handled, 100);

  // guide: steps
  const rename = client.types.get('muster.Rename');
  await client.push_step(
    [
      { kind: 'each', type: rename, messages: [{ target: orc, value: { name: 'chief' } }] },
      { kind: 'fields', edits: [{ entity: orc, component: game.Health, path: 'value', value: 90 }] },
    ],
    { label: 'Promote orc' },
  );
  const { label } = await client.ask(session.Undo, { act: session.UndoAct.undo }); // 'Promote orc'
  // guide: end
  assert.equal(label, 'Promote orc');
  const { about, components } = await client.show(orc);
  assert.deepEqual([about.path, components['game.Health']], ['/orc', { value: 41 }]);

  // guide: runs
  client.on_epoch(({ playing }) => show(playing ? 'a run has begun' : 'the level is back'));
  await client.play();
  await client.set_field(orc, game.Health, 'value', 1); // an edit of the run
  await client.stop_playing();
  console.log((await client.show(orc)).components['game.Health']); // { value: 41 }
  // guide: end
  assert.deepEqual((await client.show(orc)).components['game.Health'], { value: 41 });
  client.close();
});
