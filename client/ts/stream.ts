// What a client needs of a connection. node_stream.ts is one over TCP and Unix sockets.

/** Calls nobody before start, and nobody after `ended` or close. */
export interface ByteStream {
  /** Called once. `received` gives bytes away; `ended` says in a sentence why nothing more comes. */
  start(handlers: { received(bytes: Uint8Array): void; ended(why: string): void }): void;
  /** Takes the bytes, which nobody changes any more, and sends them behind those before. */
  send(bytes: Uint8Array): void;
  /** Bytes that were taken and have not left yet. */
  readonly unsent_bytes: number;
  close(): void;
}
