// TCP and Unix sockets of Node.
import { connect as connect_socket } from 'node:net';
import type { Socket } from 'node:net';

import { ClientError, mistaken } from './client_error.js';
import type { ByteStream } from './stream.js';

class SocketStream implements ByteStream {
  private over = false;

  constructor(private readonly socket: Socket) {}

  start(handlers: { received(bytes: Uint8Array): void; ended(why: string): void }): void {
    const end = (why: string): void => {
      if (this.over) return;
      this.over = true;
      this.socket.destroy();
      handlers.ended(why);
    };
    this.socket.on('data', (bytes: Uint8Array) => {
      if (!this.over) handlers.received(bytes);
    });
    this.socket.on('error', (error) => end('the connection was lost: ' + error.message));
    this.socket.on('end', () => end('the server closed the connection'));
    this.socket.on('close', () => end('the connection was lost'));
    this.socket.resume();
  }

  send(bytes: Uint8Array): void {
    if (this.over) return;
    this.socket.write(bytes);
    if (this.socket.writableCorked > 0) return;
    // Sends all bytes of one turn of the event loop together.
    this.socket.cork();
    setImmediate(() => this.socket.uncork());
  }
  get unsent_bytes(): number {
    return this.socket.writableLength;
  }
  close(): void {
    this.over = true;
    this.socket.destroy();
  }
}

/**
 * Connects to `address`: "127.0.0.1:7717", "[::1]:7717", "localhost:7717" or
 * "unix:/path/of/socket". Fails with a ClientError: `lost` if there is no answer within
 * `time_max_ms`, `mistaken` if the address is invalid.
 */
export function connect_stream(address: string, time_max_ms: number): Promise<ByteStream> {
  const path = address.startsWith('unix:') ? address.slice(5) : null;
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  const port = Number(address.slice(colon + 1));
  if (path === '') return Promise.reject(mistaken(`'${address}' does not name a socket`));
  if (path === null && (colon <= 0 || !Number.isInteger(port) || port < 1 || port > 65535))
    return Promise.reject(mistaken(`'${address}' is not an address: expected HOST:PORT or unix:PATH`));
  return new Promise((resolve, reject) => {
    const socket = connect_socket(path !== null ? { path } : { host, port, noDelay: true, keepAlive: true });
    const fail = (why: string): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(new ClientError('lost', `cannot connect to ${path ?? address}: ${why}`));
    };
    const timer = setTimeout(() => fail('no answer in time'), time_max_ms);
    const failed = (error: Error & { code?: string }): void => fail(error.message || error.code || 'no answer');
    socket.once('error', failed);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.removeListener('error', failed);
      socket.pause();
      resolve(new SocketStream(socket));
    });
  });
}
