// Values that follow a hand: sent at most 60 times a second, and one step to undo in the end.
import { id_text } from 'muster-client';
import type { Entity } from 'muster-client';

import type { FieldChange } from './operations.js';

export interface DragWorld {
  send(changes: FieldChange[]): Promise<void>;
  ready(): boolean;
  /** Undefined: not known here. */
  before(entity: Entity, component: string, path: string): unknown;
  failed(error: unknown): void;
  done(does: FieldChange[], undoes: FieldChange[]): void;
}

const every_ms = 1000 / 60;
/** More on the way: a slow server gets the newest values only. */
const batches_max = 2;

export class Drag {
  private readonly first = new Map<string, FieldChange>();
  private readonly newest = new Map<string, FieldChange>();
  private readonly unsent = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private sent_at = -Infinity;
  private on_the_way = 0;
  private over = false;

  constructor(
    readonly label: string,
    private readonly world: DragWorld,
  ) {}

  /** The newest value counts. Does nothing after commit or cancel, or where the world cannot be edited. */
  set(entity: Entity, component: string, path: string, value: unknown): void {
    if (this.over) return;
    if (this.first.size === 0 && !this.world.ready()) {
      this.over = true;
      return;
    }
    const key = `${id_text(entity)}|${component}|${path}`;
    if (!this.first.has(key)) {
      const before = this.world.before(entity, component, path);
      if (before === undefined) return;
      this.first.set(key, { entity, component, path, value: before });
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
  /** Everything is as it was before. */
  cancel(): void {
    if (this.over) return;
    this.over = true;
    this.unsent.clear();
    clearTimeout(this.timer);
    if (this.first.size > 0) void this.world.send([...this.first.values()]).catch((error) => this.world.failed(error));
  }

  private plan(): void {
    if (this.timer !== undefined || this.on_the_way >= batches_max) return;
    const wait = this.sent_at + every_ms - performance.now();
    this.timer = setTimeout(() => this.flush(), Math.max(0, wait));
  }
  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.unsent.size === 0) return;
    const changes = [...this.unsent].map((key) => this.newest.get(key)!);
    this.unsent.clear();
    this.sent_at = performance.now();
    ++this.on_the_way;
    this.world.send(changes).then(
      () => this.landed(),
      (error: unknown) => {
        this.over = true;
        this.landed();
        this.world.failed(error);
      },
    );
  }
  private landed(): void {
    --this.on_the_way;
    if (this.unsent.size > 0) this.plan();
  }
}
