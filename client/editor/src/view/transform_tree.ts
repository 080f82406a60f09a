// Local transforms and world matrices of all entities, in flat arrays by slot. An entity keeps its
// slot as long as it is known. A matrix is computed from the newest Transform when update() reaches
// it, once per subtree. If all entities of a world move, few states arrive complete, so parts of a
// state are shown as they arrive.
import type { Quat, Vec3 } from './world.js';

const none = -1;

/** Waiting slots, in order of arrival. */
class Line {
  slots: number[] = [];
  /** Number of finished slots. */
  done = 0;
  get is_done(): boolean {
    return this.done === this.slots.length;
  }
}

export class TransformTree {
  /** Column-major, 16 numbers per slot; valid after update(). */
  world = new Float32Array(16 * 64);
  /** The slot of the parent, or -1 if there is none. */
  parent = new Int32Array(64).fill(none);
  private local = new Float32Array(10 * 64); // position 3, rotation 4, scale 3
  private placed = new Uint8Array(64); // 1 if the slot has its own Transform
  private unread = new Uint8Array(64); // 1 if its Transform must be read before computing
  private first = new Int32Array(64).fill(none);
  private next = new Int32Array(64).fill(none);
  private previous = new Int32Array(64).fill(none);
  private waiting = new Uint8Array(64);
  private readonly dirty = new Line();
  /** Dirty slots that may wait longer. */
  private readonly later = new Line();
  private turns = 0;
  private free: number[] = [];
  private capacity = 64;
  /** All slots are below this number. */
  end = 0;

  /** `read` writes the ten numbers of a moved slot (position, rotation, scale) at `at`. */
  constructor(private readonly read: (slot: number, to: Float32Array, at: number) => void = () => {}) {}

  /** Makes room for `more` slots. */
  reserve(more: number): void {
    const wanted = this.end + more;
    if (wanted > this.capacity) this.grow(2 ** Math.ceil(Math.log2(wanted)));
  }
  /** Adds a root without a Transform and returns its slot. */
  add(): number {
    const slot = this.free.pop() ?? this.end++;
    if (slot >= this.capacity) this.grow(2 * this.capacity);
    this.placed[slot] = this.unread[slot] = 0;
    this.parent[slot] = this.first[slot] = this.next[slot] = this.previous[slot] = none;
    this.touch(slot);
    return slot;
  }

  /** Removes a slot. Its children become roots. */
  remove(slot: number): void {
    for (let child = this.first[slot]; child !== none; child = this.first[slot]) this.hang(child, none);
    this.unhang(slot);
    this.unread[slot] = 0;
    this.free.push(slot);
  }

  /** Sets the parent; -1 makes the slot a root. Ignores a parent below the slot itself. */
  hang(slot: number, parent: number): void {
    if (this.parent[slot] === parent) return;
    for (let above = parent; above !== none; above = this.parent[above]) if (above === slot) return;
    this.unhang(slot);
    this.parent[slot] = parent;
    if (parent !== none) {
      const first = this.first[parent];
      this.next[slot] = first;
      if (first !== none) this.previous[first] = slot;
      this.first[parent] = slot;
    }
    this.touch(slot);
  }

  /** Sets the slot's own Transform. Without one, a slot is at the place of its parent. */
  place(slot: number, position: Vec3, rotation: Quat, scale: Vec3): void {
    const at = slot * 10;
    const local = this.local;
    local[at] = position.x;
    local[at + 1] = position.y;
    local[at + 2] = position.z;
    local[at + 3] = rotation.x;
    local[at + 4] = rotation.y;
    local[at + 5] = rotation.z;
    local[at + 6] = rotation.w;
    local[at + 7] = scale.x;
    local[at + 8] = scale.y;
    local[at + 9] = scale.z;
    this.placed[slot] = 1;
    this.unread[slot] = 0;
    this.touch(slot);
  }
  /** Marks the slot's Transform as changed. It is read once, when the matrix is computed. */
  moved(slot: number): void {
    this.placed[slot] = this.unread[slot] = 1;
    this.touch(slot);
  }
  unplace(slot: number): void {
    if (!this.placed[slot]) return;
    this.placed[slot] = this.unread[slot] = 0;
    this.touch(slot);
  }
  is_placed(slot: number): boolean {
    return this.placed[slot] === 1;
  }

