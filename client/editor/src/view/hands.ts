// Handles pointer and keys in the viewport: select, box-select, drag handles, orbit, pan, zoom,
// fly.
import { Quaternion, Vector3 } from 'three';
import { axis_balls, ball_at, widget_arm_px } from './axis_widget.js';
import type { AxisBall } from './axis_widget.js';
import { axis_of, gizmo_parts, handle_at } from './gizmo.js';
import type { GizmoFrame, GizmoPart, Handle, Tool } from './gizmo.js';
import { applied, GizmoDrag } from './gizmo_drag.js';
import type { Dragged, Held, Steps } from './gizmo_drag.js';
import { is_flat_space } from './kept_place.js';
import { knob_at, lamp_knobs, pulled } from './lamp_knobs.js';
import type { Knob } from './lamp_knobs.js';
import type { OverlayState } from './overlay.js';
import { entities_in, entity_at, zoom_target } from './finder.js';
import type { Rect } from './pick.js';
import type { Point } from './sight.js';
import type { Stage } from './stage.js';
import { align_view } from './view_commands.js';
import type { Entity, FieldEdit, SelectHow, TransformEdit, TransformPut } from './world.js';

/**
 * The point about which several entities are turned and scaled: the mean of their origins, the
 * origin of the last selected one, the middle of the box around them, or each one's own origin.
 */
export type Pivot = 'origins' | 'active' | 'middle' | 'each';
export const pivots: readonly [Pivot, string][] = [
  ['origins', 'Origins'],
  ['middle', 'Middle'],
  ['active', 'Active'],
  ['each', 'Each'],
];

type Doing =
  | { what: 'nothing' }
  | { what: 'press'; from: Point; how: SelectHow }
  | { what: 'box'; from: Point; how: SelectHow }
  | { what: 'orbit' | 'pan' }
  | { what: 'pull'; knob: Knob; edit: FieldEdit; text: string }
  | { what: 'fly'; moved: number; keys: Set<string>; since_ms: number }
  | {
      what: 'drag';
      drag: GizmoDrag;
      edit: TransformEdit;
      things: { entity: Entity; held: Held }[];
      /** The middle of the underside of the things when the drag began. */
      base: Vector3;
      dragged: Dragged | null;
    };

const slack_px = 4;
const fly_keys = new Set(['KeyW', 'KeyA', 'KeyS', 'KeyD', 'KeyQ', 'KeyE', 'ShiftLeft', 'ShiftRight']);
const hint_ms = 900;

export class Hands {
  hint = '';
  /** Shared with the toolbar, which changes it. */
  readonly steps: Steps = { move: 0.5, turn: 15, scale: 0.1 };
  private chosen: Tool = 'move';
  private local = false;
  private snap = false;
  private chosen_pivot: Pivot = 'origins';
  private doing: Doing = { what: 'nothing' };
  private pointer: Point | null = null;
  private last: Point = { x: 0, y: 0 };
  private hot_handle: Handle | null = null;
  private hot_ball: AxisBall | null = null;
  private hot_knob: Knob | null = null;
  private hint_timer = 0;
  /** The entity under the pointer. */
  private over: Entity | null = null;
  /** Computed by look() and used by overlay() for the same frame. */
  private known_parts: GizmoPart[] | null = null;
  private readonly removers: (() => void)[] = [];

