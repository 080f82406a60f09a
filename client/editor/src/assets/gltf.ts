// The JSON of glTF files, as far as the page reads it itself.

export interface GltfTexture {
  source?: number;
  extensions?: Record<string, { source?: number } | undefined>;
}
export interface GltfNode {
  name?: string;
  children?: number[];
  mesh?: number;
  translation?: number[];
  rotation?: number[];
  scale?: number[];
  matrix?: number[];
}
export interface GltfJson {
  scene?: number;
  scenes?: { nodes?: number[] }[];
  nodes?: GltfNode[];
  meshes?: { name?: string; primitives?: { attributes?: Record<string, number> }[] }[];
  accessors?: { min?: number[]; max?: number[] }[];
  buffers?: { uri?: string }[];
  images?: { uri?: string }[];
  textures?: GltfTexture[];
  materials?: unknown[];
}

export const glb_magic = 0x46546c67;

/** Returns true if the page can draw the file. */
export function is_gltf(path: string): boolean {
  return /\.(gltf|glb)$/i.test(path);
}

/** Parses the JSON of a .gltf, or of the first chunk of a .glb. */
export function json_of(bytes: ArrayBuffer): GltfJson {
  const view = new DataView(bytes);
  const is_glb = bytes.byteLength >= 20 && view.getUint32(0, true) === glb_magic;
  const text = is_glb ? new Uint8Array(bytes, 20, view.getUint32(12, true)) : new Uint8Array(bytes);
  return JSON.parse(new TextDecoder().decode(text)) as GltfJson;
}

/** Returns the files that a model refers to, as written in it, without embedded ones. */
export function files_of(json: GltfJson): string[] {
  const named = [...(json.buffers ?? []), ...(json.images ?? [])].flatMap(({ uri }) => (uri ? [uri] : []));
  return [...new Set(named)].filter((uri) => !uri.startsWith('data:'));
}

/** Returns the path of a file that a model refers to. */
export function path_beside(model: string, uri: string): string {
  let name = uri;
  try {
    name = decodeURIComponent(uri);
  } catch {
    // not encoded
  }
  const parts = model.split('/').slice(0, -1);
  for (const part of name.split('/')) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return parts.join('/');
}

/**
 * Returns the meshes in the order in which Assimp reads them: by scene, then by node, with a node's
 * children before its mesh. Meshes without a node come last here; Assimp leaves them out.
 */
export function assimp_order(json: GltfJson): number[] {
  const order = new Set<number>();
  const seen = new Set<number>();
  const visit = (index: number): void => {
    if (seen.has(index)) return;
    seen.add(index);
    const node = json.nodes?.[index];
    for (const child of node?.children ?? []) visit(child);
    if (node?.mesh !== undefined) order.add(node.mesh);
  };
  for (const node of json.scenes?.[json.scene ?? 0]?.nodes ?? []) visit(node);
  (json.meshes ?? []).forEach((_, index) => order.add(index));
  return [...order].filter((index) => json.meshes?.[index]);
}

/** Returns the names of a mesh's parts, one for each of its primitives. */
export function part_names(json: GltfJson, mesh: number): string[] {
  const { name, primitives = [] } = json.meshes![mesh];
  const base = name || `meshes[${mesh}]`;
  return primitives.length > 1 ? primitives.map((_, i) => `${base}-${i}`) : [base];
}
