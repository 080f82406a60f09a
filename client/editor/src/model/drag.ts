// Values that follow a hand: sent at most 60 times a second, and one step to undo in the end.
import { id_text } from 'muster-client';
import type { ClientError, Entity } from 'muster-client';

import type { FieldChange } from './operations.js';

export interface DragWorld {
  send(changes: FieldChange[]): Promise<void>;
  ready(): boolean;
  /** Undefined: not known here. */
  before(entity: Entity, component: string, path: string): unknown;
  /** A handler writes it all the time: it is written over. */
  is_driven(component: string): boolean;
  failed(error: unknown): void;
  /** Somebody else has changed that part meanwhile: the drag has let it go. */
  overtaken(part: FieldChange): void;
  done(does: FieldChange[], undoes: FieldChange[]): void;
}

const every_ms = 1000 / 60;
/** More on the way: a slow server gets the newest values only. */
const batches_max = 2;

export class Drag {
  private readonly first = new Map<string, FieldChange>();
  private readonly newest = new Map<string, FieldChange>();
  /** The world's value, if only this drag writes it. */
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

  /** Nothing that is set from now on is sent. */
  get is_over(): boolean {
    return this.over;
  }
  /** The newest value counts. Does nothing once it is over, or where the world cannot be edited. */
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
  /** Everything is as it was before, but for what somebody else has changed since. */
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
   * Two batches: what others may write has the value that is expected there, what handlers write
   * has none.
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
    // Values that were on their way when their part was let go are refused too.
    const is_known = is_mismatch && this.overtaken.size > 0;
    if (!is_known) this.over = true;
    this.landed();
    if (!is_known) this.world.failed(error);
  }
  /** The other parts go on. */
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
