// Measures the editor's page in Chromium with a world of 100,000 entities: when it shows, how long a node takes to open, and how much
// of each frame goes to scripts while nothing, 1,000 and all entities move 20 times a second. Read from Chromium's own traces.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { nil, session as session_questions } from 'muster-client';
import type { Entity } from 'muster-client';
import { connect } from 'muster-client/node';
import type { Client } from 'muster-client/node';
import { chromium } from 'playwright-core';
import type { CDPSession } from 'playwright-core';

const { values: given } = parseArgs({
  options: {
    server: { type: 'string' },
    page: { type: 'string' },
    plugin: { type: 'string' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    seconds: { type: 'string', default: '8' },
    json: { type: 'string' },
    trace: { type: 'string' },
    profile: { type: 'string' },
    only: { type: 'string' },
  },
});
const token = 'a token of the measurements';
const children = 10_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface TraceEvent {
  name: string;
  ph: string;
  /** Microseconds: begin, time on the clock, time of the processor. */
  ts: number;
  dur?: number;
  tdur?: number;
  pid: number;
  tid: number;
  args?: { name?: string };
}

/**
 * A page that Playwright does not look after: that would be told every byte that a page receives, and here the page's own thread would
 * spend most of its time on telling.
 */
class Tab {
  private last = 0;
  private readonly waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  private constructor(
    private readonly browser: CDPSession,
    private readonly id: string,
    private readonly failed: (text: string) => void,
  ) {
    browser.on('Target.receivedMessageFromTarget', ({ sessionId, message }) => {
      if (sessionId === id) this.receive(JSON.parse(message));
    });
  }
  static async open(browser: CDPSession, failed: (text: string) => void): Promise<Tab> {
    const { browserContextId } = await browser.send('Target.createBrowserContext', {});
    const { targetId } = await browser.send('Target.createTarget', { url: 'about:blank', browserContextId });
    const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: false });
    const tab = new Tab(browser, sessionId, failed);
    await tab.send('Page.enable');
    await tab.send('Runtime.enable');
    const size = { width: 1280, height: 720, deviceScaleFactor: 1, mobile: false };
    await tab.send('Emulation.setDeviceMetricsOverride', size);
    const features = [{ name: 'prefers-reduced-motion', value: 'reduce' }];
    await tab.send('Emulation.setEmulatedMedia', { features });
    return tab;
  }
  async send<T = unknown>(method: string, params: object = {}): Promise<T> {
    const id = ++this.last;
    const answer = new Promise<T>((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    await this.browser.send('Target.sendMessageToTarget', {
      sessionId: this.id,
      message: JSON.stringify({ id, method, params }),
    });
    return answer;
  }
  /** What the script comes to, or its promise does. */
  async run<T>(script: string): Promise<T> {
    const options = { expression: script, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.send<Evaluated>('Runtime.evaluate', options);
    if (exceptionDetails) throw new Error(text_of(exceptionDetails));
    return result.value as T;
  }
  private receive({ id, method, params, result, error }: Told): void {
    if (method === 'Runtime.exceptionThrown') this.failed(text_of(params!.exceptionDetails));
    const waiting = id === undefined ? undefined : this.waiting.get(id);
    if (!waiting) return;
    this.waiting.delete(id!);
    if (error) waiting.reject(new Error(error.message));
    else waiting.resolve(result as never);
  }
}
interface Failure {
  text: string;
  exception?: { description?: string };
}
interface Evaluated {
  result: { value?: unknown };
  exceptionDetails?: Failure;
}
interface Told {
  id?: number;
  method?: string;
  params?: { exceptionDetails: Failure };
  result?: unknown;
  error?: { message: string };
}
const text_of = (failure: Failure): string => failure.exception?.description ?? failure.text;

/** What runs scripts or is caused by them; the outermost of them are added up. */
const scripts = new Set([
  'EvaluateScript',
  'EventDispatch',
  'FireAnimationFrame',
  'FunctionCall',
  'MajorGC',
  'MinorGC',
  'RunMicrotasks',
  'TimerFire',
  'V8.GCScavenger',
  'v8.callFunction',
  'v8.run',
]);
async function trace(session: CDPSession, run: () => Promise<void>): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  const collect = ({ value }: { value: unknown[] }): void => void events.push(...(value as TraceEvent[]));
  session.on('Tracing.dataCollected', collect);
  const over = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: {
      includedCategories: ['devtools.timeline', 'v8', 'v8.execute', 'toplevel', 'blink.user_timing', '__metadata'],
      excludedCategories: ['*'],
    },
  });
  await run();
  await session.send('Tracing.end');
  await over;
  session.off('Tracing.dataCollected', collect);
  return events;
}
/** Milliseconds of the processor's time; where the trace has none of that, of what passed on the clock. */
interface Spread {
  p50: number;
  p95: number;
  max: number;
}
interface Load {
  frames: number;
  seconds: number;
  /** From one frame's beginning to that of the next: scripts, and everything that the page's thread did. */
  script: Spread;
  busy: Spread;
  /** Of a second. */
  script_per_second: number;
  busy_per_second: number;
}

