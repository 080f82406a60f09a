// Three entities that the tests of edits work on, in a page whose server the test plays.
import type { TestContext } from 'node:test';

import { session } from 'muster-client';

import { default_value } from '../../../../client/editor/src/model/values.js';
import { entity, Played } from './played.js';

export const [orc, elf, rock] = [1, 2, 3].map((index) => entity(index));
export const health = 'golden.Health';
export const config = 'golden.Config';
export const refused = { code: session.FaultCode.refused, text: 'the world says no', reason: 'out_of_range' };

/** An orc and an elf with a Health of 50 and 60, and an entity without a name or components. */
export async function camp(t: TestContext): Promise<Played> {
  const play = await Played.open(t);
  const type = play.client.types.get(health);
  play.set_value(orc, health, { ...default_value(type), value: 50, mesh: 0n });
  play.set_value(elf, health, { ...default_value(type), value: 60, mesh: 0n });
  play.names.set('1:1', 'orc');
  play.names.set('2:1', 'elf');
  return play;
}
export const i32 = (value: number): number[] => [...new Uint8Array(Int32Array.of(value).buffer)];
