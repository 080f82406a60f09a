// The viewport: redraws the world when it changes, and connects user input to the picture.
import {
  Color,
  DirectionalLight,
  Frustum,
  Group,
  HemisphereLight,
  MathUtils,
  Matrix4,
  NeutralToneMapping,
  PCFShadowMap,
  Scene,
  Vector3,
  WebGLRenderer,
} from 'three';
import type { Sphere } from 'three';
import { Arranger } from '../arrange/arranger.js';
import { counted } from '../model/numbers.js';
import { theme_changed } from '../panels/theme.js';
import { Backdrop } from './backdrop.js';
import { CameraRig } from './camera_rig.js';
import { Contents } from './contents.js';
import { Hands, pivots } from './hands.js';
import { Lamps } from './lamps.js';
import { Others } from '../people/others.js';
import { Outline } from './outline.js';
import { Overlay } from './overlay.js';
import type { OverlayColors } from './overlay.js';
import { Preview } from './preview.js';
import { Sight } from './sight.js';
import { Signs } from './signs.js';
import { studio_light } from './studio_light.js';
import { Toolbar } from './toolbar.js';
import { calm, view_commands } from './view_commands.js';
import type { Entity, ViewCommand, ViewWorld } from './world.js';

/** Time per frame for computing moved entities; the rest follows in the next frame. */
const settle_ms = 2;
/** Interval between updates of the frame statistics in the corner. */
const tell_every_ms = 250;
/** Shadows are off if there are more bodies. */
const shadowed_max = 30_000;
const outlined_max = 20_000;
const rest_after_ms = 400;
/** A frame that takes longer is followed by a pause of this many times its duration. */
const cheap_ms = 60;
const rest_per_cost = 2;
const look_again_ms = 8;
/** Margin around the visible region that is updated as often, relative to the camera's distance. */
const seen_around = 0.2;
/** Interval at which visible entities are determined again while the camera moves. */
const see_again_ms = 250;
/** Interval between computations of the distance to the farthest entity. */
const around_every_ms = 1000;
/** The editor's own light, and the part of it that is left if the level has lights. */
const studio = { sun: 2.15, sky: 0.9, all_around: 0.28, beside_lights: 0.45 };
/** Limit on the time for which a dragged value is shown after the drag has ended. */
const told_after_ms = 700;

export class Stage {
  readonly root = document.createElement('div');
  readonly rig = new CameraRig();
  readonly contents: Contents;
  readonly hands: Hands;
  readonly arranger: Arranger;
  readonly commands: ViewCommand[];
  /** This thread's time for the last frame, in milliseconds. */
  frame_ms = 0;
  frames = 0;
  readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly sun = new DirectionalLight(0xfff1de, studio.sun);
  private readonly sky = new HemisphereLight(0xd5e2f5, 0x3f3b36, studio.sky);
  private readonly lamps: Lamps;
  private readonly preview: Preview;
  private readonly backdrop = new Backdrop();
  private readonly outline = new Outline({ width: 1.6, rim: 1.3 });
  private readonly hover_line = new Outline({ width: 1.2, rim: 0.8 });
  private readonly others: Others;
  private readonly overlay: Overlay;
  private readonly toolbar: Toolbar;
  private readonly signs = new Signs();
  private readonly status = document.createElement('div');
  private readonly note = document.createElement('div');
  private readonly sizes: ResizeObserver;
  private readonly endings: (() => void)[] = [];
  private width = 1;
  private height = 1;
  private asked = 0;
  private stale = { bodies: true, outline: true };
  private around: Sphere | null = null;
  private around_is_old = true;
  private around_ms = 0;
  private was_framed = false;
  private readonly seen = new Matrix4();
  private seen_ms = 0;
  private shadow_at = '';
  private rest_timer = 0;
  private told_timer = 0;
  private shadows: boolean;
  private last_ms = 0;
  private told_ms = -Infinity;
  /** Signaled when the GPU has drawn the last frame. */
  private drawn: WebGLSync | null = null;