  constructor(private readonly stage: Stage) {
    const { root } = stage;
    const on = <K extends keyof HTMLElementEventMap>(
      kind: K,
      call: (event: HTMLElementEventMap[K]) => void,
      options?: AddEventListenerOptions,
    ): void => {
      root.addEventListener(kind, call, options);
      this.removers.push(() => root.removeEventListener(kind, call, options));
    };
    on('pointerdown', (event) => this.down(event));
    on('pointermove', (event) => this.move(event));
    on('pointerup', (event) => this.up(event));
    on('pointercancel', () => this.cancel());
    on('lostpointercapture', () => this.cancel());
    on('pointerleave', () => this.leave());
    on('wheel', (event) => this.wheel(event), { passive: false });
    on('dblclick', (event) => this.twice(event));
    on('contextmenu', (event) => event.preventDefault());
    on('auxclick', (event) => event.preventDefault());
    // A focus ring around the whole viewport helps only users of the keyboard.
    on('focus', () => (root.dataset.focus = 'keys'));
    on('blur', () => delete root.dataset.focus);
    // Runs before other handlers: during a flight, W does not select a tool, and Escape only
    // cancels a drag.
    const key = (event: KeyboardEvent): void => this.key(event);
    window.addEventListener('keydown', key, true);
    window.addEventListener('keyup', key, true);
    const blurred = (): void => this.cancel();
    window.addEventListener('blur', blurred);
    this.removers.push(() => {
      window.removeEventListener('keydown', key, true);
      window.removeEventListener('keyup', key, true);
      window.removeEventListener('blur', blurred);
    });
  }

  get tool(): Tool {
    return this.chosen;
  }
  set tool(tool: Tool) {
    this.cancel();
    this.chosen = tool;
    this.stage.tools_changed();
  }
  get is_local(): boolean {
    return this.local;
  }
  set is_local(on: boolean) {
    this.local = on;
    this.stage.tools_changed();
  }
  get pivot(): Pivot {
    return this.chosen_pivot;
  }
  set pivot(pivot: Pivot) {
    this.cancel();
    this.chosen_pivot = pivot;
    this.stage.tools_changed();
  }
  get snaps(): boolean {
    return this.snap;
  }
  set snaps(on: boolean) {
    this.snap = on;
    this.stage.tools_changed();
  }
  /** True while the pointer moves something, or the view. */
  get is_busy(): boolean {
    return this.doing.what !== 'nothing';
  }
  get is_dragging(): boolean {
    return this.doing.what === 'drag';
  }

  selection_changed(): void {
    // A drag ends if its entities are no longer selected.
    if (this.doing.what === 'pull') this.cancel();
    if (this.doing.what === 'drag') {
      const selected = new Set(this.stage.world.selection().map(({ index }) => index));
      if (!this.doing.things.every(({ entity }) => selected.has(entity.index))) this.cancel();
    }
  }

  may_edit_changed(): void {
    if ((this.is_dragging || this.doing.what === 'pull') && !this.stage.world.may_edit()) this.cancel();
    this.stage.ask();
  }

  dispose(): void {
    this.cancel();
    clearTimeout(this.hint_timer);
    for (const remove of this.removers) remove();
  }

  /** Updates what is under the pointer. Call before each frame. */
  look(): void {
    const { stage } = this;
    this.known_parts = null;
    if (!this.pointer || this.doing.what !== 'nothing') return;
    const { pointer } = this;
    const { widget_center } = stage;
    const near_widget = Math.hypot(pointer.x - widget_center.x, pointer.y - widget_center.y) < widget_arm_px + 14;
    this.hot_ball = near_widget ? ball_at(axis_balls(stage.rig.camera, widget_center), pointer) : null;
    this.hot_knob = this.hot_ball ? null : knob_at(this.knobs(), stage.sight, pointer);
    this.hot_handle = this.hot_ball || this.hot_knob ? null : handle_at(this.parts(), pointer);
    const is_hot = this.hot_ball !== null || this.hot_knob !== null || this.hot_handle !== null;
    this.hover(is_hot ? null : entity_at(this.stage, pointer));
    stage.root.dataset.hand = is_hot ? 'hot' : '';
  }

  /** Returns true if the flight continues. */
  fly(passed_s: number): boolean {
    if (this.doing.what !== 'fly') return false;
    const { keys } = this.doing;
    const held = (code: string): number => (keys.has(code) ? 1 : 0);
    const way = new Vector3(held('KeyD') - held('KeyA'), held('KeyE') - held('KeyQ'), held('KeyS') - held('KeyW'));
    if (way.lengthSq() === 0) return false;
    const { rig } = this.stage;
    const fast = keys.has('ShiftLeft') || keys.has('ShiftRight') ? 4 : 1;
    rig.fly(way.normalize().multiplyScalar(rig.speed * fast * passed_s));
    return true;
  }

