// The assets of the world: the files in the folder "assets" beside the world's file, which the page
// lists, uploads and renames.
import { signal } from '@preact/signals';
import type { Signal } from '@preact/signals';

import { token_here } from '../model/link.js';

export interface AssetFile {
  /** Relative to the world's folder, like the paths in components: "assets/trees/oak.glb". */
  path: string;
  bytes: number;
  /** Changes with the content. */
  tag: string;
}

/** Why the server refused to store or rename a file. */
export class AssetError extends Error {
  constructor(
    message: string,
    /** True if there is already a file with the name. */
    readonly is_taken: boolean,
  ) {
    super(message);
  }
}

export const assets_folder = 'assets/';
const look_ms = 3000;

export class AssetFiles {
  /** Null until the folder has been listed. */
  readonly list: Signal<readonly AssetFile[] | null> = signal(null);
  /** Why the folder cannot be listed; empty if it can. */
  readonly fault = signal('');
  /** True if the list is not complete. */
  readonly is_cut = signal(false);
  /** Path of the file that is being uploaded; empty if there is none. */
  readonly uploading = signal('');
  /** Files that models need and that could not be read, by path, with the reason. */
  readonly unread: Signal<ReadonlyMap<string, string>> = signal(new Map<string, string>());
  /** Draws a picture of a model; null without a viewport. Resolves with the address of an image. */
  readonly portray: Signal<((path: string) => Promise<string>) | null> = signal(null);
  private bytes_max = Infinity;
  private tag = '';
  private readonly listeners = new Set<(paths: ReadonlySet<string>) => void>();

  /** Lists the folder now and then from now on, while the page is in sight. */
  start(is_live: () => boolean): void {
    const look = (): void => {
      if (document.visibilityState === 'visible' && is_live()) void this.refresh();
    };
    const timer = setInterval(look, look_ms) as { unref?: () => void };
    timer.unref?.();
    document.addEventListener('visibilitychange', look);
    look();
  }
  /** Calls `changed` with the files that were changed, added or removed. */
  on_change(changed: (paths: ReadonlySet<string>) => void): () => void {
    this.listeners.add(changed);
    return () => this.listeners.delete(changed);
  }
  has(path: string): boolean {
    return this.list.peek()?.some((file) => file.path === path) ?? false;
  }

  async refresh(): Promise<void> {
    try {
      const answer = await ask('GET', 'files', { 'If-None-Match': this.tag });
      this.fault.value = '';
      if (answer.status === 304) return;
      this.tag = answer.headers.get('ETag') ?? '';
      const { files, bytes_max, is_cut } = (await answer.json()) as {
        files: AssetFile[];
        bytes_max: number;
        is_cut: boolean;
      };
      this.bytes_max = bytes_max;
      this.is_cut.value = is_cut;
      const before = new Map((this.list.peek() ?? files).map((file) => [file.path, file.tag]));
      const changed = new Set<string>();
      for (const { path, tag } of files) {
        if (before.get(path) !== tag) changed.add(path);
        before.delete(path);
      }
      for (const path of before.keys()) changed.add(path);
      // Models are read again before lists draw them.
      if (changed.size > 0) for (const listener of this.listeners) listener(changed);
      this.list.value = files;
    } catch (error) {
      // A lost connection is told elsewhere.
      if (error instanceof AssetError) this.fault.value = error.message;
    }
  }
  /** Stores a file. Rejects with an AssetError if the server refuses that. */
  async upload(path: string, file: Blob, replaces: boolean): Promise<void> {
    if (file.size > this.bytes_max)
      throw new AssetError(`the file is larger than ${Math.floor(this.bytes_max / (1 << 20))} MiB`, false);
    this.uploading.value = path;
    try {
      await ask('PUT', url_of(path) + (replaces ? '?replace' : ''), {}, file);
    } finally {
      this.uploading.value = '';
    }
    await this.refresh();
  }
  /** Renames a file. Rejects with an AssetError if the server refuses that. */
  async rename(from: string, to: string): Promise<void> {
    await ask('POST', `${url_of(from)}?to=${escaped(to.slice(assets_folder.length))}`);
    await this.refresh();
  }
  /** Notes whether a file that a model needs can be read. */
  was_read(path: string, why: string): void {
    if ((this.unread.peek().get(path) ?? '') === why) return;
    const now = new Map(this.unread.peek());
    if (why === '') now.delete(path);
    else now.set(path, why);
    this.unread.value = now;
  }
}

function escaped(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
function url_of(path: string): string {
  return 'files/' + escaped(path.slice(assets_folder.length));
}

async function ask(
  method: string,
  url: string,
  headers: Record<string, string> = {},
  body?: Blob,
): Promise<Response> {
  const answer = await fetch(url, {
    method,
    headers: { Authorization: 'Bearer ' + token_here(), ...headers },
    body,
    cache: 'no-store',
  });
  if (answer.ok || answer.status === 304) return answer;
  const why = (await answer.text().catch(() => '')).trim().slice(0, 300);
  throw new AssetError(why || `the server answered ${answer.status}`, answer.status === 409);
}