  constructor(
    readonly host: HTMLElement,
    readonly world: ViewWorld,
  ) {
    this.root.className = 'viewport-root';
    this.root.tabIndex = 0;
    this.root.setAttribute('role', 'application');
    this.root.setAttribute('aria-label', 'Viewport');
    this.renderer = new WebGLRenderer({ antialias: true, powerPreference: 'high-performance' });
    this.renderer.autoClear = false;
    // Checking shaders for errors would wait for their compilation.
    this.renderer.debug.checkShaderErrors = false;
    this.renderer.toneMapping = NeutralToneMapping;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.shadowMap.autoUpdate = false;
    this.shadows = !draws_in_software(this.renderer);
    this.renderer.domElement.className = 'viewport-canvas';
    const colors = colors_of(host);
    this.overlay = new Overlay(colors);
    this.status.className = 'viewport-status';
    this.note.className = 'viewport-note';
    this.note.hidden = true;

    const parent = new Group();
    this.scene.add(
      this.backdrop.group,
      parent,
      this.sky,
      this.sun,
      this.sun.target,
    );
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.normalBias = 0.04;
    this.sun.shadow.bias = -0.0004;
    this.contents = new Contents(world, parent, () => {
      this.scene.environment ??= studio_light(this.renderer);
      this.changed();
    });
    this.lamps = new Lamps(this.scene);
    this.preview = new Preview(this);
    this.hands = new Hands(this);
    this.others = new Others(this);
    this.arranger = new Arranger(this);
    this.commands = [...view_commands(this), ...this.preview.commands(), ...this.arranger.commands()];
    this.toolbar = new Toolbar(
      this.commands,
      () => this.hands.is_local,
      () => pivots.find(([pivot]) => pivot === this.hands.pivot)![1],
      this.hands.steps,
      () => this.tools_changed(),
    );
    const { domElement } = this.renderer;
    this.root.append(domElement, this.signs.element, this.others.element, this.overlay.canvas, this.status, this.note, this.toolbar.element);
    this.root.append(this.preview.element);
    host.append(this.root);
    this.paint(colors);
    const repaint = (): void => {
      const now = colors_of(host);
      this.overlay.colors = now;
      this.paint(now);
      this.emphasis_changed();
    };
    addEventListener(theme_changed, repaint);
    this.endings.push(() => removeEventListener(theme_changed, repaint));

    this.endings.push(
      world.follow(
        (changes) => {
          this.contents.take(changes);
          if (!this.hands.is_dragging) this.contents.let_go_of_told();
          this.changed();
        },
        () => this.reset(),
      ),
      world.on_selection(() => this.selection_changed()),
      world.on_hovered(() => this.emphasis_changed()),
      world.on_may_edit(() => this.hands.may_edit_changed()),
      world.on_hidden(() => {
        this.contents.hidden_changed();
        this.changed();
      }),
    );
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.root);
    this.resize();
    this.reset();
  }

  /** In CSS pixels. */
  get sight(): Sight {
    return new Sight(this.rig.camera, this.width, this.height);
  }
  get has_shadows(): boolean {
    return this.shadows;
  }
  set has_shadows(on: boolean) {
    this.shadows = on;
    this.shadow_at = '';
    this.tools_changed();
  }
  get has_lights(): boolean {
    return this.lamps.is_on;
  }
  set has_lights(on: boolean) {
    this.lamps.is_on = on;
    this.changed();
    this.tools_changed();
  }
  get has_grid(): boolean {
    return this.backdrop.grid_visible;
  }
  set has_grid(on: boolean) {
    this.backdrop.grid_visible = on;
    this.tools_changed();
  }
  /** Position of the axis widget. */
  get widget_center(): { x: number; y: number } {
    return { x: this.width - 58, y: 58 };
  }

  /** Requests a frame. */
  ask(): void {
    if (this.asked === 0) this.asked = requestAnimationFrame((now) => this.draw(now));
  }

  /** Call when entities have moved or look different. */
  changed(): void {
    this.stale.bodies = this.stale.outline = true;
    this.around_is_old = true;
    this.ask();
  }
  emphasis_changed(): void {
    this.stale.outline = true;
    this.ask();
  }
  tools_changed(): void {
    this.toolbar.update(this.hands.steps);
    this.ask();
  }

  /** Call when the user has chosen a view, which the first frame then keeps. */
  was_placed(): void {
    this.was_framed = true;
    this.ask();
  }

  /** Frames these entities, or everything if none of them has a place. */
  frame(entities: readonly Entity[], lasts_ms = 250): void {
    this.contents.settle();
    const sphere = (entities.length > 0 ? this.contents.bounds(entities) : null) ?? this.contents.bounds_of_all();
    if (!sphere) return;
    const distance = this.rig.distance_for(Math.max(sphere.radius, 0.25));
    this.rig.go({ target: sphere.center, distance }, calm() ? 0 : lasts_ms, performance.now());
    this.ask();
  }

  /**
   * After a drag, shows the dragged values until the world confirms them or a time limit passes.
   */
  await_told(): void {
    clearTimeout(this.told_timer);
    this.told_timer = window.setTimeout(() => {
      if (this.hands.is_dragging) return;
      this.contents.let_go();
      this.changed();
    }, told_after_ms);
  }

  hint(text: string): void {
    this.hands.hint = text;
    this.ask();
  }

  dispose(): void {
    cancelAnimationFrame(this.asked);
    clearTimeout(this.later);
    clearTimeout(this.rest_timer);
    clearTimeout(this.told_timer);
    for (const end of this.endings) end();
    this.sizes.disconnect();
    this.hands.dispose();
    this.arranger.dispose();
    this.toolbar.dispose();
    this.contents.bodies.dispose();
    this.contents.markers.dispose();
    this.lamps.dispose();
    this.outline.dispose();
    this.others.dispose();
    this.hover_line.dispose();
    this.backdrop.dispose();
    this.renderer.dispose();
    this.root.remove();
  }

  private reset(): void {
    this.contents.reset();
    this.changed();
    this.selection_changed();
  }

  private selection_changed(): void {
    this.hands.selection_changed();
    this.emphasis_changed();
  }

  private resize(): void {
    this.width = Math.max(this.root.clientWidth, 1);
    this.height = Math.max(this.root.clientHeight, 1);
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(this.width, this.height, false);
    this.overlay.resize(this.width, this.height, ratio);
    this.rig.resize(this.width, this.height);
    // A resized canvas is empty until it is drawn, so do not wait for the last frame.
    this.drawn = null;
    if (this.frames > 0) this.draw(performance.now());
    else this.ask();
  }

  private draw(now_ms: number): void {
    cancelAnimationFrame(this.asked);
    this.asked = 0;
    if (this.is_behind() || this.gives_way(now_ms)) return this.ask_later();
    const began = performance.now();
    const passed_s = Math.min((now_ms - this.last_ms) / 1000, 0.1);
    this.last_ms = now_ms;
    this.drawn_ms = began;
    const goes_on = this.rig.step(now_ms) || this.hands.fly(passed_s);
    this.see(now_ms);
    // The first frame waits until everything is in place; later ones show what has been computed so
    // far.
    const over = began + settle_ms;
    if (this.contents.settle(this.was_framed ? () => performance.now() > over : undefined)) {
      this.stale.bodies = this.stale.outline = true;
      this.around_is_old = true;
    }
    this.first_frame();
    this.contents.bodies.flush();
    if (this.around_is_old && (now_ms - this.around_ms > around_every_ms || !this.around)) {
      this.around = this.contents.reach();
      this.around_is_old = false;
      this.around_ms = now_ms;
    }
    this.rig.fit_depth(this.around?.center ?? zero, this.around?.radius ?? 10);
    this.backdrop.follow(this.rig.camera, this.rig.view.distance);
    this.hands.look();
    if (this.stale.outline) this.emphasize();
    this.contents.markers.flush(this.renderer.getPixelRatio(), this.height);
    this.light();
    this.shade();

    this.renderer.clear();
    this.renderer.render(this.scene, this.rig.camera);
    const calls = this.renderer.info.render.calls;
    this.others.outline.draw(this.renderer, this.rig.camera);
    this.hover_line.draw(this.renderer, this.rig.camera);
    this.outline.draw(this.renderer, this.rig.camera);
    this.lamps.show_lines(false);
    this.backdrop.grid_shown = false;
    this.contents.markers.show(false);
    this.preview.draw(this.renderer, this.scene, this.width, this.height);
    this.contents.markers.show(true);
    this.backdrop.grid_shown = true;
    this.lamps.show_lines(true);
    this.signs.show(this.contents, this.sight);
    this.others.show();
    this.overlay.draw(this.hands.overlay(), this.rig.camera);

    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    this.drawn = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    this.stale = { bodies: false, outline: false };
    ++this.frames;
    this.frame_ms = performance.now() - began;
    this.tell(calls);
    if (goes_on || !this.contents.is_settled) this.ask();
  }

  /**
   * Returns true if the GPU is still drawing the last frame. Another frame would only be queued,
   * and user input would appear late.
   */
  private is_behind(): boolean {
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    const { drawn } = this;
    if (!drawn || gl.isContextLost()) return false;
    if (gl.getSyncParameter(drawn, gl.SYNC_STATUS) !== gl.SIGNALED) {
      this.was_behind = true;
      return true;
    }
    gl.deleteSync(drawn);
    this.drawn = null;
    // Otherwise the GPU may have been done long ago.
    this.cost_ms = this.was_behind ? performance.now() - this.drawn_ms : this.frame_ms;
    this.was_behind = false;
    return false;
  }

  /**
   * Returns true if the last frame was so expensive that the rest of the page comes first. What the
   * user does with the pointer is drawn at once.
   */
  private gives_way(now_ms: number): boolean {
    const { cost_ms } = this;
    return cost_ms > cheap_ms && !this.hands.is_busy && now_ms - this.drawn_ms < cost_ms * (1 + rest_per_cost);
  }
  /** Asks for a frame after a pause. Waiting for each frame of the screen would cost time, too. */
  private ask_later(): void {
    if (this.asked !== 0 || this.later !== 0) return;
    this.later = window.setTimeout(() => {
      this.later = 0;
      this.ask();
    }, look_again_ms);
  }
  private later = 0;
  /** When the last frame was begun, and how long this thread and the GPU needed for it. */
  private drawn_ms = -Infinity;
  private cost_ms = 0;
  /** True if the last frame was not finished when the next one was to begin. */
  private was_behind = false;

  /**
   * Finds newly visible entities while the camera moves, because these are updated before invisible
   * ones.
   */
  private see(now_ms: number): void {
    const { camera, view } = this.rig;
    camera.updateMatrixWorld();
    matrix.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
    frustum.setFromProjectionMatrix(matrix);
    this.contents.sight = { planes: frustum.planes, margin: view.distance * seen_around };
    if (matrix.equals(this.seen) || now_ms - this.seen_ms < see_again_ms) return;
    this.seen.copy(matrix);
    this.seen_ms = now_ms;
    this.contents.tree.recall();
  }

  /** Moves the camera to show most entities, once there are any. */
  private first_frame(): void {
    if (this.was_framed) return;
    const sphere = this.contents.bounds_of_most();
    if (!sphere) return;
    this.was_framed = true;
    this.rig.go(
      { target: sphere.center, distance: this.rig.distance_for(sphere.radius * 0.9), pitch: MathUtils.degToRad(21) },
      0,
      0,
    );
  }

  private emphasize(): void {
    const selection = this.world.selection();
    const hovered = this.world.hovered();
    const selected = this.contents.slots_below(selection, outlined_max);
    const active = selection.length > 1 ? this.contents.slots_below(selection.slice(-1), outlined_max) : none;
    const over = hovered ? this.contents.slots_below([hovered], outlined_max) : none;
    this.others.emphasize();
    this.outline.set(this.contents.bodies, selected, active);
    const only_over = [...over].filter((slot) => !selected.has(slot));
    this.hover_line.set(this.contents.bodies, only_over, none);
    this.lamps.draw_reach(this.contents, selection, this.width / this.height);
    const chosen = new Set(selection.map((entity) => this.contents.slot(entity)));
    this.contents.markers.emphasize((slot) => (chosen.has(slot) ? 2 : over.has(slot) ? 1 : 0));
  }

  /** Lights the picture with the level's lights, and dims those of the editor beside them. */
  private light(): void {
    if (this.stale.bodies || !this.rig.camera.position.equals(this.lit_from)) {
      this.lit_from.copy(this.rig.camera.position);
      this.lamps.update(this.contents, this.rig.view.target);
    }
    const part = this.lamps.count > 0 ? studio.beside_lights : 1;
    this.sun.intensity = studio.sun * part;
    this.sky.intensity = studio.sky * part;
    this.scene.environmentIntensity = studio.all_around * part;
  }
  private readonly lit_from = new Vector3(NaN);

  /** Moves the shadow camera in steps of a shadow pixel to avoid flicker. */
  private shade(): void {
    const bodies = this.contents.bodies.pools.reduce((sum, pool) => sum + pool.count, 0);
    const on = this.shadows && bodies <= shadowed_max;
    if (this.renderer.shadowMap.enabled !== on) {
      this.renderer.shadowMap.enabled = on;
      this.sun.castShadow = on;
      this.scene.traverse((each) => {
        const material = (each as { material?: { needsUpdate: boolean } }).material;
        if (material) material.needsUpdate = true;
      });
    }
    const { target, distance } = this.rig.view;
    const radius = 2 ** Math.ceil(Math.log2(MathUtils.clamp(distance * 1.1, 4, 600)));
    const cell = radius / 16;
    const at = new Vector3(
      Math.round(target.x / cell),
      Math.round(target.y / cell),
      Math.round(target.z / cell),
    ).multiplyScalar(cell);
    this.sun.target.position.copy(at);
    this.sun.position.copy(at).addScaledVector(sun_way, radius * 4);
    if (!on) return;
    const is_at = `${at.x} ${at.y} ${at.z} ${radius}`;
    if (is_at === this.shadow_at && !this.stale.bodies) return;
    this.shadow_at = is_at;
    const { camera } = this.sun.shadow;
    camera.left = camera.bottom = -radius;
    camera.right = camera.top = radius;
    camera.near = radius * 0.1;
    camera.far = radius * 8;
    camera.updateProjectionMatrix();
    this.sun.shadow.normalBias = radius / 700;
    this.renderer.shadowMap.needsUpdate = true;
  }

  private tell(calls: number): void {
    const count = counted(this.contents.size);
    const text = `${count} ${this.contents.size === 1 ? 'entity' : 'entities'} · ${calls} draws · `;
    if (this.last_ms - this.told_ms > tell_every_ms) {
      this.told_ms = this.last_ms;
      this.status.textContent = `${text}${this.frame_ms.toFixed(1)} ms per frame`;
    }
    clearTimeout(this.rest_timer);
    this.rest_timer = window.setTimeout(() => {
      const is_waiting = this.asked !== 0 || this.later !== 0;
      this.status.textContent = text + (is_waiting ? `${(this.cost_ms / 1000).toFixed(1)} s per frame` : 'at rest');
    }, rest_after_ms);
    const knows = this.world.has_transforms();
    const is_empty = knows && this.contents.size > 0 && !this.around;
    this.note.hidden = knows ? !is_empty : this.contents.size === 0;
    if (this.note.hidden) return;
    const [title, why] = knows
      ? ['No entity has a position', 'Entities with a Transform appear here. Add one in the inspector.']
      : [
          'Nothing to show in 3D',
          'The schema of this world has no scene.Transform. "muster import" adds it, and "muster new --schema scene.fbs" makes a world that has it. The tree, the inspector and everything else work.',
        ];
    if (this.note.firstChild?.textContent === title) return;
    const head = document.createElement('div');
    head.className = 'viewport-note-title';
    head.textContent = title;
    const body = document.createElement('div');
    body.className = 'viewport-note-text';
    body.textContent = why;
    this.note.replaceChildren(head, body);
  }

  private paint(colors: OverlayColors): void {
    this.backdrop.colors({ axis_x: colors.axes[0], axis_z: colors.axes[2] });
    // The line shaders output colors as displayed on screen.
    const accent = new Color(colors.accent).convertLinearToSRGB();
    const white = new Color(1, 1, 1);
    const line = accent.clone().lerp(white, 0.22);
    this.outline.colors(line, accent.clone().lerp(white, 0.8));
    this.hover_line.colors(new Color(0.5, 0.53, 0.58), white);
    this.contents.markers.colors([line.r, line.g, line.b]);
    this.lamps.color(new Color(colors.accent).lerp(white, 0.22));
  }
}

