// Bodies of the same form and material, drawn in one call. Rows are dense: the last row replaces a
// removed one.
import { BufferAttribute, DynamicDrawUsage, InstancedBufferAttribute, InstancedMesh, Matrix4, Sphere } from 'three';
import type { BufferGeometry, Material, Vector3 } from 'three';
import type { Form, Pickable } from './pick.js';

export interface PoolKind {
  geometry: BufferGeometry;
  material: Material;
  /**
   * True if bodies are mirrored. Mirroring exposes back faces, so they are mirrored again when
   * drawn.
   */
  is_mirrored: boolean;
  /** True if each body has its own color. */
  has_color: boolean;
  /** True if each body has its own transparency or stretch. */
  has_extra: boolean;
  /** True if each body has its own metal, roughness and emission. */
  has_surface: boolean;
  both_sides: boolean;
}

const capacity_min = 32;

export class Pool implements Pickable {
  mesh: InstancedMesh;
  count = 0;
  spheres = new Float32Array(4 * capacity_min);
  /** The slot of each row. */
  slots = new Int32Array(capacity_min);
  readonly form: Form;
  private capacity = capacity_min;
  private extra: InstancedBufferAttribute | null = null;
  private surface: InstancedBufferAttribute | null = null;
  private emission: InstancedBufferAttribute | null = null;
  private moved = new Changed();
  private colored = new Changed();
  private extended = new Changed();
  private surfaced = new Changed();
  private readonly center: Vector3;
  private readonly radius: number;

  /** `show` is called with each mesh to draw, and `hide` with each mesh that is no longer drawn. */
  constructor(
    readonly kind: PoolKind,
    private readonly show: (mesh: InstancedMesh) => void,
    private readonly hide: (mesh: InstancedMesh) => void,
  ) {
    const { geometry } = kind;
    if (!geometry.boundingSphere) geometry.computeBoundingSphere();
    if (!geometry.boundingBox) geometry.computeBoundingBox();
    this.center = geometry.boundingSphere!.center;
    this.radius = geometry.boundingSphere!.radius;
    const ends = geometry.getAttribute('ends') as BufferAttribute | undefined;
    this.form = {
      positions: flat_positions(geometry),
      index: geometry.index?.array ?? null,
      ends: ends?.array ?? null,
      both_sides: kind.both_sides,
    };
    this.mesh = this.make();
  }

  get is_mirrored(): boolean {
    return this.kind.is_mirrored;
  }
  get matrices(): Float32Array {
    return this.mesh.instanceMatrix.array as Float32Array;
  }
  stretch(row: number): number {
    return this.extra ? this.extra.array[row * 2 + 1] : 0;
  }

  /** Adds a row for a slot. The caller must then set its matrix and look. */
  add(slot: number): number {
    if (this.count === this.capacity) this.grow();
    this.slots[this.count] = slot;
    return this.count++;
  }

  /** Removes a row. Returns the slot that now has this row, or -1 if it was the last row. */
  remove(row: number): number {
    const last = --this.count;
    if (row === last) return -1;
    const slot = this.slots[last];
    this.slots[row] = slot;
    this.matrices.copyWithin(row * 16, last * 16, last * 16 + 16);
    this.spheres.copyWithin(row * 4, last * 4, last * 4 + 4);
    this.mesh.instanceColor?.array.copyWithin(row * 3, last * 3, last * 3 + 3);
    this.extra?.array.copyWithin(row * 2, last * 2, last * 2 + 2);
    this.surface?.array.copyWithin(row * 2, last * 2, last * 2 + 2);
    this.emission?.array.copyWithin(row * 3, last * 3, last * 3 + 3);
    this.moved.add(row);
    this.colored.add(row);
    this.extended.add(row);
    this.surfaced.add(row);
    return slot;
  }

