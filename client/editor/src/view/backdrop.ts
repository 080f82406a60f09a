// The background: a sky with a horizon, and a ground grid that fades with distance.
import { BufferAttribute, BufferGeometry, Color, Group, Mesh, PlaneGeometry, ShaderMaterial, Vector3 } from 'three';
import type { PerspectiveCamera } from 'three';

export interface BackdropColors {
  /** A CSS color. */
  axis_x: string;
  axis_z: string;
}

export class Backdrop {
  readonly group = new Group();
  private readonly sky: ShaderMaterial;
  private readonly grid: ShaderMaterial;
  private readonly ground: Mesh;

  constructor() {
    this.sky = sky_material();
    const sky = new Mesh(whole_picture(), this.sky);
    sky.frustumCulled = false;
    sky.renderOrder = -10;
    this.grid = grid_material();
    this.ground = new Mesh(new PlaneGeometry(2, 2).rotateX(-Math.PI / 2), this.grid);
    this.ground.frustumCulled = false;
    this.ground.renderOrder = 1;
    this.group.add(sky, this.ground);
  }

  grid_visible = true;
  /** Hides the grid for a picture that has none. */
  set grid_shown(on: boolean) {
    this.ground.visible = on && this.grid_visible;
  }

  colors({ axis_x, axis_z }: BackdropColors): void {
    (this.grid.uniforms.color_x.value as Color).setStyle(axis_x).convertLinearToSRGB();
    (this.grid.uniforms.color_z.value as Color).setStyle(axis_z).convertLinearToSRGB();
  }

  /** Call before each frame. */
  follow(camera: PerspectiveCamera, distance: number): void {
    this.grid_shown = true;
    const height = Math.abs(camera.position.y);
    const reach = Math.min(Math.max(60, distance * 9, height * 14), camera.far * 0.98);
    this.ground.position.set(camera.position.x, 0, camera.position.z);
    this.ground.scale.setScalar(reach);
    this.ground.updateMatrixWorld();
    this.grid.uniforms.reach.value = reach;
    (this.grid.uniforms.eye.value as Vector3).copy(camera.position);
  }

  dispose(): void {
    this.sky.dispose();
    this.grid.dispose();
    this.ground.geometry.dispose();
  }
}

/** Returns a triangle that covers the whole picture. */
export function whole_picture(): BufferGeometry {
  const geometry = new BufferGeometry();
  geometry.setAttribute('position', new BufferAttribute(new Float32Array([-1, -1, 0, 3, -1, 0, -1, 3, 0]), 3));
  return geometry;
}

function sky_material(): ShaderMaterial {
  return new ShaderMaterial({
    vertexShader: `
      varying vec3 way;
      void main() {
        gl_Position = vec4(position.xy, 1.0, 1.0);
        vec4 far = inverse(projectionMatrix) * vec4(position.xy, 1.0, 1.0);
        way = (inverse(viewMatrix) * vec4(far.xyz / far.w, 0.0)).xyz;
      }`,
    fragmentShader: `
      varying vec3 way;
      float noise(vec2 at) { return fract(sin(dot(at, vec2(12.9898, 78.233))) * 43758.5453); }
      void main() {
        float up = normalize(way).y;
        vec3 horizon = vec3(0.262, 0.286, 0.322);
        vec3 zenith = vec3(0.118, 0.132, 0.157);
        vec3 nadir = vec3(0.094, 0.100, 0.112);
        vec3 earth = vec3(0.150, 0.160, 0.176);
        vec3 sky = mix(horizon, zenith, 1.0 - exp(-max(up, 0.0) * 3.6));
        vec3 ground = mix(earth, nadir, 1.0 - exp(-max(-up, 0.0) * 3.2));
        // The horizon itself is soft.
        vec3 color = mix(ground, sky, smoothstep(-0.022, 0.014, up));
        gl_FragColor = vec4(color + (noise(gl_FragCoord.xy) - 0.5) / 255.0, 1.0);
      }`,
    depthWrite: false,
    depthTest: false,
  });
}

function grid_material(): ShaderMaterial {
  return new ShaderMaterial({
    uniforms: {
      reach: { value: 100 },
      eye: { value: new Vector3() },
      color_x: { value: new Color(0.9, 0.3, 0.3) },
      color_z: { value: new Color(0.3, 0.5, 0.95) },
    },
    vertexShader: `
      varying vec3 at;
      void main() {
        vec4 world = modelMatrix * vec4(position, 1.0);
        at = world.xyz;
        gl_Position = projectionMatrix * viewMatrix * world;
        // A floor that lies in the same plane shows the lines, too.
        gl_Position.z -= 0.00002 * gl_Position.w;
      }`,
    fragmentShader: `
      uniform float reach;
      uniform vec3 eye;
      uniform vec3 color_x;
      uniform vec3 color_z;
      varying vec3 at;
      // How much of a pixel lines of a width in pixels cover, so many metres apart.
      float lines(vec2 place, float apart, float width) {
        vec2 across = place / apart;
        vec2 pixel = fwidth(across);
        vec2 away = abs(fract(across - 0.5) - 0.5) / max(pixel, 1e-6);
        vec2 drawn = clamp(width * 0.5 + 0.5 - away, 0.0, 1.0);
        // Where lines are closer than a few pixels they are a tone and no pattern.
        drawn *= 1.0 - smoothstep(0.18, 0.5, pixel);
        return max(drawn.x, drawn.y);
      }
      void main() {
        vec2 place = at.xz;
        float pixel = length(fwidth(place));
        // The finest lines are about 14 pixels apart; each next size is ten times as far.
        float level = log(max(pixel * 14.0, 0.001)) / log(10.0);
        float base = pow(10.0, floor(level) + 1.0);
        float part = fract(level);
        float fine = lines(place, base * 0.1, 1.0) * (1.0 - smoothstep(0.0, 0.75, part));
        float middle = lines(place, base, 1.0);
        float coarse = lines(place, base * 10.0, 1.25);
        float strength = max(max(fine * 0.07, middle * mix(0.19, 0.07, part)), coarse * mix(0.27, 0.19, part));
        vec3 color = vec3(0.80, 0.85, 0.93);
        vec2 away = abs(place) / max(fwidth(place), 1e-6);
        float on_x = clamp(1.5 - away.y, 0.0, 1.0);
        float on_z = clamp(1.5 - away.x, 0.0, 1.0);
        if (on_x > 0.0) { color = color_x; strength = max(strength, on_x * 0.75); }
        if (on_z > 0.0) { color = color_z; strength = max(strength, on_z * 0.75); }
        vec3 way = eye - at;
        float far = length(way.xz) / reach;
        float slant = abs(way.y) / max(length(way), 1e-6);
        strength *= (1.0 - smoothstep(0.15, 1.0, far)) * smoothstep(0.0, 0.12, slant);
        if (strength < 0.003) discard;
        gl_FragColor = vec4(color, strength);
      }`,
    transparent: true,
    depthWrite: false,
    side: 2,
  });
}
