// The folder of the world's file, from which the server gives models and what belongs to them.

/** Returns true for a path that leads out of the folder it is meant to start in. */
export function leaves_folder(path: string): boolean {
  if (/^(\/|[a-z]:[\\/]|[a-z][a-z0-9+.-]*:\/\/)/i.test(path)) return true;
  let depth = 0;
  for (const part of path.split('/')) {
    if (part === '..') --depth;
    else if (part !== '' && part !== '.') ++depth;
    if (depth < 0) return true;
  }
  return false;
}
