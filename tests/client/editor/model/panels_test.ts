// What panels reckon without a browser: how a field looks, colours, a message in one line, where a dragged row lands, what a search finds.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { hash32, hash64, id_text, muster, nil, TypeTable } from 'muster-client';
import type { Entity, StructValue, TypeDescriptor } from 'muster-client';

import type { Model } from '../../../../client/editor/src/model/model.js';
import { find } from '../../../../client/editor/src/panels/find.js';
import { preview } from '../../../../client/editor/src/panels/preview.js';
import { drop_place, row_height } from '../../../../client/editor/src/panels/tree_drag.js';
import type { TreeLine } from '../../../../client/editor/src/panels/tree.js';
import { hex_of, parse_hex, to_linear, to_screen } from '../../../../client/editor/src/parts/color.js';
import { look_of } from '../../../../client/editor/src/parts/kinds.js';
import { test, types_of } from '../../ts/support.js';
import { entity } from './played.js';

const types = types_of('everything.bfbs');

test('how a field is edited follows from its type alone', () => {
  const looks = (type: TypeDescriptor) => Object.fromEntries(type.fields.map((field) => [field.name, look_of(field)]));
  assert.deepEqual(looks(types.get('golden.Health')), {
    value: 'number', regen: 'number', team: 'enum', gate: 'enum', traits: 'flags', alive: 'boolean', class: 'number', at: 'vector', tint: 'color',
    slots: 'array', path: 'array', big: 'number', low: 'number', precise: 'number', tiny: 'number', mesh: 'text', target: 'entity', place: 'struct', flags: 'array',
  }); // prettier-ignore
  assert.deepEqual(looks(types.get('golden.Chat')), {
    text: 'text', from: 'entity', channel: 'text', volume: 'number', count: 'number', loud: 'boolean', team: 'enum', traits: 'flags', big: 'number',
    maybe: 'number', maybe_team: 'enum', place: 'vector', home: 'vector', bytes: 'bytes', path: 'list', readers: 'list', teams: 'list', switches: 'list',
    words: 'list', precise: 'list', first: 'table', last: 'table', lines: 'list', decode: 'number',
  }); // prettier-ignore
  const of = (type: string, field: string) => types.get('golden.' + type).fields.find(({ name }) => name === field)!;
  const elements = [of('Health', 'tint'), of('Health', 'slots'), of('Health', 'path'), of('Health', 'flags'), of('Chat', 'bytes'), of('Chat', 'words'), of('Chat', 'lines')];
  assert.deepEqual(elements.map((field) => look_of(field, true)), ['number', 'struct', 'vector', 'boolean', 'number', 'text', 'table']);
  const scene = new TypeTable();
  scene.add_schema(new Uint8Array(readFileSync(process.env.MUSTER_SCENE!)));
  assert.deepEqual(looks(scene.get('scene.Transform')), { position: 'vector', rotation: 'rotation', scale: 'vector' });
  assert.deepEqual(looks(scene.get('scene.Color')), { value: 'color' });
  const [value] = scene.get('scene.Color').fields;
  assert.equal(look_of({ ...value, color: false }), 'struct');
  assert.equal(look_of({ ...of('Health', 'tint'), color: false }), 'array');
  assert.equal(look_of({ ...of('Health', 'tint'), count: 5 }), 'array');
  assert.equal(look_of({ ...of('Health', 'tint'), count: 3 }), 'color');
});

test('colours of a screen and linear ones become each other, and are written and read as six digits', () => {
  for (const [linear, screen] of [
    [0, 0],
    [0.001, 0.01292],
    [0.0031308, 0.040449936],
    [0.2, 0.48452920448170694],
    [0.5, 0.7353569830524495],
    [1, 1],
  ]) {
    assert.ok(Math.abs(to_screen(linear) - screen) < 1e-9, String(linear));
    assert.ok(Math.abs(to_linear(screen) - linear) < 1e-6, String(screen));
  }
  assert.deepEqual([to_screen(-1), to_screen(7)], [0, to_screen(1)]);
  assert.deepEqual([hex_of(1, 0.5, 0), hex_of(-1, 2, 1 / 255), hex_of(0, 0.0019, 0.0021)], ['#ff8000', '#00ff01', '#000001']);
  assert.deepEqual(parse_hex(' #ff8000 '), [1, 128 / 255, 0]);
  assert.deepEqual([parse_hex('fff'), parse_hex('#abc'), parse_hex('AABBCC')], [[1, 1, 1], [170 / 255, 187 / 255, 204 / 255], [170 / 255, 187 / 255, 204 / 255]]);
  for (const wrong of ['', '#', '#ff', '#ffff', '#fffff', '#fffffff', '##ffffff', '#gggggg', '0xffff']) assert.equal(parse_hex(wrong), null, wrong);
});

