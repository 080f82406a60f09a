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
  const [templates, info] = [client.templates(), client.ask(session.GetInfo)];
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
  const [first, second] = [client.ask(session.GetInfo), client.templates()].map((call) =>
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

test('a text that was refused is told again when it is needed again', async () => {
  const { client, server } = await Scripted.open();
  const told = () => server.sent.filter((each) => each.name === 'muster.InternText');
  const refused = assert.rejects(client.intern('town'), { kind: 'refused', message: 'too many texts' });
  await until('it is told', () => told().length === 1);
  const fault = { code: session.FaultCode.busy, text: 'too many texts' };
  server.tell(session.Fault, fault, { request: told()[0].request });
  await refused;
  const again = client.intern('town');
  await until('it is told again', () => told().length === 2);
  server.tell(session.Ack, { sequence: 1n }, { request: told()[1].request });
  assert.equal(await again, hash64('town'));
  client.close();
});

test('a batch whose frame is longer than the server takes is not sent', async () => {
  const { client, server } = await Scripted.open({ frame_bytes_max: 4096 });
  server.sent.length = 0;
  for (const bytes of [4096 - 15, 4096, 1 << 20])
    await assert.rejects(client.post_batch(new Uint8Array(bytes)), { kind: 'mistaken', message: /at most 4096/ });
  assert.deepEqual([server.sent, client.ended], [[], null]);
  client.close();
});

test('handlers are asked for page by page until there are no more', async () => {
  const { client, server } = await Scripted.open();
  const asked = () => server.sent.filter((each) => each.name === session.ListHandlers.name);
  const listed = client.handlers();
  for (const [i, after] of [0n, 7n, 9n].entries()) {
    await until('the next page is asked for', () => asked().length === i + 1);
    assert.equal((asked()[i].value as session.ListHandlers).after, after);
    const page = {
      more: i < 2,
      handlers: [[3n, 7n], [9n], [12n]][i],
      names: [['a', 'b'], ['c'], ['d']][i],
      messages: i === 0 ? [1, 1] : [1],
      changes: new Uint8Array(i === 0 ? 2 : 1),
      enabled: new Uint8Array(i === 0 ? 2 : 1),
      write_counts: i === 0 ? [0, 0] : [0],
      read_counts: i === 0 ? [0, 0] : [0],
    };
    server.tell(session.HandlerList, page, { request: asked()[i].request });
  }
  assert.deepEqual(
    (await listed).map(({ handler, name }) => [handler, name]),
    [
      [3n, 'a'],
      [7n, 'b'],
      [9n, 'c'],
      [12n, 'd'],
    ],
  );
  client.close();
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
