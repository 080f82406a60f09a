// TCP and Unix sockets of Node, with and without TLS.
import { readFileSync } from 'node:fs';
import { connect as connect_socket, isIP } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connect_tls } from 'node:tls';
import type { TLSSocket } from 'node:tls';

import { ClientError, mistaken } from './client_error.js';
import type { ByteStream, TokenProofs } from './stream.js';
import { token_proofs } from './node_proofs.js';

/** Tells a client which servers to trust. */
export interface ServerTrust {
  /**
   * SHA-256 fingerprint of the server's certificate: 64 hexadecimal digits. If absent, the
   * certificate must be valid for the host of the address, and its issuer must be trusted.
   */
  fingerprint?: string;
  /**
   * File with the certificates of trusted issuers, in PEM format, instead of those of Node. If it
   * also contains lists of revoked certificates (CRLs), the server's must not be in them.
   */
  ca_file?: string;
}

class SocketStream implements ByteStream {
  private over = false;

  constructor(
    private readonly socket: Socket,
    readonly proofs?: TokenProofs,
  ) {}

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

const unknown_issuer = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

function plain_fingerprint(text: string): string {
  return text.replace(/[: ]/g, '').toLowerCase();
}

/** Returns the reason why the client must not trust the server, or null. */
function distrust(socket: TLSSocket, host: string, fingerprint: string | undefined): string | null {
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return 'the server has no certificate';
  const found = plain_fingerprint(certificate.fingerprint256);
  if (fingerprint !== undefined)
    return found === fingerprint ? null : `the server's certificate has the fingerprint ${found}, not ${fingerprint}`;
  if (socket.authorized) return null;
  const why = String(socket.authorizationError as unknown);
  if (why.includes('CERT_HAS_EXPIRED')) return `the server's certificate expired on ${certificate.validTo}`;
  if (why.includes('CERT_REVOKED')) return "the server's certificate was revoked by its issuer";
  if (why.includes('CERT_NOT_YET_VALID')) return `the server's certificate is not valid before ${certificate.validFrom}`;
  if (why.includes('ERR_TLS_CERT_ALTNAME_INVALID')) return `the server's certificate is not for ${host}`;
  if ([...unknown_issuer].some((code) => why.includes(code)))
    return `the issuer of the server's certificate is not trusted; the certificate has the fingerprint ${found}`;
  return `the server's certificate is not valid: ${why}`;
}

function reason_of(error: Error & { code?: string }): string {
  const code = error.code ?? '';
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/.test(code)) return 'the server does not use TLS';
  if (code.includes('ALERT_PROTOCOL_VERSION')) return 'the server does not support TLS 1.3';
  return error.message || code || 'no answer';
}

/**
 * Connects to `address`: "127.0.0.1:7717", "[::1]:7717", "localhost:7717", "tls:HOST:7717" or
 * "unix:/path/of/socket". Uses TLS 1.3 if the address begins with "tls:" or names another machine,
 * or if `trust` is not empty. With `proves`, the client proves the token even over TLS. Fails with
 * a ClientError: `lost` if there is no answer within `time_max_ms` or if the server cannot be
 * trusted, `mistaken` if an argument is invalid.
 */
export async function connect_stream(
  address: string,
  time_max_ms: number,
  trust: ServerTrust = {},
  proves = false,
): Promise<ByteStream> {
  const path = address.startsWith('unix:') ? address.slice(5) : null;
  const place = address.startsWith('tls:') ? address.slice(4) : address;
  const colon = place.lastIndexOf(':');
  const host = place.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  const port = Number(place.slice(colon + 1));
  if (path === '') throw mistaken(`'${address}' does not name a socket`);
  if (path === null && (colon <= 0 || !Number.isInteger(port) || port < 1 || port > 65535))
    throw mistaken(`'${address}' is not an address: expected HOST:PORT, tls:HOST:PORT or unix:PATH`);
  const fingerprint = trust.fingerprint ? plain_fingerprint(trust.fingerprint) : undefined;
  if (fingerprint !== undefined && !/^[0-9a-f]{64}$/.test(fingerprint))
    throw mistaken(`'${trust.fingerprint}' is not a fingerprint: expected 64 hexadecimal digits`);
  const is_near = host === 'localhost' || host === '::1' || host.startsWith('127.');
  const encrypts = path === null && (place !== address || !is_near || fingerprint !== undefined || !!trust.ca_file);
  let issuers: string | undefined;
  try {
    if (encrypts && trust.ca_file) issuers = readFileSync(trust.ca_file, 'utf8');
  } catch (error) {
    throw mistaken(`the trusted issuers cannot be read: ${(error as Error).message}`);
  }
  return new Promise((resolve, reject) => {
    const revocations = issuers?.match(/-----BEGIN X509 CRL-----[^-]*-----END X509 CRL-----/g);
    const begin = (): Socket => {
      if (path !== null) return connect_socket({ path });
      if (!encrypts) return connect_socket({ host, port, noDelay: true, keepAlive: true });
      // The certificate is checked below, so that the error can name its fingerprint.
      const tls = connect_tls({
        host,
        port,
        minVersion: 'TLSv1.3',
        rejectUnauthorized: false,
        ...(isIP(host) ? {} : { servername: host }),
        ...(issuers === undefined ? {} : { ca: issuers }),
        ...(revocations ? { crl: revocations } : {}),
      });
      tls.setNoDelay(true);
      tls.setKeepAlive(true);
      return tls;
    };
    const fail = (why: string): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(new ClientError('lost', `cannot connect to ${path ?? place}: ${why}`));
    };
    const failed = (error: Error & { code?: string }): void => fail(reason_of(error));
    const ended = (): void => fail('the server closed the connection');
    const timer = setTimeout(() => fail('no answer in time'), time_max_ms);
    const socket = begin();
    socket.once('error', failed);
    socket.once('close', ended);
    socket.once(encrypts ? 'secureConnect' : 'connect', () => {
      const why = encrypts ? distrust(socket as TLSSocket, host, fingerprint) : null;
      if (why !== null) return fail(why);
      clearTimeout(timer);
      socket.removeListener('error', failed);
      socket.removeListener('close', ended);
      socket.pause();
      resolve(new SocketStream(socket, encrypts && !proves ? undefined : token_proofs));
    });
  });
}
