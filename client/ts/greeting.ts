// The first frames of a session, up to the Welcome.
import { ClientError } from './client_error.js';
import type { Connection } from './connection.js';
import { answer_of } from './received.js';
import type { Received } from './received.js';
import { Challenge, Hello, Proof, Welcome } from './session.js';
import type { TokenProofs } from './stream.js';
import type { Init } from './types.js';

/**
 * Sends the Hello and returns the Welcome. With `proofs`, does not send the token; both sides prove
 * that they know it. Fails with `lost` if the server does not accept the token, or if the program
 * at the other end does not know it. `ask` sends a question and resolves with the answer.
 */
export async function greet(
  connection: Connection,
  ask: (batch: Uint8Array) => Promise<Received[]>,
  proofs: TokenProofs | undefined,
  token: string,
  hello: Init<Hello>,
): Promise<Welcome> {
  if (!proofs) return answer_of((await ask(connection.control(Hello, { ...hello, token })))[0], Welcome);
  const nonce = proofs.nonce();
  const answer = await ask(connection.control(Hello, { ...hello, token_id: proofs.id(token), nonce }));
  const challenge = answer_of(answer[0], Challenge);
  const expected = proofs.proof('server', token, nonce, challenge.nonce);
  if (challenge.proof.length !== expected.length || expected.some((byte, i) => byte !== challenge.proof[i]))
    throw new ClientError('lost', 'the program at the other end is not the server that was meant: it does not know the token');
  const proof = proofs.proof('client', token, nonce, challenge.nonce);
  return answer_of((await ask(connection.control(Proof, { proof })))[0], Welcome);
}
