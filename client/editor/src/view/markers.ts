// Marks of constant size for entities with a place but no body: lights, cameras, groups.
import {
  BufferAttribute,
  BufferGeometry,
  CanvasTexture,
  DynamicDrawUsage,
  LinearFilter,
  Points,
  ShaderMaterial,
  SRGBColorSpace,
} from 'three';
import type { Object3D } from 'three';

export const marker_kinds = ['place', 'light', 'sun', 'camera'] as const;
export type MarkerKind = (typeof marker_kinds)[number];

/** In CSS pixels. */
export const marker_size: Record<MarkerKind, number> = { place: 9, light: 24, sun: 24, camera: 24 };

/**
 * Marks of groups are hidden if a meter covers fewer CSS pixels; otherwise they would hide
 * everything.
 */
export const place_px_min = 6;

export type MarkerState = 0 | 1 | 2; // normal, under the pointer, selected

export class Markers {
  count = 0;
  /** By row. */
  slots = new Int32Array(64);
  kinds = new Uint8Array(64);
  private capacity = 64;
  private readonly rows = new Map<number, number>();
  /** By slot: 1 if it has a row. */
  private marked = new Uint8Array(64);
  private readonly points: Points<BufferGeometry, ShaderMaterial>;
  /** Three numbers per row. */
  positions = new Float32Array(3 * 64);
  /** Kind and state, by row. */
  private styles = new Float32Array(2 * 64);
  private changed = false;

  constructor(parent: Object3D) {
    this.points = new Points(new BufferGeometry(), marker_material());
    this.points.frustumCulled = false;
    this.points.renderOrder = 5;
    this.attach();
    parent.add(this.points);
  }

  has(slot: number): boolean {
    return this.rows.has(slot);
  }

  set(slot: number, kind: MarkerKind, world: Float32Array): void {
    let row = this.rows.get(slot);
    if (row === undefined) {
      if (this.count === this.capacity) this.grow();
      row = this.count++;
      this.rows.set(slot, row);
      this.mark(slot);
      this.slots[row] = slot;
      this.styles[row * 2 + 1] = 0;
    }
    this.kinds[row] = marker_kinds.indexOf(kind);
    this.styles[row * 2] = this.kinds[row];
    this.move(slot, world);
  }

  move(slot: number, world: Float32Array): void {
    // Most moving entities have no mark.
    if (slot >= this.marked.length || !this.marked[slot]) return;
    const row = this.rows.get(slot);
    if (row === undefined) return;
    for (let i = 0; i < 3; ++i) this.positions[row * 3 + i] = world[slot * 16 + 12 + i];
    this.changed = true;
  }

  remove(slot: number): void {
    const row = this.rows.get(slot);
    if (row === undefined) return;
    this.rows.delete(slot);
    this.marked[slot] = 0;
    const last = --this.count;
    if (row !== last) {
      this.slots[row] = this.slots[last];
      this.kinds[row] = this.kinds[last];
      this.rows.set(this.slots[row], row);
      this.positions.copyWithin(row * 3, last * 3, last * 3 + 3);
      this.styles.copyWithin(row * 2, last * 2, last * 2 + 2);
    }
    this.changed = true;
  }

  /** Sets the state of every mark. */
  emphasize(states: (slot: number) => MarkerState): void {
    for (let row = 0; row < this.count; ++row) this.styles[row * 2 + 1] = states(this.slots[row]);
    this.changed = true;
  }

  show(on: boolean): void {
    this.points.visible = on && this.count > 0;
  }
  /** `height` is that of the picture, in CSS pixels. */
  flush(pixel_ratio: number, height: number): void {
    this.points.visible = this.count > 0;
    this.points.material.uniforms.ratio.value = pixel_ratio;
    this.points.material.uniforms.height.value = height;
    this.points.geometry.setDrawRange(0, this.count);
    if (!this.changed) return;
    this.changed = false;
    for (const name of ['position', 'style']) this.points.geometry.getAttribute(name).needsUpdate = true;
  }

  /** Sets the page's accent color: three numbers from 0 to 1. */
  colors(accent: [number, number, number]): void {
    this.points.material.uniforms.accent.value = accent;
  }

  dispose(): void {
    this.points.geometry.dispose();
    (this.points.material.uniforms.glyphs.value as CanvasTexture).dispose();
    this.points.material.dispose();
    this.points.removeFromParent();
  }

  private mark(slot: number): void {
    if (slot >= this.marked.length) {
      const marked = new Uint8Array(2 ** Math.ceil(Math.log2(slot + 1)));
      marked.set(this.marked);
      this.marked = marked;
    }
    this.marked[slot] = 1;
  }

  private attach(): void {
    const { geometry } = this.points;
    geometry.setAttribute('position', new BufferAttribute(this.positions, 3).setUsage(DynamicDrawUsage));
    geometry.setAttribute('style', new BufferAttribute(this.styles, 2).setUsage(DynamicDrawUsage));
  }

