// Texts: their bytes and hashes, who is told of them and in which order, and what waits for them.
import assert from 'node:assert/strict';

import { Batch, encode_batch, hash32, hash64, muster, nil, session } from 'muster-client';
import type { Entity } from 'muster-client';

import * as game from './everything.js';
import { Scripted } from './scripted.js';
import { Random, test, types_of } from './support.js';

const types = types_of('everything.bfbs', 'test_types.bfbs');
const orc: Entity = { index: 1, generation: 1 };
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Every text in a table comes back from its bytes. */
const through_table = (text: string): unknown => {
  const bytes = encode_batch({ kind: 'table', type: types.get('test.Say'), messages: [{ target: orc, value: { text, names: [text, '', text] } }] });
  const { text: first, names } = Batch.read(bytes, types).message(0) as { text: string; names: string[] };
  assert.deepEqual(names, [text, '', text]);
  return first;
};

/** Characters about the ends of what takes one byte, two, three and four; a mark that some take for none. */
const edges = ['', '\0', '\x7e', '\x7f', '\x80', '\x81', '\xff', '\u07ff', '\u0800', '\ufeff', '\uffff', '\u{10000}', '\u{10ffff}', 'a'];

test('a text is the same after it was written and read, and its hashes are those of its UTF-8', () => {
  const slow = (text: string, basis: bigint, prime: bigint, bits: number): bigint => {
    let hash = basis;
    for (const byte of Buffer.from(text, 'utf8')) hash = BigInt.asUintN(bits, (hash ^ BigInt(byte)) * prime);
    return hash;
  };
  const random = new Random(5);
  const texts = edges.flatMap((edge) => [edge, 'b' + edge, edge + 'b', ...[62, 63, 64, 65, 200].map((length) => 'c'.repeat(length) + edge)]);
  for (let i = 0; i < 200; ++i) texts.push(Array.from({ length: random.next(80) }, () => random.pick(edges)).join(''));
  for (const text of texts) {
    assert.equal(through_table(text), text);
    assert.equal(hash64(text), slow(text, 0xcbf29ce484222325n, 0x100000001b3n, 64), JSON.stringify(text));
    assert.equal(hash32(text), Number(slow(text, 0x811c9dc5n, 0x01000193n, 32)), JSON.stringify(text));
  }
});

test('bytes that are no UTF-8 are read as the mark for such, in short texts as in long ones', () => {
  const say = types.get('test.Say');
  for (const length of [4, 64, 65, 100])
    for (const byte of [0x80, 0x81, 0xbf, 0xc0, 0xff]) {
      const text = 'd'.repeat(length);
      const bytes = encode_batch({ kind: 'table', type: say, messages: [{ target: orc, value: { text } }] });
      const at = Buffer.from(bytes).indexOf(text);
      bytes[at + 2] = byte;
      assert.equal(Batch.read(bytes, types).message(0).text, 'dd\ufffd' + text.slice(3), `${byte} in ${length}`);
    }
});

/** A client, what it said of texts and messages in its order, and answers when the test wants them. */
async function talking() {
  const { client, server } = await Scripted.open();
  server.sent.length = 0;
  server.batches.length = 0;
  const said = (): string[] =>
    server.batches.map((batch) => {
      const texts = Array.from({ length: batch.count }, (_, i) => (batch.message(i) as { text?: string }).text);
      return batch.type.id === muster.InternText.id ? `told ${texts.map((text) => (text!.length > 20 ? text!.length : text)).join()}` : batch.type.name;
    });
  const answer = async (which: number, key: { name: string } = session.Ack, value: object = { sequence: 1n }): Promise<void> => {
    server.tell(key, value, { request: server.sent[which].request });
    await soon();
  };
  const name = (text: string): Promise<unknown> => client.rename(orc, text);
  return { client, server, said, answer, name };
}
const refusal = { code: session.FaultCode.refused, text: 'not that one' };

test('a text is told before what mentions it is sent, once, and not at all where there is none', async () => {
  const { client, said, answer, name } = await talking();
  const first = name('grom');
  assert.deepEqual(said(), ['told grom']);
  await answer(0);
  assert.deepEqual(said(), ['told grom', 'muster.Rename']);
  await answer(1);
  await first;
  assert.equal(client.text(hash64('grom')), 'grom'); // it is known here, too
  const again = name('grom');
  assert.deepEqual(said().length, 3); // at once
  await answer(2);
  await again;
  void name('').catch(() => {});
  assert.equal(await client.intern(''), 0n);
  assert.equal(await client.intern('grom'), hash64('grom'));
  assert.deepEqual(said().slice(2), ['muster.Rename', 'muster.Rename']);
  client.close();
});

