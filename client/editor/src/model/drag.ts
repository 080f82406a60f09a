// Edits values during a drag: sends at most 60 steps per second, which have the same gesture and so
// become one step in the history.
import { id_text } from 'muster-client';
import type { Entity } from 'muster-client';

import type { FieldChange } from './operations.js';
import { same_value } from './values.js';

export interface DragWorld {
  /** Sends changes, which the world applies or refuses as a whole. */
  send(changes: FieldChange[]): Promise<void>;
  ready(): boolean;
  /** Undefined if the value is unknown. */
  before(entity: Entity, component: string, path: string): unknown;
  /** True if a handler constantly writes the component; its values are then overwritten. */
  is_driven(component: string): boolean;
  /** Returns the part that another session has changed, if that is why changes were refused. */
  changed_part(error: unknown): Pick<FieldChange, 'entity' | 'path'> | undefined;
  failed(error: unknown): void;
  /** Called if another session has changed the part, which this drag no longer writes. */
  overtaken(part: FieldChange): void;
}

const every_ms = 1000 / 60;
/** Limit on unanswered steps. A slow server receives only the newest values. */
const steps_max = 2;

export class Drag {
  /** Resolves when the drag is over and the world has answered all of it. Never rejects. */
  readonly finished: Promise<void>;
  private readonly first = new Map<string, FieldChange>();
  private readonly newest = new Map<string, FieldChange>();
  /**
   * The value of each part if the world applies everything that was sent; sent as expected value.
   */
  private readonly written = new Map<string, unknown>();
  /** The newest value that the world has acknowledged. */
  private readonly confirmed = new Map<string, unknown>();
  private readonly unsent = new Set<string>();
  private readonly overtaken = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private sent_at = -Infinity;
  private on_the_way = 0;
  private over = false;
  /** True after a refusal, until the steps that were sent before it have been answered. */
  private is_astray = false;
  private is_dropped = false;
  private finish: () => void = () => {};

  constructor(
    readonly label: string,
    private readonly world: DragWorld,
  ) {
    this.finished = new Promise((resolve) => (this.finish = resolve));
  }

  /** True if values are no longer sent. */
  get is_over(): boolean {
    return this.over;
  }
  /** Sets the newest value. Does nothing if the drag is over or the world cannot be edited. */
  set(entity: Entity, component: string, path: string, value: unknown): void {
    if (this.over) return;
    if (this.first.size + this.overtaken.size === 0 && !this.world.ready()) return this.end();
    const key = `${id_text(entity)}|${component}|${path}`;
    if (this.overtaken.has(key)) return;
    if (!this.first.has(key)) {
      const before = this.world.before(entity, component, path);
      if (before === undefined) return;
      this.first.set(key, { entity, component, path, value: before });
      this.written.set(key, before);
      this.confirmed.set(key, before);
    }
    this.newest.set(key, { entity, component, path, value });
    this.unsent.add(key);
    this.plan();
  }
  commit(): void {
    if (!this.over) this.end();
  }
  /** Restores the previous values, except those that another session has changed. */
  cancel(): void {
    if (this.over) return;
    this.unsent.clear();
    for (const [key, change] of this.first) {
      this.newest.set(key, change);
      if (!same_value(this.written.get(key), change.value)) this.unsent.add(key);
    }
    this.end();
  }
  /** Ends the drag without sending anything. Returns false if the world had answered all of it. */
  drop(): boolean {
    const is_unfinished = !this.over || this.on_the_way > 0;
    this.is_dropped = true;
    this.unsent.clear();
    this.first.clear();
    this.end();
    return is_unfinished;
  }

  private end(): void {
    this.over = true;
    this.flush();
  }
  private plan(): void {
    if (this.timer !== undefined || this.on_the_way >= steps_max || this.is_astray) return;
    const wait = this.sent_at + every_ms - performance.now();
    this.timer = setTimeout(() => this.flush(), Math.max(0, wait));
  }
  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.unsent.size > 0 && !this.is_astray) this.send();
    if (this.over && this.on_the_way === 0) this.finish();
  }
  /** Sends the newest values; with expected values, except for components that handlers write. */
  private send(): void {
    const sent = [...this.unsent].map((key) => [key, this.newest.get(key)!] as const);
    this.unsent.clear();
    this.sent_at = performance.now();
    const changes = sent.map(([key, change]) =>
      this.world.is_driven(change.component) ? change : { ...change, expected: this.written.get(key) },
    );
    for (const [key, { value }] of sent) this.written.set(key, value);
    ++this.on_the_way;
    this.world.send(changes).then(
      () => {
        for (const [key, { value }] of sent) this.confirmed.set(key, value);
        this.answered();
      },
      (error: unknown) => this.refused(error),
    );
  }
  private refused(error: unknown): void {
    if (this.is_dropped) return this.answered();
    const part = this.world.changed_part(error);
    // A step that was already sent is refused too, because it expects values of the refused one.
    if (!part || !this.is_astray) {
      const is_part = ({ entity, path }: FieldChange): boolean =>
        id_text(entity) === id_text(part!.entity) && path === part!.path;
      const found = part && [...this.first].find(([, change]) => is_part(change));
      if (found) {
        this.is_astray = true;
        this.let_go(found[0]);
      } else {
        this.over = true;
        this.unsent.clear();
        this.first.clear();
        this.world.failed(error);
      }
    }
    this.answered();
  }
  /** Gives up one part; the others continue. */
  private let_go(key: string): void {
    const part = this.first.get(key)!;
    for (const each of [this.first, this.newest, this.written]) each.delete(key);
    this.unsent.delete(key);
    this.overtaken.add(key);
    if (this.first.size === 0) this.over = true;
    this.world.overtaken(part);
  }
  private answered(): void {
    --this.on_the_way;
    if (this.is_astray && this.on_the_way === 0 && !this.is_dropped) {
      this.is_astray = false;
      for (const key of this.first.keys()) {
        this.written.set(key, this.confirmed.get(key));
        if (!same_value(this.newest.get(key)!.value, this.confirmed.get(key))) this.unsent.add(key);
      }
    }
    if (this.over) this.flush();
    else if (this.unsent.size > 0) this.plan();
  }
}