  private grow(): void {
    this.capacity *= 2;
    const grown = <A extends Float32Array | Int32Array | Uint8Array>(array: A): A => {
      const made = new (array.constructor as new (length: number) => A)(array.length * 2);
      made.set(array);
      return made;
    };
    this.slots = grown(this.slots);
    this.kinds = grown(this.kinds);
    this.positions = grown(this.positions);
    this.styles = grown(this.styles);
    this.points.geometry.dispose();
    this.points.geometry = new BufferGeometry();
    this.attach();
  }
}

function marker_material(): ShaderMaterial {
  return new ShaderMaterial({
    uniforms: {
      ratio: { value: 1 },
      height: { value: 1 },
      glyphs: { value: glyphs() },
      accent: { value: [0.35, 0.6, 1] },
    },
    vertexShader: `
      attribute vec2 style;
      uniform float ratio;
      uniform float height;
      varying vec2 look;
      varying float strength;
      void main() {
        look = style;
        gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0);
        float size = style.x < 0.5 ? ${marker_size.place}.0 : ${marker_size.light}.0;
        gl_PointSize = (size + (style.y > 0.5 ? 2.0 : 0.0)) * ratio;
        float metre = projectionMatrix[1][1] * height * 0.5 / max(gl_Position.w, 1e-4);
        strength = style.x < 0.5 && style.y < 1.5 ? 0.6 * smoothstep(${place_px_min}.0, ${2 * place_px_min}.0, metre) : 1.0;
        if (strength <= 0.0) gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
        // A little nearer, so that a lamp is not half within its own shade.
        gl_Position.z -= 0.0005 * gl_Position.w;
      }`,
    fragmentShader: `
      uniform sampler2D glyphs;
      uniform vec3 accent;
      varying vec2 look;
      varying float strength;
      void main() {
        vec4 glyph = texture2D(glyphs, vec2((gl_PointCoord.x + floor(look.x + 0.5)) / ${marker_kinds.length}.0, 1.0 - gl_PointCoord.y));
        if (glyph.a < 0.02) discard;
        // White of the glyph takes the colour, its dark rim stays.
        vec3 calm = vec3(0.78, 0.82, 0.88);
        vec3 color = look.y > 1.5 ? accent : look.y > 0.5 ? vec3(1.0) : calm;
        gl_FragColor = vec4(color * glyph.r, glyph.a * strength);
      }`,
    transparent: true,
    depthWrite: false,
  });
}

/** Draws the white glyphs with dark rims, side by side. */
function glyphs(): CanvasTexture {
  const cell = 64;
  const canvas = document.createElement('canvas');
  canvas.width = cell * marker_kinds.length;
  canvas.height = cell;
  const draw = canvas.getContext('2d')!;
  marker_kinds.forEach((kind, i) => {
    draw.save();
    draw.translate(i * cell, 0);
    draw.scale(cell / 24, cell / 24);
    draw.lineCap = draw.lineJoin = 'round';
    const path = glyph_path(kind);
    const filled = kind === 'place';
    draw.strokeStyle = draw.fillStyle = 'rgba(0,0,0,0.75)';
    draw.lineWidth = filled ? 9 : 4;
    if (filled) draw.fill(path);
    draw.stroke(path);
    draw.strokeStyle = draw.fillStyle = '#fff';
    draw.lineWidth = filled ? 4 : 1.9;
    if (filled) draw.fill(path);
    draw.stroke(path);
    draw.restore();
  });
  const texture = new CanvasTexture(canvas);
  texture.colorSpace = SRGBColorSpace;
  texture.minFilter = LinearFilter;
  texture.generateMipmaps = false;
  return texture;
}

/** Returns the outline of a glyph in a 24 by 24 square. */
function glyph_path(kind: MarkerKind): Path2D {
  const path = new Path2D();
  switch (kind) {
    case 'place':
      path.moveTo(12, 6);
      path.lineTo(18, 12);
      path.lineTo(12, 18);
      path.lineTo(6, 12);
      path.closePath();
      break;
    case 'light':
      path.moveTo(9, 15.5);
      path.bezierCurveTo(9, 13.5, 6.5, 12.7, 6.5, 9);
      path.arc(12, 9, 5.5, Math.PI, 0);
      path.bezierCurveTo(17.5, 12.7, 15, 13.5, 15, 15.5);
      path.closePath();
      path.moveTo(9.5, 18.3);
      path.lineTo(14.5, 18.3);
      path.moveTo(10.5, 21);
      path.lineTo(13.5, 21);
      break;
    case 'sun':
      path.arc(12, 12, 4, 0, 2 * Math.PI);
      for (let i = 0; i < 8; ++i) {
        const [x, y] = [Math.cos((i * Math.PI) / 4), Math.sin((i * Math.PI) / 4)];
        path.moveTo(12 + 6.8 * x, 12 + 6.8 * y);
        path.lineTo(12 + 9.2 * x, 12 + 9.2 * y);
      }
      break;
    case 'camera':
      path.roundRect(3, 7, 12, 10, 2);
      path.moveTo(15, 11);
      path.lineTo(21, 8);
      path.lineTo(21, 16);
      path.lineTo(15, 13);
      break;
  }
  return path;
}
