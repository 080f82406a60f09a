// Moves the selected entities in the picture: nudge, drop to the ground, align, distribute. Finds
// places for new entities.
import { Box3, Matrix4, Vector3 } from 'three';
import type { TransformValue } from '../view/contents.js';
import { is_flat_space } from '../view/kept_place.js';
import { view_between, view_of, view_text } from '../view/camera_rig.js';
import type { View } from '../view/camera_rig.js';
import { pick } from '../view/pick.js';
import type { Dragged } from '../view/gizmo_drag.js';
import { meet_plane } from '../view/sight.js';
import type { Point } from '../view/sight.js';
import type { Stage } from '../view/stage.js';
import { calm } from '../view/view_commands.js';
import type { Entity, Placer, TransformEdit, Vec3, ViewCommand } from '../view/world.js';
import { aligned, beside, distributed, points_above } from './places.js';
import type { Side } from './places.js';

interface Thing {
  entity: Entity;
  slot: number;
}

const axes = ['X', 'Y', 'Z'] as const;
const up = new Vector3(0, 1, 0);
/** Distance between a new entity and the selection, in meters. */
const gap = 0.5;
/** Points in front of the camera that are farther away are no place for a new entity. */
const far_factor = 8;

export class Arranger implements Placer {
  private nudging: { edit: TransformEdit; things: Thing[]; base: Map<number, TransformValue>; way: Vector3 } | null = null;
  private readonly released = (): void => this.end_nudge();

  constructor(private readonly stage: Stage) {
    window.addEventListener('keyup', this.released);
    window.addEventListener('blur', this.released);
  }
  dispose(): void {
    this.end_nudge();
    window.removeEventListener('keyup', this.released);
    window.removeEventListener('blur', this.released);
  }

  // --- places for new entities

  land(parent: Entity, size: Vec3, lift: number, window_point?: Point): Vec3 | null {
    const { contents, rig, sight, world } = this.stage;
    contents.settle();
    const chosen = contents.slots_below(world.selection(), 20_000);
    const skips = (slot: number): boolean => chosen.has(slot) || contents.is_hidden(slot);
    const { left, top } = this.stage.root.getBoundingClientRect();
    const point = window_point
      ? { x: window_point.x - left, y: window_point.y - top }
      : { x: sight.width / 2, y: sight.height / 2 };
    const ray = sight.ray(point);
    const reach = rig.view.distance * far_factor;
    const hit = pick(ray, contents.bodies.pools, sight.camera.near, skips);
    let at = hit && hit.distance < reach ? ray.origin.clone().addScaledVector(ray.direction, hit.distance) : null;
    if (!at) {
      const ground = meet_plane(ray, new Vector3(), up);
      at = ground && ground.distanceTo(ray.origin) < reach ? ground : rig.view.target.clone();
    }
    const half = new Vector3(size.x, size.y, size.z).multiplyScalar(0.5);
    const box_at = (middle: Vector3): Box3 => new Box3(middle.clone().sub(half), middle.clone().add(half));
    at.y += half.y + lift;
    const others = (window_point ? [] : world.selection())
      .map((entity) => contents.box([entity]))
      .filter((box) => box !== null);
    const right = new Vector3().setFromMatrixColumn(rig.camera.matrixWorld, 0);
    const aside = beside(box_at(at), others, right, gap);
    if (aside.lengthSq() > 0) {
      at.add(aside);
      const ground = this.ground_below(box_at(at), skips);
      if (ground !== null && Math.abs(ground - (at.y - half.y)) < reach) at.y = ground + half.y + lift;
    }
    return this.local(parent, rounded(at));
  }
  middle(entities: readonly Entity[], parent: Entity): Vec3 | null {
    this.stage.contents.settle();
    const box = this.stage.contents.box(entities);
    return box && this.local(parent, rounded(box.getCenter(new Vector3())));
  }
  extent(entities: readonly Entity[]): Vec3 | null {
    this.stage.contents.settle();
    const box = this.stage.contents.box(entities);
    return box && box.getSize(new Vector3());
  }
  private local(parent: Entity, at: Vector3): Vec3 | null {
    const slot = this.stage.contents.slot(parent);
    if (slot === undefined) return { x: at.x, y: at.y, z: at.z };
    const space = this.stage.contents.matrix(slot);
    if (is_flat_space(space)) return null;
    const { x, y, z } = at.applyMatrix4(space.invert());
    return { x, y, z };
  }

  // --- views

