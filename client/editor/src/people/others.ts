// Shows other users in the viewport: outlines and names of what they have selected, and the places
// of their cameras.
import { Color, Vector3 } from 'three';
import { Outline } from '../view/outline.js';
import type { Stage } from '../view/stage.js';
import type { Person } from '../view/world.js';
import { person_colors } from './people.js';

const outlined_max = 2000;

interface Tag {
  element: HTMLElement;
  text: string;
}

export class Others {
  readonly element = document.createElement('div');
  readonly outline = new Outline({ width: 1.6, rim: 1 });
  /** By the key of what they show. */
  private readonly tags = new Map<string, Tag>();
  private selections = '';
  private readonly end: () => void;

  constructor(private readonly stage: Stage) {
    this.element.className = 'viewport-others';
    this.outline.colors(...person_colors.map((color) => new Color(color).convertLinearToSRGB()));
    this.end = stage.world.on_others(() => {
      const selections = JSON.stringify(stage.world.others().map(({ color, selection, dragged }) => [color, selection, dragged]));
      if (selections !== this.selections) stage.emphasis_changed();
      else this.show(); // only cameras have moved
      this.selections = selections;
    });
  }
  dispose(): void {
    this.end();
    this.outline.dispose();
  }

  /** Outlines what others have selected. Call when bodies have moved or selections have changed. */
  emphasize(): void {
    const { contents, world } = this.stage;
    const colors = new Map<number, number>();
    for (const { selection, dragged, color } of world.others())
      for (const slot of contents.slots_below([...selection, ...dragged], outlined_max)) colors.set(slot, color);
    this.outline.paint(contents.bodies, colors);
  }

  /** Places names and cameras in the picture, and tells others this page's camera. */
  show(): void {
    const { rig, world } = this.stage;
    world.tell_camera(rig.camera.position, rig.view.target);
    const shown = new Set<string>();
    for (const person of world.others()) {
      this.show_selection(person, shown);
      this.show_camera(person, shown);
    }
    for (const [key, { element }] of this.tags)
      if (!shown.has(key)) {
        element.remove();
        this.tags.delete(key);
      }
  }

  /** Shows the name of a person at the last entity that the person has selected. */
  private show_selection(person: Person, shown: Set<string>): void {
    const { contents } = this.stage;
    const entity = person.dragged.at(-1) ?? person.selection.at(-1);
    const slot = entity && contents.slot(entity);
    if (slot === undefined || contents.is_hidden(slot)) return;
    const key = `selection ${person.session}`;
    const is_dragged = person.dragged.length > 0;
    const text = is_dragged ? `${person.name} is moving this` : person.name;
    this.put(key, contents.place_of(slot, place), shown, person, text, () => {
      const element = document.createElement('span');
      element.className = 'viewport-person';
      return element;
    });
    this.tags.get(key)?.element.classList.toggle('is-moving', is_dragged);
  }
  private show_camera(person: Person, shown: Set<string>): void {
    const { camera } = person;
    if (!camera) return;
    const { x, y, z } = camera.position;
    this.put(`camera ${person.session}`, place.set(x, y, z), shown, person, person.name, () => {
      const button = document.createElement('button');
      button.className = 'viewport-person is-camera';
      button.title = `Look from where ${person.name} is`;
      button.setAttribute('aria-label', button.title);
      button.tabIndex = -1; // the list at the top does the same
      for (const kind of ['pointerdown', 'dblclick']) button.addEventListener(kind, (event) => event.stopPropagation());
      button.addEventListener('click', () => {
        const now = this.stage.world.others().find(({ session }) => session === person.session)?.camera;
        if (now) this.stage.arranger.look_from(now.position, now.target);
      });
      return button;
    });
  }
  private put(
    key: string,
    at: Vector3,
    shown: Set<string>,
    person: Person,
    text: string,
    make: () => HTMLElement,
  ): void {
    const { sight, rig } = this.stage;
    const seen = sight.project(at);
    const is_in = seen.x > 0 && seen.x < sight.width && seen.y > 0 && seen.y < sight.height;
    if (!is_in || seen.depth <= rig.camera.near) return;
    let tag = this.tags.get(key);
    if (!tag) {
      tag = { element: make(), text: '' };
      tag.element.style.setProperty('--person', person_colors[person.color]);
      this.element.append(tag.element);
      this.tags.set(key, tag);
    }
    if (tag.text !== text) tag.element.textContent = tag.text = text;
    tag.element.style.transform = `translate(${Math.round(seen.x)}px, ${Math.round(seen.y)}px)`;
    shown.add(key);
  }
}

const place = new Vector3();
