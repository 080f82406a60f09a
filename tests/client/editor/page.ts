// A served world, the page in Debian's Chromium, and a second client beside it: what is done in the
// page is seen through that one.
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createServer, connect as connect_to } from 'node:net';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import node_test from 'node:test';
import type { TestContext } from 'node:test';

import { connect, session } from 'muster-client/node';
import type { Client, Entity, StructValue } from 'muster-client/node';
import { chromium } from 'playwright-core';
import type { Browser, Locator, Page } from 'playwright-core';

/** For whatever is waited for: on a machine that many share a page takes 20 s to open. */
const patience_ms = 60_000;

/** Adds a test, which fails if it takes longer than so many minutes. */
export function test(name: string, run: (t: TestContext) => Promise<void>, minutes = 4): void {
  void node_test(name, { timeout: minutes * 60_000 }, run);
}

export function given(variable: string): string {
  const value = process.env[variable];
  if (!value) throw new Error(`${variable} is set by the build`);
  return value;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves with what `get` returns as soon as that is something; fails after a minute. */
export async function until<T>(what: string, get: () => Promise<T> | T): Promise<NonNullable<T>> {
  let last: unknown;
  for (const end = Date.now() + patience_ms; Date.now() < end; await pause(20)) {
    try {
      const found = await get();
      if (found) return found as NonNullable<T>;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`it does not come to pass that ${what}`, { cause: last });
}

const late_host = '127.0.0.2';
/**
 * A line on which everything that the server says comes so many milliseconds later, for what a page
 * does meanwhile. With MUSTER_LATE_MS all pages of all tests are behind one.
 */
export class LateLine {
  private constructor(
    private readonly server: Server,
    private readonly sockets: ReadonlySet<Socket>,
  ) {}

  static async open(port: () => number, late_ms: number): Promise<LateLine> {
    const sockets = new Set<Socket>();
    const server = createServer((near) => {
      const far = connect_to(port(), '127.0.0.1');
      for (const [socket, other] of [[near, far], [far, near]] as const) {
        sockets.add(socket.setNoDelay());
        socket.on('error', () => other.destroy()).on('close', () => sockets.delete(socket));
      }
      near.on('data', (bytes) => far.write(bytes)).on('close', () => far.destroy());
      far
        .on('data', (bytes) => setTimeout(() => near.writable && near.write(bytes), late_ms))
        .on('end', () => setTimeout(() => near.end(), late_ms))
        .on('close', () => setTimeout(() => near.destroy(), late_ms));
    });
    // The server answers to its own port alone, so the line has the same one at another address, to
    // which browse() leads localhost.
    await new Promise<void>((resolve) => server.listen(port(), late_host, resolve));
    return new LateLine(server, sockets);
  }
  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

/** As a person may choose one: the printed address has to name it whatever is in it. */
export const token = 'a+token&of the tests=100%#, long enough';

export class World {
  readonly folder = mkdtempSync(join(tmpdir(), 'muster-page-'));
  readonly path = join(this.folder, 'town.muster');
  private server: ChildProcess | null = null;
  private clients: Client[] = [];
  private port = 0;
  private line: Promise<LateLine> | null = null;
  private said = '';
  private other_token: string | undefined;

  /** Serves a new world with the types of a schema, or what `make` has put at its path. */
  static async serve(t: TestContext, options: string[], make?: (world: World) => void): Promise<World> {
    const world = new World();
    writeFileSync(join(world.folder, 'token'), token + '\n', { mode: 0o600 });
    t.after(() => world.end());
    make?.(world);
    await world.start(...options);
    return world;
  }
  /** Serves it, on the port that it had before. */
  async start(...options: string[]): Promise<void> {
    const words = [this.path, '--listen', `127.0.0.1:${this.port}`, '--token-file', join(this.folder, 'token')];
    words.push('--page', given('MUSTER_PAGE'), ...options);
    const server = spawn(given('MUSTER_SERVER'), words, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.server = server;
    this.said = '';
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.said += text;
      if (/ (warning|error|critical) /.test(text)) process.stderr.write(text);
    });
    const beside = this.path + '-server.json';
    const about = await until('the server is there', () => {
      if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
      if (!existsSync(beside)) return null;
      const said = JSON.parse(readFileSync(beside, 'utf8')) as { pid: number; address: string };
      return said.pid === server.pid ? said : null;
    });
    this.port = Number(about.address.replace(/^.*:/, ''));
    await until('it has printed the address', () => this.printed());
  }
  private printed(): string | undefined {
    return /info editor (http:\S+)/.exec(this.said)?.[1];
  }
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const server = this.server;
    this.server = null;
    if (!server || server.exitCode !== null) return;
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
  }
  signal(signal: NodeJS.Signals): void {
    this.server?.kill(signal);
  }
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }
  /**
   * Pages that are opened as `localhost:PORT` get its words late, also when it is started again.
   * The address.
   */
  async late_address(t: TestContext, late_ms: number): Promise<string> {
    const line = await (this.line ??= LateLine.open(() => this.port, late_ms));
    t.after(() => line.close());
    return `localhost:${this.port}`;
  }
  /** What muster-server printed. */
  get url(): string {
    return this.printed() ?? 'it has not printed its address';
  }
  /** A client of another user than the page. */
  async connect(): Promise<Client> {
    const client = await connect({
      address: this.address,
      token: (this.other_token ??= this.token_for('admin')),
      name: 'a test',
      kind: 'test',
      time_max_ms: patience_ms,
    });
    this.clients.push(client);
    return client;
  }
  /** The token of a new user with that right. */
  token_for(role: string): string {
    const made = this.run('token', 'create', role + '_user', '--role', role, '--world', this.path, '--json');
    return (JSON.parse(made) as { token: string }).token;
  }
  /** The page for another user. */
  url_for(token: string): string {
    return `http://${this.address}/#token=${encodeURIComponent(token)}`;
  }
  /** What one `muster` command prints. */
  run(...words: string[]): string {
    return execFileSync(given('MUSTER'), words, { cwd: this.folder, encoding: 'utf8', timeout: 60_000 });
  }
  async end(): Promise<void> {
    for (const client of this.clients) client.close();
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

let browser: Browser | null = null;
node_test.after(() => browser?.close());

/** A name that leads here, as one of somebody else's might. */
export const foreign_name = 'elsewhere.example';
// The page is put together without the card, which is a program here: with it, frames come once a
// second where others build.
const flags = [
  '--no-sandbox',
  '--disable-gpu-compositing',
  '--use-gl=angle',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
];
flags.push(`--host-resolver-rules=MAP ${foreign_name} 127.0.0.1, MAP localhost ${late_host}`);
// Newer browsers keep foreign pages from this machine by themselves; the server has to keep them
// out of any.
flags.push('--disable-features=LocalNetworkAccessChecks');

export async function browse(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  return (browser ??= await chromium.launch({ executablePath, args: flags }));
}

/**
 * The page of a world, open and live. What goes wrong in its scripts fails the test.
 * MUSTER_PAGE_SLOWER=6 gives it a sixth of the processor.
 */
export class Editor {
  private constructor(readonly page: Page) {}

  static async open(
    t: TestContext,
    world: World,
    size = { width: 1280, height: 720 },
    url = world.url,
  ): Promise<Editor> {
    let host = world.address;
    const late_ms = Number(process.env.MUSTER_LATE_MS ?? 0);
    if (late_ms > 0) {
      host = await world.late_address(t, late_ms);
      url = url.replace(world.address, host);
    }
    const context = await (await browse()).newContext({ viewport: size, reducedMotion: 'reduce', colorScheme: 'dark' });
    const page = await context.newPage();
    page.setDefaultTimeout(patience_ms);
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.stack ?? error.message));
    // What comes from elsewhere than the server that was asked.
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol !== 'blob:' && url.host !== host) errors.push(`asked for ${request.url()}`);
    });
    page.on('console', (message) => {
      if (/Content Security Policy/.test(message.text())) errors.push(message.text());
    });
    t.after(async () => {
      await context.close();
      if (errors.length > 0) throw new Error(errors.join('\n'));
    });
    const slower = Number(process.env.MUSTER_PAGE_SLOWER ?? 1);
    if (slower > 1)
      await (await context.newCDPSession(page)).send('Emulation.setCPUThrottlingRate', { rate: slower });
    await page.goto(url);
    const editor = new Editor(page);
    await editor.live();
    return editor;
  }
  async live(): Promise<void> {
    await this.page.locator('.status-link.is-live').waitFor();
  }
  row(name: string): Locator {
    return this.page.getByRole('treeitem', { name, exact: true });
  }
  async select(...names: string[]): Promise<void> {
    for (const [i, name] of names.entries()) await this.row(name).click(i === 0 ? {} : { modifiers: ['Control'] });
    await this.page.locator('.component, .add-component').first().waitFor();
  }
  async open_row(name: string): Promise<void> {
    await this.row(name).click();
    if ((await this.row(name).getAttribute('aria-expanded')) === 'false') await this.page.keyboard.press('ArrowRight');
  }
  part(component: string): Locator {
    return this.page.getByRole('region', { name: component, exact: true });
  }
  box(component: string, label: string): Locator {
    return this.part(component).getByRole('textbox', { name: label, exact: true });
  }
  /** Types a value into a field and commits it. */
  async type(component: string, label: string, text: string): Promise<void> {
    const box = this.box(component, label);
    await box.click();
    await box.fill(text);
    await box.press('Enter');
  }
  async menu(row: string, item: string): Promise<void> {
    await this.row(row).click({ button: 'right' });
    await this.page.getByRole('menuitem', { name: item }).click();
  }
  /** A picture, where MUSTER_PICTURES names a folder for them. */
  async picture(name: string): Promise<void> {
    const folder = process.env.MUSTER_PICTURES;
    if (!folder) return;
    mkdirSync(folder, { recursive: true });
    await this.page.mouse.move(640, 5);
    await this.page.screenshot({ path: join(folder, name + '.png'), animations: 'disabled' });
  }
}

/** The value of a component as another client sees it now. */
export async function component(client: Client, entity: Entity, name: string): Promise<StructValue> {
  const value = (await client.show(entity)).components[name];
  if (!value) throw new Error(`it has no ${name}`);
  return value;
}
export async function has_children(client: Client, of: Entity): Promise<string[]> {
  return (await client.ask(session.ListChildren, { entity: of })).names;
}
