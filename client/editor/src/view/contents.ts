// The viewport's copy of the world: a slot for each entity, with its transform and body.
import { Box3, Matrix4, Sphere, Vector3 } from 'three';
import type { Object3D, Plane } from 'three';
import { Bodies } from './bodies.js';
import type { Looks } from './bodies.js';
import { Markers } from './markers.js';
import type { MarkerKind } from './markers.js';
import { Models } from './models.js';
import { SharedValues } from './shared_values.js';
import { TransformTree } from './transform_tree.js';
import type { Entity, Quat, ReplicaChanges, ReplicaColumn, ReplicaEntity, Vec3, ViewWorld } from './world.js';

export interface TransformValue {
  position: Vec3;
  rotation: Quat;
  scale: Vec3;
}

const transform = 'scene.Transform';
const looks_of = new Set(['scene.Shape', 'scene.Color', 'scene.MeshReference', 'scene.Light', 'scene.Camera', 'scene.Material']);

export class Contents {
  readonly tree = new TransformTree((slot, to, at) => this.read(slot, to, at));
  readonly bodies: Bodies;
  readonly models: Models;
  readonly markers: Markers;
  /** By slot. */
  readonly records: (ReplicaEntity | undefined)[] = [];
  /** By index of the entity: its slot plus one, or 0 if it has none. */
  private slots = new Int32Array(1024);
  /** The column of all Transforms if they are packed, and its bytes as numbers. */
  private column: ReplicaColumn | null = null;
  private readonly shapes = new SharedValues<NonNullable<Looks['shape']>>();
  private readonly colors = new SharedValues<{ value: Looks['color'] }>();
  /** By slot: 1 if this call of take() must update its look. */
  private is_wanted = new Uint8Array(1024);
  private numbers: Float32Array = new Float32Array();
  private count = 0;
  /** True if a Transform consists of ten floats in the order of TransformTree; null if unknown. */
  private is_flat: boolean | null = null;
  /** Transforms of dragged entities, shown in place of the world's. */
  private readonly held = new Map<number, TransformValue>();

  /**
   * `changed` is called when something must be redrawn without a request, such as a loaded model.
   */
  constructor(
    private readonly world: ViewWorld,
    parent: Object3D,
    changed: () => void,
  ) {
    this.models = new Models(world, (model, is_again) => {
      this.settle();
      if (is_again) this.look_again(model.path);
      this.bodies.model_changed(model, () => this.tree.world);
    });
    world.on_files((paths) => this.models.files_changed(paths));
    this.bodies = new Bodies(this.models, parent, changed);
    this.markers = new Markers(parent);
  }

  get size(): number {
    return this.count;
  }

  slot(entity: Entity): number | undefined {
    const slot = entity.index < this.slots.length ? this.slots[entity.index] - 1 : -1;
    return slot >= 0 && this.records[slot]!.entity.generation === entity.generation ? slot : undefined;
  }

  /** Reads everything again. */
  reset(): void {
    this.records.forEach((record, slot) => record && this.drop(slot));
    this.is_flat = null;
    const all = [...this.world.entities()];
    for (const record of all) this.add(record);
    for (const record of all) this.hang(record);
    const column = this.world.column(transform);
    if (column) this.place_all(column, column.indices());
    this.settle();
    for (const record of all) this.look(record);
  }

