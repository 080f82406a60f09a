// The interface that the viewport needs from the world and its editors. The viewport uses nothing
// else of the page.
import type { Entity, ReplicaChanges, ReplicaColumn, ReplicaEntity } from 'muster-client';
import type { Person } from '../people/people.js';

export type { Person } from '../people/people.js';
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
 * In the form of scene.Transform: relative to the nearest ancestor with a Transform. Omitted parts
 * stay unchanged.
 */
export interface TransformPut {
  entity: Entity;
  position?: Vec3;
  rotation?: Quat;
  scale?: Vec3;
}

/**
 * A manual change of some entities' Transforms. It is a single undo step, regardless of the number
 * of calls of put().
 */
export interface TransformEdit {
  /**
   * True if the change was refused, or if others have changed all of its Transforms. Further values
   * are not sent.
   */
  readonly is_over: boolean;
  /** May be called for every movement of the pointer; the implementation sends fewer updates. */
  put(values: readonly TransformPut[]): void;
  end(): void;
  /** Restores the previous values. */
  cancel(): void;
}

/** A manual change of one component of an entity, as one undo step. */
export interface FieldEdit {
  /** True if the change was refused, or if others have changed the field. */
  readonly is_over: boolean;
  put(path: string, value: unknown): void;
  end(): void;
  /** Restores the previous value. */
  cancel(): void;
}

export type SelectHow = 'only' | 'add' | 'toggle';

export interface ViewWorld {
  entities(): Iterable<ReplicaEntity>;
  get(entity: Entity): ReplicaEntity | undefined;
  /** Returns the entity's scene.Transform. */
  transform(entity: Entity): { position: Vec3; rotation: Quat; scale: Vec3 } | undefined;
  /** Returns all values of a component by full name if the component is packed. */
  column(name: string): ReplicaColumn | undefined;
  /** Returns the content of a `text` field; empty if it is unknown. */
  text(hash: bigint): string;
  /** Returns true if the world's schema has scene.Transform. */
  has_transforms(): boolean;
  /**
   * Calls `changes` for each state of the world or part of one, and `reset` when everything must be
   * read again. Returns a function that ends this.
   */
  follow(changes: (changes: ReplicaChanges) => void, reset: () => void): () => void;

  /** The last one is the active one. */
  selection(): readonly Entity[];
  select(entities: readonly Entity[], how: SelectHow): void;
  on_selection(changed: () => void): () => void;

  /** Returns true if the user does not want to see the entity. */
  is_hidden(entity: Entity): boolean;
  /** Returns true if the pointer does not take the entity. */
  is_locked(entity: Entity): boolean;
  hides_some(): boolean;
  /** Calls `changed` when other entities are hidden or locked than before. */
  on_hidden(changed: () => void): () => void;

  /** False without a connection or without the right to edit. */
  may_edit(): boolean;
  on_may_edit(changed: () => void): () => void;
  begin_edit(title: string): TransformEdit;
  begin_field_edit(title: string, entity: Entity, component: string): FieldEdit;

  /** Fetches a file from the world's folder. Fails with an Error that gives the reason. */
  fetch_file(path: string): Promise<ArrayBuffer>;
  /** Calls `changed` with the paths of files whose content has changed. */
  on_files(changed: (paths: ReadonlySet<string>) => void): () => void;
  /** Tells why a file that a model needs could not be read; nothing if it could. */
  was_read(path: string, why: string): void;
  log(level: 'note' | 'problem', text: string): void;
  /** Opens a menu for the selection at a position of the window. */
  menu?(x: number, y: number): void;
  /** Returns the entity under the pointer, in the viewport or a list, or null. */
  hovered(): Entity | null;
  hover(entity: Entity | null): void;
  on_hovered(changed: () => void): () => void;

  /** The other users. */
  others(): readonly Person[];
  on_others(changed: () => void): () => void;
  /** Tells other users the place of the camera and the point at which it looks. */
  tell_camera(position: Vec3, target: Vec3): void;
  /** Returns a sentence about a user who drags or has locked one of the entities, or undefined. */
  held(entities: readonly Entity[]): string | undefined;
}

/** Finds places for new entities in the picture. */
export interface Placer {
  /**
   * Returns the position for the middle of a new entity of this size below `parent`: on the surface
   * in the middle of the picture, `lift` above it, and beside the selection; or on the surface at a
   * point of the window. Null if the parent's space is flat.
   */
  land(parent: Entity, size: Vec3, lift: number, window_point?: { x: number; y: number }): Vec3 | null;
  /** Returns the middle of entities, relative to `parent`; null if they have no place. */
  middle(entities: readonly Entity[], parent: Entity): Vec3 | null;
  /** Returns the size of the box around entities; null if they have no place. */
  extent(entities: readonly Entity[]): Vec3 | null;
  /** Returns the current view as text. */
  view(): string;
  /** Moves the camera to a view; does nothing if the text is not one. */
  go(view: string): void;
  /** Moves the camera to show entities, or everything if none of them has a place. */
  frame(entities: readonly Entity[]): void;
  /** Moves the camera to a place from which it looks at a point. */
  look_from(position: Vec3, target: Vec3): void;
}

/** A command for a key, a menu or a button; see Command. */
export interface ViewCommand {
  id: string;
  title: string;
  keys?: string[];
  group?: string;
  /** True if the keys are active only in the viewport, or if nothing has the focus. */
  in_viewport?: boolean;
  enabled?(): boolean;
  checked?(): boolean;
  run(): void;
}
