// follow_log: each line of the game's log once and in order.
import assert from 'node:assert/strict';

import { ClientError, log_rows, nil, session } from 'muster-client';

import { Scripted } from './scripted.js';
import { test } from './support.js';

const page = (log: bigint, ...numbers: bigint[]): object => ({
  log,
  numbers,
  sequences: numbers.map((each) => each + 100n),
  clocks_ns: numbers.map(() => 5n),
  levels: new Uint8Array(numbers.map((each) => Number(each) % 3)),
  entities: numbers.map(() => nil),
  handlers: numbers.map(() => 'game.hurt'),
  texts: numbers.map((each) => `line ${each}`),
  lost_before: numbers.map(() => 0n),
});

test('the lines of the answer and those that are told are given once, and another log replaces them', async (t) => {
  const { client, server } = await Scripted.open({});
  t.after(() => client.close());
  server.answers.set(session.ReadLog.name, () => [session.LogLines, page(7n, 1n, 2n)]);
  const told: [string[], boolean][] = [];
  await client.follow_log((lines, is_anew) => told.push([lines.map(({ text }) => text), is_anew]));
  assert.deepEqual(told, [[['line 1', 'line 2'], true]]);
  const asked = server.sent.filter(({ name }) => name === session.ReadLog.name).map(({ value }) => value as session.ReadLog);
  assert.deepEqual(asked.map(({ after, follow }) => [after, follow]), [[0n, 1]]);
  server.tell(session.LogLines, page(7n, 2n, 3n), { request: 0n });
  server.tell(session.LogLines, page(7n, 3n), { request: 0n });
  server.tell(session.LogLines, page(8n, 1n), { request: 0n });
  assert.deepEqual(told.slice(1), [[['line 3'], false], [['line 1'], true]]);
  // A page that was asked for is for who asked.
  assert.equal((await client.ask(session.ReadLog)).numbers.length, 2);
  assert.equal(told.length, 3);
});

test('a line has its level by name; columns that do not fit together are not taken', () => {
  const all = page(1n, 3n, 4n, 5n) as session.LogLines;
  assert.deepEqual(log_rows(all).map(({ level, sequence }) => [level, sequence]), [['info', 103n], ['warning', 104n], ['error', 105n]]);
  for (const column of ['sequences', 'clocks_ns', 'levels', 'entities', 'handlers', 'texts', 'lost_before'] as const)
    assert.throws(() => log_rows({ ...all, [column]: [] }), ClientError);
});