  take(changes: ReplicaChanges): void {
    for (const gone of [changes.destroyed, changes.left])
      for (const record of gone) {
        const slot = this.slot(record.entity);
        if (slot !== undefined) this.drop(slot);
      }
    this.tree.reserve(changes.created.length);
    for (const record of changes.created) this.add(record);
    for (const record of changes.created) this.hang(record);
    for (const { entity } of changes.moved) {
      this.hang(entity);
      // The new parent may be hidden, or the old one.
      const slot = this.world.hides_some() ? this.slot(entity.entity) : undefined;
      if (slot !== undefined) this.tree.below(slot, (each) => this.look(this.records[each]!));
    }
    // Hundreds of thousands of entities may move at once, so create no objects for them, and
    // compute their world matrices later.
    if (this.is_wanted.length < this.tree.end) this.is_wanted = new Uint8Array(2 * this.tree.end);
    const wanted: number[] = [];
    const want = (index: number): void => {
      const slot = this.slots[index] - 1;
      if (!(slot >= 0) || this.is_wanted[slot]) return;
      this.is_wanted[slot] = 1;
      wanted.push(slot);
    };
    for (const { entity, components } of changes.created)
      for (const name in components) {
        if (looks_of.has(name) || name === transform) want(entity.index);
      }
    for (const { entity, component, before } of changes.values) {
      if (component === transform) {
        this.place(entity);
        // The mark of an entity depends on whether it has a Transform.
        if (before === undefined) want(entity.entity.index);
      } else if (looks_of.has(component)) want(entity.entity.index);
    }
    for (const { entity, component } of changes.removed) {
      if (component === transform) this.place(entity);
      if (component === transform || looks_of.has(component)) want(entity.entity.index);
    }
    for (const { component, column, changed, added, removed } of changes.packed) {
      const is_place = component === transform;
      if (is_place) this.place_all(column, changed);
      else if (!looks_of.has(component)) continue;
      for (const indices of [is_place ? added : changed, removed]) for (const index of indices) want(index);
      if (!is_place) continue;
      for (const index of removed) if (this.slots[index] > 0) this.tree.unplace(this.slots[index] - 1);
    }
    for (const slot of wanted) {
      this.is_wanted[slot] = 0;
      this.look(this.records[slot]!);
    }
  }
  /** Updates the Transforms of many entities from the bytes in the copy of the world. */
  private place_all(column: ReplicaColumn, changed: Uint32Array): void {
    const { slots, tree, held } = this;
    this.is_flat ??= is_flat(column);
    this.column = column;
    for (let i = 0; i < changed.length; ++i) {
      const index = changed[i];
      const slot = index < slots.length ? slots[index] - 1 : -1;
      if (slot < 0 || (held.size > 0 && held.has(slot))) continue;
      if (this.is_flat) tree.moved(slot);
      else this.place(this.records[slot]!);
    }
  }
  /** Reads the current Transform of a slot, which may be newer than the last reported one. */
  private read(slot: number, to: Float32Array, at: number): void {
    const column = this.column!;
    const row = column.row(this.records[slot]!.entity.index);
    if (row < 0) return; // removed; the next change reports that
    if (this.numbers.buffer !== column.bytes.buffer) this.numbers = new Float32Array(column.bytes.buffer);
    const { numbers } = this;
    for (let i = 0, from = (row * column.row_bytes) / 4; i < 10; ++i) to[at + i] = numbers[from + i];
  }

  /** Returns an entity's Transform: the dragged one, or else the world's; null if it has none. */
  local(entity: Entity): TransformValue | null {
    const slot = this.slot(entity);
    if (slot === undefined) return null;
    return this.held.get(slot) ?? this.world.transform(entity) ?? null;
  }

  /** Shows an entity with this Transform until it is released. */
  hold(entity: Entity, value: TransformValue): void {
    const slot = this.slot(entity);
    if (slot === undefined) return;
    this.held.set(slot, value);
    this.tree.place(slot, value.position, value.rotation, value.scale);
  }
  /** Shows all dragged entities at the world's places again. */
  let_go(): void {
    for (const slot of [...this.held.keys()]) this.release(slot);
  }
  /**
   * Releases the entities that have the dragged Transform in the world too, so that nothing jumps
   * back until the world has confirmed it.
   */
  let_go_of_told(): void {
    if (this.held.size === 0) return;
    for (const [slot, value] of [...this.held]) {
      const record = this.records[slot];
      const told = record && this.world.transform(record.entity);
      if (!told || same_transform(told, value)) this.release(slot);
    }
  }
  /**
   * The visible region, and the margin around it that is updated as often; null means everything.
   */
  sight: { planes: readonly Plane[]; margin: number } | null = null;
  /** Based on the last computed place; the entity may have become visible since. */
  private readonly is_unseen = (slot: number): boolean => {
    const body = this.bodies.get(slot);
    if (!body || !this.sight) return false;
    const { spheres } = body.pool;
    const at = body.row * 4;
    const near = -(spheres[at + 3] + this.sight.margin);
    for (const { normal, constant } of this.sight.planes)
      if (normal.x * spheres[at] + normal.y * spheres[at + 1] + normal.z * spheres[at + 2] + constant < near) return true;
    return false;
  };

