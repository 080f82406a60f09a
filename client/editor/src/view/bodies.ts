// The bodies of entities: a model's mesh, a simple shape, or a striped box for a missing model.
import { DoubleSide } from 'three';
import type { BufferGeometry, InstancedMesh, Material, Object3D } from 'three';
import { body_material, shadow_material, sign_material, surface_material } from './materials.js';
import { Models } from './models.js';
import type { Model, ModelPart } from './models.js';
import { Pool } from './pool.js';
import { shape_geometry, shape_kinds } from './shapes.js';
import type { ShapeKind } from './shapes.js';
import type { Vec3 } from './world.js';

interface Shape {
  center: Vec3;
  size: Vec3;
  kind: number;
}
interface Rgba {
  r: number;
  g: number;
  b: number;
  a: number;
}

/** A scene.Material. */
export interface Surface {
  base_color: Rgba;
  emission: Omit<Rgba, 'a'>;
  emission_strength: number;
  metal: number;
  roughness: number;
}

/** The components that determine an entity's look. */
export interface Looks {
  shape: Shape | null;
  color: Rgba | null;
  surface: Surface | null;
  mesh: { path: string; name: string; index: number } | null;
}

interface Body {
  pool: Pool;
  row: number;
  /** In the entity's local space. */
  center: Vec3;
  sx: number;
  sy: number;
  sz: number;
  stretched: number;
  color: Rgba | null;
  surface: Surface | null;
  look: Look;
}

interface Look {
  key: string;
  geometry: BufferGeometry;
  material: Material;
  has_color: boolean;
  has_extra: boolean;
  has_surface: boolean;
}

const plain: Rgba = { r: 0.42, g: 0.44, b: 0.47, a: 1 };
const middle: Vec3 = { x: 0, y: 0, z: 0 };
const thinnest = 1e-4;

export class Bodies {
  readonly pools: Pool[] = [];
  private readonly by_key = new Map<string, Pool>();
  private readonly bodies: (Body | undefined)[] = [];
  private readonly looks = new Map<string, Look>();
  private readonly parts = new Map<ModelPart, number>();
  /** Slots that wait for a model, by its path. */
  private readonly waiting = new Map<string, Map<number, Looks>>();

  /** `changed` is called when a model has loaded and bodies have changed. */
  constructor(
    private readonly models: Models,
    private readonly parent: Object3D,
    private readonly changed: () => void,
  ) {}

  get(slot: number): Body | undefined {
    return this.bodies[slot];
  }

  /** Draws a slot with this look at its current place; null draws nothing. */
  set(slot: number, looks: Looks, world: Float32Array): void {
    this.forget_model(slot);
    let model: Model | null = null;
    if (looks.mesh) {
      model = this.models.get(looks.mesh.path);
      if (model.state === 'loading' || model.state === 'failed') {
        let slots = this.waiting.get(model.path);
        if (!slots) this.waiting.set(model.path, (slots = new Map()));
        slots.set(slot, looks);
      }
    }
    const part = model?.state === 'ready' ? Models.part(model, looks.mesh!.index, looks.mesh!.name) : null;
    const { surface } = looks;
    const color = surface?.base_color ?? null;
    if (part) this.show(slot, this.part_look(part, surface), middle, 1, 1, 1, 0, color, surface, world);
    else if (model && model.state !== 'foreign') {
      const { center, size } = looks.shape ?? { center: middle, size: { x: 1, y: 1, z: 1 } };
      this.show(slot, this.sign_look(model.state !== 'loading'), center, size.x, size.y, size.z, 0, null, null, world);
    } else if (looks.shape) this.show_shape(slot, looks.shape, color ?? looks.color ?? plain, surface, world);
    else this.remove(slot);
  }

  /** Redraws the slots that wait for a model after it has loaded or failed. */
  model_changed(model: Model, world: () => Float32Array): void {
    const slots = this.waiting.get(model.path);
    this.waiting.delete(model.path);
    for (const [slot, looks] of slots ?? []) this.set(slot, looks, world());
    this.changed();
  }

  /** Call when the slot's matrix has changed. */
  move(slot: number, world: Float32Array): void {
    const body = this.bodies[slot];
    if (!body) return;
    if (is_mirrored(world, slot * 16) !== body.pool.is_mirrored) this.enter(slot, body, world);
    else this.write(slot, body, world);
  }

  /** Stops drawing the slot. */
  remove(slot: number): void {
    this.forget_model(slot);
    const body = this.bodies[slot];
    if (!body) return;
    this.bodies[slot] = undefined;
    this.leave(body);
  }

  /**
   * Returns the models that cannot be drawn, with the slots that are drawn as striped boxes
   * instead.
   */
  *failed(): Iterable<{ path: string; why: string; slots: Iterable<number> }> {
    for (const [path, slots] of this.waiting) {
      const model = this.models.get(path);
      if (model.state === 'failed' && slots.size > 0) yield { path, why: model.why, slots: slots.keys() };
    }
  }

  /** Returns the reason why a slot is drawn as a striped box; empty if it is not. */
  sign(slot: number): string {
    for (const [path, slots] of this.waiting)
      if (slots.has(slot)) {
        const model = this.models.get(path);
        return model.state === 'failed' ? `${path}: ${model.why}` : `loading ${path}`;
      }
    return '';
  }

  flush(): void {
    for (const pool of this.pools) pool.flush();
  }

  dispose(): void {
    for (const pool of this.pools) pool.dispose();
  }

