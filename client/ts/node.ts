// The client in Node. Connects by address, or by the world's address file.
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

import { Client } from './client.js';
import type { ClientOptions } from './client_options.js';
import { ClientError, mistaken } from './client_error.js';
import { connect_stream } from './node_stream.js';
import type { ServerTrust } from './node_stream.js';
import { split_world } from './resuming.js';

export * from './index.js';
export { connect_stream } from './node_stream.js';
export type { ServerTrust } from './node_stream.js';

export interface ConnectOptions extends ClientOptions, ServerTrust {
  /**
   * "127.0.0.1:7717", "localhost:7717", "tls:HOST:7717" or "unix:/path/of/socket". Connections to
   * other machines always use TLS. "HOST:7717/town" is the world "town" of a muster-host.
   */
  address: string;
  /**
   * True if the session is resumed after its stream was lost: at the same address, or at the one
   * that the server has named before it stopped.
   */
  resumes?: boolean;
}

/**
 * Connects, begins a session, and receives the world's types. Fails like Client.open, and with
 * `lost` if there is no answer.
 */
export async function connect(options: ConnectOptions): Promise<Client> {
  const [address, world] = split_world(options.address);
  const open = (moved_to?: string) =>
    connect_stream(moved_to ?? address, options.time_max_ms ?? 10_000, options, moved_to !== undefined);
  return Client.open(await open(), { ...(options.resumes ? { reopen: open } : {}), ...options, world: world || options.world });
}

/** The address file that muster-server writes next to a world's file while serving it. */
export interface ServerAddress {
  /** Absolute path of the world file. */
  world: string;
  /** "127.0.0.1:7717"; empty without TCP. */
  address: string;
  /** Path of the Unix socket; empty without one. */
  unix: string;
  /** Fingerprint of the certificate; absent without TLS. */
  tls?: string;
  token: string;
  pid: number;
}

/** Must agree with real_path in system/real_path.h. */
function real_path(world_path: string): string {
  try {
    const real = realpathSync.native(world_path); // the other one resolves ".." before links
    return real === resolve(world_path) ? world_path : real;
  } catch {
    return world_path; // the file may not exist
  }
}

/**
 * True if the world's file is there, but its lock file does not name this process. The address file
 * is then left over, or was put there by someone else.
 */
function lacks_lock(world_path: string, pid: number): boolean {
  const world = real_path(world_path);
  if (!existsSync(world)) return false;
  try {
    const found = /^muster-lock 1\nprocess (\d+)\n/.exec(readFileSync(world + '-lock', 'latin1'));
    return found === null || Number(found[1]) !== pid;
  } catch (error) {
    return (error as { code?: string }).code !== 'EACCES';
  }
}

/** Address and token of a world's server, for connect. */
export interface FoundServer {
  address: string;
  token: string;
  fingerprint?: string;
  server: ServerAddress;
}

/**
 * Returns address and token of a world's server, for connect. Fails with `lost` if no server serves
 * the world, and with `mistaken` if its address file is invalid.
 */
export function read_address_file(world_path: string): FoundServer {
  const path = real_path(world_path) + '-server.json';
  let server: ServerAddress;
  try {
    if ((statSync(path).mode & 0o077) !== 0)
      throw mistaken(`${path} can be read by others, so its token is not secret. Remove the file and restart the server`);
    server = JSON.parse(readFileSync(path, 'utf8')) as ServerAddress;
  } catch (error) {
    if (error instanceof ClientError) throw error;
    if ((error as { code?: string }).code === 'ENOENT') throw new ClientError('lost', `no server is running for ${world_path}`);
    throw mistaken(`cannot read ${path}: ${(error as Error).message}`);
  }
  if (typeof server?.token !== 'string' || server.token === '' || !(server.pid > 0))
    throw mistaken(`${path} is not a server's address file`);
  try {
    process.kill(server.pid, 0);
  } catch (error) {
    if ((error as { code?: string }).code === 'ESRCH')
      throw new ClientError('lost', `no server is running for ${world_path} (process ${server.pid} has ended)`);
  }
  if (lacks_lock(world_path, server.pid)) {
    const what = `process ${server.pid}, which ${path} names, does not have it open`;
    throw new ClientError('lost', `no server is running for ${world_path}: ${what}`);
  }
  const { token, tls } = server;
  if (server.unix) return { address: 'unix:' + server.unix, token, server };
  if (tls) return { address: 'tls:' + server.address, token, fingerprint: tls, server };
  return { address: server.address, token, server };
}