  overlay(): OverlayState {
    const { stage, doing, pointer } = this;
    const state: OverlayState = {
      parts: doing.what === 'fly' || doing.what === 'box' ? [] : this.parts(),
      hot: this.hot_handle,
      grabbed: null,
      guide: null,
      pie: null,
      numbers: null,
      name: null,
      box: doing.what === 'box' && pointer ? rect_of(doing.from, pointer) : null,
      knobs: this.knobs().map((knob) => ({
        at: stage.sight.project(knob.at),
        is_hot: (doing.what === 'pull' ? doing.knob : this.hot_knob)?.field === knob.field,
      })),
      widget: { center: stage.widget_center, hot: this.hot_ball },
      hint: this.hint,
    };
    this.known_parts = null;
    if (doing.what === 'drag') this.drag_overlay(doing, state);
    else if (doing.what === 'pull' && pointer && doing.text)
      state.numbers = { at: pointer, text: [{ axis: '', value: doing.text }] };
    else if (doing.what === 'nothing' && pointer && this.over) {
      const slot = stage.contents.slot(this.over);
      const name = stage.world.get(this.over)?.name || `#${this.over.index}:${this.over.generation}`;
      if (slot !== undefined) state.name = { at: pointer, text: name, note: stage.contents.bodies.sign(slot) };
    }
    return state;
  }

  private down(event: PointerEvent): void {
    const { stage } = this;
    if (this.doing.what !== 'nothing') {
      // Pressing the right button during a drag cancels it.
      if (this.doing.what === 'drag' && event.button === 2) this.cancel();
      return;
    }
    stage.root.focus({ preventScroll: true });
    delete stage.root.dataset.focus;
    this.pointer = this.last = this.point(event);
    this.look();
    stage.root.setPointerCapture(event.pointerId);
    if (event.button === 1 || (event.button === 0 && event.altKey)) {
      event.preventDefault();
      this.begin({ what: event.shiftKey ? 'pan' : 'orbit' });
    } else if (event.button === 2) {
      this.begin({ what: 'fly', moved: 0, keys: new Set(), since_ms: performance.now() });
    } else if (event.button === 0) {
      if (this.hot_ball) align_view(stage, this.hot_ball.axis, this.hot_ball.positive);
      else if (this.hot_knob) this.begin_pull(this.hot_knob);
      else if (!this.hot_handle || !this.grab(this.hot_handle, this.pointer))
        this.begin({
          what: 'press',
          from: this.pointer,
          how: event.shiftKey ? 'add' : event.ctrlKey || event.metaKey ? 'toggle' : 'only',
        });
    }
    stage.ask();
  }

  private move(event: PointerEvent): void {
    const { stage, doing } = this;
    const point = this.point(event);
    const dx = point.x - this.last.x;
    const dy = point.y - this.last.y;
    this.last = this.pointer = point;
    switch (doing.what) {
      case 'press':
        if (Math.hypot(point.x - doing.from.x, point.y - doing.from.y) > slack_px) {
          this.hover(null);
          this.begin({ what: 'box', from: doing.from, how: doing.how });
        }
        break;
      case 'orbit':
        stage.rig.orbit(dx, dy);
        break;
      case 'pan':
        stage.rig.pan(dx, dy, stage.sight.height);
        break;
      case 'fly':
        doing.moved += Math.abs(dx) + Math.abs(dy);
        if (doing.moved > slack_px) stage.rig.look(dx, dy);
        break;
      case 'drag':
        this.drag_to(doing, point, event);
        break;
      case 'pull':
        this.pull_to(doing, point, event);
        break;
    }
    stage.ask();
  }

