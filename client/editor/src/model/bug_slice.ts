// A slice of the world: one file that holds what the world did, for a report of a bug.
import { token_here } from './link.js';

export interface BugSlice {
  /** Such as "town-tick4711.slice". */
  name: string;
  bytes: Blob;
}

/** Asks the server for a slice. If that fails, rejects with an Error that gives the reason. */
export async function fetch_slice(): Promise<BugSlice> {
  const answer = await fetch('slice', { headers: { Authorization: 'Bearer ' + token_here() }, cache: 'no-store' });
  if (!answer.ok) {
    const why = (await answer.text().catch(() => '')).trim().slice(0, 200);
    throw new Error(why || answer.statusText || `the server answered ${answer.status}`);
  }
  const name = /filename="([A-Za-z0-9._-]+)"/.exec(answer.headers.get('Content-Disposition') ?? '')?.[1];
  return { name: name ?? 'world.slice', bytes: await answer.blob() };
}

/**
 * Returns the command that replays a slice. `plugins` are those of the server, each as its name, a
 * colon and its build.
 */
export function replay_command(name: string, plugins: readonly string[]): string {
  const libraries = plugins.map((plugin) => ` --plugin lib${plugin.replace(/:.*/s, '')}.so`);
  return `muster replay ${name}${libraries.join('')} --check`;
}
