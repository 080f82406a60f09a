// Measures the editor's page in Chromium with a world of 100,000 entities: when it shows, how long a node takes to open, and how much
// of each frame goes to scripts while nothing, 1,000 and all entities move 20 times a second. Read from Chromium's own traces.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { nil } from 'muster-client';
import type { Entity } from 'muster-client';
import { connect } from 'muster-client/node';
import type { Client } from 'muster-client/node';
import { chromium } from 'playwright-core';
import type { CDPSession, Page } from 'playwright-core';

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
/** `run` is called in the page, and says when what it waits for is there. */
function in_page<T>(page: Page, run: string): Promise<T> {
  return page.evaluate(run) as Promise<T>;
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
    const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, reducedMotion: 'reduce' });
    const page = await context.newPage();
    // The card of this browser is a program that takes seconds for a picture. Its time is not measured: it is told to draw nothing.
    await page.addInitScript(`for (const call of ['drawElements', 'drawArrays', 'drawElementsInstanced', 'drawArraysInstanced'])
      WebGL2RenderingContext.prototype[call] = function () {};`);
    page.on('pageerror', (error) => console.error(error.stack ?? error.message));
    const session = await context.newCDPSession(page);
    const entities = (await client.info()).entities;
    result.entities = Number(entities);
    const shown = `document.querySelectorAll('[role=treeitem]').length >= 10 && /^100,0\\d\\d entities/.test(document.querySelector('.viewport-status')?.textContent ?? '')`;
    const first = await trace(session, async () => {
      await page.goto(`http://${address.replace(/^.*\/\//, '')}/#token=${encodeURIComponent(token)}`);
      result.shown_ms = await in_page<number>(page, until_shown(shown));
    });
    const opening = load_of(first);
    result.script_until_shown_ms = opening.script_per_second * opening.seconds;
    result.busy_until_shown_ms = opening.busy_per_second * opening.seconds;
    if (given.trace) writeFileSync(given.trace, JSON.stringify({ traceEvents: first }));
    await page.locator('.viewport-status', { hasText: 'at rest' }).waitFor({ timeout: 60_000 });
    const opened: number[] = [];
    const opened_busy: number[] = [];
    for (const name of ['group-3', 'group-4', 'group-5']) {
      const row = `document.querySelector('[role=treeitem][aria-label="${name}"]')`;
      const events = await trace(session, async () => {
        opened.push(
          await in_page<number>(
            page,
            until_shown(
              `${row}?.getAttribute('aria-expanded') === 'true' && document.querySelector('[role=treeitem][aria-level="2"]')`,
              `${row}.querySelector('.twist').click()`,
            ),
          ),
        );
      });
      const load = load_of(events);
      opened_busy.push(load.busy_per_second * load.seconds);
      await in_page(
        page,
        until_shown(
          `!document.querySelector('[role=treeitem][aria-level="2"]')`,
          `${row}.querySelector('.twist').click()`,
        ),
      );
      await pause(300);
    }
    result.opened_ms = opened;
    result.opened_busy_ms = opened_busy;
    const boxes: Entity[] = [];
    for (const group of (await client.children(nil, 0, 20)).entities)
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
      if (given.profile) {
        await session.send('Profiler.enable');
        await session.send('Profiler.start');
      }
      const events = await trace(session, () => pause(seconds * 1000));
      if (given.profile) {
        const { profile } = await session.send('Profiler.stop');
        writeFileSync(`${given.profile}.${name}.cpuprofile`, JSON.stringify(profile));
      }
      if (given.trace) writeFileSync(`${given.trace}.${name}`, JSON.stringify({ traceEvents: events }));
      result[name] = load_of(events);
    }
    await session.send('HeapProfiler.collectGarbage');
    result.heap = await session.send('Runtime.getHeapUsage');
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
