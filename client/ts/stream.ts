// The interface that a client needs from a connection. node_stream.ts implements it with TCP and
// Unix sockets.

/** A byte stream. Makes no calls before start(), and none after `ended` or close(). */
export interface ByteStream {
  /**
   * Called once. `received` passes ownership of bytes; `ended` gives the reason for the end as a
   * sentence.
   */
  start(handlers: { received(bytes: Uint8Array): void; ended(why: string): void }): void;
  /** Sends bytes in order. The caller must not change them afterwards. */
  send(bytes: Uint8Array): void;
  /** Bytes taken by send() and not sent yet. */
  readonly unsent_bytes: number;
  close(): void;
}
