// Models from the world's folder. Each file is fetched and parsed once, and shared by all entities
// that show one of its meshes.
import { BoxGeometry, LoadingManager, Mesh } from 'three';
import type { BufferGeometry, Material, Object3D } from 'three';
import { GLTFLoader } from 'three/examples/jsm/loaders/GLTFLoader.js';
import type { GLTF, GLTFParser } from 'three/examples/jsm/loaders/GLTFLoader.js';
import { assimp_order, files_of, glb_magic, is_gltf, json_of, path_beside } from '../assets/gltf.js';
import type { GltfJson, GltfTexture } from '../assets/gltf.js';
import type { ViewWorld } from './world.js';

const json_chunk = 0x4e4f534a;

export interface ModelPart {
  /** The name that Assimp gives the part. */
  name: string;
  geometry: BufferGeometry;
  material: Material;
}

export interface Model {
  path: string;
  state: 'loading' | 'ready' | 'failed' | 'foreign';
  /** In Assimp's order. */
  parts: ModelPart[];
  /** The reason why loading failed. */
  why: string;
  /** The paths of the file and of the files that it refers to. */
  files: string[];
  /** All of the model in its own place; null if it is not ready. */
  scene: Object3D | null;
}

export class Models {
  private readonly known = new Map<string, Model>();

  /**
   * `changed` is called when a model has loaded or failed. `is_again` is true if it was drawn
   * before.
   */
  constructor(
    private readonly world: ViewWorld,
    private readonly changed: (model: Model, is_again: boolean) => void,
  ) {}

  get(path: string): Model {
    let model = this.known.get(path);
    if (!model) {
      model = { path, state: 'loading', parts: [], why: '', files: [path], scene: null };
      const made = model;
      this.known.set(path, model);
      if (is_gltf(path)) void this.load(made).then(() => this.changed(made, false));
      else {
        model.state = 'foreign';
        this.world.log(
          'problem',
          `${path} is shown as boxes: the viewport draws only glTF (.gltf, .glb).`,
        );
      }
    }
    return model;
  }

  /** Reads the models again that consist of these files. They stay in the picture meanwhile. */
  files_changed(paths: ReadonlySet<string>): void {
    for (const [path, before] of this.known) {
      if (!is_gltf(path) || !before.files.some((file) => paths.has(file))) continue;
      const model: Model = { path, state: 'loading', parts: [], why: '', files: [path], scene: null };
      const turn = ++this.turn;
      this.turns.set(path, turn);
      void this.load(model).then(() => {
        if (this.turns.get(path) !== turn) return;
        this.turns.delete(path);
        this.known.set(path, model);
        this.changed(model, true);
      });
    }
  }
  /** Returns true if a model is being read again. */
  is_old(path: string): boolean {
    return this.turns.has(path);
  }
  private turn = 0;
  /** The newest attempt to read a model again, by its path. */
  private readonly turns = new Map<string, number>();

  /**
   * Returns the mesh that a MeshReference names: the mesh at its index if that has its name,
   * otherwise the mesh with its name.
   */
  static part(model: Model, index: number, name: string): ModelPart | null {
    const at = model.parts[index];
    if (at && (at.name === name || name === '')) return at;
    return model.parts.find((part) => part.name === name) ?? at ?? null;
  }

  private async load(model: Model): Promise<void> {
    const blobs = new Map<string, string>();
    try {
      const bytes = await this.world.fetch_file(model.path);
      const json = json_of(bytes);
      const missing = new Map<string, string>();
      const wanted = [...(json.buffers ?? []), ...(json.images ?? [])].flatMap(({ uri }) => (uri ? [uri] : []));
      model.files.push(...files_of(json).map((uri) => path_beside(model.path, uri)));
      await Promise.all(
        [...new Set(wanted)].map(async (uri) => {
          await this.part_file(model.path, uri).then(
            (blob) => blobs.set(uri, URL.createObjectURL(blob)),
            (error: Error) => missing.set(uri, error.message),
          );
          if (!uri.startsWith('data:')) this.world.was_read(path_beside(model.path, uri), missing.get(uri) ?? '');
        }),
      );
      // A model can be shown without its textures, but not without its buffers.
      const lost = (json.buffers ?? []).find(({ uri }) => uri && missing.has(uri))?.uri;
      if (lost) throw new Error(`its file ${readable(lost)} cannot be read: ${missing.get(lost)}`);
      const manager = new LoadingManager();
      manager.setURLModifier((url) => blobs.get(url) ?? url);
      drop_textures(json, [...missing.keys()]);
      const gltf = await new GLTFLoader(manager).parseAsync(with_json(bytes, json), '');
      model.parts = await parts_of(gltf);
      model.scene = gltf.scene;
      model.state = 'ready';
      this.world.was_read(model.path, '');
      if (missing.size > 0) {
        const names = list([...missing.keys()].map(readable));
        this.world.log('problem', `${model.path} is drawn without ${names}: ${[...missing.values()][0]}`);
      }
    } catch (error) {
      model.state = 'failed';
      model.why = (error instanceof Error ? error.message : String(error)).replace(/^THREE\.GLTFLoader:\s*/, '');
      this.world.was_read(model.path, model.why);
      this.world.log('problem', `${model.path} cannot be drawn: ${model.why}`);
    } finally {
      for (const url of blobs.values()) URL.revokeObjectURL(url);
    }
  }

