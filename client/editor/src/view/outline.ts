// Draws outlines of bodies: renders each body as a number into a separate picture, and draws a line
// where numbers differ. The lines are drawn over the finished picture, so they are visible on every
// color and through other bodies.
import {
  Color,
  InstancedBufferAttribute,
  InstancedMesh,
  Matrix4,
  Mesh,
  NearestFilter,
  OrthographicCamera,
  Scene,
  ShaderMaterial,
  Vector2,
  WebGLRenderTarget,
} from 'three';
import type { Material, PerspectiveCamera, WebGLRenderer } from 'three';
import { whole_picture } from './backdrop.js';
import type { Bodies } from './bodies.js';
import { mask_material } from './materials.js';
import type { Pool } from './pool.js';

const colors_max = 8;

export interface OutlineStyle {
  /** In CSS pixels. */
  width: number;
  /** Width of a dark rim outside the line; 0 means none. */
  rim: number;
}

export class Outline {
  private readonly scene = new Scene();
  private readonly composed = new Scene();
  private readonly flat = new OrthographicCamera(-1, 1, 1, -1, 0, 1);
  private readonly target: WebGLRenderTarget;
  private readonly edges: ShaderMaterial;
  private readonly meshes = new Map<Pool, { mesh: InstancedMesh; capacity: number }>();
  private readonly plain = mask_material(false);
  private readonly stretched = mask_material(true);
  private is_empty = true;

  constructor(style: OutlineStyle) {
    this.target = new WebGLRenderTarget(1, 1, {
      minFilter: NearestFilter,
      magFilter: NearestFilter,
      generateMipmaps: false,
    });
    this.edges = edge_material(style);
    const whole = new Mesh(whole_picture(), this.edges);
    whole.frustumCulled = false;
    this.composed.add(whole);
  }

  /** Sets up to 8 colors, as displayed on screen. */
  colors(...colors: readonly Color[]): void {
    const lines = this.edges.uniforms.lines.value as Color[];
    colors.forEach((color, i) => lines[i].copy(color));
  }

  /**
   * Call when an outlined body has moved, or when the set has changed. Slots in `active` have the
   * second color, others the first.
   */
  set(bodies: Bodies, slots: Iterable<number>, active: ReadonlySet<number>): void {
    this.paint(bodies, [...slots].map((slot) => [slot, active.has(slot) ? 1 : 0] as const));
  }
  /** Like set, for slots with the indices of their colors. */
  paint(bodies: Bodies, slots: Iterable<readonly [number, number]>): void {
    const rows = new Map<Pool, { row: number; color: number }[]>();
    for (const [slot, color] of slots) {
      const body = bodies.get(slot);
      if (!body) continue;
      let list = rows.get(body.pool);
      if (!list) rows.set(body.pool, (list = []));
      list.push({ row: body.row, color });
    }
    for (const { mesh } of this.meshes.values()) mesh.visible = false;
    let number = 0;
    for (const [pool, list] of rows) {
      this.fill(pool, list, number);
      number += list.length;
    }
    this.is_empty = rows.size === 0;
  }

  draw(renderer: WebGLRenderer, camera: PerspectiveCamera): void {
    if (this.is_empty) return;
    const size = renderer.getDrawingBufferSize(new Vector2());
    if (this.target.width !== size.x || this.target.height !== size.y) this.target.setSize(size.x, size.y);
    renderer.setRenderTarget(this.target);
    renderer.setClearColor(0, 0);
    renderer.clear();
    renderer.render(this.scene, camera);
    renderer.setRenderTarget(null);
    this.edges.uniforms.mask.value = this.target.texture;
    (this.edges.uniforms.pixel.value as Vector2).set(1 / size.x, 1 / size.y).multiplyScalar(renderer.getPixelRatio());
    renderer.render(this.composed, this.flat);
  }

  dispose(): void {
    this.target.dispose();
    this.edges.dispose();
    this.plain.dispose();
    this.stretched.dispose();
    for (const { mesh } of this.meshes.values()) mesh.dispose();
  }

