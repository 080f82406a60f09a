// The nodes of a glTF file as new entities, like those that `muster import` makes: a tree with
// Transforms, and a MeshReference and the bounding box for each mesh.
import type { Entity, StructValue } from 'muster-client';

import { copied_max } from '../model/copies.js';
import type { Model } from '../model/model.js';
import { counted } from '../model/numbers.js';
import { placeholder } from '../model/operations.js';
import type { Made } from '../model/operations.js';
import { default_value } from '../model/values.js';
import { assimp_order, part_names } from './gltf.js';
import type { GltfJson, GltfNode } from './gltf.js';

type Vector = [number, number, number];
interface Place {
  position: Vector;
  rotation: [number, number, number, number];
  scale: Vector;
}

export interface ModelTree {
  made: Omit<Made, 'before'>[];
  root: Entity;
}

/**
 * Returns entities for the model at `path`, below `parent`. The root has the model's place; if the
 * model is a single node, that is the root. Throws an Error if there are too many.
 */
export function model_tree(model: Model, json: GltfJson, path: string, parent: Entity, name: string): ModelTree {
  const made: ModelTree['made'] = [];
  const meshes = new Map<number, number>(); // the index of each mesh's first part
  let parts = 0;
  for (const mesh of assimp_order(json)) {
    meshes.set(mesh, parts);
    parts += part_names(json, mesh).length;
  }
  const component = (of: string, change: StructValue): StructValue => ({
    ...default_value(model.types.peek().get(of)!),
    ...change,
  });
  const add = (above: Entity, own: string, { position, rotation, scale }: Place): Made['components'] & object => {
    if (made.length === copied_max)
      throw new Error(`The model has more than ${counted(copied_max)} nodes, which is the limit.`);
    const components: Record<string, StructValue> = {
      'scene.Transform': component('scene.Transform', {
        position: named(position),
        rotation: { ...named(rotation), w: rotation[3] },
        scale: named(scale),
      }),
    };
    made.push({ entity: placeholder(), parent: above, name: own, components });
    return components;
  };
  const show = (components: Record<string, StructValue>, mesh: number, part: number): void => {
    components['scene.MeshReference'] = component('scene.MeshReference', {
      asset: path,
      mesh: part_names(json, mesh)[part],
      index: meshes.get(mesh)! + part,
    });
    const box = bounds(json, mesh, part);
    if (box && model.knows('scene.Shape')) components['scene.Shape'] = component('scene.Shape', box);
  };
  const seen = new Set<number>();
  const visit = (index: number, above: Entity, own?: string): void => {
    const node = json.nodes?.[index];
    if (!node || seen.has(index)) return;
    seen.add(index);
    const mesh = node.mesh !== undefined && json.meshes?.[node.mesh] ? node.mesh : undefined;
    const title = own ?? node.name ?? (mesh === undefined ? `node-${index}` : part_names(json, mesh)[0]);
    const components = add(above, shown(title), place_of(node));
    const { entity } = made.at(-1)!;
    if (mesh !== undefined) {
      const names = part_names(json, mesh);
      if (names.length === 1) show(components, mesh, 0);
      else names.forEach((part, i) => show(add(entity, shown(part), unmoved), mesh, i));
    }
    for (const child of node.children ?? []) visit(child, entity);
  };
  const roots = json.scenes?.[json.scene ?? 0]?.nodes ?? [];
  if (roots.length === 1) visit(roots[0], parent, name);
  else {
    add(parent, name, unmoved);
    const { entity } = made[0];
    for (const root of roots) visit(root, entity);
  }
  if (made.length === 0) add(parent, name, unmoved);
  return { made, root: made[0].entity };
}

const unmoved: Place = { position: [0, 0, 0], rotation: [0, 0, 0, 1], scale: [1, 1, 1] };
const name_bytes_max = 200;

/** Returns a name that entities may have. */
function shown(name: string): string {
  const bytes = new TextEncoder().encode(name);
  return bytes.length <= name_bytes_max ? name : new TextDecoder().decode(bytes.slice(0, name_bytes_max)).replace(/\ufffd$/, '');
}
function named([x, y, z]: readonly number[]): { x: number; y: number; z: number } {
  return { x, y, z };
}

function place_of(node: GltfNode): Place {
  if (node.matrix?.length === 16) return decomposed(node.matrix);
  return {
    position: (node.translation as Vector | undefined) ?? unmoved.position,
    rotation: (node.rotation as Place['rotation'] | undefined) ?? unmoved.rotation,
    scale: (node.scale as Vector | undefined) ?? unmoved.scale,
  };
}

/** Splits a matrix, given by columns, into its parts. Shear is lost. */
export function decomposed(m: readonly number[]): Place {
  const columns = [0, 4, 8].map((at) => m.slice(at, at + 3));
  const scale = columns.map((column) => Math.hypot(...column)) as Vector;
  const [a, b, c] = columns;
  const turn =
    a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) + c[0] * (a[1] * b[2] - a[2] * b[1]);
  if (turn < 0) scale[0] = -scale[0];
  const [x, y, z] = columns.map((column, i) => column.map((each) => (scale[i] === 0 ? 0 : each / scale[i])));
  const trace = x[0] + y[1] + z[2];
  let rotation: Place['rotation'];
  if (trace > 0) {
    const s = 2 * Math.sqrt(trace + 1);
    rotation = [(y[2] - z[1]) / s, (z[0] - x[2]) / s, (x[1] - y[0]) / s, s / 4];
  } else if (x[0] > y[1] && x[0] > z[2]) {
    const s = 2 * Math.sqrt(1 + x[0] - y[1] - z[2]);
    rotation = [s / 4, (y[0] + x[1]) / s, (z[0] + x[2]) / s, (y[2] - z[1]) / s];
  } else if (y[1] > z[2]) {
    const s = 2 * Math.sqrt(1 + y[1] - x[0] - z[2]);
    rotation = [(y[0] + x[1]) / s, s / 4, (z[1] + y[2]) / s, (z[0] - x[2]) / s];
  } else {
    const s = 2 * Math.sqrt(1 + z[2] - x[0] - y[1]);
    rotation = [(z[0] + x[2]) / s, (z[1] + y[2]) / s, s / 4, (x[1] - y[0]) / s];
  }
  const is_turn = rotation.every(Number.isFinite);
  return { position: m.slice(12, 15) as Vector, rotation: is_turn ? rotation : unmoved.rotation, scale };
}

/** Returns the bounding box of a mesh's part, in the form of scene.Shape. */
function bounds(json: GltfJson, mesh: number, part: number): StructValue | null {
  const accessor = json.accessors?.[json.meshes![mesh].primitives?.[part]?.attributes?.POSITION ?? -1];
  const { min, max } = accessor ?? {};
  if (min?.length !== 3 || max?.length !== 3) return null;
  return {
    center: named(min.map((each, i) => (each + max[i]) / 2)),
    size: named(min.map((each, i) => max[i] - each)),
  };
}
