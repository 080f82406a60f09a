import assert from 'node:assert/strict';

import { BadBytes, default_bytes, hash32, hash64, place_of, read_struct, session, TypeTable } from 'muster-client';

import * as everything from './everything.js';
import * as odd from './odd.js';
import { built, test, types_of } from './support.js';

test('both hashes are FNV-1a, of the UTF-8 of a text', () => {
  assert.equal(hash32(''), 0x811c9dc5);
  assert.equal(hash32('foobar'), 0xbf9cf968);
  assert.equal(hash64(''), 0xcbf29ce484222325n);
  assert.equal(hash64('foobar'), 0x85944171f73967e8n);
  assert.equal(hash32('ü'), hash32('ü'.normalize('NFC')));
  let slow = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode('Grüße an alle Orks'))
    slow = BigInt.asUintN(64, (slow ^ BigInt(byte)) * 0x100000001b3n);
  assert.equal(hash64('Grüße an alle Orks'), slow);
});

test('that a component is enableable is a part of its fingerprint, as schemac writes it', () => {
  const types = types_of('odd.bfbs');
  for (const key of [odd.Shield, odd.Stunned, odd.Lamps]) assert.equal(types.get(key), types.get(key.name));
  assert.equal(types.get('Stunned').fingerprint, hash64('struct 1 1 enableable\n0 uint8 1 nothing\n'));
});

test('a binary schema gives the ids and fingerprints that schemac writes', () => {
  const types = types_of('everything.bfbs');
  let keys = 0;
  for (const key of Object.values(everything)) {
    if (typeof key !== 'object' || !('fingerprint' in key)) continue;
    const type = types.get(key.name);
    assert.deepEqual([type.name, type.id, type.fingerprint, type.role], [key.name, key.id, key.fingerprint, key.role]);
    assert.equal(types.get(key as never), type);
    ++keys;
  }
  assert.ok(keys >= 10, `only ${keys} types`);
});

test('the schema of the session in the client has no comments on its own types, and those on the messages of every world', () => {
  const types = new TypeTable();
  types.add_schema(new Uint8Array(Buffer.from(session.schema, 'base64')));
  for (const type of types) {
    const docs = [type.doc, ...type.fields.map((field) => field.doc)].join('');
    if (type.name.startsWith('muster.session.')) assert.equal(docs, '', type.name);
  }
  assert.notEqual(types.get('muster.SetField').doc, '');
});

test('descriptors know what the schema says: units, ranges, defaults, documentation', () => {
  const types = types_of('everything.bfbs');
  const health = types.get('Health');
  const field = (name: string) => health.fields.find((each) => each.name === name)!;
  assert.equal(health.doc, 'How much it can take, and one field of each kind.');
  assert.equal(field('value').unit, 'hp');
  assert.deepEqual(field('value').range, { min: 0, max: 100 });
  assert.equal(field('value').default_text, '100');
  assert.equal(field('value').was, 'hp');
  assert.ok(field('tint').color && field('mesh').asset && field('mesh').kind === 'text');
  assert.deepEqual(
    field('traits').enumeration?.values.map((each) => [each.name, each.value]),
    [
      ['fire', 1],
      ['ice', 2],
      ['class', 4],
    ],
  );
  assert.ok(field('traits').enumeration?.bit_flags);
  assert.equal(types.get('Config').remote, 'admin');
  assert.ok(types.get('Dead').tag);
});

test('a struct begins with the defaults of its schema', () => {
  const health = types_of('everything.bfbs').get('Health');
  const bytes = default_bytes(health);
  const value = read_struct(health, new DataView(bytes.buffer), 0) as unknown as everything.Health;
  assert.equal(bytes.length, health.size);
  assert.deepEqual(value, {
    value: 100,
    regen: Math.fround(-1.5e-3),
    team: 2,
    gate: 7,
    traits: 3,
    alive: true,
    class: 0,
    at: { x: 1, y: 2, z: 3 },
    tint: [255, 255, 255, 255],
    slots: [0, 1].map(() => ({ count: 2, item: 0n, owner: { index: 0, generation: 0 } })),
    path: [
      { x: 1, y: 2, z: 3 },
      { x: 4, y: 5, z: 6 },
    ],
    big: 18446744073709551615n,
    low: -9223372036854775808n,
    precise: 0.1,
    tiny: -128,
    mesh: hash64('meshes/orc.glb'),
    target: { index: 0, generation: 0 },
    place: { m: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1] },
    flags: [true, false, true],
  } satisfies everything.Health);
});

test('places inside a struct are found by path, and errors say what would fit', () => {
  const health = types_of('everything.bfbs').get('Health');
  const offset = (name: string) => health.fields.find((field) => field.name === name)!.offset;
  assert.deepEqual([place_of(health, 'at.y').offset, place_of(health, 'at.y').size], [offset('at') + 4, 4]);
  assert.equal(place_of(health, 'slots[1].item').offset, offset('slots') + 24 + 8);
  assert.equal(place_of(health, 'slots').size, 48);
  assert.equal(place_of(health, 'at.y').id, hash32('at.y'));
  for (const wrong of ['', 'nothing', 'at.w', 'slots[2]', 'slots.count', 'value[0]', 'value.x', 'at..x', 'at.'])
    assert.throws(() => place_of(health, wrong), { kind: 'mistaken' }, wrong);
  assert.throws(() => place_of(health, 'at.w'), /has no place at\.w: 'w' does not fit; golden\.Vec3 has x, y, z/);
});

test('types are found by full name and by the last part of it', () => {
  const types = types_of('everything.bfbs', 'test_types.bfbs');
  assert.equal(types.get('golden.Health').name, 'golden.Health');
  assert.equal(types.get('Chat').name, 'golden.Chat');
  assert.throws(() => types.get('Health'), /Health means several types: golden\.Health, test\.Health/);
  assert.throws(() => types.get('Nobody'), /no type is called Nobody/);
  const other = { ...everything.Health, fingerprint: 1n };
  assert.throws(() => types.get(other as never), /golden\.Health has a different layout in the world than in this program/);
});

test('a schema that has another layout for a known type adds nothing', () => {
  const types = new TypeTable();
  types.add_schema(built('everything.bfbs'));
  const count = types.size;
  assert.deepEqual(types.add_schema(built('everything.bfbs')), []);
  const text = Buffer.from(built('everything.bfbs'));
  const at = text.indexOf('regen');
  text.write('segen', at);
  assert.throws(
    () => types.add_schema(new Uint8Array(text)),
    (error) => error instanceof BadBytes && /golden\.Health/.test(error.message),
  );
  assert.equal(types.size, count);
});
