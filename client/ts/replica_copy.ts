// Applies the batches of a watch to the entities of a local copy, and compares two copies. A copy
// is always a whole state: a second `follow` builds a new copy, which is then compared to the old
// one.
import { BatchKind } from './batch.js';
import type { Batch } from './batch.js';
import { BadBytes, view_of } from './bytes.js';
import { Create, Destroy, Remove, Rename, Reparent, Set as SetMessage } from './muster.js';
import { read_values, ReplicaColumn, wrong_length } from './replica_column.js';
import type { PackedChanges, ValuesPlaces } from './replica_column.js';
import { Left, Values } from './session.js';
import { is_nil, nil, same_entity } from './types.js';
import type { Entity, TypeDescriptor } from './types.js';
import { default_bytes, read_entity, read_struct } from './values.js';
import type { StructValue } from './values.js';

/** One entity in the copy. The object stays the same as long as the entity is in the copy. */
export interface ReplicaEntity {
  readonly entity: Entity;
  /** Empty if it has none. */
  name: string;
  /** Nil for a root. May be outside the copy if that covers only part of the world. */
  parent: Entity;
  /**
   * By full name: components['game.Health']. A component that changes gets a new object. Packed
   * components are not included.
   */
  components: Record<string, StructValue>;
}

/** The changes of a copy by one consistent state of the world, or by part of one. */
export interface ReplicaChanges {
  /**
   * False for part of a state (see `parts`). Sequence and clock are then those of the last whole
   * state.
   */
  is_whole: boolean;
  sequence: bigint;
  clock_ns: bigint;
  created: ReplicaEntity[];
  destroyed: ReplicaEntity[];
  /** Entities that left the copy but are alive. */
  left: ReplicaEntity[];
  moved: { entity: ReplicaEntity; from: Entity }[];
  renamed: { entity: ReplicaEntity; from: string }[];
  /** `before` is undefined if the component was added. Does not include created entities. */
  values: { entity: ReplicaEntity; component: string; before: StructValue | undefined }[];
  removed: { entity: ReplicaEntity; component: string; before: StructValue }[];
  /** Packed components with changes, including those of created entities. */
  packed: PackedChanges[];
}

/** The texts and types that a batch refers to. */
export interface Words {
  text(hash: bigint): string;
  type(id: number): TypeDescriptor | undefined;
}

/** Shared by all entities without components. */
const no_components: Record<string, StructValue> = Object.freeze({});

/** An entity's name and parent replace these components. */
const kept_elsewhere = new Set(['muster.Name', 'muster.ChildOf']);

export class ReplicaCopy {
  readonly records = new Map<number, ReplicaEntity>();
  /** By index of the parent; null until the first use. */
  private children_of: Map<number, Set<ReplicaEntity>> | null = null;
  private changes = no_changes();
  /** True until changes are taken for the first time. All entities then count as created. */
  private is_new = true;
  /** Entities created since changes were last taken; their other changes are not reported. */
  private fresh = new Set<ReplicaEntity>();
  /** The packed components, by full name. */
  readonly columns = new Map<string, ReplicaColumn>();

  constructor(packed: readonly TypeDescriptor[] = []) {
    for (const type of packed) this.columns.set(type.name, new ReplicaColumn(type));
  }

  get(entity: Entity): ReplicaEntity | undefined {
    const record = this.records.get(entity.index);
    return record && record.entity.generation === entity.generation ? record : undefined;
  }

  children(of: Entity): ReplicaEntity[] {
    return [...(this.by_parent().get(of.index) ?? [])].filter((child) => same_entity(child.parent, of));
  }

  /** Takes constant time, because children are listed by the parent's index. */
  child_count(of: Entity): number {
    return is_nil(of) || this.get(of) ? (this.by_parent().get(of.index)?.size ?? 0) : this.children(of).length;
  }

  /** Returns the changes since the last call. */
  take_changes(sequence: bigint, clock_ns: bigint, is_whole = true): ReplicaChanges {
    const packed = [...this.columns.values()].map((column) => column.take_changes()).filter((each) => each !== null);
    const changes = { ...this.changes, is_whole, sequence, clock_ns, packed };
    if (this.is_new) changes.created = [...this.records.values()];
    this.is_new = false;
    this.changes = no_changes();
    this.fresh = new Set();
    return changes;
  }

