// Who is connected, and what each session tells the others.
import type { Connection } from './connection.js';
import { answer_of } from './received.js';
import { GetPresence, Presence } from './session.js';
import type { Present } from './session.js';

/** Follows the presence of all sessions; see Client.follow_presence. */
export async function follow_presence(
  connection: Connection,
  told: (people: Present[], is_all: boolean) => void,
): Promise<void> {
  /** Changes that arrive before everybody is known; null afterward. */
  let newer: Present[] | null = [];
  let turn = 0;
  const begin = async (): Promise<void> => {
    const own = ++turn;
    newer = [];
    const all = new Map<bigint, Present>();
    for (let after = 0n, more = true; more; ) {
      const [answer] = await connection.ask(connection.control(GetPresence, { after, follow: 1 }));
      if (own !== turn) return;
      const page = answer_of(answer, Presence);
      for (const each of page.people) all.set(each.session, each);
      more = page.more && page.people.length > 0;
      after = page.people.at(-1)?.session ?? 0n;
    }
    for (const each of newer)
      if (each.gone) all.delete(each.session);
      else all.set(each.session, each);
    newer = null;
    told([...all.values()], true);
  };
  connection.on_told(Presence, ({ people }) => {
    if (newer) newer.push(...people);
    else told(people, false);
  });
  connection.on_resumed(() => void begin().catch(() => {}));
  await begin();
}
