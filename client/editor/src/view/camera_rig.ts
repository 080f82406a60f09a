// The camera, which looks at a target from a distance: orbit, pan, zoom to the pointer, fly, frame,
// and look along an axis.
import { MathUtils, PerspectiveCamera, Vector3 } from 'three';

const pitch_max = Math.PI / 2;
const distance_min = 0.02;
const distance_max = 50_000;

/** Angles in radians, lengths in meters. */
export interface View {
  target: Vector3;
  distance: number;
  /** 0 looks along -Z; increases to the left. */
  yaw: number;
  /** Positive looks down. */
  pitch: number;
}

interface Flight {
  from: View;
  to: View;
  began_ms: number;
  lasts_ms: number;
}

export class CameraRig {
  readonly camera = new PerspectiveCamera(50, 1, 0.1, 2000);
  view: View = { target: new Vector3(), distance: 16, yaw: MathUtils.degToRad(38), pitch: MathUtils.degToRad(28) };
  /** Speed of flying, in meters per second. */
  speed = 8;
  private flight: Flight | null = null;

  constructor() {
    this.place();
  }

  get is_moving(): boolean {
    return this.flight !== null;
  }

  /** Returns the size of a pixel at a point, in meters. */
  metres_per_pixel(at: Vector3, height: number): number {
    const depth = Math.max(this.forward().dot(scratch.copy(at).sub(this.camera.position)), 1e-4);
    return (2 * depth * Math.tan(MathUtils.degToRad(this.camera.fov) / 2)) / height;
  }

  forward(out = new Vector3()): Vector3 {
    return this.camera.getWorldDirection(out);
  }

  resize(width: number, height: number): void {
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
  }

  /** Rotates around the target by a movement in pixels. */
  orbit(dx: number, dy: number): void {
    this.stop();
    this.view.yaw -= dx * 0.0055;
    this.view.pitch = clamp(this.view.pitch + dy * 0.0055, -pitch_max, pitch_max);
    this.place();
  }

  /** Moves the view so that the target's plane stays under the pointer. */
  pan(dx: number, dy: number, height: number): void {
    this.stop();
    const scale = (2 * this.view.distance * Math.tan(MathUtils.degToRad(this.camera.fov) / 2)) / height;
    const e = this.camera.matrixWorld.elements;
    this.view.target.x += (-dx * e[0] + dy * e[4]) * scale;
    this.view.target.y += (-dx * e[1] + dy * e[5]) * scale;
    this.view.target.z += (-dx * e[2] + dy * e[6]) * scale;
    this.place();
  }

  /** Zooms by a factor; values below 1 move closer. `to` stays at the same place in the picture. */
  zoom(factor: number, to: Vector3): void {
    this.stop();
    const distance = clamp(this.view.distance * factor, distance_min, distance_max);
    this.view.target
      .sub(to)
      .multiplyScalar(distance / this.view.distance)
      .add(to);
    this.view.distance = distance;
    this.place();
  }

  /** Turns the camera in place by a movement in pixels. */
  look(dx: number, dy: number): void {
    this.stop();
    const eye = this.camera.position.clone();
    this.view.yaw -= dx * 0.0035;
    this.view.pitch = clamp(this.view.pitch + dy * 0.0035, -pitch_max, pitch_max);
    this.view.target.copy(eye).addScaledVector(looking(this.view), this.view.distance);
    this.place();
  }

  /** Moves by `way` in meters: x is the camera's right, y the world's up, z backward. */
  fly(way: Vector3): void {
    this.stop();
    const e = this.camera.matrixWorld.elements;
    this.view.target.x += e[0] * way.x + e[8] * way.z;
    this.view.target.y += e[1] * way.x + e[9] * way.z + way.y;
    this.view.target.z += e[2] * way.x + e[10] * way.z;
    this.place();
  }

  /** Returns the distance from which a sphere fills the picture, with a margin. */
  distance_for(radius: number): number {
    const half = MathUtils.degToRad(this.camera.fov) / 2;
    const narrow = Math.min(half, Math.atan(Math.tan(half) * this.camera.aspect));
    return clamp((Math.max(radius, 0.05) / Math.sin(narrow)) * 1.1, distance_min, distance_max);
  }