  /** Applies a watch's batch. Throws BadBytes for an invalid value. */
  apply_all(batch: Batch, words: Words): void {
    if (batch.type.id === Create.id && batch.rows.length === 0 && batch.kind === BatchKind.each) this.create_all(batch, words);
    else for (let i = 0; i < batch.count; ++i) this.apply(batch, i, words);
  }
  /**
   * Creates the entities of a whole batch without temporary objects, because a world begins with
   * one message per entity.
   */
  private create_all(batch: Batch, words: Words): void {
    const { view, type } = batch;
    const offset = (name: string): number => type.fields.find((field) => field.name === name)!.offset;
    const [parent_at, name_at] = [offset('parent'), offset('name')];
    let parent = nil;
    for (let i = 0; i < batch.count; ++i) {
      const at = batch.payload(i);
      if (view.getUint32(at + parent_at, true) !== parent.index || view.getUint32(at + parent_at + 4, true) !== parent.generation)
        parent = read_entity(view, at + parent_at);
      const record = this.have(batch.target(i), parent);
      this.move(record, parent);
      this.rename(record, words.text(view.getBigUint64(at + name_at, true)));
    }
  }

  /** Applies message i of a watch's batch. Throws BadBytes for an invalid value. */
  apply(batch: Batch, i: number, words: Words): void {
    const entity = batch.target(i);
    switch (batch.type.id) {
      case Create.id: {
        const { parent, name } = batch.message(i) as unknown as Create;
        this.move(this.have(entity), parent);
        this.rename(this.have(entity), words.text(name));
        break;
      }
      case Reparent.id:
        this.move(this.have(entity), (batch.message(i) as unknown as Reparent).parent);
        break;
      case Rename.id:
        this.rename(this.have(entity), words.text((batch.message(i) as unknown as Rename).name));
        break;
      case SetMessage.id:
        batch.rows.forEach((row, k) => {
          if (kept_elsewhere.has(row.type.name)) return;
          const record = this.have(entity);
          const column = this.columns.get(row.type.name);
          if (column) column.put(entity, batch.component_bytes(i, k));
          else this.put(record, row.type.name, batch.component(i, k));
        });
        break;
      case Values.id:
        this.put_values(read_values(batch.type, batch.table_bytes(i)), words);
        break;
      case Remove.id: {
        const type = words.type((batch.message(i) as unknown as Remove).component);
        const known = this.get(entity);
        if (type && known) this.take_off(known, type.name);
        break;
      }
      case Destroy.id:
      case Left.id: {
        const known = this.get(entity);
        if (known) this.take_out(known, batch.type.id === Left.id);
        break;
      }
    }
  }

  private put_values(places: ValuesPlaces, words: Words): void {
    const { component, value_bytes, count, view, entities, values } = places;
    const type = words.type(component);
    if (!type || type.role !== 'component')
      throw new BadBytes('unknown_type', `no component has the id ${component}`, 0);
    if (kept_elsewhere.has(type.name)) return;
    // A tag is sent without bytes.
    if (!(type.tag ? value_bytes === 0 : value_bytes === type.size) || places.values_bytes !== count * value_bytes)
      throw wrong_length(type, places);
    const column = this.columns.get(type.name);
    if (column) return column.take(view, entities, values, count, (entity) => void this.have(entity));
    const tag = type.tag ? view_of(default_bytes(type)) : null;
    for (let i = 0; i < count; ++i) {
      const record = this.have(read_entity(view, entities + 8 * i));
      this.put(record, type.name, tag ? read_struct(type, tag, 0) : read_struct(type, view, values + i * value_bytes));
    }
  }

  /** Removes all other components, which are no longer followed. */
  keep_components(names: ReadonlySet<string>): void {
    for (const record of this.records.values())
      for (const name of Object.keys(record.components)) if (!names.has(name)) this.take_off(record, name);
    for (const [name, column] of this.columns) if (!names.has(name)) column.clear();
  }

