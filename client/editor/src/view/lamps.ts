// Lights the picture with the world's own lights, and draws the ranges and cones of selected ones.
import {
  AmbientLight,
  BufferAttribute,
  BufferGeometry,
  Color,
  DirectionalLight,
  Group,
  LineBasicMaterial,
  LineSegments,
  MathUtils,
  Matrix4,
  PointLight,
  Quaternion,
  SpotLight,
  Vector3,
} from 'three';
import type { Light, Object3D } from 'three';
import type { Contents } from './contents.js';
import { marker_kinds } from './markers.js';
import type { Entity } from './world.js';

/** Limit on the lights of each kind that light the picture; the nearest ones do. */
export const lamps_max = 8;
/** Brighter suns and lamps would only be white, because the picture has no exposure. */
const sun_max = 12;
const lamp_max = 100_000;
/** Length of what is drawn for lights and cameras without a limit, in meters. */
const unlimited = 3;

export interface LightValue {
  color: { r: number; g: number; b: number };
  intensity: number;
  range: number;
  inner_angle: number;
  outer_angle: number;
  kind: number;
}
export interface CameraValue {
  fov: number;
  near: number;
  far: number;
  aspect: number;
  height: number;
}
const kinds = ['point', 'spot', 'directional', 'ambient', 'area'] as const;
interface Found {
  slot: number;
  value: LightValue;
  distance: number;
}

export class Lamps {
  /** True if the picture has the level's lights as well as those of the editor. */
  is_on = true;
  /** Number of lights in the world that light the picture. */
  count = 0;
  private readonly group = new Group();
  private readonly points: PointLight[] = [];
  private readonly spots: SpotLight[] = [];
  private readonly suns: DirectionalLight[] = [];
  private readonly around = new AmbientLight(0xffffff, 0);
  private readonly lines = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ toneMapped: false }));

  constructor(parent: Object3D) {
    this.lines.frustumCulled = false;
    this.lines.renderOrder = 4;
    this.group.add(this.around);
    parent.add(this.group, this.lines);
  }
  dispose(): void {
    for (const light of [...this.points, ...this.spots, ...this.suns]) light.dispose();
    this.lines.geometry.dispose();
    this.lines.material.dispose();
  }
  color(of: Color): void {
    this.lines.material.color.copy(of);
  }
  show_lines(on: boolean): void {
    this.lines.visible = on;
  }

  /** Call when lights may have moved or changed. `eye` decides which ones are near. */
  update(contents: Contents, eye: Vector3): void {
    const { markers } = contents;
    const found: Record<(typeof kinds)[number], Found[]> = { point: [], spot: [], directional: [], ambient: [], area: [] };
    const at = new Vector3();
    for (let row = 0; row < markers.count && this.is_on; ++row) {
      const kind = marker_kinds[markers.kinds[row]];
      if (kind !== 'light' && kind !== 'sun') continue;
      const slot = markers.slots[row];
      const value = contents.records[slot]?.components['scene.Light'] as unknown as LightValue | undefined;
      const list = value && found[kinds[value.kind] ?? 'point'];
      if (value) list?.push({ slot, value, distance: contents.place_of(slot, at).distanceTo(eye) });
    }
    this.count = Object.values(found).reduce((sum, { length }) => sum + length, 0);
    const bulbs = nearest([...found.point, ...found.area]);
    this.fill(this.points, bulbs, () => new PointLight());
    bulbs.forEach(({ slot, value }, i) => {
      this.points[i].position.copy(contents.place_of(slot, at));
      this.points[i].distance = value.range;
    });
    const spots = nearest(found.spot);
    this.fill(this.spots, spots, () => new SpotLight());
    spots.forEach(({ slot, value }, i) => {
      const light = this.spots[i];
      aim(light, contents, slot);
      light.distance = value.range;
      light.angle = MathUtils.degToRad(MathUtils.clamp(value.outer_angle / 2, 0.1, 89.9));
      const inner = Math.min(value.inner_angle, value.outer_angle);
      light.penumbra = value.outer_angle > 0 ? 1 - inner / value.outer_angle : 0;
    });
    const suns = nearest(found.directional);
    this.fill(this.suns, suns, () => new DirectionalLight());
    suns.forEach(({ slot }, i) => aim(this.suns[i], contents, slot));
    const sum = new Color(0, 0, 0);
    for (const { value } of found.ambient) sum.add(color_of(value).multiplyScalar(Math.min(value.intensity, sun_max)));
    this.around.color.copy(sum);
    this.around.intensity = this.is_on ? 1 : 0;
  }
  /**
   * Adds lights until there are enough, and switches the others off. A change of their number
   * compiles all shaders again, so it never decreases, and doubles.
   */
  private fill<L extends Light>(lights: L[], wanted: readonly Found[], make: () => L): void {
    if (wanted.length > lights.length) {
      const count = Math.min(lamps_max, 2 ** Math.ceil(Math.log2(wanted.length)));
      while (lights.length < count) {
        const light = make();
        lights.push(light);
        this.group.add(light);
        const { target } = light as unknown as { target?: Object3D };
        if (target) this.group.add(target);
      }
    }
    lights.forEach((light, i) => {
      const value = wanted[i]?.value;
      const most = light instanceof DirectionalLight ? sun_max : lamp_max;
      light.intensity = value ? Math.min(value.intensity, most) : 0;
      if (value) light.color.copy(color_of(value));
    });
  }

  /** Draws the ranges and cones of lights and the frusta of cameras among these entities. */
  draw_reach(contents: Contents, entities: readonly Entity[], aspect: number): void {
    const points: number[] = [];
    for (const entity of entities.slice(-50)) {
      const slot = contents.slot(entity);
      const components = slot === undefined ? undefined : contents.records[slot]?.components;
      if (!components) continue;
      const light = components['scene.Light'] as unknown as LightValue | undefined;
      const camera = components['scene.Camera'] as unknown as CameraValue | undefined;
      const place = placed(contents, slot!);
      if (light) points.push(...moved(light_lines(light), place));
      if (camera) points.push(...moved(camera_lines(camera, aspect), place));
    }
    this.lines.geometry.dispose();
    this.lines.geometry = new BufferGeometry();
    this.lines.geometry.setAttribute('position', new BufferAttribute(new Float32Array(points), 3));
  }
}