  /**
   * Computes moved entities, visible ones first, until `is_over` returns true; see
   * TransformTree.update. Returns true if anything moved.
   */
  settle(is_over?: () => boolean): boolean {
    this.has_moved = false;
    // Dragged entities come first.
    for (const slot of this.held.keys()) this.tree.settle(slot, this.moved);
    this.tree.update(this.moved, is_over, this.is_unseen);
    return this.has_moved;
  }
  get is_settled(): boolean {
    return this.tree.is_settled;
  }
  private has_moved = false;
  private readonly moved = (slot: number): void => {
    this.has_moved = true;
    this.bodies.move(slot, this.tree.world);
    this.markers.move(slot, this.tree.world);
  };

  matrix(slot: number, out = new Matrix4()): Matrix4 {
    return out.fromArray(this.tree.world, slot * 16);
  }
  /** Returns the matrix of the parent's space, or null for the world's space. */
  parent_matrix(slot: number): Matrix4 | null {
    const parent = this.tree.parent[slot];
    return parent < 0 ? null : this.matrix(parent);
  }
  place_of(slot: number, out = new Vector3()): Vector3 {
    return out.fromArray(this.tree.world, slot * 16 + 12);
  }

  /**
   * Returns a sphere around entities and their descendants, or null if none of them has a place.
   */
  bounds(entities: Iterable<Entity>): Sphere | null {
    return this.box(entities)?.getBoundingSphere(new Sphere()) ?? null;
  }
  /** Returns a box around entities and their descendants, or null if none of them has a place. */
  box(entities: Iterable<Entity>): Box3 | null {
    const box = new Box3();
    for (const entity of entities) {
      const slot = this.slot(entity);
      if (slot !== undefined) this.tree.below(slot, (each) => this.extend(box, each));
    }
    return box.isEmpty() ? null : box;
  }

  is_hidden(slot: number): boolean {
    const record = this.records[slot];
    return record !== undefined && this.world.is_hidden(record.entity);
  }
  is_locked(slot: number): boolean {
    const record = this.records[slot];
    return record !== undefined && this.world.is_locked(record.entity);
  }
  /** Call when other entities are hidden than before. */
  hidden_changed(): void {
    for (const record of this.records) {
      const slot = record && this.slot(record.entity);
      if (slot === undefined) continue;
      const is_drawn = this.bodies.get(slot) !== undefined || this.markers.has(slot);
      if (is_drawn ? this.is_hidden(slot) : !this.is_hidden(slot)) this.look(record!);
    }
  }
  bounds_of_all(): Sphere | null {
    const box = new Box3();
    this.records.forEach((record, slot) => record && this.extend(box, slot));
    return box.isEmpty() ? null : box.getBoundingSphere(new Sphere());
  }

  /**
   * Returns a rough sphere around everything, quickly, for the camera's depth range. Null if empty.
   */
  reach(): Sphere | null {
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    const extend = (of: Float32Array, at: number, radius: number): void => {
      for (let i = 0; i < 3; ++i) {
        if (of[at + i] - radius < low[i]) low[i] = of[at + i] - radius;
        if (of[at + i] + radius > high[i]) high[i] = of[at + i] + radius;
      }
    };
    for (const { spheres, count } of this.bodies.pools)
      for (let at = 0; at < count * 4; at += 4) extend(spheres, at, spheres[at + 3]);
    for (let row = 0; row < this.markers.count; ++row) extend(this.markers.positions, row * 3, 0);
    return low[0] <= high[0]
      ? new Box3(new Vector3(...low), new Vector3(...high)).getBoundingSphere(new Sphere())
      : null;
  }