  view(): string {
    return view_text(this.stage.rig.view);
  }
  go(text: string): void {
    const view = view_of(text);
    if (view) this.move_to(view);
  }
  look_from(position: Vec3, target: Vec3): void {
    this.move_to(view_between(position, target));
  }
  frame(entities: readonly Entity[]): void {
    this.stage.frame(entities);
    this.stage.was_placed();
  }
  private move_to(view: View): void {
    this.stage.rig.go(view, calm() ? 0 : 250, performance.now());
    this.stage.was_placed();
  }

  // --- movements

  /** Returns the middle of the underside of the box around things. */
  underside(things: readonly { entity: Entity }[]): Vector3 {
    const box = this.stage.contents.box(things.map(({ entity }) => entity)) ?? new Box3();
    const middle = box.isEmpty() ? new Vector3() : box.getCenter(new Vector3());
    return middle.setY(box.isEmpty() ? 0 : box.min.y);
  }
  /** Changes a drag so that things stand on the surface under the pointer. */
  put_on_surface(
    { things, base }: { things: readonly { entity: Entity }[]; base: Vector3 },
    point: Point,
    dragged: Dragged,
  ): void {
    const { contents, sight, rig } = this.stage;
    const own = contents.slots_below(things.map(({ entity }) => entity), 20_000);
    const ray = sight.ray(point);
    const hit = pick(ray, contents.bodies.pools, sight.camera.near, (slot) => own.has(slot));
    const at = hit
      ? ray.origin.clone().addScaledVector(ray.direction, hit.distance)
      : meet_plane(ray, new Vector3(), up);
    if (!at || at.distanceTo(ray.origin) > rig.view.distance * far_factor) return;
    dragged.move.copy(at).sub(base);
    dragged.text = axes.map((axis, i) => ({
      axis: axis.toLowerCase() as 'x' | 'y' | 'z',
      value: String(Math.round(at.getComponent(i) * 100) / 100),
    }));
  }

  /** Returns the height of the highest surface below the top of a box, or null if there is none. */
  private ground_below(box: Box3, skips: (slot: number) => boolean): number | null {
    const { contents } = this.stage;
    let highest: number | null = null;
    for (const origin of points_above(box)) {
      origin.y += 1e-4;
      const hit = pick({ origin, direction: up.clone().negate() }, contents.bodies.pools, 0, skips);
      if (hit && (highest === null || origin.y - hit.distance > highest)) highest = origin.y - hit.distance;
    }
    return highest;
  }
  private things(): Thing[] {
    const { hands, contents } = this.stage;
    contents.settle();
    return hands.movable();
  }
  private boxes(things: readonly Thing[]): Box3[] {
    const { contents } = this.stage;
    return things.map(({ entity, slot }) => {
      const at = contents.place_of(slot, new Vector3());
      return contents.box([entity]) ?? new Box3(at, at.clone());
    });
  }
  private verb(what: string, things: readonly Thing[]): string {
    const one = things.length === 1 ? this.stage.world.get(things[0].entity)?.name : '';
    return `${what} ${one || (things.length === 1 ? 'an entity' : `${things.length} entities`)}`;
  }
  /** Moves things in world space, as one step. */
  private move(what: string, things: readonly Thing[], moves: readonly Vector3[]): void {
    if (moves.every((move) => move.length() < 1e-6)) return;
    const edit = this.stage.world.begin_edit(this.verb(what, things));
    this.put(edit, things, moves);
    edit.end();
    this.stage.await_told();
  }
  private put(
    edit: TransformEdit,
    things: readonly Thing[],
    moves: readonly Vector3[],
    base?: ReadonlyMap<number, TransformValue>,
  ): void {
    const { contents } = this.stage;
    const puts = things.flatMap(({ entity, slot }, i) => {
      const before = base?.get(slot) ?? contents.local(entity);
      const parent = contents.parent_matrix(slot) ?? new Matrix4();
      if (!before || moves[i].length() < 1e-9 || is_flat_space(parent)) return [];
      const { x, y, z } = before.position;
      const at = new Vector3(x, y, z).applyMatrix4(parent).add(moves[i]).applyMatrix4(parent.clone().invert());
      const position = { x: at.x, y: at.y, z: at.z };
      contents.hold(entity, { ...before, position });
      return [{ entity, position }];
    });
    edit.put(puts);
    this.stage.changed();
  }