  private fill(pool: Pool, list: readonly { row: number; color: number }[], first: number): void {
    let known = this.meshes.get(pool);
    if (!known || known.capacity < list.length) {
      if (known) {
        this.scene.remove(known.mesh);
        known.mesh.dispose();
      }
      known = this.make(pool, Math.max(16, 2 ** Math.ceil(Math.log2(list.length))));
      this.meshes.set(pool, known);
    }
    const { mesh } = known;
    const matrices = mesh.instanceMatrix.array as Float32Array;
    const colors = mesh.instanceColor!.array;
    const extra = mesh.geometry.getAttribute('extra') as InstancedBufferAttribute | undefined;
    list.forEach(({ row, color }, i) => {
      matrices.set(pool.matrices.subarray(row * 16, row * 16 + 16), i * 16);
      // Consecutive numbers are far apart, so that adjacent bodies differ.
      colors[i * 3] = (40 + (((first + i) * 83) % 216)) / 255;
      colors[i * 3 + 1] = color / (colors_max - 1);
      colors[i * 3 + 2] = 0;
      if (extra) extra.setXY(i, 1, pool.stretch(row));
    });
    mesh.count = list.length;
    mesh.visible = true;
    mesh.instanceMatrix.needsUpdate = true;
    mesh.instanceColor!.needsUpdate = true;
    if (extra) extra.needsUpdate = true;
  }

  private make(pool: Pool, capacity: number): { mesh: InstancedMesh; capacity: number } {
    const { geometry } = pool.kind;
    const is_stretched = geometry.getAttribute('ends') !== undefined;
    let own = geometry;
    let material: Material = this.plain;
    if (is_stretched) {
      own = geometry.clone();
      own.setAttribute('extra', new InstancedBufferAttribute(new Float32Array(capacity * 2), 2));
      material = this.stretched;
    }
    const mesh = new InstancedMesh(own, material, capacity);
    mesh.instanceColor = new InstancedBufferAttribute(new Float32Array(capacity * 3), 3);
    mesh.frustumCulled = false;
    mesh.matrixAutoUpdate = false;
    if (pool.is_mirrored) mesh.matrix.copy(new Matrix4().makeScale(-1, 1, 1));
    this.scene.add(mesh);
    return { mesh, capacity };
  }
}

function edge_material({ width, rim }: OutlineStyle): ShaderMaterial {
  return new ShaderMaterial({
    uniforms: {
      mask: { value: null },
      pixel: { value: new Vector2() },
      lines: { value: Array.from({ length: colors_max }, () => new Color()) },
    },
    vertexShader: `
      varying vec2 at;
      void main() {
        at = position.xy * 0.5 + 0.5;
        gl_Position = vec4(position.xy, 0.0, 1.0);
      }`,
    fragmentShader: `
      uniform sampler2D mask;
      uniform vec2 pixel;
      uniform vec3 lines[${colors_max}];
      varying vec2 at;
      // Number and color; a number of 0: nothing is here.
      vec2 look(float turn, float far) { return texture2D(mask, at + vec2(cos(turn), sin(turn)) * pixel * far).rg; }
      void main() {
        vec2 here = texture2D(mask, at).rg;
        float inner = 0.0;
        float outer = 0.0;
        float color = here.g;
        for (int i = 0; i < 16; ++i) {
          float turn = (float(i) + 0.5) * 0.3926991;
          vec2 near = look(turn, ${width.toFixed(2)});
          color = max(color, near.g);
          inner += step(0.002, abs(near.r - here.r));
          ${rim > 0 ? `outer += step(0.002, look(turn, ${(width + rim).toFixed(2)}).r);` : ''}
        }
        // A third of the circle lies beyond a straight edge that is one pixel away.
        float drawn = smoothstep(0.0, 5.5, inner);
        // Where two of them meet, half of the line is on each side.
        if (here.r > 0.0) drawn *= 0.8;
        float dark = here.r > 0.0 ? 0.0 : smoothstep(0.0, 4.0, outer) * 0.6;
        float alpha = max(drawn, dark);
        if (alpha < 0.01) discard;
        gl_FragColor = vec4(lines[int(color * ${(colors_max - 1).toFixed(1)} + 0.5)] * (drawn / alpha), alpha);
      }`,
    transparent: true,
    depthTest: false,
    depthWrite: false,
  });
}
