// Small pictures of models, for lists.
import { Box3, DirectionalLight, HemisphereLight, PerspectiveCamera, Scene, Sphere, Vector3, WebGLRenderTarget } from 'three';
import type { WebGLRenderer } from 'three';
import type { Model, Models } from './models.js';

const size = { width: 160, height: 108 };
const wait_ms = 100;
const wait_max = 100;

export class Portraits {
  private readonly scene = new Scene();
  private readonly camera = new PerspectiveCamera(30, size.width / size.height);
  private target: WebGLRenderTarget | null = null;
  /** Ends when the last picture that was asked for is drawn. */
  private turn: Promise<unknown> = Promise.resolve();
  private is_over = false;

  constructor(
    private readonly renderer: WebGLRenderer,
    private readonly models: Models,
  ) {
    const sun = new DirectionalLight(0xffffff, 2.4);
    sun.position.set(2, 4, 3);
    this.scene.add(sun, new HemisphereLight(0xdde8ff, 0x55504a, 1.2));
  }

  /** Resolves with the address of an image, or with nothing if the model cannot be drawn. */
  async draw(path: string): Promise<string> {
    const model = await this.loaded(path);
    if (!model) return '';
    const mine = this.turn.then(() => this.picture(model));
    this.turn = mine.catch(() => {});
    return mine;
  }
  dispose(): void {
    this.is_over = true;
    this.target?.dispose();
  }

  private async loaded(path: string): Promise<Model | null> {
    for (let tries = 0; tries < wait_max && !this.is_over; ++tries) {
      const model = this.models.get(path);
      if (model.state !== 'loading' && !this.models.is_old(path)) return model.state === 'ready' && model.scene ? model : null;
      await new Promise((resolve) => setTimeout(resolve, wait_ms));
    }
    return null;
  }

  private async picture({ scene: shown }: Model): Promise<string> {
    const box = new Box3().setFromObject(shown!);
    if (this.is_over || box.isEmpty()) return '';
    const { renderer, camera } = this;
    const { center, radius } = box.getBoundingSphere(new Sphere());
    const away = Math.max(radius, 1e-3) / Math.sin((camera.fov * Math.PI) / 360);
    camera.position.copy(new Vector3(0.7, 0.5, 1).normalize().multiplyScalar(away)).add(center);
    camera.near = away / 100;
    camera.far = away * 3;
    camera.updateProjectionMatrix();
    camera.lookAt(center);
    this.target ??= new WebGLRenderTarget(size.width, size.height, { samples: 4 });
    this.scene.add(shown!);
    renderer.setRenderTarget(this.target);
    renderer.clear();
    renderer.render(this.scene, camera);
    renderer.setRenderTarget(null);
    this.scene.remove(shown!);
    const bytes = new Uint8Array(size.width * size.height * 4);
    await renderer.readRenderTargetPixelsAsync(this.target, 0, 0, size.width, size.height, bytes);
    return image_of(bytes);
  }
}

/** Returns the address of an image of linear colors, whose rows come from below. */
function image_of(bytes: Uint8Array): string {
  const canvas = document.createElement('canvas');
  canvas.width = size.width;
  canvas.height = size.height;
  const context = canvas.getContext('2d')!;
  const image = context.createImageData(size.width, size.height);
  const row_bytes = size.width * 4;
  for (let row = 0; row < size.height; ++row)
    for (let i = 0; i < row_bytes; ++i) {
      const value = bytes[(size.height - 1 - row) * row_bytes + i];
      image.data[row * row_bytes + i] = i % 4 === 3 ? value : 255 * (value / 255) ** (1 / 2.2);
    }
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}
