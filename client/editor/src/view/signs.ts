// Labels beside the boxes of models that cannot be drawn, with the file and the reason.
import { Vector3 } from 'three';
import { as_sentence } from '../model/sentences.js';
import type { Contents } from './contents.js';
import type { Sight } from './sight.js';

const labels_max = 6;
/** Number of entities of one model that are checked for a visible one. */
const looked_at_max = 50;

export class Signs {
  readonly element = document.createElement('div');
  /** By the model's path. */
  private readonly labels = new Map<string, HTMLElement>();

  constructor() {
    this.element.className = 'viewport-signs';
  }

  /** Shows one label for each such model, beside its first visible box. */
  show(contents: Contents, sight: Sight): void {
    const shown = new Set<string>();
    for (const { path, why, slots } of contents.bodies.failed()) {
      if (shown.size === labels_max) break;
      const at = place_in_sight(contents, sight, slots);
      if (!at) continue;
      shown.add(path);
      const label = this.labels.get(path) ?? this.add(path, why);
      label.style.transform = `translate(${Math.round(at.x)}px, ${Math.round(at.y)}px) translate(-50%, -50%)`;
    }
    for (const [path, label] of this.labels)
      if (!shown.has(path)) {
        label.remove();
        this.labels.delete(path);
      }
  }

  private add(path: string, why: string): HTMLElement {
    const label = document.createElement('div');
    label.className = 'viewport-sign';
    const name = document.createElement('b');
    name.textContent = path;
    const reason = document.createElement('span');
    reason.textContent = as_sentence(why);
    label.append(name, reason);
    this.element.append(label);
    this.labels.set(path, label);
    return label;
  }
}

const center = new Vector3();

function place_in_sight(contents: Contents, sight: Sight, slots: Iterable<number>): { x: number; y: number } | null {
  let left = looked_at_max;
  for (const slot of slots) {
    if (left-- === 0) break;
    const body = contents.bodies.get(slot);
    if (!body) continue;
    const seen = sight.project(center.fromArray(body.pool.spheres, body.row * 4));
    const is_in = seen.x > 0 && seen.x < sight.width && seen.y > 0 && seen.y < sight.height;
    if (is_in && seen.depth > sight.camera.near) return seen;
  }
  return null;
}