  private show_shape(
    slot: number,
    shape: Shape,
    color: Rgba,
    surface: Surface | null,
    world: Float32Array,
  ): void {
    const kind: ShapeKind = shape_kinds[shape.kind] ?? 'box';
    const { x, y, z } = shape.size;
    const look = this.shape_look(kind, color.a < 1, surface !== null);
    if (kind === 'capsule') {
      const stretched = Math.abs(x) > thinnest ? Math.max((Math.abs(y) / Math.abs(x) - 1) / 2, 0) : 0;
      this.show(slot, look, shape.center, x, x, x, stretched, color, surface, world);
    } else if (kind === 'cylinder' || kind === 'cone')
      this.show(slot, look, shape.center, x, y, x, 0, color, surface, world);
    else this.show(slot, look, shape.center, x, y, z, 0, color, surface, world);
  }

  private show(
    slot: number,
    look: Look,
    center: Vec3,
    sx: number,
    sy: number,
    sz: number,
    stretched: number,
    color: Rgba | null,
    surface: Surface | null,
    world: Float32Array,
  ): void {
    const before = this.bodies[slot];
    const body: Body = {
      pool: before?.pool ?? (null as unknown as Pool),
      row: before?.row ?? -1,
      center,
      sx: thick(sx),
      sy: thick(sy),
      sz: thick(sz),
      stretched,
      color,
      surface,
      look,
    };
    if (before && before.look === look) {
      this.bodies[slot] = body;
      this.move(slot, world);
      paint(body);
    } else {
      if (before) this.leave(before);
      body.row = -1;
      this.bodies[slot] = body;
      this.enter(slot, body, world);
    }
  }

  private enter(slot: number, body: Body, world: Float32Array): void {
    if (body.row >= 0) this.leave(body);
    body.pool = this.pool(body.look, is_mirrored(world, slot * 16));
    body.row = body.pool.add(slot);
    this.write(slot, body, world);
    paint(body);
  }

  private leave(body: Body): void {
    const moved = body.pool.remove(body.row);
    if (moved >= 0) this.bodies[moved]!.row = body.row;
  }

  private write(slot: number, body: Body, world: Float32Array): void {
    body.pool.place(body.row, world, slot * 16, body.center, body.sx, body.sy, body.sz, body.stretched);
  }

  private forget_model(slot: number): void {
    if (this.waiting.size > 0) for (const slots of this.waiting.values()) slots.delete(slot);
  }

  private shape_look(kind: ShapeKind, clear: boolean, surface: boolean): Look {
    const stretched = kind === 'capsule';
    const key = kind + (surface ? ' surface' : '') + (clear ? ' clear' : '');
    return this.look(key, { has_color: true, has_extra: stretched || clear, has_surface: surface }, () => [
      shape_geometry(kind),
      surface ? surface_material(stretched, clear) : body_material(stretched, clear),
    ]);
  }

  private sign_look(failed: boolean): Look {
    return this.look(failed ? 'failed' : 'loading', {}, () => [shape_geometry('box'), sign_material(failed)]);
  }

  private part_look(part: ModelPart, surface: Surface | null): Look {
    let number = this.parts.get(part);
    if (number === undefined) this.parts.set(part, (number = this.parts.size));
    if (!surface) return this.look(`part ${number}`, {}, () => [part.geometry, part.material]);
    const clear = surface.base_color.a < 1;
    const has = { has_color: true, has_extra: clear, has_surface: true };
    return this.look(`part ${number} surface${clear ? ' clear' : ''}`, has, () => [
      part.geometry,
      surface_material(false, clear, part.material.side),
    ]);
  }

  private look(
    key: string,
    { has_color = false, has_extra = false, has_surface = false },
    make: () => [BufferGeometry, Material],
  ): Look {
    let look = this.looks.get(key);
    if (!look) {
      const [geometry, material] = make();
      this.looks.set(key, (look = { key, geometry, material, has_color, has_extra, has_surface }));
    }
    return look;
  }

  private pool(look: Look, mirrored: boolean): Pool {
    const key = mirrored ? look.key + ' mirrored' : look.key;
    let pool = this.by_key.get(key);
    if (!pool) {
      pool = new Pool(
        {
          geometry: look.geometry,
          material: look.material,
          is_mirrored: mirrored,
          has_color: look.has_color,
          has_extra: look.has_extra,
          has_surface: look.has_surface,
          both_sides: look.material.side === DoubleSide,
        },
        (mesh: InstancedMesh) => {
          const shadow = shadow_material(look.key.startsWith('capsule'));
          if (shadow) mesh.customDepthMaterial = shadow;
          if (look.material.transparent) mesh.castShadow = false;
          this.parent.add(mesh);
        },
        (mesh: InstancedMesh) => this.parent.remove(mesh),
      );
      this.by_key.set(key, pool);
      this.pools.push(pool);
    }
    return pool;
  }
}

function paint({ pool, row, color, surface }: Body): void {
  if (color) pool.color(row, color.r, color.g, color.b, color.a);
  if (!surface) return;
  const { emission, emission_strength: strength, metal, roughness } = surface;
  pool.surface_of(row, metal, roughness, [emission.r * strength, emission.g * strength, emission.b * strength]);
}

/** Returns a size large enough to be drawn. */
function thick(size: number): number {
  return Math.abs(size) < thinnest ? thinnest : size;
}

function is_mirrored(m: Float32Array, at: number): boolean {
  return (
    m[at] * (m[at + 5] * m[at + 10] - m[at + 6] * m[at + 9]) -
      m[at + 4] * (m[at + 1] * m[at + 10] - m[at + 2] * m[at + 9]) +
      m[at + 8] * (m[at + 1] * m[at + 6] - m[at + 2] * m[at + 5]) <
    0
  );
}
