// What a session does by itself, and what it makes of answers that no test can have a real server give.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { ClientError, hash64, nil, session } from 'muster-client';

import * as game from './everything.js';
import { Scripted } from './scripted.js';
import { built, test } from './support.js';
import { pause, until } from './world.js';

const heartbeat = session.Heartbeat.name;

test('a session that says nothing is kept alive, and a heartbeat of the server is answered', async () => {
  const { client, server } = await Scripted.open({ silence_ns_max: 60_000_000n });
  await until('three beats were sent', () => server.sent.filter((each) => each.name === heartbeat).length >= 3);
  server.sent.length = 0;
  server.tell(session.Heartbeat, { number: 77n, time_ns: 5n }, { request: 9n });
  const answers = server.sent.filter((each) => each.request === 9n);
  assert.deepEqual(answers, [{ name: heartbeat, request: 9n, value: { number: 77n, time_ns: 5n, answer: 1 } }]);
  client.close();
  server.sent.length = 0;
  await pause(100);
  assert.deepEqual(server.sent, []);
});

test('texts and types that come by themselves are known from then on', async () => {
  const { client, server } = await Scripted.open();
  server.tell({ name: 'muster.InternText' }, { text: 'grün' }, { request: 0n });
  assert.equal(client.text(hash64('grün')), 'grün');
  assert.equal(client.text(1n), '');
  assert.equal(await client.fetch_text(hash64('grün')), 'grün');
  server.tell(session.Schema, { bytes: built('test_types.bfbs') }, { request: 0n });
  assert.equal(client.types.get('test.Lamp').size, 2);
  client.close();
});

test('an answer in several frames is whole with the last, and answers come in any order', async () => {
  const { client, server } = await Scripted.open();
  const [templates, info] = [client.templates(), client.info()];
  const request = server.request_of(session.ListTemplates);
  server.tell(session.Templates, { sequence: 1n, names: ['a'], nodes: [1] }, { request, flags: 2 });
  server.tell(session.Info, { sequence: 2n, entities: 5 }, { request: server.request_of(session.GetInfo) });
  assert.equal((await info).entities, 5);
  server.tell(session.Templates, { sequence: 3n, names: ['b', 'c'], nodes: [2, 3] }, { request });
  assert.deepEqual(await templates, { sequence: 3n, names: ['a', 'b', 'c'], nodes: [1, 2, 3] });
  client.close();
});

test('a fault that closes fails everything, one that does not fails its question alone', async () => {
  const { client, server } = await Scripted.open();
  const [first, second] = [client.info(), client.templates()].map((call) =>
    call.then(
      () => null,
      (error: unknown) => error as ClientError,
    ),
  );
  const text = 'not now';
  server.tell(session.Fault, { code: session.FaultCode.busy, text }, { request: server.request_of(session.GetInfo) });
  const refused = await first;
  assert.deepEqual([refused?.kind, refused?.message, refused?.fault?.code], ['refused', text, session.FaultCode.busy]);
  assert.equal(client.ended, null);
  server.tell(session.Fault, { code: session.FaultCode.silent, closes: true, text: 'too quiet' }, { request: 0n });
  assert.deepEqual([(await second)?.kind, (await second)?.message], ['lost', 'too quiet']);
  assert.equal((await client.closed).fault?.code, session.FaultCode.silent);
  assert.ok(server.stream.closed);
  await assert.rejects(client.create(nil, 'orc'), { kind: 'lost', message: 'too quiet' });
  await assert.rejects(client.post('world', game.Damage, {}), { kind: 'lost' });
});

test('the end of the stream is the end of the session, inside a frame too', async () => {
  const { client, server } = await Scripted.open();
  server.stream.receive(new Uint8Array(5));
  server.stream.end('the server closed the connection');
  const { kind, message } = await client.closed;
  assert.deepEqual(
    [kind, message],
    ['lost', 'the server closed the connection: the stream ended 5 bytes into a frame'],
  );
});

test('posts wait for room where the other end takes nothing', async () => {
  const { client, server } = await Scripted.open();
  server.stream.unsent_bytes = 2 << 20;
  let done = false;
  const post = client.post('world', game.Damage, {}).then(() => (done = true));
  await pause(20);
  assert.equal(done, false);
  server.stream.unsent_bytes = 0;
  await post;
  client.close();
});

test('what is no module for Node alone names nothing of Node', () => {
  const folder = fileURLToPath(new URL('node_modules/muster-client', import.meta.url));
  const modules = readdirSync(folder).filter((name) => name.endsWith('.js') && !name.startsWith('node'));
  assert.ok(modules.length > 15);
  for (const name of modules) {
    const text = readFileSync(join(folder, name), 'utf8').replace(/\/\*.*?\*\/|\/\/[^\n]*/gs, '');
    assert.doesNotMatch(text, /'node:|\bprocess\.|\bBuffer\.|\brequire\(/, name);
  }
});
