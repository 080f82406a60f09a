// A session with nobody behind it: the test says what the server says.
import { Batch, Client, encode_batch, encode_frame, FrameDecoder, nil, session } from 'muster-client';
import type { Entity, TypeTable } from 'muster-client';

import { built, TestStream, types_of } from './support.js';

export interface How {
  request: bigint;
  /** As in frame.ts: 2 more, 4 event. */
  flags?: number;
  /** With an envelope of this sequence; its clock is ten times that. */
  sequence?: bigint;
  /** The world without one. */
  target?: Entity;
  rows?: [string, unknown][];
}

export class Scripted {
  readonly stream = new TestStream();
  /** What the client sent, by name, with the requests. */
  readonly sent: { name: string; request: bigint; value: unknown }[] = [];
  /** The same, whole. */
  readonly batches: Batch[] = [];
  /** What it answers by itself, by the name of the question; null: nothing. */
  readonly answers = new Map<string, (batch: Batch) => readonly [{ name: string }, unknown] | null>();
  private readonly types: TypeTable;

  constructor(private readonly schema: string) {
    this.types = types_of(schema);
  }

  /** A client that was welcomed so, to a world of that schema; by default, it bears any silence. */
  static async open(welcome: object = {}, schema = 'everything.bfbs', silence_max_ms = 0): Promise<{ client: Client; server: Scripted }> {
    const server = Scripted.serve(welcome, schema);
    return { client: await Client.open(server.stream, { silence_max_ms }), server };
  }
  /** One that welcomes so whoever opens its stream. */
  static serve(welcome: object = {}, schema = 'everything.bfbs'): Scripted {
    const server = new Scripted(schema);
    server.types.add_schema(new Uint8Array(Buffer.from(session.schema, 'base64')));
    const decoder = new FrameDecoder(1 << 24);
    server.stream.on_send = (bytes) => decoder.receive(bytes.slice(), (frame) => server.hear(frame, welcome));
    return server;
  }

  tell(key: { name: string }, value: unknown, how: How): void {
    const type = this.types.get(key.name);
    const rows = how.rows?.map(([name, row]) => ({ type: this.types.get(name), value: row }));
    const batch = type.is_table
      ? encode_batch({ kind: 'table', type, messages: [{ target: nil, value }] })
      : how.target
        ? encode_batch({ kind: 'each', type, messages: [{ target: how.target, value, ...(rows && { rows }) }] })
        : encode_batch({ kind: 'world', type, values: [value] });
    const { sequence } = how;
    const envelope =
      sequence === undefined ? null : { sequence, session: 0n, sender_request: 0n, clock_ns: sequence * 10n };
    this.stream.receive(encode_frame(batch, how.request, how.flags ?? 0, envelope));
  }

  /** The request of the last message of that type; 0n: none came. */
  request_of(key: { name: string }): bigint {
    return this.sent.filter((each) => each.name === key.name).at(-1)?.request ?? 0n;
  }

  private hear({ request, batch }: { request: bigint; batch: Uint8Array }, welcome: object): void {
    const read = Batch.read(batch, this.types);
    const { name } = read.type;
    this.sent.push({ name, request, value: read.message(0) });
    this.batches.push(read);
    queueMicrotask(() => {
      const answer = this.answers.get(name)?.(read);
      if (answer) this.tell(answer[0], answer[1], { request });
      if (name === session.Hello.name && !answer)
        this.tell(session.Welcome, { frame_bytes_max: 1 << 20, ...welcome }, { request });
      if (name === session.GetSchema.name) this.tell(session.Schema, { bytes: built(this.schema) }, { request });
      if (name === session.Unwatch.name) this.tell(session.Unwatched, {}, { request });
    });
  }
}