/** Whether the world has scene.RootOrder. */
let has_root_order = false;

/** A world of names and parents, and an order of siblings: what of a model these ask for. */
function model_of(tree: Record<string, string[]>, names: Record<number, string> = {}) {
  const at = (id: string): Entity => entity(...(id.split(':').map(Number) as [number, number]));
  const records = new Map<string, { entity: Entity; name: string; parent: Entity }>();
  for (const [parent, children] of Object.entries(tree))
    for (const child of children) records.set(child, { entity: at(child), name: names[at(child).index] ?? '', parent: parent === '0:0' ? nil : at(parent) });
  const world = Object.assign([...records.values()], { get: (of: Entity) => records.get(id_text(of)) });
  const path = (of: Entity): string => {
    const record = records.get(id_text(of));
    return record ? path(record.parent) + '/' + (record.name || '#' + id_text(of)) : '';
  };
  const known = new Map([...types].map((type) => [type.name, type]));
  const found: unknown[] = [];
  const client = {
    find_all: async function* (what: unknown) {
      found.push(what);
      yield { entities: [entity(2)] };
      yield { entities: [entity(4)] };
    },
  };
  const all = {
    world, path, shown_place: (of: Entity) => path(world.get(of)!.parent) || '/',
    order: { children: (of: Entity) => tree[id_text(of)]?.map(at) },
    client: { peek: () => client },
    types: { value: known, peek: () => known }, knows: () => has_root_order,
    text: (hash: bigint) => (hash === hash64('axe') ? 'axe' : ''),
    type_named: (id: number) => types.find(id),
    read_field: (_: TypeDescriptor, field: string, bytes: Uint8Array) => (field === 'at.y' ? new DataView(bytes.buffer).getFloat32(0, true) : field === 'slots[1]' ? { count: 3, item: hash64('axe'), owner: nil } : undefined),
  }; // prettier-ignore
  return { model: all as unknown as Model, found };
}

test('a row that is dragged lands before, in or behind another, at the end below the last, and never in itself', () => {
  // town(1) has a(2), b(3) and is open; a has bag(4), which is not open; field(5) is a root without children.
  const { model } = model_of({ '0:0': ['1:1', '5:1'], '1:1': ['2:1', '3:1'], '2:1': ['4:1'] });
  const line = (index: number, depth: number, is_open = false) => ({ entity: entity(index), depth, is_open }) as TreeLine;
  const rows = [line(1, 0, true), line(2, 1), line(3, 1), line(5, 0)];
  const at = (row: number, part: number, ...moved: number[]) => {
    const place = drop_place(model, rows, (row + part) * row_height, (moved.length ? moved : [9]).map((index) => entity(index)));
    return place && [place.parent.index, place.before.index, place.is_inside, place.y / row_height, place.depth];
  };
  assert.deepEqual(at(1, 0.25), [1, 2, false, 1, 1]);
  assert.deepEqual(at(1, 0.26), [2, 0, true, 1, 1]);
  assert.deepEqual(at(1, 0.74), [2, 0, true, 1, 1]);
  assert.deepEqual(at(1, 0.75), [1, 3, false, 2, 1]); // behind a: before b
  assert.deepEqual(at(2, 0.9), [1, 0, false, 3, 1]); // behind the last child
  assert.deepEqual(at(0, 0.9), [1, 2, false, 1, 1]); // below an open row: its first child
  assert.deepEqual(at(0, 0.1), [0, 0, false, 0, 0]); // roots have no order
  assert.deepEqual(at(3, 0.1, 4), [0, 0, false, 3, 0]);
  assert.deepEqual(at(3, 0.1, 4, 1), [0, 0, false, 3, 0]);
  assert.equal(at(3, 0.1, 1), null); // it is a root already
  assert.deepEqual(at(3, 0.9), [0, 0, false, 4, 0]);
  assert.deepEqual(at(4, 0.5), [0, 0, false, 4, 0]); // below all of them
  assert.equal(at(-1, 0.5), null);
  assert.equal(at(4, 0), null);
  assert.equal(at(1, 0.5, 2), null); // in itself
  assert.equal(at(1, 0.5, 1), null); // in what is below it
  assert.equal(at(1, 0.1, 2), null); // before itself
  assert.equal(at(0, 0.9, 2), null);
  assert.deepEqual(at(1, 0.9, 2), [1, 3, false, 2, 1]);
  assert.deepEqual(at(3, 0.5, 9, 2), [5, 0, true, 3, 0]);
  has_root_order = true;
  assert.deepEqual(at(0, 0.1, 5), [0, 1, false, 0, 0]); // roots have one, too
  assert.deepEqual(at(4, 0.5, 1), [0, 0, false, 4, 0]);
  has_root_order = false;
});

