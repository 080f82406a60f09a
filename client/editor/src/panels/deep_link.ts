// Addresses of an entity and a view: `#entity=/red/tower-0&view=...`, also beside a token.
import { effect, signal } from '@preact/signals';
import type { Entity } from 'muster-client';

import type { Model } from '../model/model.js';

/** Returns the address of the page with the selected entity and the view, without a token. */
export function link_here(model: Model): string {
  const { active } = model.selection;
  const parts: string[] = [];
  if (active) parts.push(`entity=${encodeURIComponent(model.path(active)).replace(/%2F/g, '/')}`);
  const view = model.placer.peek()?.view();
  if (view) parts.push(`view=${view}`);
  return `${location.origin}${location.pathname}#${parts.join('&')}`;
}

/**
 * Shows what the page's address names as soon as it is there, and when the address changes. An
 * entity without a view is framed.
 */
export function follow_address(model: Model): void {
  const framed = signal<Entity | null>(null);
  const show = async (): Promise<void> => {
    const named = new URLSearchParams(location.hash.slice(1));
    const path = named.get('entity');
    const client = model.client.peek();
    if (!path || !client) return;
    try {
      const entity = await client.entity(path);
      model.selection.set([entity]);
      model.reveal(entity);
      if (!named.has('view')) framed.value = entity;
    } catch (error) {
      model.notices.say('problem', `The address names an entity that is not here. ${(error as Error).message}`);
    }
  };
  const look = (): void => {
    const view = new URLSearchParams(location.hash.slice(1)).get('view');
    if (view) model.placer.peek()?.go(view);
  };
  let is_shown = false;
  effect(() => {
    if (!model.is_there.value || model.client.value === null || is_shown) return;
    is_shown = true;
    void show();
  });
  effect(() => {
    if (model.placer.value) look();
  });
  effect(() => {
    if (!model.placer.value || !framed.value) return;
    model.placer.value.frame([framed.value]);
    framed.value = null;
  });
  addEventListener('hashchange', () => {
    void show();
    look();
  });
}
