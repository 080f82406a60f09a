import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoxGeometry, MeshBasicMaterial } from 'three';
import { assimp_order } from '../../../../client/editor/src/assets/gltf.js';
import { drop_textures, Models } from '../../../../client/editor/src/view/models.js';
import type { Model } from '../../../../client/editor/src/view/models.js';

const part = (name: string) => ({ name, geometry: new BoxGeometry(), material: new MeshBasicMaterial() });
const model = (...names: string[]): Model => ({ path: 'a.glb', state: 'ready', parts: names.map(part), why: '', files: [], scene: null });

test('meshes are in the order in which Assimp meets them: children before their parent, each once', () => {
  const nodes = [{ children: [1, 2], mesh: 3 }, { mesh: 1 }, { mesh: 1, children: [3] }, { mesh: 0 }];
  assert.deepEqual(assimp_order({ scenes: [{ nodes: [0] }], nodes, meshes: [{}, {}, {}, {}] }), [1, 0, 3, 2]);
});

test('the scene that a file names is the one that counts', () => {
  const nodes = [{ mesh: 0 }, { mesh: 1 }];
  assert.deepEqual(
    assimp_order({ scene: 1, scenes: [{ nodes: [0] }, { nodes: [1] }], nodes, meshes: [{}, {}] }),
    [1, 0],
  );
});

test('nodes in a circle, and meshes that are not there, are no trouble', () => {
  const nodes = [{ children: [1] }, { children: [0], mesh: 7 }];
  assert.deepEqual(assimp_order({ scenes: [{ nodes: [0, 5] }], nodes, meshes: [{}] }), [0]);
  assert.deepEqual(assimp_order({}), []);
});

test('a mesh is found by its place, by its name where the place is another one’s', () => {
  const two = model('wall', 'roof');
  assert.equal(Models.part(two, 1, 'roof')?.name, 'roof');
  assert.equal(Models.part(two, 1, 'wall')?.name, 'wall');
  assert.equal(Models.part(two, 1, '')?.name, 'roof');
  assert.equal(Models.part(two, 0, 'renamed since')?.name, 'wall');
  assert.equal(Models.part(two, 9, 'none'), null);
});

test('textures whose image is missing are left out, those that an extension names are kept where they are there', () => {
  const plain = (index: number) => ({ pbrMetallicRoughness: { baseColorTexture: { index } }, normalTexture: { index } });
  const materials = [plain(0), plain(1), plain(2), plain(3)];
  const webp = (source: number) => ({ extensions: { EXT_texture_webp: { source } } });
  drop_textures(
    { materials, images: [{ uri: 'a.png' }, { uri: 'textures%2Fb.webp' }], textures: [{ source: 0 }, webp(1), webp(0), {}] },
    ['textures%2Fb.webp'],
  );
  const grey = { pbrMetallicRoughness: { baseColorFactor: [0.34, 0.35, 0.36, 1] } };
  assert.deepEqual(materials, [plain(0), grey, plain(2), grey]);
});