  private up(event: PointerEvent): void {
    const { stage, doing } = this;
    this.last = this.pointer = this.point(event);
    switch (doing.what) {
      case 'press': {
        const entity = entity_at(this.stage, doing.from);
        if (entity) stage.world.select([entity], doing.how);
        else if (doing.how === 'only') stage.world.select([], 'only');
        break;
      }
      case 'box': {
        const found = entities_in(this.stage, rect_of(doing.from, this.pointer));
        if (found.length > 0 || doing.how === 'only') stage.world.select(found, doing.how);
        break;
      }
      case 'fly':
        if (event.button !== 2) return;
        if (doing.moved <= slack_px && doing.keys.size === 0 && performance.now() - doing.since_ms < 400)
          this.menu(event);
        break;
      case 'pull':
        doing.edit.end();
        break;
      case 'drag':
        this.drag_to(doing, this.pointer, event);
        doing.edit.end();
        if (!doing.edit.is_over || this.doing === doing) stage.await_told();
        break;
    }
    this.begin({ what: 'nothing' });
    if (stage.root.hasPointerCapture(event.pointerId)) stage.root.releasePointerCapture(event.pointerId);
    stage.ask();
  }

  private cancel(): void {
    const { stage, doing } = this;
    if (doing.what === 'nothing') return;
    this.begin({ what: 'nothing' });
    if (doing.what === 'pull') doing.edit.cancel();
    if (doing.what === 'drag') {
      for (const { entity, held } of doing.things) stage.contents.hold(entity, held.before);
      doing.edit.cancel();
      stage.await_told();
      stage.changed();
    }
    stage.ask();
  }

  /** Returns dragged entities to the world's places. */
  private give_up(): void {
    this.begin({ what: 'nothing' });
    this.stage.contents.let_go();
    this.stage.changed();
  }

  private leave(): void {
    if (this.doing.what !== 'nothing') return;
    this.pointer = null;
    this.hot_handle = this.hot_ball = this.hot_knob = null;
    this.hover(null);
    this.stage.ask();
  }

  private twice(event: MouseEvent): void {
    const entity = entity_at(this.stage, this.point(event));
    if (entity && !this.hot_handle) this.stage.frame([entity]);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const { stage } = this;
    const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const turned = Math.min(Math.max(event.deltaY * lines, -240), 240);
    if (this.doing.what === 'fly') {
      stage.rig.speed = Math.min(Math.max(stage.rig.speed * Math.exp(-turned / 500), 0.1), 2000);
      this.show_hint(`Flying at ${stage.rig.speed.toFixed(stage.rig.speed < 10 ? 1 : 0)} m/s`);
    } else if (this.doing.what !== 'drag') stage.rig.zoom(Math.exp(turned / 600), zoom_target(this.stage, this.point(event)));
    stage.ask();
  }

  private key(event: KeyboardEvent): void {
    const { doing } = this;
    if (doing.what === 'fly' && fly_keys.has(event.code)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (event.type === 'keydown') doing.keys.add(event.code);
      else doing.keys.delete(event.code);
      this.stage.ask();
    } else if (event.type === 'keydown' && event.code === 'Escape' && /^(drag|box|pull)$/.test(doing.what)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      this.cancel();
    }
  }

  private menu(event: PointerEvent): void {
    const { world } = this.stage;
    const entity = entity_at(this.stage, this.point(event));
    const is_selected = entity !== null && world.selection().some(({ index }) => index === entity.index);
    if (!is_selected) world.select(entity ? [entity] : [], 'only');
    world.menu?.(event.clientX, event.clientY);
  }

  /**
   * Returns the selected entities that can be moved: those with a Transform and without a selected
   * ancestor that moves them.
   */
  movable(): { entity: Entity; slot: number }[] {
    const { contents, world } = this.stage;
    const chosen = new Map<number, Entity>();
    for (const entity of world.selection()) {
      const slot = contents.slot(entity);
      if (slot !== undefined && !contents.is_locked(slot)) chosen.set(slot, entity);
    }
    const found: { entity: Entity; slot: number }[] = [];
    for (const [slot, entity] of chosen) {
      if (!contents.tree.is_placed(slot)) continue;
      let is_carried = false;
      for (let above = contents.tree.parent[slot]; above >= 0 && !is_carried; above = contents.tree.parent[above])
        is_carried = chosen.has(above) && contents.tree.is_placed(above);
      if (!is_carried) found.push({ entity, slot });
    }
    return found;
  }