  /**
   * Sets a row to the world matrix at `from` in `of`, times a box of this center and size.
   * `stretched` is relative to the width.
   */
  place(
    row: number,
    of: Float32Array,
    from: number,
    center: { x: number; y: number; z: number },
    sx: number,
    sy: number,
    sz: number,
    stretched: number,
  ): void {
    const out = this.matrices;
    const at = row * 16;
    const flip = this.kind.is_mirrored ? -1 : 1;
    for (let i = 0; i < 3; ++i) {
      const a = of[from + i];
      const b = of[from + 4 + i];
      const c = of[from + 8 + i];
      const sign = i === 0 ? flip : 1;
      out[at + i] = a * sx * sign;
      out[at + 4 + i] = b * sy * sign;
      out[at + 8 + i] = c * sz * sign;
      out[at + 12 + i] = (a * center.x + b * center.y + c * center.z + of[from + 12 + i]) * sign;
    }
    out[at + 3] = out[at + 7] = out[at + 11] = 0;
    out[at + 15] = 1;
    const { extra } = this;
    if (extra && extra.array[row * 2 + 1] !== Math.fround(stretched)) {
      extra.array[row * 2 + 1] = stretched;
      this.extended.add(row);
    }
    this.bound(row, flip, stretched);
    this.moved.add(row);
  }

  /** Sets a linear color. */
  color(row: number, r: number, g: number, b: number, a: number): void {
    const colors = this.mesh.instanceColor?.array;
    if (colors) {
      colors[row * 3] = r;
      colors[row * 3 + 1] = g;
      colors[row * 3 + 2] = b;
    }
    if (this.extra) {
      this.extra.array[row * 2] = a;
      this.extended.add(row);
    }
    this.colored.add(row);
  }

  /** Sets metal, roughness and emission, which is linear. */
  surface_of(row: number, metal: number, roughness: number, emission: readonly [number, number, number]): void {
    this.surface!.setXY(row, metal, roughness);
    this.emission!.setXYZ(row, ...emission);
    this.surfaced.add(row);
  }

  /** Uploads changes with the next frame. */
  flush(): void {
    this.mesh.count = this.count;
    this.mesh.visible = this.count > 0;
    this.moved.tell(this.mesh.instanceMatrix);
    if (this.mesh.instanceColor) this.colored.tell(this.mesh.instanceColor);
    if (this.extra) this.extended.tell(this.extra);
    for (const each of [this.surface, this.emission]) if (each) this.surfaced.tell(each);
    this.moved.clear();
    this.colored.clear();
    this.extended.clear();
    this.surfaced.clear();
  }

  dispose(): void {
    this.hide(this.mesh);
    this.mesh.dispose();
  }

  private bound(row: number, flip: number, stretched: number): void {
    const m = this.matrices;
    const at = row * 16;
    const scale = Math.sqrt(
      Math.max(
        m[at] * m[at] + m[at + 1] * m[at + 1] + m[at + 2] * m[at + 2],
        m[at + 4] * m[at + 4] + m[at + 5] * m[at + 5] + m[at + 6] * m[at + 6],
        m[at + 8] * m[at + 8] + m[at + 9] * m[at + 9] + m[at + 10] * m[at + 10],
      ),
    );
    const { x, y, z } = this.center;
    const out = row * 4;
    this.spheres[out] = flip * (m[at] * x + m[at + 4] * y + m[at + 8] * z + m[at + 12]);
    this.spheres[out + 1] = m[at + 1] * x + m[at + 5] * y + m[at + 9] * z + m[at + 13];
    this.spheres[out + 2] = m[at + 2] * x + m[at + 6] * y + m[at + 10] * z + m[at + 14];
    this.spheres[out + 3] = (this.radius + stretched) * scale;
  }

