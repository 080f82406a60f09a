// A served world in a folder of a test's own: the real muster-server, and the `muster` command beside it.
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

import { connect, read_address_file } from 'muster-client/node';
import type { Client, ConnectOptions } from 'muster-client/node';

import { schema_path } from './support.js';

function program(variable: string): string {
  const path = process.env[variable];
  if (!path) throw new Error(`${variable} names a program`);
  return path;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves when `is_so`, asked again and again; fails after 20 s. */
export async function until(what: string, is_so: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 20_000; !(await is_so()); await pause(5))
    if (Date.now() > end) throw new Error(`it does not come to pass that ${what}`);
}

/** A server that writes nothing by itself: what was not saved goes with it. */
export const unsaved = ['--durability', 'checkpoint', '--autosave', '0'];

export class World {
  readonly folder = mkdtempSync(join(tmpdir(), 'muster-ts-'));
  readonly path = join(this.folder, 'town.muster');
  private server: ChildProcess | null = null;
  private clients: Client[] = [];

  /** Serves the types of a schema, those of tests/golden/everything.fbs without a name; everything ends with the test. */
  static async serve(test: TestContext, schema = 'everything.bfbs', ...more: string[]): Promise<World> {
    const world = new World();
    test.after(() => world.end());
    await world.start('--schema', schema_path(schema), ...more);
    return world;
  }

  async start(...more: string[]): Promise<void> {
    const server = spawn(
      program('MUSTER_SERVER'),
      [
        this.path,
        ...(more.includes('--listen') ? [] : ['--listen', '127.0.0.1:0']),
        ...['--unix', join(this.folder, 's'), '--quiet', ...more],
      ],
      {
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    );
    this.server = server;
    const beside = this.path + '-server.json';
    await until('the server is there', () => {
      if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
      // A killed server may have left such a file.
      return existsSync(beside) && (JSON.parse(readFileSync(beside, 'utf8')) as { pid: number }).pid === server.pid;
    });
  }
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const server = this.server;
    this.server = null;
    if (!server || server.exitCode !== null) return;
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
  }
  get has_ended(): boolean {
    return this.server !== null && this.server.exitCode !== null;
  }
  signal(signal: NodeJS.Signals): void {
    this.server?.kill(signal);
  }

  where(kind: 'tcp' | 'unix' = 'tcp'): ConnectOptions {
    const { token, server } = read_address_file(this.path);
    return { address: kind === 'tcp' ? server.address : 'unix:' + server.unix, token };
  }
  async connect(kind: 'tcp' | 'unix' = 'tcp', more: Partial<ConnectOptions> = {}): Promise<Client> {
    const client = await connect({ ...this.where(kind), name: 'a test', kind: 'test', ...more });
    this.clients.push(client);
    return client;
  }

  /** What one `muster` command prints. */
  run(...words: string[]): string {
    return execFileSync(program('MUSTER'), words, { cwd: this.folder, encoding: 'utf8', timeout: 60_000 });
  }
  json<T>(...words: string[]): T {
    return JSON.parse(this.run(...words, '--json')) as T;
  }

  async end(): Promise<void> {
    for (const client of this.clients) client.close();
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
