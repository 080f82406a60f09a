import type { Model } from '../model/model.js';

export function mount_viewport(_host: HTMLElement, _model: Model): { dispose(): void } {
  return { dispose: () => {} };
}