  /**
   * Returns a sphere around most entities, so that a single distant entity or a huge ground does
   * not make everything else tiny. Null if empty.
   */
  bounds_of_most(): Sphere | null {
    const total = this.bodies.pools.reduce((sum, { count }) => sum + count, 0);
    if (total < 8) return this.bounds_of_all();
    // If there are many entities, a sample of a few thousand is enough.
    const step = Math.ceil(total / 4000);
    const places: { at: Vector3; radius: number }[] = [];
    for (const { spheres, count } of this.bodies.pools)
      for (let row = 0; row < count; row += step)
        places.push({ at: new Vector3().fromArray(spheres, row * 4), radius: spheres[row * 4 + 3] });
    const part = (numbers: number[], of = 0.5): number =>
      numbers.sort((a, b) => a - b)[Math.floor((numbers.length - 1) * of)];
    const axis = (i: number): number => part(places.map(({ at }) => at.getComponent(i)));
    const center = new Vector3(axis(0), axis(1), axis(2));
    const usual = part(places.map(({ radius }) => radius));
    const reach = part(
      places.map(({ at, radius }) => at.distanceTo(center) + Math.min(radius, usual * 4)),
      0.95,
    );
    return new Sphere(center, reach);
  }

  /** Returns the slots of entities and their descendants, each once, up to `most`. */
  slots_below(entities: Iterable<Entity>, most: number): ReadonlySet<number> {
    const found = new Set<number>();
    for (const entity of entities) {
      const slot = this.slot(entity);
      if (slot === undefined || found.has(slot)) continue;
      if (found.size >= most) found.add(slot);
      else this.tree.below(slot, (each) => found.add(each));
    }
    return found;
  }

  private extend(box: Box3, slot: number): void {
    const body = this.bodies.get(slot);
    if (body) {
      const s = body.pool.spheres;
      const at = body.row * 4;
      sphere.center.set(s[at], s[at + 1], s[at + 2]);
      sphere.radius = s[at + 3];
      // The body's own corners fit its visible extent better than its sphere.
      box.union(
        body_box(body.pool.matrices, body.row * 16, body.pool.is_mirrored, body.pool.kind.geometry.boundingBox, sphere),
      );
    } else if (this.markers.has(slot)) box.expandByPoint(this.place_of(slot, corner));
  }

  private add(record: ReplicaEntity): void {
    const { index } = record.entity;
    if (index >= this.slots.length) {
      const grown = new Int32Array(2 ** Math.ceil(Math.log2(index + 1)));
      grown.set(this.slots);
      this.slots = grown;
    }
    if (this.slots[index] > 0) this.drop(this.slots[index] - 1);
    const slot = this.tree.add();
    this.slots[index] = slot + 1;
    this.records[slot] = record;
    ++this.count;
    // Packed Transforms are updated together.
    if (!this.world.column(transform)) this.place(record);
  }

  private hang(record: ReplicaEntity): void {
    const slot = this.slot(record.entity);
    if (slot !== undefined) this.tree.hang(slot, this.slot(record.parent) ?? -1);
  }

  private place(record: ReplicaEntity): void {
    const slot = this.slot(record.entity);
    if (slot === undefined || (this.held.size > 0 && this.held.has(slot))) return;
    const value = this.world.transform(record.entity);
    if (value) this.tree.place(slot, value.position, value.rotation, value.scale);
    else this.tree.unplace(slot);
  }

  /** Updates the looks of everything that shows a mesh of a model. */
  private look_again(path: string): void {
    for (const record of this.records) {
      const asset = record?.components['scene.MeshReference']?.asset;
      if (asset !== undefined && this.world.text(asset as bigint) === path) this.look(record!);
    }
  }