  drop(): void {
    const { contents } = this.stage;
    const things = this.things();
    const boxes = this.boxes(things);
    const own = contents.slots_below(things.map(({ entity }) => entity), 20_000);
    const skips = (slot: number): boolean => own.has(slot) || contents.is_hidden(slot);
    const moves = boxes.map((box) => new Vector3(0, (this.ground_below(box, skips) ?? 0) - box.min.y, 0));
    this.move('Drop', things, moves);
  }
  align(axis: number, side: Side): void {
    const things = this.things();
    if (things.length > 1) this.move('Align', things, aligned(this.boxes(things), axis, side));
  }
  distribute(axis: number): void {
    const things = this.things();
    if (things.length > 2) this.move('Distribute', things, distributed(this.boxes(things), axis));
  }
  /**
   * Moves by steps of snapping: right, up and toward the camera. One step until keys are released.
   */
  nudge(right: number, high: number, near: number): void {
    const { hands, rig, world } = this.stage;
    if (!this.nudging || this.nudging.edit.is_over) {
      const things = this.things();
      if (things.length === 0) return;
      const base = new Map<number, TransformValue>();
      for (const { entity, slot } of things) base.set(slot, structuredClone(this.stage.contents.local(entity)!));
      this.nudging = { edit: world.begin_edit(this.verb('Move', things)), things, base, way: new Vector3() };
    }
    const { edit, things, base, way } = this.nudging;
    const sideways = nearest_axis(new Vector3().setFromMatrixColumn(rig.camera.matrixWorld, 0));
    const toward = nearest_axis(new Vector3(Math.sin(rig.view.yaw), 0, Math.cos(rig.view.yaw)));
    way.addScaledVector(sideways, right * hands.steps.move).addScaledVector(up, high * hands.steps.move);
    way.addScaledVector(toward, near * hands.steps.move);
    this.put(edit, things, things.map(() => way.clone()), base);
  }
  private end_nudge(): void {
    if (!this.nudging) return;
    this.nudging.edit.end();
    this.nudging = null;
    this.stage.await_told();
  }

  commands(): ViewCommand[] {
    const has = (least: number) => (): boolean =>
      this.stage.world.may_edit() && this.stage.world.selection().length >= least;
    const nudge = (id: string, title: string, key: string, right: number, high: number, near: number): ViewCommand[] =>
      [1, 10].map((times) => ({
        id: `arrange.nudge.${id}${times > 1 ? '.far' : ''}`,
        title: `Move ${title} by ${times === 1 ? 'a step' : 'ten steps'}`,
        keys: [times === 1 ? key : `Shift+${key}`],
        in_viewport: true,
        enabled: has(1),
        run: () => this.nudge(right * times, high * times, near * times),
      }));
    const sides: [Side, string][] = [
      ['min', 'low side'],
      ['middle', 'middle'],
      ['max', 'high side'],
    ];
    return [
      {
        id: 'arrange.drop',
        title: 'Drop to the ground',
        keys: ['End'],
        group: 'arrange',
        in_viewport: true,
        enabled: has(1),
        run: () => this.drop(),
      },
      ...nudge('left', 'left', 'ArrowLeft', -1, 0, 0),
      ...nudge('right', 'right', 'ArrowRight', 1, 0, 0),
      ...nudge('back', 'away', 'ArrowUp', 0, 0, -1),
      ...nudge('front', 'closer', 'ArrowDown', 0, 0, 1),
      ...nudge('up', 'up', 'PageUp', 0, 1, 0),
      ...nudge('down', 'down', 'PageDown', 0, -1, 0),
      ...axes.flatMap((name, axis) =>
        sides.map(([side, title]): ViewCommand => ({
          id: `arrange.align.${name.toLowerCase()}.${side}`,
          title: `Align along ${name}: ${title}`,
          enabled: has(2),
          run: () => this.align(axis, side),
        })),
      ),
      ...axes.map((name, axis): ViewCommand => ({
        id: `arrange.distribute.${name.toLowerCase()}`,
        title: `Distribute along ${name}`,
        enabled: has(3),
        run: () => this.distribute(axis),
      })),
    ];
  }
}

function nearest_axis(way: Vector3): Vector3 {
  return Math.abs(way.x) >= Math.abs(way.z) ? new Vector3(Math.sign(way.x) || 1, 0, 0) : new Vector3(0, 0, Math.sign(way.z) || 1);
}
/** Rounds to millimeters, so that the inspector shows short numbers. */
function rounded(at: Vector3): Vector3 {
  return at.multiplyScalar(1000).round().divideScalar(1000);
}
