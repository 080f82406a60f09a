// Edits values during a drag: sends at most 60 updates per second, and makes one undo step at the
// end.
import { id_text } from 'muster-client';
import type { ClientError, Entity } from 'muster-client';

import type { FieldChange } from './operations.js';

export interface DragWorld {
  send(changes: FieldChange[]): Promise<void>;
  ready(): boolean;
  /** Undefined if the value is unknown. */
  before(entity: Entity, component: string, path: string): unknown;
  /** True if a handler constantly writes the component; its values are then overwritten. */
  is_driven(component: string): boolean;
  failed(error: unknown): void;
  /** Called if another session has changed the part, which this drag no longer writes. */
  overtaken(part: FieldChange): void;
  done(does: FieldChange[], undoes: FieldChange[]): void;
}

const every_ms = 1000 / 60;
/** Limit on unanswered batches. A slow server receives only the newest values. */
const batches_max = 2;

export class Drag {
  private readonly first = new Map<string, FieldChange>();
  private readonly newest = new Map<string, FieldChange>();
  /** The world's value of each part if only this drag has written it; sent as expected value. */
  private readonly written = new Map<string, unknown>();
  private readonly unsent = new Set<string>();
  private readonly overtaken = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private sent_at = -Infinity;
  private on_the_way = 0;
  private over = false;

  constructor(
    readonly label: string,
    private readonly world: DragWorld,
  ) {}

  /** True if values are no longer sent. */
  get is_over(): boolean {
    return this.over;
  }
  /** Sets the newest value. Does nothing if the drag is over or the world cannot be edited. */
  set(entity: Entity, component: string, path: string, value: unknown): void {
    if (this.over) return;
    if (this.first.size + this.overtaken.size === 0 && !this.world.ready()) {
      this.over = true;
      return;
    }
    const key = `${id_text(entity)}|${component}|${path}`;
    if (this.overtaken.has(key)) return;
    if (!this.first.has(key)) {
      const before = this.world.before(entity, component, path);
      if (before === undefined) return;
      this.first.set(key, { entity, component, path, value: before });
      this.written.set(key, before);
    }
    this.newest.set(key, { entity, component, path, value });
    this.unsent.add(key);
    this.plan();
  }
  commit(): void {
    if (this.over) return;
    this.over = true;
    this.flush();
    if (this.newest.size > 0) this.world.done([...this.newest.values()], [...this.first.values()]);
  }
  /** Restores the previous values, except those that another session has changed. */
  cancel(): void {
    if (this.over) return;
    this.over = true;
    this.unsent.clear();
    clearTimeout(this.timer);
    for (const [key, change] of this.first) this.newest.set(key, change);
    this.send([...this.first.keys()]);
  }

  private plan(): void {
    if (this.timer !== undefined || this.on_the_way >= batches_max) return;
    const wait = this.sent_at + every_ms - performance.now();
    this.timer = setTimeout(() => this.flush(), Math.max(0, wait));
  }
  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const keys = [...this.unsent];
    this.unsent.clear();
    if (keys.length > 0) this.sent_at = performance.now();
    this.send(keys);
  }
  /**
   * Sends two batches: one with expected values, for components that others may write, and one
   * without, for components that handlers write.
   */
  private send(keys: readonly string[]): void {
    const is_driven = (key: string): boolean => this.world.is_driven(this.newest.get(key)!.component);
    const plain = keys.filter(is_driven).map((key) => this.newest.get(key)!);
    const guarded = keys
      .filter((key) => !is_driven(key))
      .map((key) => ({ ...this.newest.get(key)!, expected: this.written.get(key) }));
    for (const key of keys) this.written.set(key, this.newest.get(key)!.value);
    for (const changes of [plain, guarded])
      if (changes.length > 0) {
        ++this.on_the_way;
        this.world.send(changes).then(
          () => this.landed(),
          (error: unknown) => this.refused(error),
        );
      }
  }
  private refused(error: unknown): void {
    const fault = (error as ClientError).fault;
    const is_mismatch = fault?.reason === 'value_mismatch';
    if (is_mismatch) {
      const found = [...this.first].find(
        ([, { entity, path }]) => id_text(entity) === id_text(fault.entity) && path === fault.field,
      );
      if (found) this.let_go(found[0]);
    }
    // After a part was given up, the server also refuses values of it that were already sent.
    const is_known = is_mismatch && this.overtaken.size > 0;
    if (!is_known) this.over = true;
    this.landed();
    if (!is_known) this.world.failed(error);
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
  private landed(): void {
    --this.on_the_way;
    if (this.unsent.size > 0) this.plan();
  }
}
