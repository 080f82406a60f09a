// The interface that a client needs from a connection. node_stream.ts implements it with TCP and
// Unix sockets.

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
}
