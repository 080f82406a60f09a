import assert from 'node:assert/strict';

import { ClientError, connect_web_stream } from 'muster-client';
import type { ByteStream } from 'muster-client';

import { test } from './support.js';
import { pause } from './world.js';

/** What browsers have, driven by the test. */
class FakeSocket {
  static readonly made: FakeSocket[] = [];
  readonly OPEN = 1;
  readyState = 0;
  binaryType = 'blob';
  bufferedAmount = 0;
  sent: Uint8Array[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onerror: (() => void) | null = null;
  onclose: ((event: { reason: string }) => void) | null = null;

  constructor(readonly url: string) {
    FakeSocket.made.push(this);
  }
  send(bytes: Uint8Array): void {
    this.sent.push(bytes);
  }
  close(): void {
    this.readyState = 3;
  }
  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }
}
(globalThis as { WebSocket: unknown }).WebSocket = FakeSocket;

async function connected(): Promise<{ stream: ByteStream; socket: FakeSocket; received: number[]; ended: string[] }> {
  const coming = connect_web_stream('ws://127.0.0.1:1/session', 1000);
  const socket = FakeSocket.made[FakeSocket.made.length - 1];
  socket.open();
  const stream = await coming;
  const received: number[] = [];
  const ended: string[] = [];
  stream.start({ received: (bytes) => received.push(...bytes), ended: (why) => ended.push(why) });
  return { stream, socket, received, ended };
}

test('bytes come as they are, and what one turn sends leaves as one message', async () => {
  const { stream, socket, received } = await connected();
  assert.equal(socket.binaryType, 'arraybuffer');
  socket.onmessage?.({ data: Uint8Array.of(1, 2).buffer });
  socket.onmessage?.({ data: Uint8Array.of(3).buffer });
  assert.deepEqual(received, [1, 2, 3]);
  stream.send(Uint8Array.of(4));
  stream.send(Uint8Array.of(5, 6));
  assert.equal(stream.unsent_bytes, 3);
  await pause(0);
  stream.send(Uint8Array.of(7));
  await pause(0);
  assert.deepEqual(
    socket.sent.map((bytes) => [...bytes]),
    [[4, 5, 6], [7]],
  );
  socket.bufferedAmount = 10;
  assert.equal(stream.unsent_bytes, 10);
});

test('the end is told once, with the reason of the server, and nothing comes after it', async () => {
  const { socket, received, ended } = await connected();
  const { onmessage, onclose } = socket;
  onclose?.({ reason: 'it stops' });
  onclose?.({ reason: 'again' });
  onmessage?.({ data: Uint8Array.of(1).buffer });
  assert.deepEqual([ended, received], [['the server closed the connection: it stops'], []]);
});

test('text ends the stream', async () => {
  const { socket, received, ended } = await connected();
  socket.onmessage?.({ data: 'hello' });
  assert.deepEqual([ended, received], [['the server sent text, not frames'], []]);
  assert.equal(socket.readyState, 3);
});

test('close sends what was given before, and tells nobody', async () => {
  const { stream, socket, ended } = await connected();
  stream.send(Uint8Array.of(8));
  stream.close();
  socket.onclose?.({ reason: '' });
  stream.send(Uint8Array.of(9));
  await pause(0);
  assert.deepEqual([socket.sent.map((bytes) => [...bytes]), ended], [[[8]], []]);
});

test('a socket that closed before anybody listened says so', async () => {
  const coming = connect_web_stream('ws://127.0.0.1:1/session', 1000);
  const socket = FakeSocket.made[FakeSocket.made.length - 1];
  socket.open();
  const stream = await coming;
  socket.readyState = 3;
  const why = new Promise<string>((resolve) => stream.start({ received: () => {}, ended: resolve }));
  assert.equal(await why, 'the server closed the connection');
});

test('nobody who answers, in time or at all, is a lost connection', async () => {
  const refused = connect_web_stream('ws://127.0.0.1:1/session', 1000);
  FakeSocket.made[FakeSocket.made.length - 1].onerror?.();
  const silent = connect_web_stream('ws://127.0.0.1:1/session', 1);
  for (const call of [refused, silent])
    await assert.rejects(call, (error) => error instanceof ClientError && error.kind === 'lost');
});
