// The interface that the viewport needs from the world and its editors. It knows nothing else of
// the page.
import type { Entity, ReplicaChanges, ReplicaColumn, ReplicaEntity } from 'muster-client';

export type { Entity, ReplicaChanges, ReplicaColumn, ReplicaEntity };

export interface Vec3 {
  x: number;
  y: number;
  z: number;
}
export interface Quat extends Vec3 {
  w: number;
}

/**
 * As scene.Transform has it: relative to the nearest ancestor with a Transform. Omitted parts do
 * not change.
 */
export interface TransformPut {
  entity: Entity;
  position?: Vec3;
  rotation?: Quat;
  scale?: Vec3;
}

/**
 * Some entities' Transforms being changed by hand: one step of undo, however many times they are
 * put.
 */
export interface TransformEdit {
  /**
   * It was refused, or somebody else has changed all that it changes: nothing that is put is sent.
   */
  readonly is_over: boolean;
  /** May come as often as the pointer moves; who makes the edit sends less. */
  put(values: readonly TransformPut[]): void;
  end(): void;
  /** The values from before are written back. */
  cancel(): void;
}

export type SelectHow = 'only' | 'add' | 'toggle';

export interface ViewWorld {
  entities(): Iterable<ReplicaEntity>;
  get(entity: Entity): ReplicaEntity | undefined;
  /** Its scene.Transform. */
  transform(entity: Entity): { position: Vec3; rotation: Quat; scale: Vec3 } | undefined;
  /** All values of a component by full name, if they are stored side by side. */
  column(name: string): ReplicaColumn | undefined;
  /** Returns the content of a `text` field; empty if it is unknown. */
  text(hash: bigint): string;
  /** The world's schema has scene.Transform. */
  has_transforms(): boolean;
  /**
   * `changes` is told of each state of the world, and of parts of one, `reset` that everything is
   * to be read again. Returns what ends it.
   */
  follow(changes: (changes: ReplicaChanges) => void, reset: () => void): () => void;

  /** The last one is the active one. */
  selection(): readonly Entity[];
  select(entities: readonly Entity[], how: SelectHow): void;
  on_selection(changed: () => void): () => void;

  /** False: offline, or without the right to. */
  may_edit(): boolean;
  on_may_edit(changed: () => void): () => void;
  begin_edit(title: string): TransformEdit;

  /** A file of the world's folder. Fails with an Error that says why. */
  fetch_file(path: string): Promise<ArrayBuffer>;
  log(level: 'note' | 'problem', text: string): void;
  /** A menu for what is selected, at a place of the window. */
  menu?(x: number, y: number): void;
  /** The entity under the pointer, here or in a list, or null. */
  hovered(): Entity | null;
  hover(entity: Entity | null): void;
  on_hovered(changed: () => void): () => void;
}

/** One thing that a key, a menu or a button does: a Command of the page. */
export interface ViewCommand {
  id: string;
  title: string;
  keys?: string[];
  group: string;
  enabled?(): boolean;
  checked?(): boolean;
  run(): void;
}