test('calls side by side are sent in the order in which they were made, and a text that several need is told once', async () => {
  const { client, said, answer, name } = await talking();
  const calls = [name('a'), name('b'), client.destroy(orc), name('a'), client.post(orc, game.Damage, {})];
  await soon();
  assert.deepEqual(said(), ['told a', 'told b']);
  await answer(1); // the later one first
  assert.deepEqual(said().length, 2);
  await answer(0);
  assert.deepEqual(said().slice(2), ['muster.Rename', 'muster.Rename', 'muster.Destroy', 'muster.Rename', 'golden.Damage']);
  for (const which of [2, 3, 4, 5]) await answer(which);
  await Promise.all(calls);
  void client.destroy(orc).catch(() => {});
  assert.equal(said().at(-1), 'muster.Destroy'); // nobody is waited for any more
  client.close();
});

test('who comes when some of those before were sent waits for the rest', async () => {
  const { client, said, answer, name } = await talking();
  const calls = [name('a'), name('b')];
  await answer(0);
  assert.deepEqual(said(), ['told a', 'told b', 'muster.Rename']);
  calls.push(client.destroy(orc));
  await soon();
  assert.equal(said().length, 3);
  await answer(1);
  assert.deepEqual(said().slice(3), ['muster.Rename', 'muster.Destroy']);
  for (const which of [2, 3, 4]) await answer(which);
  await Promise.all(calls);
  client.close();
});

test('a refused text fails what mentions it alone, and is told again when it is needed again', async () => {
  const { client, server, said, answer, name } = await talking();
  const [bad, behind] = [name('bad'), name('good')];
  const failed = assert.rejects(bad, { kind: 'refused', message: 'not that one' });
  await answer(1);
  await answer(0, session.Fault, refusal);
  await failed;
  assert.deepEqual(said(), ['told bad', 'told good', 'muster.Rename']);
  await answer(2);
  await behind;
  assert.equal(client.text(hash64('bad')), '');
  const again = name('bad');
  assert.equal(said()[3], 'told bad');
  await answer(3);
  await answer(4);
  await again;
  // What is answered by something else is no acknowledgement either.
  const wrong = assert.rejects(name('other'), { kind: 'lost', message: /^the server answered with muster\.session\.Saved/ });
  await answer(5, session.Saved, {});
  await wrong;
  assert.equal(server.batches.length, 6);
  client.close();
});

test('texts of one call are told together, those that are long in several batches, and each once', async () => {
  const { client, server, said, answer } = await talking();
  server.answers.set(muster.InternText.name, () => [session.Ack, {}]);
  server.answers.set('muster.Create', () => [session.Ack, {}]);
  const texts = ['a', 'b', 'a', '', 'c'.repeat(60_000), 'd'.repeat(60_000), 'e'];
  const type = client.types.get('muster.Create');
  await client.push_plan({ kind: 'each', type, messages: texts.map((name) => ({ target: orc, value: { name } })) });
  assert.deepEqual(said(), ['told a,b,60000,60000', 'told e', 'muster.Create']);
  await client.push_plan({ kind: 'each', type, messages: ['e', 'f', 'a'].map((name) => ({ target: orc, value: { name } })) });
  assert.deepEqual(said().slice(3), ['told f', 'muster.Create']);
  await answer(0);
  client.close();
});

test('texts that the defaults of a value mention are told, too, those of nested structs and of what is given in part', async () => {
  const { client, server, said } = await talking();
  for (const name of [muster.InternText.name, 'muster.Set', 'muster.SetField']) server.answers.set(name, () => [session.Ack, {}]);
  await client.set(orc, [game.Health, { mesh: 'mine' }]);
  assert.deepEqual(said(), ['told mine', 'muster.Set']);
  await client.set(orc, [game.Health, { value: 4 }]);
  assert.deepEqual(said().slice(2), ['told meshes/orc.glb', 'muster.Set']);
  await client.set(orc, [game.Health, { slots: [{ item: 'axe' }, { item: 'bow' }] }]);
  assert.deepEqual(said().slice(4), ['told axe,bow', 'muster.Set']);
  await client.set_field(orc, game.Health, 'slots[1]', { item: 'club' });
  assert.deepEqual(said().slice(6), ['told club', 'muster.SetField']);
  client.close();
});

test('an entity field takes an entity or none', () => {
  const read = (target: unknown): unknown => {
    const rows = [{ type: types.get('golden.Health'), value: { target } }];
    return Batch.read(encode_batch({ kind: 'each', type: types.get('muster.Set'), messages: [{ target: orc, value: {}, rows }] }), types).component(0, 0).target;
  };
  assert.deepEqual([read(orc), read(null), read(undefined), read({ index: 0, generation: 0 })], [orc, nil, nil, nil]);
  for (const [wrong, said] of [[{ index: 1.5, generation: 1 }, 'an object'], [{ index: 1, generation: -1 }, 'an object'], [{ index: 1 }, 'an object'], ['1:1', "'1:1'"], [[1, 1], 'an array']] as const)
    assert.throws(() => read(wrong), { kind: 'mistaken', message: `golden.Health.target: ${said} is not an entity` }); // prettier-ignore
});
