// A stream over the WebSocket of browsers and compatible programs.
import { ClientError } from './client_error.js';
import type { ByteStream } from './stream.js';

class WebStream implements ByteStream {
  private over = false;
  private waiting: Uint8Array[] = [];
  private waiting_bytes = 0;

  constructor(private readonly socket: WebSocket) {}

  start(handlers: { received(bytes: Uint8Array): void; ended(why: string): void }): void {
    const end = (why: string): void => {
      if (this.over) return;
      this.over = true;
      this.socket.close();
      handlers.ended(why);
    };
    this.socket.onmessage = ({ data }: MessageEvent) => {
      if (this.over) return;
      if (data instanceof ArrayBuffer) handlers.received(new Uint8Array(data));
      else end('the server sent text, not frames');
    };
    this.socket.onerror = () => end('the connection was lost');
    this.socket.onclose = ({ reason }: CloseEvent) =>
      end(reason ? 'the server closed the connection: ' + reason : 'the server closed the connection');
    if (this.socket.readyState > this.socket.OPEN) queueMicrotask(() => end('the server closed the connection'));
  }

  send(bytes: Uint8Array): void {
    if (this.over) return;
    this.waiting.push(bytes);
    this.waiting_bytes += bytes.length;
    if (this.waiting.length > 1) return;
    // Sends all bytes of one turn of the event loop as one message.
    queueMicrotask(() => this.flush());
  }
  private flush(): void {
    const parts = this.waiting;
    const whole = parts.length === 1 ? parts[0] : new Uint8Array(this.waiting_bytes);
    if (parts.length > 1) {
      let at = 0;
      for (const part of parts) {
        whole.set(part, at);
        at += part.length;
      }
    }
    this.waiting = [];
    this.waiting_bytes = 0;
    if (!this.over && this.socket.readyState === this.socket.OPEN) this.socket.send(whole as Uint8Array<ArrayBuffer>);
  }
  get unsent_bytes(): number {
    return this.waiting_bytes + this.socket.bufferedAmount;
  }
  close(): void {
    this.flush();
    this.over = true;
    this.socket.close();
  }
}

/**
 * Connects to `url`: "ws://127.0.0.1:7717/session". Fails with a ClientError `lost` if there is no
 * answer within `time_max_ms`. Browsers do not tell a page the reason for a failure. The client
 * sends its token over this stream; only with "wss://" is the other end sure to be the server.
 */
export function connect_web_stream(url: string, time_max_ms: number): Promise<ByteStream> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    const fail = (why: string): void => {
      clearTimeout(timer);
      socket.onopen = socket.onerror = socket.onclose = null;
      socket.close();
      reject(new ClientError('lost', `cannot connect to ${url}: ${why}`));
    };
    const timer = setTimeout(() => fail('no answer in time'), time_max_ms);
    socket.onerror = socket.onclose = () => fail('there is no answer');
    socket.onopen = () => {
      clearTimeout(timer);
      // Nothing is lost before start(), because the server sends nothing before a Hello.
      socket.onopen = socket.onerror = socket.onclose = null;
      resolve(new WebStream(socket));
    };
  });
}
