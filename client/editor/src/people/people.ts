// The other users of the world: what each has selected, drags and looks at. Tells them the same of
// this page. Others leave alone what a user drags; docs/protocol.md describes presence.
import { computed, effect, signal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { id_text, is_nil, session } from 'muster-client';
import type { Client, Entity } from 'muster-client';

export interface Spot {
  x: number;
  y: number;
  z: number;
}
export interface Person {
  /** Number of the session. */
  session: bigint;
  name: string;
  kind: string;
  is_agent: boolean;
  /** Index of the person's color in person_colors. */
  color: number;
  selection: readonly Entity[];
  dragged: readonly Entity[];
  locks: readonly Entity[];
  /** The place of the camera, and the point at which it looks. */
  camera: { position: Spot; target: Spot } | null;
}

/** Visible on dark and on light panels, and different from the color of this page's selection. */
export const person_colors = ['#c8741c', '#23915d', '#d6457f', '#8664e0', '#128d9e', '#cf4a3c', '#8a8420', '#b44fc0'];

/** The page, as others are told of it, and the names of entities. */
export interface Own {
  /** These two are read in an effect. */
  selection(): readonly Entity[];
  dragged(): readonly Entity[];
  parent(entity: Entity): Entity;
  label(entity: Entity): string;
  /** Called if somebody else has locked an entity that this page began to drag. */
  not_granted(entity: Entity, sentence: string): void;
}

/** Others are told at most about 17 times a second. */
const every_ms = 60;
/** Limit on the entities in each list of a SetPresence. */
const told_max = 256;

export class People {
  private readonly known = signal<readonly Person[]>([]);
  /** Like `known`, but not changed when only a camera has moved. */
  private readonly marked = signal<readonly Person[]>([]);
  private marks = '';
  /** Those who have selected an entity, by the entity's id. */
  readonly selecting = computed(() => by_entity(this.marked.value, ({ selection }) => selection));
  /** Those who drag or have locked an entity, by the entity's id. */
  readonly holding = computed(() => by_entity(this.marked.value, ({ dragged, locks }) => [...dragged, ...locks]));
  private client: Client | null = null;
  private is_away = false;
  private camera: readonly number[] = [];
  private told = '';
  private told_at = -Infinity;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly own: Own) {
    effect(() => {
      own.selection();
      own.dragged();
      this.plan();
    });
  }

  /** All other sessions, sorted by number. */
  get others(): ReadonlySignal<readonly Person[]> {
    return this.known;
  }
  /**
   * Returns a sentence about a person who drags or has locked one of the entities or, if
   * `with_below`, an entity below one of them. Undefined if they are free.
   */
  held(entities: readonly Entity[], with_below = false): string | undefined {
    const holding = this.holding.value;
    if (holding.size === 0) return undefined;
    const ids = new Set(entities.map(id_text));
    for (const person of this.marked.value)
      for (const entity of [...person.dragged, ...person.locks])
        for (let at = entity; !is_nil(at); at = this.own.parent(at)) {
          if (ids.has(id_text(at))) return this.sentence(person, entity);
          if (!with_below) break;
        }
    return undefined;
  }
  private sentence(person: Person, entity: Entity): string {
    const is_dragged = person.dragged.some((each) => id_text(each) === id_text(entity));
    return `${person.name} is ${is_dragged ? 'moving' : 'working on'} ${this.own.label(entity)}`;
  }

  async follow(client: Client): Promise<void> {
    this.client = client;
    this.begin();
    client.on_interrupted(() => {
      if (client === this.client) this.end();
    });
    client.on_resumed(() => {
      if (client === this.client) this.begin();
    });
    await client.follow_presence((people, is_all) => {
      if (client === this.client) this.take(people, is_all);
    });
  }
  lost(): void {
    this.client = null;
    this.end();
  }
  /** Tells others the place of the camera and the point at which it looks. */
  look(position: Spot, target: Spot): void {
    const numbers = [position, target].flatMap(({ x, y, z }) => [x, y, z]).map(Math.fround);
    if (!numbers.every(Number.isFinite) || numbers.every((each, i) => each === this.camera[i])) return;
    this.camera = numbers;
    this.plan();
  }

  /** A new connection: others know nothing of this page. */
  private begin(): void {
    this.is_away = false;
    this.told = '';
    this.plan();
  }
  /** Nothing is known of others without a connection. */
  private end(): void {
    this.is_away = true;
    if (this.known.peek().length > 0) this.show([]);
  }
  private take(people: readonly session.Present[], is_all: boolean): void {
    const all = new Map(is_all ? [] : this.known.peek().map((person) => [person.session, person]));
    for (const each of people) {
      if (each.gone) all.delete(each.session);
      else if (each.session !== this.client?.welcome.session)
        all.set(each.session, person_of(each, all.get(each.session)?.color ?? free_color(each.session, all)));
    }
    this.show([...all.values()].sort((a, b) => (a.session < b.session ? -1 : 1)));
  }
  private show(people: readonly Person[]): void {
    this.known.value = people;
    const marks = JSON.stringify(people.map(({ session: number, name, selection, dragged, locks }) => [String(number), name, selection, dragged, locks]));
    if (marks === this.marks) return;
    this.marks = marks;
    this.marked.value = people;
  }
  private plan(): void {
    if (this.timer !== undefined || !this.client || this.is_away) return;
    const wait = Math.max(0, this.told_at + every_ms - performance.now());
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.tell().catch(() => {}); // a lost line is told elsewhere
    }, wait);
  }
  private async tell(): Promise<void> {
    const { client } = this;
    if (!client || this.is_away) return;
    const dragged = this.own.dragged().slice(-told_max);
    const what = { selection: this.own.selection().slice(-told_max), dragged, locks: dragged, camera: [...this.camera] };
    const text = JSON.stringify(what);
    if (text === this.told) return;
    this.told = text;
    this.told_at = performance.now();
    const { refused, holders } = await client.ask(session.SetPresence, what);
    refused.forEach((entity, i) => {
      const holder = this.known.peek().find((person) => person.session === holders[i]);
      const name = holder?.name ?? 'somebody else';
      this.own.not_granted(entity, `${name} is already working on ${this.own.label(entity)}`);
    });
  }
}

/** Returns the color of a new person: the same in all pages, unless somebody else has it. */
function free_color(session: bigint, all: ReadonlyMap<bigint, Person>): number {
  const taken = new Set([...all.values()].map(({ color }) => color));
  const first = Number(session & 0xffffffffn) % person_colors.length;
  for (let i = 0; i < person_colors.length; ++i) {
    const color = (first + i) % person_colors.length;
    if (!taken.has(color)) return color;
  }
  return first;
}
function person_of(told: session.Present, color: number): Person {
  const { kind, selection, dragged, locks, camera } = told;
  const [x, y, z, to_x, to_y, to_z] = camera;
  const number = Number(told.session & 0xffffffffn);
  return {
    session: told.session,
    name: told.name || kind || `session ${number}`,
    kind,
    is_agent: kind === 'agent',
    color,
    selection,
    dragged,
    locks,
    camera: camera.length === 6 ? { position: { x, y, z }, target: { x: to_x, y: to_y, z: to_z } } : null,
  };
}
function by_entity(
  people: readonly Person[],
  entities: (person: Person) => readonly Entity[],
): ReadonlyMap<string, readonly Person[]> {
  const found = new Map<string, Person[]>();
  for (const person of people)
    for (const id of new Set(entities(person).map(id_text))) {
      const list = found.get(id);
      if (list) list.push(person);
      else found.set(id, [person]);
    }
  return found;
}