  private make(): InstancedMesh {
    const { geometry, material, is_mirrored, has_color, has_extra, has_surface } = this.kind;
    let own = geometry;
    if (has_extra || has_surface) {
      // Only the attributes per row belong to the pool; the rest of the geometry is shared.
      own = geometry.clone();
      for (const [name, attribute] of Object.entries(geometry.attributes)) own.setAttribute(name, attribute);
      own.setIndex(geometry.index);
    }
    if (has_extra) own.setAttribute('extra', (this.extra = this.numbers(2, this.extra)));
    if (has_surface) {
      own.setAttribute('surface', (this.surface = this.numbers(2, this.surface)));
      own.setAttribute('emission', (this.emission = this.numbers(3, this.emission)));
    }
    // A larger count would allocate a matrix for every possible row.
    const mesh = new InstancedMesh(own, material, 0);
    mesh.instanceMatrix = new InstancedBufferAttribute(new Float32Array(this.capacity * 16), 16);
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    if (has_color) {
      mesh.instanceColor = new InstancedBufferAttribute(new Float32Array(this.capacity * 3), 3);
      mesh.instanceColor.setUsage(DynamicDrawUsage);
    }
    mesh.frustumCulled = false;
    // Without this, three.js would visit every row to compute the sphere, which is not needed.
    mesh.boundingSphere = new Sphere();
    mesh.matrixAutoUpdate = false;
    if (is_mirrored) mesh.matrix.copy(new Matrix4().makeScale(-1, 1, 1));
    mesh.matrixWorldNeedsUpdate = true;
    mesh.castShadow = true;
    mesh.receiveShadow = true;
    mesh.count = 0;
    this.show(mesh);
    return mesh;
  }

  /** Makes an attribute with `each` numbers per row that begins with those of `before`. */
  private numbers(each: number, before: InstancedBufferAttribute | null): InstancedBufferAttribute {
    const made = new InstancedBufferAttribute(new Float32Array(this.capacity * each), each);
    made.setUsage(DynamicDrawUsage);
    if (before) (made.array as Float32Array).set(before.array);
    return made;
  }

  private grow(): void {
    const before = this.mesh;
    this.capacity *= this.capacity < 8192 ? 4 : 2;
    const spheres = new Float32Array(this.capacity * 4);
    spheres.set(this.spheres);
    this.spheres = spheres;
    const slots = new Int32Array(this.capacity);
    slots.set(this.slots);
    this.slots = slots;
    this.mesh = this.make();
    this.matrices.set(before.instanceMatrix.array);
    if (before.instanceColor) this.mesh.instanceColor!.array.set(before.instanceColor.array);
    this.moved.all();
    this.colored.all();
    this.extended.all();
    this.surfaced.all();
    this.hide(before);
    before.dispose();
  }
}

const block_bits = 8;
/** Rows to upload, as runs of blocks of 256, because many small uploads are slower. */
class Changed {
  private blocks = new Uint8Array(16);
  private first = Infinity;
  private last = -1;
  private is_all = false;
  add(row: number): void {
    const block = row >> block_bits;
    if (block >= this.blocks.length) {
      const grown = new Uint8Array(2 * block);
      grown.set(this.blocks);
      this.blocks = grown;
    }
    this.blocks[block] = 1;
    if (block < this.first) this.first = block;
    if (block > this.last) this.last = block;
  }
  all(): void {
    this.is_all = true;
  }
  clear(): void {
    if (this.last >= 0) this.blocks.fill(0, this.first, this.last + 1);
    this.first = Infinity;
    this.last = -1;
    this.is_all = false;
  }
  tell(attribute: InstancedBufferAttribute): void {
    if (this.last < 0 && !this.is_all) return;
    attribute.clearUpdateRanges();
    attribute.needsUpdate = true;
    if (this.is_all) return;
    const each = attribute.itemSize << block_bits;
    for (let block = this.first; block <= this.last; ++block) {
      if (this.blocks[block] === 0) continue;
      const begin = block;
      while (block < this.last && this.blocks[block + 1] === 1) ++block;
      const end = Math.min((block + 1) * each, attribute.array.length);
      attribute.addUpdateRange(begin * each, end - begin * each);
    }
  }
}

function flat_positions(geometry: BufferGeometry): ArrayLike<number> {
  const positions = geometry.getAttribute('position');
  if (positions instanceof BufferAttribute && !positions.normalized) return positions.array;
  const flat = new Float32Array(positions.count * 3);
  for (let i = 0; i < positions.count; ++i) {
    flat[i * 3] = positions.getX(i);
    flat[i * 3 + 1] = positions.getY(i);
    flat[i * 3 + 2] = positions.getZ(i);
  }
  return flat;
}