const zero = new Vector3();
const matrix = new Matrix4();
const frustum = new Frustum();
const none: ReadonlySet<number> = new Set();
/** Direction of the light, chosen so that each side of a box gets a different amount of light. */
const sun_way = new Vector3(-0.62, 1, 0.58).normalize();

function draws_in_software(renderer: WebGLRenderer): boolean {
  const gl = renderer.getContext();
  const told = gl.getExtension('WEBGL_debug_renderer_info');
  return told !== null && /swiftshader|llvmpipe|software/i.test(String(gl.getParameter(told.UNMASKED_RENDERER_WEBGL)));
}

function colors_of(host: HTMLElement): OverlayColors {
  const style = getComputedStyle(host);
  const token = (name: string, otherwise: string): string => style.getPropertyValue(name).trim() || otherwise;
  return {
    // The picture is dark in each theme.
    axes: [token('--view-axis-x', '#f0616d'), token('--view-axis-y', '#7fc950'), token('--view-axis-z', '#4f95f5')],
    accent: token('--view-accent', '#5b9dff'),
    text: token('--text-0', '#e6e9ee'),
    dim: token('--text-1', '#b3bac5'),
    panel: token('--bg-1', '#20242a'),
    line: token('--line', '#343a43'),
    warning: token('--warn', '#e5b454'),
    font: style.fontFamily || 'system-ui, sans-serif',
  };
}
