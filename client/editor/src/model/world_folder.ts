// The folder of the world's file, from which the server provides models and their files.

import { token_here } from './link.js';

/** Requests a file of the folder. Rejects with an Error that gives the reason. */
export async function world_file(method: 'GET' | 'HEAD', path: string): Promise<Response> {
  const url = 'world/' + path.split('/').map(encodeURIComponent).join('/');
  const answer = await fetch(url, { method, headers: { Authorization: 'Bearer ' + token_here() } });
  if (answer.ok) return answer;
  const why = (await answer.text().catch(() => '')).trim().slice(0, 200);
  const missing = answer.status === 404 ? "there is no such file in the world's folder" : '';
  throw new Error(why || missing || answer.statusText || `the server answered ${answer.status}`);
}

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
