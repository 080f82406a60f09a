// The next free name of a duplicate, and names that would turn the text around them.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { next_name, shown_name } from '../../../../client/editor/src/model/names.js';

const next = (name: string, ...taken: string[]): string => next_name(name, (each) => taken.includes(each));

test('a number at the end is counted on to the first that is free; a name without one gets its second', () => {
  assert.equal(next('tree-2', 'tree-1', 'tree-2'), 'tree-3');
  assert.equal(next('tree-2', 'tree-3', 'tree-4'), 'tree-5');
  assert.equal(next('wall_09'), 'wall_10');
  assert.equal(next('wall_99'), 'wall_100');
  assert.equal(next('orc 1'), 'orc 2');
  assert.equal(next('crate7'), 'crate8');
  assert.equal(next('2024'), '2025');
  assert.equal(next('oak'), 'oak~2');
  assert.equal(next('oak~2', 'oak~3'), 'oak~4');
  assert.equal(next('oak', 'oak~2'), 'oak~3');
  assert.equal(next(''), '');
  assert.equal(next('a12345678901'), 'a12345678902');
});

test('a name never gets longer than the 255 bytes that a world takes, and no letter is cut in two', () => {
  let name = 'x'.repeat(255);
  for (let i = 0; i < 20; ++i) name = next(name);
  assert.equal(name, 'x'.repeat(253) + '21');
  assert.equal(next('ö'.repeat(127)), 'ö'.repeat(127) + '2');
  assert.equal(next('x'.repeat(253) + '99'), 'x'.repeat(252) + '100');
});

test('what turns text around or cannot be seen is written out, all else stays', () => {
  assert.equal(shown_name('abc\u202edef'), 'abc⟨202E⟩def');
  assert.equal(shown_name('a\tb\u200b'), 'a⟨0009⟩b⟨200B⟩');
  assert.equal(shown_name('Bäume 木 שלום'), 'Bäume 木 שלום');
});