  /** Takes over the state of `other`, which must not be used afterward. */
  become(other: ReplicaCopy): void {
    for (const record of [...this.records.values()]) if (!other.get(record.entity)) this.take_out(record, false);
    for (const record of other.records.values()) {
      const mine = this.have(record.entity);
      this.move(mine, record.parent);
      this.rename(mine, record.name);
      for (const name of Object.keys(mine.components))
        if (!(name in record.components) && !other.columns.has(name)) this.take_off(mine, name);
      for (const [name, value] of Object.entries(record.components))
        if (!same_value(mine.components[name], value)) this.put(mine, name, value);
    }
    for (const name of [...this.columns.keys()]) if (!other.columns.has(name)) this.columns.delete(name);
    for (const [name, column] of other.columns) {
      let mine = this.columns.get(name);
      if (!mine) {
        for (const { components } of this.records.values()) delete components[name];
        this.columns.set(name, (mine = new ReplicaColumn(column.type)));
      }
      mine.become(column);
    }
  }

  private have(entity: Entity, parent = nil): ReplicaEntity {
    const known = this.records.get(entity.index);
    if (known && known.entity.generation === entity.generation) return known;
    if (known) this.take_out(known, false); // another entity now has the index
    const record: ReplicaEntity = { entity, name: '', parent, components: no_components };
    this.records.set(entity.index, record);
    this.hang(record);
    if (this.is_new) return record;
    this.fresh.add(record);
    this.changes.created.push(record);
    return record;
  }

  private take_out(record: ReplicaEntity, left: boolean): void {
    this.records.delete(record.entity.index);
    for (const column of this.columns.values()) column.remove(record.entity, true);
    this.unhang(record);
    if (this.is_new) return;
    if (this.fresh.delete(record)) this.changes.created.splice(this.changes.created.indexOf(record), 1);
    else (left ? this.changes.left : this.changes.destroyed).push(record);
  }

  private move(record: ReplicaEntity, parent: Entity): void {
    const from = record.parent;
    if (same_entity(from, parent)) return;
    this.unhang(record);
    record.parent = parent;
    this.hang(record);
    if (!this.is_fresh(record)) this.changes.moved.push({ entity: record, from });
  }

  private rename(record: ReplicaEntity, name: string): void {
    const from = record.name;
    if (from === name) return;
    record.name = name;
    if (!this.is_fresh(record)) this.changes.renamed.push({ entity: record, from });
  }

  private put(record: ReplicaEntity, component: string, value: StructValue): void {
    const before = record.components[component];
    if (record.components === no_components) record.components = {};
    record.components[component] = value;
    if (!this.is_fresh(record)) this.changes.values.push({ entity: record, component, before });
  }

  private take_off(record: ReplicaEntity, component: string): void {
    if (this.columns.get(component)?.remove(record.entity, false)) return;
    const before = record.components[component];
    if (!before) return;
    delete record.components[component];
    if (!this.is_fresh(record)) this.changes.removed.push({ entity: record, component, before });
  }

  /** Returns true if further changes of the entity are not reported. */
  private is_fresh(record: ReplicaEntity): boolean {
    return this.is_new || this.fresh.has(record);
  }

  private by_parent(): Map<number, Set<ReplicaEntity>> {
    if (this.children_of) return this.children_of;
    this.children_of = new Map();
    for (const record of this.records.values()) this.hang(record);
    return this.children_of;
  }
  private hang(record: ReplicaEntity): void {
    const siblings = this.children_of?.get(record.parent.index);
    if (siblings) siblings.add(record);
    else this.children_of?.set(record.parent.index, new Set([record]));
  }
  private unhang(record: ReplicaEntity): void {
    const siblings = this.children_of?.get(record.parent.index);
    if (siblings?.delete(record) && siblings.size === 0) this.children_of?.delete(record.parent.index);
  }
}

function no_changes(): ReplicaChanges {
  return {
    is_whole: true,
    sequence: 0n,
    clock_ns: 0n,
    created: [],
    destroyed: [],
    left: [],
    moved: [],
    renamed: [],
    values: [],
    removed: [],
    packed: [],
  };
}

/** Compares values that read_struct returns. NaN equals NaN. */
export function same_value(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => key in b && same_value((a as StructValue)[key], (b as StructValue)[key]))
  );
}
