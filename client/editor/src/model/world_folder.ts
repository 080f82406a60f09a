// The folder of the world's file, from which the server provides models and their files.

/** Returns true if the path leads outside the folder that it is relative to. */
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
