// The page's model without a browser: what it finds around it there, and WebSockets that are sockets of Node to the real server.
import { connect as connect_socket } from 'node:net';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';

import { Model } from '../../../../client/editor/src/model/model.js';
import { until } from '../../ts/world.js';
import type { World } from '../../ts/world.js';

class SocketHere {
  static readonly open = new Set<SocketHere>();
  readonly OPEN = 1;
  readyState = 0;
  binaryType = '';
  bufferedAmount = 0;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: ArrayBuffer }) => void) | null = null;
  onerror: (() => void) | null = null;
  onclose: ((event: { reason: string }) => void) | null = null;
  private readonly socket: Socket;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect_socket(Number(port), hostname);
    this.socket.setNoDelay(true);
    SocketHere.open.add(this);
    this.socket.on('connect', () => {
      this.readyState = 1;
      this.onopen?.();
    });
    this.socket.on('data', (bytes: Uint8Array) => this.onmessage?.({ data: bytes.slice().buffer as ArrayBuffer }));
    this.socket.on('error', () => this.onerror?.());
    this.socket.on('close', () => {
      this.readyState = 3;
      SocketHere.open.delete(this);
      this.onclose?.({ reason: '' });
    });
  }
  send(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }
  close(): void {
    this.readyState = 3;
    this.socket.destroy();
  }
  cut(): void {
    this.socket.resetAndDestroy();
  }
}

/** Cuts the lines of all pages. */
export function cut_lines(): void {
  for (const socket of [...SocketHere.open]) socket.cut();
}

/** From now on the page came from where the world is served now. */
export function located(world: World, token = world.where().token!): void {
  Object.assign(globalThis, { location: new URL(`http://${world.where().address}/#token=${encodeURIComponent(token)}`) });
}

/** A model of the page that a server gave, which is live; its session ends with the test. */
export async function opened(t: TestContext, world: World, token = world.where().token!): Promise<Model> {
  const listen = (): void => {};
  const document = { visibilityState: 'visible', addEventListener: listen };
  Object.assign(globalThis, { WebSocket: SocketHere, document, addEventListener: listen });
  located(world, token);
  const model = new Model();
  let is_over = false;
  t.after(() => {
    is_over = true;
    model.client.peek()?.close();
  });
  // A test that is over has nobody who connects again.
  const { options } = model.keeper as unknown as { options: { open_stream: () => Promise<unknown> } };
  const open = options.open_stream;
  options.open_stream = () => (is_over ? new Promise(() => {}) : open());
  model.start();
  await until('the page is live', () => model.link.value.kind === 'live');
  return model;
}
