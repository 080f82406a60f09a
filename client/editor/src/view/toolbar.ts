// The viewport's buttons: tools, axes, steps, and view options.
import {
  Box,
  Crosshair,
  Expand,
  Globe,
  Grid3x3,
  Lightbulb,
  Magnet,
  MousePointer2,
  Move3d,
  Rotate3d,
  Scale3d,
  Sun,
  createElement,
} from 'lucide';
import type { IconNode } from 'lucide';
import type { Steps } from './gizmo_drag.js';
import type { ViewCommand } from './world.js';

const icons: Record<string, IconNode> = {
  'view.tool.none': MousePointer2,
  'view.tool.move': Move3d,
  'view.tool.rotate': Rotate3d,
  'view.tool.scale': Scale3d,
  'view.snap': Magnet,
  'view.frame': Expand,
  'view.grid': Grid3x3,
  'view.shadows': Sun,
  'view.lights': Lightbulb,
};

const groups = [
  ['view.tool.none', 'view.tool.move', 'view.tool.rotate', 'view.tool.scale'],
  ['view.space', 'view.pivot'],
  ['view.snap', 'steps'],
  ['view.frame', 'view.grid', 'view.shadows', 'view.lights'],
];

export class Toolbar {
  readonly element = document.createElement('div');
  private readonly buttons: { button: HTMLButtonElement; command: ViewCommand }[] = [];
  private readonly menu: HTMLDivElement;
  private readonly opener: HTMLButtonElement;
  private readonly outside = (event: Event): void => {
    if (!this.menu.contains(event.target as Node) && !this.opener.contains(event.target as Node)) this.open(false);
  };

  constructor(
    commands: readonly ViewCommand[],
    private readonly is_local: () => boolean,
    private readonly pivot: () => string,
    steps: Steps,
    private readonly steps_changed: () => void,
  ) {
    this.element.className = 'viewport-toolbar';
    this.element.setAttribute('role', 'toolbar');
    this.element.setAttribute('aria-label', 'Viewport tools');
    this.opener = make('button', 'viewport-button viewport-steps-button');
    this.menu = this.steps_menu(steps);
    for (const ids of groups) {
      const group = make('div', 'viewport-group');
      for (const id of ids) {
        if (id === 'steps') {
          this.opener.type = 'button';
          this.opener.title = 'Snapping increments';
          this.opener.setAttribute('aria-haspopup', 'true');
          this.opener.setAttribute('aria-expanded', 'false');
          this.opener.addEventListener('click', () => this.open(this.menu.hidden));
          group.append(this.opener);
          continue;
        }
        const command = commands.find((each) => each.id === id);
        if (!command) continue;
        const button = make('button', 'viewport-button');
        button.type = 'button';
        button.dataset.command = id;
        if (icons[id]) button.append(icon(icons[id]));
        button.addEventListener('click', () => command.run());
        this.buttons.push({ button, command });
        group.append(button);
      }
      this.element.append(group);
    }
    this.element.append(this.menu);
    // Events on the buttons do not reach the viewport below.
    for (const kind of ['pointerdown', 'dblclick', 'wheel', 'contextmenu'])
      this.element.addEventListener(kind, (event) => event.stopPropagation());
    this.update(steps);
  }

  update(steps: Steps): void {
    for (const { button, command } of this.buttons) {
      const key = command.keys?.[0];
      button.title = key ? `${command.title} (${key.length === 1 ? key.toUpperCase() : key})` : command.title;
      button.setAttribute('aria-label', command.title);
      button.disabled = command.enabled?.() === false;
      if (command.id === 'view.space') {
        button.replaceChildren(icon(this.is_local() ? Box : Globe), text(this.is_local() ? 'Local' : 'World'));
        button.classList.add('viewport-wide');
      } else if (command.id === 'view.pivot') {
        button.replaceChildren(icon(Crosshair), text(this.pivot()));
        button.setAttribute('aria-label', `Turn and scale about: ${this.pivot()}`);
        button.classList.add('viewport-wide');
      } else if (command.checked) button.setAttribute('aria-pressed', String(command.checked()));
    }
    const snaps = this.buttons.some(({ command }) => command.id === 'view.snap' && command.checked?.());
    const shown = snaps ? `${short(steps.move)} m · ${short(steps.turn)}°` : 'Snap off';
    this.opener.replaceChildren(text(shown));
    this.opener.setAttribute('aria-label', `Snapping increments: ${shown}`);
  }

  dispose(): void {
    this.open(false);
    this.element.remove();
  }

  private open(on: boolean): void {
    this.menu.hidden = !on;
    this.opener.setAttribute('aria-expanded', String(on));
    if (on) {
      this.menu.style.left = `${this.opener.offsetLeft + (this.opener.offsetParent === this.element ? 0 : (this.opener.offsetParent as HTMLElement).offsetLeft)}px`;
      document.addEventListener('pointerdown', this.outside, true);
      this.menu.querySelector('input')?.focus();
    } else document.removeEventListener('pointerdown', this.outside, true);
  }

  private steps_menu(steps: Steps): HTMLDivElement {
    const menu = make('div', 'viewport-menu');
    menu.hidden = true;
    const title = make('div', 'viewport-menu-title');
    title.textContent = 'Snapping increments';
    menu.append(title);
    const rows: [keyof Steps, string, string, number][] = [
      ['move', 'Move', 'm', 1000],
      ['turn', 'Rotate', '°', 180],
      ['scale', 'Scale', '×', 10],
    ];
    for (const [key, name, unit, most] of rows) {
      const row = make('label', 'viewport-menu-row');
      const input = make('input', 'viewport-number');
      input.type = 'number';
      input.min = '0.001';
      input.max = String(most);
      input.step = 'any';
      input.value = short(steps[key]);
      input.addEventListener('change', () => {
        const value = Number(input.value);
        if (value >= 0.001 && value <= most) steps[key] = value;
        input.value = short(steps[key]);
        this.steps_changed();
      });
      input.addEventListener('keydown', (event) => {
        event.stopPropagation();
        if (event.key === 'Escape' || event.key === 'Enter') {
          input.blur();
          this.open(false);
          this.opener.focus();
        }
      });
      const of = make('span', 'viewport-unit');
      of.textContent = unit;
      row.append(text(name), input, of);
      menu.append(row);
    }
    const note = make('div', 'viewport-menu-note');
    note.textContent = 'Hold Ctrl while dragging to toggle snapping.';
    menu.append(note);
    return menu;
  }
}

function make<K extends keyof HTMLElementTagNameMap>(tag: K, name: string): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.className = name;
  return element;
}
function text(of: string): HTMLSpanElement {
  const span = document.createElement('span');
  span.textContent = of;
  return span;
}
function icon(of: IconNode): SVGElement {
  return createElement(of, { width: 16, height: 16, 'stroke-width': 1.75, 'aria-hidden': 'true' });
}
function short(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}