  /** Moves to a view within `lasts_ms`; 0 means at once. */
  go(to: Partial<View>, lasts_ms: number, now_ms: number): void {
    const full: View = {
      target: (to.target ?? this.view.target).clone(),
      distance: clamp(to.distance ?? this.view.distance, distance_min, distance_max),
      yaw: nearest_turn(to.yaw ?? this.view.yaw, this.view.yaw),
      pitch: to.pitch ?? this.view.pitch,
    };
    this.flight = null;
    if (lasts_ms > 0) {
      this.flight = { from: { ...this.view, target: this.view.target.clone() }, to: full, began_ms: now_ms, lasts_ms };
    } else {
      this.view = full;
      this.place();
    }
  }

  /** Continues a movement. Returns true until the movement has ended. */
  step(now_ms: number): boolean {
    if (!this.flight) return false;
    const { from, to, began_ms, lasts_ms } = this.flight;
    const passed = clamp((now_ms - began_ms) / lasts_ms, 0, 1);
    const part = 1 - (1 - passed) ** 3;
    this.view.target.lerpVectors(from.target, to.target, part);
    this.view.distance = Math.exp(MathUtils.lerp(Math.log(from.distance), Math.log(to.distance), part));
    this.view.yaw = MathUtils.lerp(from.yaw, to.yaw, part);
    this.view.pitch = MathUtils.lerp(from.pitch, to.pitch, part);
    if (passed >= 1) this.flight = null;
    this.place();
    return this.flight !== null;
  }

  stop(): void {
    this.flight = null;
  }

  /** Fits the near and far planes to everything within `radius` of `center`. */
  fit_depth(center: Vector3, radius: number): void {
    const { camera, view } = this;
    const reach = camera.position.distanceTo(center) + radius;
    const near = clamp(view.distance / 200, 0.01, 5);
    const far = Math.max(reach * 1.2, view.distance * 40, 500);
    if (camera.near === near && camera.far === far) return;
    camera.near = near;
    camera.far = far;
    camera.updateProjectionMatrix();
  }

  private place(): void {
    const { camera, view } = this;
    camera.position.copy(view.target).addScaledVector(looking(view), -view.distance);
    camera.rotation.set(-view.pitch, view.yaw, 0, 'YXZ');
    camera.updateMatrixWorld();
  }
}

const scratch = new Vector3();

/** Returns the direction of a view, as a unit vector. */
export function looking(view: View): Vector3 {
  const flat = Math.cos(view.pitch);
  return new Vector3(-Math.sin(view.yaw) * flat, -Math.sin(view.pitch), -Math.cos(view.yaw) * flat);
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
function nearest_turn(angle: number, near: number): number {
  return angle - 2 * Math.PI * Math.round((angle - near) / (2 * Math.PI));
}

/** Returns the view of a camera at a place that looks at a point. */
export function view_between(position: Place, target: Place): View {
  const to = new Vector3(target.x, target.y, target.z);
  const way = to.clone().sub(new Vector3(position.x, position.y, position.z));
  const distance = Math.max(way.length(), distance_min);
  way.divideScalar(distance);
  return { target: to, distance, yaw: Math.atan2(-way.x, -way.z), pitch: Math.asin(clamp(-way.y, -1, 1)) };
}
type Place = Pick<Vector3, 'x' | 'y' | 'z'>;

/** Formats a view for an address and the browser's storage: target, distance, yaw and pitch. */
export function view_text({ target, distance, yaw, pitch }: View): string {
  const all = [target.x, target.y, target.z, distance, MathUtils.radToDeg(yaw), MathUtils.radToDeg(pitch)];
  return all.map((each) => Math.round(each * 100) / 100).join(',');
}
/** Returns null if the text is not one of view_text. */
export function view_of(text: string): View | null {
  const all = text.split(',').map(Number);
  if (all.length !== 6 || !all.every(Number.isFinite) || all[3] <= 0) return null;
  const [x, y, z, distance, yaw, pitch] = all;
  return {
    target: new Vector3(x, y, z),
    distance,
    yaw: MathUtils.degToRad(yaw),
    pitch: clamp(MathUtils.degToRad(pitch), -pitch_max, pitch_max),
  };
}
