// The colors of the page: dark, light, or as the system has them.
import { signal } from '@preact/signals';

import type { Command } from '../model/commands.js';

export type Theme = 'system' | 'dark' | 'light';
const names: Record<Theme, string> = { system: 'as the system', dark: 'dark', light: 'light' };
const place = 'muster.theme';

/** The event of the window after the colors have changed. */
export const theme_changed = 'muster-theme';

const chosen = signal<Theme>('system');
const light = matchMedia('(prefers-color-scheme: light)');

function show(): void {
  const { value } = chosen;
  document.documentElement.dataset.theme = value === 'system' ? (light.matches ? 'light' : 'dark') : value;
  dispatchEvent(new Event(theme_changed));
}

/** Shows the theme that this browser has stored, and follows the system. */
export function begin_theme(): void {
  try {
    const kept = localStorage.getItem(place);
    if (kept === 'dark' || kept === 'light') chosen.value = kept;
  } catch {
    // Storage is not available.
  }
  light.addEventListener('change', show);
  show();
}

export function theme_commands(): Command[] {
  return (Object.keys(names) as Theme[]).map((theme) => ({
    id: `page.theme.${theme}`,
    title: `Colors: ${names[theme]}`,
    checked: () => chosen.value === theme,
    run: () => {
      chosen.value = theme;
      try {
        localStorage.setItem(place, theme);
      } catch {
        // Storage is not available.
      }
      show();
    },
  }));
}