  /** Calls `each` for the slot and all slots below it, parents before children. */
  below(slot: number, each: (slot: number) => void): void {
    let at = slot;
    for (;;) {
      each(at);
      if (this.first[at] !== none) at = this.first[at];
      else {
        while (at !== slot && this.next[at] === none) at = this.parent[at];
        if (at === slot) return;
        at = this.next[at];
      }
    }
  }

  /** True if no matrix is waiting to be computed. */
  get is_settled(): boolean {
    return this.dirty.is_done && this.later.is_done;
  }

  /**
   * Computes matrices in the order in which slots were marked. Calls `moved` for each slot whose
   * matrix may have changed. Checks `is_over` occasionally; if it returns true, the rest waits for
   * the next call. Slots without children for which `may_wait` returns true come last, but first in
   * every fourth call.
   */
  update(moved: (slot: number) => void, is_over?: () => boolean, may_wait?: (slot: number) => boolean): void {
    if ((!is_over || (++this.turns & 3) === 0) && !this.work(this.later, moved, is_over)) return;
    if (this.work(this.dirty, moved, is_over, is_over && may_wait)) this.work(this.later, moved, is_over);
  }
  /** Checks again which slots may wait. */
  recall(): void {
    const waited = this.later.slots.slice(this.later.done);
    this.later.slots = [];
    this.later.done = 0;
    this.dirty.slots = this.dirty.slots.slice(this.dirty.done).concat(waited);
    this.dirty.done = 0;
  }
  /** Returns false if it stopped early. */
  private work(
    line: Line,
    moved: (slot: number) => void,
    is_over?: () => boolean,
    may_wait?: (slot: number) => boolean,
  ): boolean {
    let looked = 0;
    while (!line.is_done) {
      const slot = line.slots[line.done++];
      if (!this.waiting[slot]) continue; // the slot was freed, or computed with an ancestor
      if (may_wait && this.first[slot] === none && may_wait(slot)) this.later.slots.push(slot);
      else this.settle(slot, moved);
      if (is_over && (++looked & 127) === 0 && is_over()) {
        if (line.done * 2 < line.slots.length) return false;
        line.slots = line.slots.slice(line.done);
        line.done = 0;
        return false;
      }
    }
    line.slots = [];
    line.done = 0;
    return true;
  }

  /** Computes a waiting slot, along with its waiting ancestors and everything below them. */
  settle(slot: number, moved: (slot: number) => void): void {
    let top = this.waiting[slot] ? slot : none;
    for (let above = this.parent[slot]; above !== none; above = this.parent[above])
      if (this.waiting[above]) top = above;
    if (top === none) return;
    const one = (each: number): void => {
      this.waiting[each] = 0;
      this.compute(each);
      moved(each);
    };
    if (this.first[top] === none) one(top);
    else this.below(top, one);
  }

  private touch(slot: number): void {
    if (this.waiting[slot]) return;
    this.waiting[slot] = 1;
    this.dirty.slots.push(slot);
  }

  private unhang(slot: number): void {
    const parent = this.parent[slot];
    if (parent === none) return;
    const next = this.next[slot];
    const previous = this.previous[slot];
    if (previous !== none) this.next[previous] = next;
    else this.first[parent] = next;
    if (next !== none) this.previous[next] = previous;
    this.parent[slot] = this.next[slot] = this.previous[slot] = none;
    this.touch(slot);
  }

