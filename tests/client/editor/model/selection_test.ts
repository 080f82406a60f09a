// What is selected, and what a person can do by name.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Entity } from 'muster-client';

import { Commands } from '../../../../client/editor/src/model/commands.js';
import { Selection } from '../../../../client/editor/src/model/selection.js';

const entity = (index: number, generation = 1): Entity => ({ index, generation });
const [a, b, c] = [1, 2, 3].map((index) => entity(index));

test('the last one that was selected is the active one, each is there once, and who listens hears of changes only', () => {
  const selection = new Selection();
  const told: number[][] = [];
  const end = selection.entities.subscribe((entities) => void told.push(entities.map(({ index }) => index)));
  assert.equal(selection.active, undefined);
  selection.set([a, b]);
  selection.set([a, b]);
  assert.equal(selection.active, b);
  selection.set([b, a]);
  assert.equal(selection.active, a);
  selection.add([c]);
  selection.add([b]); // again: it is the active one now
  assert.equal(selection.active, b);
  selection.toggle(c);
  selection.toggle(c);
  selection.set([a, a, b, a]);
  selection.add([]);
  selection.clear();
  selection.clear();
  assert.deepEqual(told, [[], [1, 2], [2, 1], [2, 1, 3], [1, 3, 2], [1, 2], [1, 2, 3], [2, 1], []]);
  assert.equal(selection.active, undefined);
  end();
});

test('an entity is meant by index and generation: the next one of an index is another', () => {
  const selection = new Selection();
  const next = entity(1, 2);
  selection.set([a, b]);
  assert.deepEqual([selection.has(a), selection.has(next), selection.has(c)], [true, false, false]);
  selection.drop([next]);
  assert.deepEqual(selection.entities.value, [a, b]);
  selection.set([next, b]); // as many as before, and the same indices
  assert.deepEqual([selection.has(a), selection.has(next)], [false, true]);
  selection.set([a, next]);
  assert.deepEqual(selection.entities.value, [next]);
});

test('those that are gone leave the selection, and the others keep their order', () => {
  const selection = new Selection();
  selection.set([c, a, b]);
  const before = selection.entities.value;
  selection.drop([entity(9)]);
  assert.equal(selection.entities.value, before);
  selection.drop([b, entity(9)]);
  assert.deepEqual([selection.entities.value, selection.active, selection.has(b)], [[c, a], a, false]);
  selection.drop([a, c]);
  assert.deepEqual([selection.entities.value, selection.has(a)], [[], false]);
});

test('a command runs by its id where there is one that is enabled', () => {
  const commands = new Commands();
  const ran: string[] = [];
  const command = (id: string, says: string, enabled?: () => boolean) => ({ id, title: id, run: () => void ran.push(says), ...(enabled && { enabled }) });
  let is_on = false;
  const take_back = commands.register([command('one', 'one'), command('two', 'two', () => is_on)]);
  assert.deepEqual([commands.run('one'), commands.run('two'), commands.run('three')], [true, false, false]);
  is_on = true;
  assert.equal(commands.run('two'), true);
  assert.deepEqual(ran.splice(0), ['one', 'two']);

  const others = commands.register([command('one', 'another one'), command('four', 'four')]);
  commands.run('one');
  assert.deepEqual(ran.splice(0), ['another one']);
  take_back(); // the command that replaced one of these stays
  assert.deepEqual([...commands.all.value.keys()].sort(), ['four', 'one']);
  assert.equal(commands.get('two'), undefined);
  assert.equal(commands.get('four')?.title, 'four');
  others();
  assert.equal(commands.all.value.size, 0);
  assert.equal(commands.menu.value, null);
  commands.menu_at(3, 4);
  assert.deepEqual(commands.menu.value, { x: 3, y: 4 });
});

test('those that are destroyed and come back are selected again, unless something else was selected since', () => {
  const selection = new Selection();
  const now = (): number[] => selection.entities.value.map(({ index }) => index);
  selection.set([a, b, c]);
  selection.lose([a, b]);
  selection.regain([entity(9), a]);
  selection.regain([b, c]); // c was never lost
  assert.deepEqual(now(), [3, 1, 2]);
  selection.lose([c]);
  selection.set([a]);
  selection.regain([c]);
  assert.deepEqual(now(), [1]);
  selection.lose([a]);
  selection.regain([entity(1, 2)]); // another one of that index
  assert.deepEqual(now(), []);
  selection.regain([a, c]); // c had been lost before
  assert.deepEqual(now(), [1]);
  selection.regain([a]);
  assert.deepEqual(now(), [1]);
});