function nearest(of: Found[]): Found[] {
  return of.sort((a, b) => a.distance - b.distance).slice(0, lamps_max);
}
function color_of({ color: { r, g, b } }: LightValue): Color {
  return new Color().setRGB(r, g, b);
}
/** Returns the place of an entity without its scale. */
export function placed(contents: Contents, slot: number): Matrix4 {
  const [at, turn] = [new Vector3(), new Quaternion()];
  contents.matrix(slot).decompose(at, turn, new Vector3());
  return new Matrix4().compose(at, turn, new Vector3(1, 1, 1));
}
function aim(light: SpotLight | DirectionalLight, contents: Contents, slot: number): void {
  const place = placed(contents, slot);
  light.position.setFromMatrixPosition(place);
  light.target.position.set(0, 0, -1).applyMatrix4(place);
}

type Line = [Vector3, Vector3];
function moved(lines: readonly Line[], place: Matrix4): number[] {
  return lines.flatMap((line) => line.flatMap((point) => point.clone().applyMatrix4(place).toArray()));
}
function circle(center: Vector3, a: Vector3, b: Vector3, radius: number): Line[] {
  const steps = 48;
  const at = (i: number): Vector3 => {
    const angle = (2 * Math.PI * i) / steps;
    return center.clone().addScaledVector(a, Math.cos(angle) * radius).addScaledVector(b, Math.sin(angle) * radius);
  };
  return Array.from({ length: steps }, (_, i): Line => [at(i), at(i + 1)]);
}
const [x, y, z] = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)];

/** Returns the length at which a light's range or cone is drawn. */
export function reach_of({ range }: LightValue): number {
  return range > 0 ? range : unlimited;
}

/** Returns the lines for a light at the origin that shines along -Z. */
export function light_lines(light: LightValue): Line[] {
  const { kind, range, inner_angle, outer_angle } = light;
  const origin = new Vector3();
  switch (kinds[kind]) {
    case 'spot': {
      const length = reach_of(light);
      const cone = (angle: number, spokes: number): Line[] => {
        const half = MathUtils.degToRad(MathUtils.clamp(angle / 2, 0, 89));
        const center = new Vector3(0, 0, -length * Math.cos(half));
        const radius = length * Math.sin(half);
        const rim = circle(center, x, y, radius);
        const step = rim.length / Math.max(spokes, 1);
        return [...rim, ...Array.from({ length: spokes }, (_, i): Line => [origin, rim[i * step][0]])];
      };
      return [...cone(outer_angle, 4), ...(inner_angle > 0 && inner_angle < outer_angle ? cone(inner_angle, 0) : [])];
    }
    case 'directional':
      return [
        ...circle(origin, x, y, 0.5),
        ...circle(origin, x, y, 0.5).flatMap(([from], i): Line[] =>
          i % 12 === 0 ? [[from, from.clone().setZ(-unlimited)]] : [],
        ),
      ];
    case 'ambient':
      return [];
    default:
      return range > 0 ? [...circle(origin, x, y, range), ...circle(origin, x, z, range), ...circle(origin, y, z, range)] : [];
  }
}
/**
 * Returns the lines for a camera at the origin that looks along -Z; `aspect` is that of the window.
 */
export function camera_lines(camera: CameraValue, aspect: number): Line[] {
  const wide = camera.aspect > 0 ? camera.aspect : aspect;
  const far = Math.max(camera.near, Math.min(camera.far, Math.max(unlimited, camera.near * 2)));
  const half_at = (distance: number): number =>
    camera.height > 0 ? camera.height / 2 : distance * Math.tan(MathUtils.degToRad(MathUtils.clamp(camera.fov, 1, 179)) / 2);
  const corners = (distance: number): Vector3[] => {
    const half = half_at(distance);
    return [
      [-1, -1],
      [1, -1],
      [1, 1],
      [-1, 1],
    ].map(([a, b]) => new Vector3(a * half * wide, b * half, -distance));
  };
  const [near, end] = [corners(camera.near), corners(far)];
  const ring = (of: Vector3[]): Line[] => of.map((point, i): Line => [point, of[(i + 1) % 4]]);
  const half = half_at(far);
  const roof: Vector3[] = [
    new Vector3(-half * wide * 0.3, half * 1.08, -far),
    new Vector3(half * wide * 0.3, half * 1.08, -far),
    new Vector3(0, half * 1.4, -far),
  ];
  return [
    ...ring(near),
    ...ring(end),
    ...near.map((point, i): Line => [point, end[i]]),
    ...roof.map((point, i): Line => [point, roof[(i + 1) % 3]]),
  ];
}
