// Sentences that are made of what the server says, and paths that lead out of the world's folder.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { as_sentence } from '../../../../client/editor/src/model/sentences.js';
import { leaves_folder } from '../../../../client/editor/src/model/world_folder.js';

test('a sentence begins with a capital and ends with a full stop', () => {
  assert.equal(as_sentence('pause first'), 'Pause first.');
  assert.equal(as_sentence('is it there?'), 'Is it there?');
  assert.equal(as_sentence('there is no such file'), 'There is no such file.');
});

test('the name of a file, or of an entity without one, stays as it is where a sentence begins with it', () => {
  assert.equal(as_sentence('lvl.muster: it was moved'), 'lvl.muster: it was moved.');
  assert.equal(as_sentence('my level.muster: it was moved'), 'my level.muster: it was moved.');
  assert.equal(as_sentence('models/castle.gltf is away'), 'models/castle.gltf is away.');
  assert.equal(as_sentence('town2: it was moved'), 'town2: it was moved.');
});

test('a path leaves the folder if it is absolute, or climbs higher than it has descended', () => {
  for (const path of ['../a.gltf', 'models/../../a.gltf', '/models/a.gltf', 'C:\\a.gltf', 'file:///a.gltf', './../a.gltf'])
    assert.equal(leaves_folder(path), true, path);
  for (const path of ['a.gltf', 'models/a.gltf', 'models/../a.gltf', './a.gltf', '..a/b..gltf', 'a//b/../../c.gltf', 'a:b.gltf'])
    assert.equal(leaves_folder(path), false, path);
});