function spread(values: number[]): Spread {
  values.sort((a, b) => a - b);
  const part = (of: number): number => values[Math.min(values.length - 1, Math.floor(values.length * of))] ?? 0;
  return { p50: part(0.5), p95: part(0.95), max: values.at(-1) ?? 0 };
}
const took = (event: TraceEvent): number => (event.tdur ?? event.dur ?? 0) / 1000;
const sum = (events: readonly TraceEvent[]): number => events.reduce((all, event) => all + took(event), 0);
/** Of the thread that runs the page's scripts. */
function load_of(events: TraceEvent[]): Load {
  const mains = events.filter((event) => event.name === 'thread_name' && event.args?.name === 'CrRendererMain');
  const threads = mains.map((main) =>
    events.filter((event) => event.pid === main.pid && event.tid === main.tid && event.ph === 'X'),
  );
  const thread = threads.sort((a, b) => sum(b) - sum(a))[0] ?? [];
  thread.sort((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0));
  const outermost = (fits: (event: TraceEvent) => boolean): TraceEvent[] => {
    let end = 0;
    return thread.filter((event) => {
      if (!fits(event) || event.ts < end) return false;
      end = event.ts + (event.dur ?? 0);
      return true;
    });
  };
  const begins = thread.filter(({ name }) => name === 'FireAnimationFrame').map(({ ts }) => ts);
  const by_frame = (parts: readonly TraceEvent[]): Spread => {
    const sums: number[] = new Array(Math.max(begins.length - 1, 0)).fill(0);
    let at = -1;
    for (const event of parts) {
      while (at + 1 < begins.length && begins[at + 1] <= event.ts) ++at;
      if (at >= 0 && at < sums.length) sums[at] += took(event);
    }
    return spread(sums);
  };
  const script = outermost(({ name }) => scripts.has(name));
  const busy = outermost(({ name }) => /RunTask$/.test(name));
  const seconds = ((thread.at(-1)?.ts ?? 0) - (thread[0]?.ts ?? 0)) / 1e6;
  return {
    frames: begins.length,
    seconds,
    script: by_frame(script),
    busy: by_frame(busy),
    script_per_second: sum(script) / seconds,
    busy_per_second: sum(busy) / seconds,
  };
}
/** Milliseconds since the page was asked for, or since `begin`. */
const until_shown = (what: string, begin = ''): string => `new Promise((resolve) => {
  const began = ${begin === '' ? '0' : `(performance.now())`};
  ${begin};
  const look = () => {
  if (${what}) resolve(performance.now() - began);
  else setTimeout(look, 2);
  };
  look();
})`;
async function walk(client: Client, walkers: readonly Entity[]): Promise<void> {
  const type = client.types.get('muster.Set');
  const walking = client.types.component('crowd.Walking');
  for (let i = 0; i < walkers.length; i += 5000)
    await client.push_plan({
      kind: 'shared',
      type,
      targets: walkers.slice(i, i + 5000),
      value: {},
      rows: [{ type: walking, value: { angle: 0 } }],
    });
}
async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-speed-'));
  const path = join(folder, 'crowd.muster');
  writeFileSync(join(folder, 'token'), token + '\n', { mode: 0o600 });
  const words = [path, '--listen', '127.0.0.1:0', '--token-file', join(folder, 'token'), '--page', given.page!];
  words.push('--plugin', given.plugin!, '--hz', '20', '--quiet');
  const server = spawn(given.server!, words, { stdio: ['ignore', 'ignore', 'inherit'] });
  const beside = path + '-server.json';
  while (!existsSync(beside)) {
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
    await pause(50);
  }
  const { address } = JSON.parse(readFileSync(beside, 'utf8')) as { address: string };
  const client = await connect({ address, token, name: 'the measurement', kind: 'bench', time_max_ms: 60_000 });
  const browser = await chromium.launch({
    executablePath: given.chromium,
    // Pages are put together without the card, which is none here: a frame would take a second.
    args: [
      '--no-sandbox',
      '--disable-gpu-compositing',
      '--use-gl=angle',
      '--use-angle=swiftshader',
      '--enable-unsafe-swiftshader',
    ],
  });
  const result: Record<string, unknown> = {};
  try {
    const session = await browser.newBrowserCDPSession();
    const page = await Tab.open(session, (text) => console.error(text));
    // The card of this browser is a program that takes seconds for a picture. Its time is not measured: it is told to draw nothing.
    const source = `for (const call of ['drawElements', 'drawArrays', 'drawElementsInstanced', 'drawArraysInstanced'])
      WebGL2RenderingContext.prototype[call] = function () {};`;
    await page.send('Page.addScriptToEvaluateOnNewDocument', { source });
    const entities = (await client.ask(session_questions.GetInfo)).entities;
    result.entities = Number(entities);
    if (given.profile) await page.send('Profiler.enable');
    const profiled = async (name: string, run: () => Promise<void>): Promise<void> => {
      if (!given.profile) return run();
      await page.send('Profiler.start');
      await run();
      const { profile } = await page.send<{ profile: object }>('Profiler.stop');
      writeFileSync(`${given.profile}.${name}.cpuprofile`, JSON.stringify(profile));
    };
    const shown = `document.querySelectorAll('[role=treeitem]').length >= 10 && /^100,0\\d\\d entities/.test(document.querySelector('.viewport-status')?.textContent ?? '')`;
    let first: TraceEvent[] = [];
    await profiled('opening', async () => {
      first = await trace(session, async () => {
        const url = `http://${address.replace(/^.*\/\//, '')}/#token=${encodeURIComponent(token)}`;
        await page.send('Page.navigate', { url });
        result.shown_ms = await page.run<number>(until_shown(shown));
      });
    });
    const opening = load_of(first);
    result.script_until_shown_ms = opening.script_per_second * opening.seconds;
    result.busy_until_shown_ms = opening.busy_per_second * opening.seconds;
    if (given.trace) writeFileSync(given.trace, JSON.stringify({ traceEvents: first }));
    await page.run(until_shown(`/at rest/.test(document.querySelector('.viewport-status').textContent)`));
    const opened: number[] = [];
    const opened_busy: number[] = [];
    for (const name of ['group-3', 'group-4', 'group-5']) {
      const row = `document.querySelector('[role=treeitem][aria-label="${name}"]')`;
      const events = await trace(session, async () => {
        opened.push(
          await page.run<number>(until_shown(
              `${row}?.getAttribute('aria-expanded') === 'true' && document.querySelector('[role=treeitem][aria-level="2"]')`,
              `${row}.querySelector('.twist').click()`,
            ),
          ),
        );
      });
      const load = load_of(events);
      opened_busy.push(load.busy_per_second * load.seconds);
      await page.run(until_shown(
          `!document.querySelector('[role=treeitem][aria-level="2"]')`,
          `${row}.querySelector('.twist').click()`,
        ),
      );
      await pause(300);
    }
    result.opened_ms = opened;
    result.opened_busy_ms = opened_busy;
    const boxes: Entity[] = [];
    for (const group of (await client.ask(session_questions.ListChildren, { entity: nil, limit: 20 })).entities)
      for await (const some of client.children_all(group)) boxes.push(...some.entities);
    if (boxes.length !== 10 * children) throw new Error(`there are ${boxes.length} boxes`);
    const seconds = Number(given.seconds);
    let walking = 0;
    for (const [name, count] of [
      ['rest', 0],
      ['moving_1k', 1000],
      ['moving_100k', boxes.length],
    ] as const) {
      await walk(client, boxes.slice(walking, count));
      walking = count;
      await pause(2000);
      if (given.only && given.only !== name) continue;
      let events: TraceEvent[] = [];
      await profiled(name, async () => {
        events = await trace(session, () => pause(seconds * 1000));
      });
      if (given.trace) writeFileSync(`${given.trace}.${name}`, JSON.stringify({ traceEvents: events }));
      result[name] = load_of(events);
    }
    await page.send('HeapProfiler.collectGarbage');
    result.heap = await page.send('Runtime.getHeapUsage');
    console.log(JSON.stringify(result, null, 1));
    if (given.json) writeFileSync(given.json, JSON.stringify(result, null, 1) + '\n');
  } finally {
    await browser.close();
    client.close();
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}
await main();
