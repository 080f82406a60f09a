// Asks Khronos' validator about the glTF samples: what the importer is held to is glTF, but for the files that are wrong on purpose.
import assert from 'node:assert';
import { readFile, readdir } from 'node:fs/promises';
import validator from 'gltf-validator';

// A byte order mark may be passed over; positions without min and max are read; a light without a kind is left out.
const wrong = { 'marked.gltf': 'INVALID_JSON', 'no_bounds.gltf': 'MESH_PRIMITIVE_POSITION_ACCESSOR_WITHOUT_BOUNDS', 'odd_lights.gltf': 'UNDEFINED_PROPERTY' };

const folder = process.argv[2];
const names = (await readdir(folder)).filter((name) => /\.(gltf|glb)$/.test(name));
assert(names.length >= 20);
let failed = 0;
for (const name of names) {
  const bytes = new Uint8Array(await readFile(`${folder}/${name}`));
  const { messages } = (await validator.validateBytes(bytes, { uri: name })).issues;
  const errors = messages.filter(({ severity }) => severity === 0);
  const good = name in wrong ? errors.length === 1 && errors[0].code === wrong[name] : errors.length === 0;
  if (good) continue;
  ++failed;
  console.error(name, errors.map(({ code, pointer }) => `${code} ${pointer ?? ''}`).join('; ') || 'is valid');
}
console.log(`${names.length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
