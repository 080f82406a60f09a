// Shows what the selected camera sees in the corner of the viewport, and moves between the view of
// the user and that of the camera.
import { MathUtils, OrthographicCamera, PerspectiveCamera, Vector3 } from 'three';
import type { Scene, WebGLRenderer } from 'three';
import { placed } from './lamps.js';
import type { CameraValue } from './lamps.js';
import { changed_by, is_flat_space } from './kept_place.js';
import type { Stage } from './stage.js';
import type { Entity, ViewCommand } from './world.js';

/** Largest size of the picture, in CSS pixels. */
const size = { width: 256, height: 160 };
const margin = 12;

export class Preview {
  readonly element = document.createElement('div');
  private readonly perspective = new PerspectiveCamera();
  private readonly flat = new OrthographicCamera();

  constructor(private readonly stage: Stage) {
    this.element.className = 'viewport-preview';
    this.element.hidden = true;
    this.element.setAttribute('role', 'img');
  }

  /** Returns the active selected entity if it is a camera. */
  camera(): { entity: Entity; slot: number; value: CameraValue } | null {
    const { contents, world } = this.stage;
    const entity = world.selection().at(-1);
    const slot = entity && contents.slot(entity);
    const value = slot === undefined ? undefined : contents.records[slot]?.components['scene.Camera'];
    return entity && slot !== undefined && value ? { entity, slot, value: value as unknown as CameraValue } : null;
  }

  /** Draws the picture over that of the viewport, whose size in CSS pixels is given. */
  draw(renderer: WebGLRenderer, scene: Scene, width: number, height: number): void {
    const found = this.camera();
    this.element.hidden = !found;
    if (!found) return;
    const { slot, value } = found;
    const aspect = value.aspect > 0 ? value.aspect : width / Math.max(height, 1);
    const most = { width: Math.min(size.width, width * 0.4), height: Math.min(size.height, height * 0.4) };
    const wide = Math.round(Math.min(most.width, most.height * aspect));
    const high = Math.max(1, Math.round(wide / aspect));
    const camera = value.height > 0 ? this.flat : this.perspective;
    if (camera === this.flat) {
      this.flat.top = value.height / 2;
      this.flat.bottom = -this.flat.top;
      this.flat.right = this.flat.top * aspect;
      this.flat.left = -this.flat.right;
    } else {
      this.perspective.fov = MathUtils.clamp(value.fov, 0.1, 179);
      this.perspective.aspect = aspect;
    }
    camera.near = Math.max(value.near, value.height > 0 ? 0 : 1e-3);
    camera.far = Math.max(value.far, camera.near + 1e-3);
    camera.matrixAutoUpdate = false;
    camera.matrix.copy(placed(this.stage.contents, slot));
    camera.updateMatrixWorld(true);
    camera.updateProjectionMatrix();
    this.element.style.cssText = `left:${margin}px;bottom:${margin}px;width:${wide}px;height:${high}px`;
    const name = this.stage.world.get(found.entity)?.name ?? '';
    if (this.element.dataset.name !== name) {
      this.element.dataset.name = name;
      this.element.setAttribute('aria-label', `What ${name || 'the camera'} sees`);
    }
    renderer.setScissorTest(true);
    renderer.setViewport(margin, margin, wide, high);
    renderer.setScissor(margin, margin, wide, high);
    renderer.clear();
    renderer.render(scene, camera);
    renderer.setScissorTest(false);
    renderer.setViewport(0, 0, width, height);
  }

  /** Moves the view to the selected camera. */
  look_through(): void {
    const found = this.camera();
    if (!found) return;
    const { rig, contents } = this.stage;
    const place = placed(contents, found.slot);
    const way = new Vector3(0, 0, -1).transformDirection(place);
    const eye = new Vector3().setFromMatrixPosition(place);
    rig.go(
      {
        target: eye.clone().addScaledVector(way, rig.view.distance),
        yaw: Math.abs(way.y) > 0.9999 ? rig.view.yaw : Math.atan2(-way.x, -way.z),
        pitch: -Math.asin(MathUtils.clamp(way.y, -1, 1)),
      },
      0,
      0,
    );
    this.stage.was_placed();
  }
  /** Moves the selected camera to where the user looks from. */
  set_from_view(): void {
    const found = this.camera();
    if (!found) return;
    const { contents, rig, world } = this.stage;
    const before = contents.local(found.entity);
    const parent = contents.parent_matrix(found.slot);
    if (!before || (parent && is_flat_space(parent))) return;
    const unit = { position: { x: 0, y: 0, z: 0 }, rotation: { x: 0, y: 0, z: 0, w: 1 }, scale: { x: 1, y: 1, z: 1 } };
    const view = rig.camera.matrixWorld.clone();
    const { position, rotation } = changed_by(unit, parent ? view.premultiply(parent.clone().invert()) : view);
    const edit = world.begin_edit(`Set ${world.get(found.entity)?.name || 'the camera'} from the view`);
    contents.hold(found.entity, { ...before, position, rotation });
    edit.put([{ entity: found.entity, position, rotation }]);
    edit.end();
    this.stage.await_told();
    this.stage.changed();
  }

  commands(): ViewCommand[] {
    const is_one = (): boolean => this.camera() !== null;
    return [
      {
        id: 'view.through',
        title: 'Look through the selected camera',
        keys: ['0'],
        enabled: is_one,
        run: () => this.look_through(),
      },
      {
        id: 'view.set_camera',
        title: 'Set the selected camera from the view',
        keys: ['Shift+0'],
        enabled: () => is_one() && this.stage.world.may_edit(),
        run: () => this.set_from_view(),
      },
    ];
  }
}