test('a search finds by words of the name and by id, and waits for components that the server is asked for', () => {
  const tree = { '0:0': ['1:1', '5:1'], '1:1': ['2:1', '3:1', '4:1'] };
  const { model } = model_of(tree, { 1: 'Town', 2: 'old Orc', 3: 'orc', 4: 'an elf', 5: 'oracle' });
  const names = (query: string) => find(model, query).lines.map(({ name, path }) => `${path} ${name}`);
  assert.deepEqual(names('or'), ['/ oracle', '/Town old Orc', '/Town orc']);
  assert.deepEqual(names('ORC old'), ['/Town old Orc']);
  assert.deepEqual(names('nobody'), []);
  assert.deepEqual([names('#3:1'), names(' 3:1 '), names('3:2'), names('99:1')], [['/Town orc'], ['/Town orc'], [], []]);
  assert.equal(find(model, '').total, 5);
  assert.equal(names('has:').length, 5);
  assert.deepEqual(find(model, 'has:health or'), { lines: [], total: 0, note: 'Searching' });
});

test('of more than a thousand that are found a thousand are listed, and all are counted', () => {
  const { model } = model_of({ '0:0': Array.from({ length: 1003 }, (_, i) => `${i + 1}:1`) });
  const { lines, total } = find(model, '');
  assert.deepEqual([lines.length, total, lines[999].entity.index, lines[0].path], [1000, 1003, 1000, '/']);
});

test('a message is told in one line as people read it', () => {
  const { model } = model_of({ '0:0': ['1:1', '2:1'] }, { 1: 'orc' });
  const health = types.get('golden.Health');
  const line = (type: string, value: StructValue, is_bare = false) => preview(model, type, value, is_bare);
  assert.equal(line('golden.Damage', { amount: 7, from: entity(1) }), 'amount 7  from orc');
  assert.equal(line('golden.Damage', { amount: 7, from: entity(2) }, true), '7  #2:1');
  assert.equal(line('golden.Damage', { amount: 7, from: nil }), 'amount 7  from none');
  assert.equal(line('golden.Chat', { text: 'hi', channel: hash64('axe'), volume: 0.123456, team: 2, traits: 3, maybe: null, big: 5n }), "text 'hi'  channel 'axe'  volume 0.1235  team blue  traits 3  maybe none  big 5");
  assert.equal(line('golden.Chat', { team: 9, bytes: new Uint8Array(3), words: ['a', 'b'], precise: [1, 2, 3, 4, 5, 6, 7], loud: true }), "team 9  bytes 3 bytes  words ['a', 'b']  precise [7 values]  loud true");
  assert.equal(line('golden.Chat', { precise: [1, 2, 3, 4, 5, 6], place: { x: 1, y: 2, z: 3 }, last: { text: 'end', at: 0.25 } }), "precise [1, 2, 3, 4, 5, 6]  place (1, 2, 3)  last (text 'end', at 0.25)");
  assert.equal(line('golden.Chat', { channel: 'typed' }), "channel 'typed'");
  assert.equal(line('golden.Nobody', { a: 1, b: 'c' }), "a 1  b 'c'");
  assert.equal(line('muster.Remove', { component: health.id }), 'component Health');
  assert.equal(line('muster.Remove', { component: 5 }), 'component 5');
  const bytes = [...new Uint8Array(Float32Array.of(2.5).buffer), ...new Array<number>(60).fill(0)];
  const set = { component: health.id, field: hash32('at.y'), bytes: 4, reserved: 0, value: bytes };
  assert.equal(line(muster.SetField.name, set), 'Health.at.y 2.5');
  assert.equal(line(muster.SetFieldIf.name, { set, expected: bytes }), 'Health.at.y 2.5');
  assert.equal(line(muster.SetField.name, { ...set, field: hash32('slots[1]') }), "Health.slots[1] (count 3, item 'axe', owner none)");
  assert.equal(line(muster.SetField.name, { ...set, component: 1 }), 'component 1'); // what is not known stays hidden
  assert.equal(line(muster.SetField.name, { ...set, field: 1 }), 'component Health');
});