  private frame(): GizmoFrame | null {
    if (this.doing.what === 'drag') {
      // The handles move with the dragged entities.
      const { drag, dragged } = this.doing;
      const moved = drag.frame.origin.clone();
      if (dragged) moved.add(dragged.move);
      return { origin: moved, axes: drag.frame.axes };
    }
    if (this.chosen === 'none' || !this.stage.world.may_edit()) return null;
    const things = this.movable();
    if (things.length === 0) return null;
    const { contents } = this.stage;
    const origin = new Vector3();
    const box = this.chosen_pivot === 'middle' ? contents.box(things.map(({ entity }) => entity)) : null;
    if (box) box.getCenter(origin);
    else if (this.chosen_pivot === 'active') contents.place_of(things[things.length - 1].slot, origin);
    else {
      for (const { slot } of things) origin.add(contents.place_of(slot, new Vector3()));
      origin.divideScalar(things.length);
    }
    const axes: [Vector3, Vector3, Vector3] = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)];
    if (this.local || this.chosen === 'scale') {
      const turn = new Quaternion();
      contents.matrix(things[things.length - 1].slot).decompose(new Vector3(), turn, new Vector3());
      for (const axis of axes) axis.applyQuaternion(turn);
    }
    return { origin, axes };
  }

  private parts(): GizmoPart[] {
    if (this.known_parts) return this.known_parts;
    const frame = this.frame();
    const tool = this.doing.what === 'drag' ? this.doing.drag.tool : this.chosen;
    return (this.known_parts = frame ? gizmo_parts(tool, frame, this.stage.sight) : []);
  }

  private knobs(): Knob[] {
    const { stage } = this;
    return stage.world.may_edit() ? lamp_knobs(stage.contents, stage.world.selection(), stage.sight) : [];
  }
  private begin_pull(knob: Knob): void {
    const { world } = this.stage;
    const title = `Set ${knob.field.replace('_', ' ')} of ${world.get(knob.entity)?.name || 'a light'}`;
    this.begin({ what: 'pull', knob, edit: world.begin_field_edit(title, knob.entity, 'scene.Light'), text: '' });
  }
  private pull_to(doing: Extract<Doing, { what: 'pull' }>, point: Point, event: PointerEvent): void {
    const { knob, edit } = doing;
    if (edit.is_over) return this.begin({ what: 'nothing' });
    const steps = this.snap !== (event.ctrlKey || event.metaKey) ? this.steps : null;
    const value = pulled(knob, this.stage.sight.ray(point), steps);
    if (value === null) return;
    doing.text = knob.field === 'range' ? `${value.toFixed(2)} m` : `${value.toFixed(1)}°`;
    edit.put(knob.field, Math.fround(value));
  }

  private grab(handle: Handle, point: Point): boolean {
    const { stage } = this;
    const frame = this.frame();
    if (!frame) return false;
    const things = this.movable().flatMap(({ entity, slot }) => {
      const before = stage.contents.local(entity);
      const parent = stage.contents.parent_matrix(slot)?.clone() ?? null;
      return before && !(parent && is_flat_space(parent)) ? [{ entity, held: { before, parent } }] : [];
    });
    if (things.length === 0) {
      this.show_hint('A parent has a scale of 0, so this cannot be moved by hand');
      return false;
    }
    const held_by_other = stage.world.held(things.map(({ entity }) => entity));
    if (held_by_other) {
      this.show_hint(held_by_other);
      return true; // the press has no other meaning
    }
    const verb = this.chosen === 'move' ? 'Move' : this.chosen === 'rotate' ? 'Rotate' : 'Scale';
    const drag = new GizmoDrag(this.chosen, handle, frame, stage.sight, point, !this.local);
    const one = things.length === 1 ? stage.world.get(things[0].entity)?.name : '';
    const edit = stage.world.begin_edit(one ? `${verb} ${one}` : `${verb} ${things.length} entities`);
    const base = stage.arranger.underside(things);
    this.begin({ what: 'drag', drag, edit, things, base, dragged: null });
    this.hover(null);
    return true;
  }

  private drag_to(doing: Extract<Doing, { what: 'drag' }>, point: Point, event: PointerEvent): void {
    const { stage } = this;
    const { drag, edit, things } = doing;
    const is_each = this.chosen_pivot === 'each' && drag.tool !== 'move';
    if (edit.is_over) return this.give_up();
    const dragged = drag.to(point, this.snap !== (event.ctrlKey || event.metaKey) ? this.steps : null);
    if (drag.tool === 'move' && event.shiftKey) stage.arranger.put_on_surface(doing, point, dragged);
    if (dragged.text.length === 0) return;
    doing.dragged = dragged;
    const puts: TransformPut[] = [];
    for (const { entity, held } of things) {
      if (stage.contents.slot(entity) === undefined) continue;
      const value = applied(held, dragged, drag.frame, things.length === 1 || is_each);
      if (!value) continue;
      const put: TransformPut = { entity };
      const { before } = held;
      // A single entity turns about its own origin, unless the pivot is elsewhere.
      const stays = is_each || (things.length === 1 && this.chosen_pivot !== 'middle');
      if (drag.tool === 'move' || !stays) put.position = value.position;
      else value.position = before.position;
      if (drag.tool === 'rotate') put.rotation = value.rotation;
      else value.rotation = before.rotation;
      if (drag.tool === 'scale') put.scale = value.scale;
      stage.contents.hold(entity, value);
      puts.push(put);
    }
    edit.put(puts);
  }

  private drag_overlay(doing: Extract<Doing, { what: 'drag' }>, state: OverlayState): void {
    const { drag, dragged } = doing;
    const { sight } = this.stage;
    state.grabbed = drag.handle;
    if (dragged && this.pointer) state.numbers = { at: this.pointer, text: dragged.text };
    const axis = axis_of(drag.handle);
    const origin = sight.project(drag.frame.origin);
    if (axis >= 0 && drag.tool !== 'rotate') {
      const metre = sight.metres_per_pixel(drag.frame.origin);
      const end = sight.project(drag.frame.origin.clone().addScaledVector(drag.frame.axes[axis], metre * 50));
      const length = Math.hypot(end.x - origin.x, end.y - origin.y);
      if (length > 2) {
        const far = 4000 / length;
        const way = { x: (end.x - origin.x) * far, y: (end.y - origin.y) * far };
        state.guide = {
          from: { x: origin.x - way.x, y: origin.y - way.y },
          to: { x: origin.x + way.x, y: origin.y + way.y },
          axis,
        };
      }
    }
    if (drag.tool === 'rotate' && dragged) state.pie = drag.pie(dragged.angle);
  }

  private hover(entity: Entity | null): void {
    const before = this.over;
    this.over = entity;
    if (before?.index === entity?.index && before?.generation === entity?.generation) return;
    this.stage.world.hover(entity);
    this.stage.emphasis_changed();
  }

  private begin(doing: Doing): void {
    this.doing = doing;
    this.stage.root.dataset.hand = doing.what === 'nothing' || doing.what === 'press' ? '' : doing.what;
    if (doing.what === 'orbit' || doing.what === 'pan' || doing.what === 'fly') this.hover(null);
    if (doing.what === 'fly') this.stage.rig.speed = Math.max(this.stage.rig.speed, 0.1);
  }

  private show_hint(text: string): void {
    this.stage.hint(text);
    clearTimeout(this.hint_timer);
    this.hint_timer = window.setTimeout(() => this.stage.hint(''), hint_ms);
  }

  private point(event: MouseEvent): Point {
    const { left, top } = this.stage.root.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  }
}

function rect_of(a: Point, b: Point): Rect {
  return { left: Math.min(a.x, b.x), top: Math.min(a.y, b.y), right: Math.max(a.x, b.x), bottom: Math.max(a.y, b.y) };
}
