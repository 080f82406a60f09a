// Proofs that client and server know the same token, with Node's cryptography. docs/protocol.md
// gives the formulas.
import { createHash, createHmac, randomBytes } from 'node:crypto';

import type { TokenProofs } from './stream.js';

function keyed_hash(token: string, ...parts: (string | Uint8Array)[]): Uint8Array {
  const hash = createHmac('sha256', createHash('sha256').update(token).digest());
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
}

export const token_proofs: TokenProofs = {
  nonce: () => new Uint8Array(randomBytes(32)),
  id: (token) => keyed_hash(token, 'muster token id').subarray(0, 16),
  proof: (side, token, client_nonce, server_nonce) =>
    keyed_hash(token, `muster ${side} proof`, client_nonce, server_nonce),
};