  private look(record: ReplicaEntity): void {
    const slot = this.slot(record.entity);
    if (slot === undefined) return;
    if (this.world.hides_some() && this.world.is_hidden(record.entity)) {
      this.bodies.remove(slot);
      this.markers.remove(slot);
      return;
    }
    const reference = record.components['scene.MeshReference'];
    const looks: Looks = {
      shape: this.value_of(record, 'scene.Shape', this.shapes) ?? null,
      color: this.value_of(record, 'scene.Color', this.colors)?.value ?? null,
      surface: (record.components['scene.Material'] as unknown as Looks['surface']) ?? null,
      mesh: reference
        ? {
            path: this.world.text(reference.asset as bigint),
            name: this.world.text(reference.mesh as bigint),
            index: reference.index as number,
          }
        : null,
    };
    if (looks.mesh?.path === '') looks.mesh = null;
    this.tree.settle(slot, this.moved);
    this.bodies.set(slot, looks, this.tree.world);
    const kind = mark_of(record, looks, this.tree.is_placed(slot));
    if (kind) this.markers.set(slot, kind, this.tree.world);
    else this.markers.remove(slot);
  }

  private value_of<T extends object>(record: ReplicaEntity, name: string, shared: SharedValues<T>): T | undefined {
    const column = this.world.column(name);
    return column ? shared.get(column, record.entity.index) : (record.components[name] as T | undefined);
  }

  private release(slot: number): void {
    this.held.delete(slot);
    const record = this.records[slot];
    if (record) this.place(record);
  }

  private drop(slot: number): void {
    this.bodies.remove(slot);
    this.markers.remove(slot);
    this.held.delete(slot);
    this.slots[this.records[slot]!.entity.index] = 0;
    this.records[slot] = undefined;
    --this.count;
    this.tree.remove(slot);
  }
}

const sphere = new Sphere();
const corner = new Vector3();
const scratch = new Matrix4();

function body_box(matrices: Float32Array, at: number, mirrored: boolean, box: Box3 | null, around: Sphere): Box3 {
  if (!box) return around.getBoundingBox(new Box3());
  scratch.fromArray(matrices, at);
  if (mirrored) scratch.premultiply(new Matrix4().makeScale(-1, 1, 1));
  return box.clone().applyMatrix4(scratch);
}

/** Returns true if the values are position, rotation and scale as ten consecutive floats. */
function is_flat({ type }: ReplicaColumn): boolean {
  const parts = ['position', 'rotation', 'scale'];
  const numbers = type.fields.flatMap((field) => field.type?.fields ?? []);
  return (
    type.size === 40 &&
    type.fields.map(({ name }) => name).join() === parts.join() &&
    numbers.map(({ name }) => name).join('') === 'xyzxyzwxyz' &&
    numbers.every(({ element }) => element === 'float32')
  );
}

/** Compares at the precision of 32-bit floats. */
function same_transform(a: TransformValue, b: TransformValue): boolean {
  const near = (p: number, q: number): boolean => Math.abs(p - q) <= 1e-5 * Math.max(1, Math.abs(p));
  const same = (p: Vec3, q: Vec3): boolean => near(p.x, q.x) && near(p.y, q.y) && near(p.z, q.z);
  return (
    same(a.position, b.position) &&
    same(a.scale, b.scale) &&
    same(a.rotation, b.rotation) &&
    near(a.rotation.w, b.rotation.w)
  );
}

/** Returns the kind of mark for an entity without a body. */
function mark_of(record: ReplicaEntity, looks: Looks, is_placed: boolean): MarkerKind | null {
  const light = record.components['scene.Light'] as { kind: number } | undefined;
  if (light) return light.kind === 2 ? 'sun' : 'light';
  if (record.components['scene.Camera']) return 'camera';
  return is_placed && !looks.shape && !looks.mesh ? 'place' : null;
}
