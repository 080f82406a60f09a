// The interface that a client needs from a connection. node_stream.ts implements it with TCP, TLS
// and Unix sockets.

/** Proves that both sides know the token. docs/protocol.md gives the formulas. */
export interface TokenProofs {
  /** Returns 32 random bytes. */
  nonce(): Uint8Array;
  id(token: string): Uint8Array;
  proof(side: 'client' | 'server', token: string, client_nonce: Uint8Array, server_nonce: Uint8Array): Uint8Array;
}

/** A byte stream. Calls no handler before start(), and none after `ended` or close(). */
export interface ByteStream {
  /**
   * Call once. `received` passes ownership of bytes; `ended` gives the reason for the end as a
   * sentence.
   */
  start(handlers: { received(bytes: Uint8Array): void; ended(why: string): void }): void;
  /** Sends bytes in order. The caller must not change them afterward. */
  send(bytes: Uint8Array): void;
  /** Number of bytes passed to send() but not sent yet. */
  readonly unsent_bytes: number;
  close(): void;
  /**
   * If set, another program than the server may be at the other end. The client then proves that it
   * knows the token, and does not send it.
   */
  readonly proofs?: TokenProofs;
}