  /** Fetches a file that a model refers to, next to it or embedded. Does not access other sites. */
  private async part_file(model: string, uri: string): Promise<Blob> {
    const within = /^data:([^;,]*)[^,]*;base64,(.*)$/s.exec(uri);
    if (within) return new Blob([Uint8Array.from(atob(within[2]), (each) => each.charCodeAt(0))], { type: within[1] });
    const is_elsewhere = /^([a-z][a-z0-9+.-]*:|[/])/i.test(uri);
    if (is_elsewhere) throw new Error('the page does not load files from other servers');
    return new Blob([
      await this.world.fetch_file(model.slice(0, model.lastIndexOf('/') + 1) + decodeURIComponent(uri)),
    ]);
  }
}

/** Returns the file with its JSON replaced. */
function with_json(bytes: ArrayBuffer, json: GltfJson): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(json));
  const view = new DataView(bytes);
  if (!(bytes.byteLength >= 20 && view.getUint32(0, true) === glb_magic)) return text.buffer as ArrayBuffer;
  const rest = new Uint8Array(bytes, 20 + view.getUint32(12, true));
  const padded = (text.length + 3) & ~3;
  const made = new Uint8Array(20 + padded + rest.length);
  const out = new DataView(made.buffer);
  made.fill(0x20, 20, 20 + padded);
  out.setUint32(0, glb_magic, true);
  out.setUint32(4, 2, true);
  out.setUint32(8, made.length, true);
  out.setUint32(12, padded, true);
  out.setUint32(16, json_chunk, true);
  made.set(text, 20);
  made.set(rest, 20 + padded);
  return made.buffer;
}

/** Returns a file name for display. */
function readable(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

/** Returns the index of a texture's image, including images named by an extension. */
function image_of(texture: GltfTexture): number | undefined {
  return texture.source ?? Object.values(texture.extensions ?? {}).find((each) => each?.source !== undefined)?.source;
}

/**
 * Removes textures with missing images from the materials. Makes their surfaces gray, because white
 * would be too bright.
 */
export function drop_textures(json: GltfJson, missing: readonly string[]): void {
  const is_missing = (index: number): boolean => {
    const texture = json.textures?.[index];
    const image = texture && image_of(texture);
    const uri = image === undefined ? undefined : json.images?.[image]?.uri;
    return image === undefined || (uri !== undefined && missing.includes(uri));
  };
  const without = (of: unknown): void => {
    if (typeof of !== 'object' || of === null) return;
    for (const [name, value] of Object.entries(of as Record<string, unknown>)) {
      const index = (value as { index?: number } | null)?.index;
      if (/Texture$/.test(name) && index !== undefined && is_missing(index)) {
        delete (of as Record<string, unknown>)[name];
        if (name === 'baseColorTexture') Object.assign(of, { baseColorFactor: [0.34, 0.35, 0.36, 1] });
      } else without(value);
    }
  };
  without(json.materials);
}

async function parts_of(gltf: GLTF): Promise<ModelPart[]> {
  const { parser } = gltf;
  const json = parser.json as GltfJson;
  const parts: ModelPart[] = [];
  for (const index of assimp_order(json)) {
    const object = await mesh_of(parser, index);
    const primitives = object instanceof Mesh ? [object] : (object.children as Mesh[]);
    const base = json.meshes![index].name || `meshes[${index}]`;
    primitives.forEach((primitive, i) => {
      parts.push({
        name: primitives.length > 1 ? `${base}-${i}` : base,
        // Lines and points count as meshes but are not drawn.
        geometry: (primitive as { isMesh?: boolean }).isMesh ? primitive.geometry : new BoxGeometry(0, 0, 0),
        material: primitive.material as Material,
      });
    });
  }
  return parts;
}

function mesh_of(parser: GLTFParser, index: number): Promise<Object3D> {
  return parser.getDependency('mesh', index) as Promise<Object3D>;
}

function list(names: string[]): string {
  const shown = names.slice(0, 3).join(', ');
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}