  private compute(slot: number): void {
    const world = this.world;
    const out = slot * 16;
    const parent = this.parent[slot];
    if (!this.placed[slot]) {
      if (parent !== none) world.copyWithin(out, parent * 16, parent * 16 + 16);
      else world.set(identity, out);
      return;
    }
    const local = this.local;
    const at = slot * 10;
    if (this.unread[slot]) {
      this.unread[slot] = 0;
      this.read(slot, local, at);
    }
    const x = local[at + 3];
    const y = local[at + 4];
    const z = local[at + 5];
    const w = local[at + 6];
    const sx = local[at + 7];
    const sy = local[at + 8];
    const sz = local[at + 9];
    const m00 = (1 - 2 * (y * y + z * z)) * sx;
    const m10 = 2 * (x * y + w * z) * sx;
    const m20 = 2 * (x * z - w * y) * sx;
    const m01 = 2 * (x * y - w * z) * sy;
    const m11 = (1 - 2 * (x * x + z * z)) * sy;
    const m21 = 2 * (y * z + w * x) * sy;
    const m02 = 2 * (x * z + w * y) * sz;
    const m12 = 2 * (y * z - w * x) * sz;
    const m22 = (1 - 2 * (x * x + y * y)) * sz;
    const px = local[at];
    const py = local[at + 1];
    const pz = local[at + 2];
    if (parent === none) {
      world[out] = m00;
      world[out + 1] = m10;
      world[out + 2] = m20;
      world[out + 3] = 0;
      world[out + 4] = m01;
      world[out + 5] = m11;
      world[out + 6] = m21;
      world[out + 7] = 0;
      world[out + 8] = m02;
      world[out + 9] = m12;
      world[out + 10] = m22;
      world[out + 11] = 0;
      world[out + 12] = px;
      world[out + 13] = py;
      world[out + 14] = pz;
      world[out + 15] = 1;
      return;
    }
    const p = parent * 16;
    const a0 = world[p];
    const a1 = world[p + 1];
    const a2 = world[p + 2];
    const b0 = world[p + 4];
    const b1 = world[p + 5];
    const b2 = world[p + 6];
    const c0 = world[p + 8];
    const c1 = world[p + 9];
    const c2 = world[p + 10];
    world[out] = a0 * m00 + b0 * m10 + c0 * m20;
    world[out + 1] = a1 * m00 + b1 * m10 + c1 * m20;
    world[out + 2] = a2 * m00 + b2 * m10 + c2 * m20;
    world[out + 4] = a0 * m01 + b0 * m11 + c0 * m21;
    world[out + 5] = a1 * m01 + b1 * m11 + c1 * m21;
    world[out + 6] = a2 * m01 + b2 * m11 + c2 * m21;
    world[out + 8] = a0 * m02 + b0 * m12 + c0 * m22;
    world[out + 9] = a1 * m02 + b1 * m12 + c1 * m22;
    world[out + 10] = a2 * m02 + b2 * m12 + c2 * m22;
    world[out + 12] = a0 * px + b0 * py + c0 * pz + world[p + 12];
    world[out + 13] = a1 * px + b1 * py + c1 * pz + world[p + 13];
    world[out + 14] = a2 * px + b2 * py + c2 * pz + world[p + 14];
    world[out + 3] = world[out + 7] = world[out + 11] = 0;
    world[out + 15] = 1;
  }

  private grow(capacity: number): void {
    const before = this.capacity;
    this.capacity = capacity;
    const grown = <A extends Float32Array | Int32Array | Uint8Array>(array: A): A => {
      const made = new (array.constructor as new (length: number) => A)((array.length / before) * this.capacity);
      made.set(array as never);
      return made;
    };
    this.world = grown(this.world);
    this.local = grown(this.local);
    this.placed = grown(this.placed);
    this.unread = grown(this.unread);
    this.waiting = grown(this.waiting);
    this.parent = grown(this.parent).fill(none, before);
    this.first = grown(this.first).fill(none, before);
    this.next = grown(this.next).fill(none, before);
    this.previous = grown(this.previous).fill(none, before);
  }
}

const identity = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
