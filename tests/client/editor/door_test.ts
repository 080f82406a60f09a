// Who else is on the machine: a page of another origin, or one whose name was made to lead here, reaches nothing in a real browser.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

import { nil, session } from 'muster-client';
import type { Client } from 'muster-client';
import type { Page } from 'playwright-core';

import { browse, Editor, foreign_name, given, test, token, World } from './page.js';

/** A world with a file to read, and somebody who counts its sessions. */
async function serve(t: TestContext): Promise<{ world: World; other: Client }> {
  const world = await World.serve(t, ['--schema', given('MUSTER_SCHEMA')], ({ folder }) =>
    writeFileSync(join(folder, 'a model.gltf'), '{"asset":{"version":"2.0"}}'),
  );
  const other = await world.connect();
  await other.create(nil, 'orc');
  return { world, other };
}

/** A tab in which nothing is open yet, and what the browser says about it. */
async function tab(t: TestContext): Promise<{ page: Page; said: string[] }> {
  const context = await (await browse()).newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const said: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  return { page, said };
}

/** Whether a script of the page that is open can open the WebSocket: 'open', or 'closed' and the code. */
function web_socket(page: Page, url: string): Promise<string> {
  return page.evaluate(
    (to) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(to);
        socket.onopen = () => resolve('open');
        socket.onclose = ({ code }) => resolve(`closed ${code}`);
      }),
    url,
  );
}

/** What a script of the page that is open can read there: status and text, or that it cannot. */
function read(
  page: Page,
  url: string,
  options: { mode?: 'no-cors'; headers?: Record<string, string> },
): Promise<string> {
  return page.evaluate(
    async ({ to, how }) => {
      try {
        const answer = await fetch(to, how);
        return `${answer.status} ${await answer.text()}`;
      } catch {
        return 'cannot';
      }
    },
    { to: url, how: options },
  );
}

const bearer = { headers: { Authorization: `Bearer ${token}` } };

test('the page of the world itself opens the WebSocket and reads the files of the world', async (t) => {
  const { world } = await serve(t);
  // Of which the printed address is the only key.
  const { page } = await Editor.open(t, world);
  assert.equal(await web_socket(page, `ws://${world.address}/session`), 'open');
  assert.match(await read(page, `http://${world.address}/world/a%20model.gltf`, bearer), /^200 .*"2.0"/);
});

test('a page of another origin opens no WebSocket, reads nothing, and shows nothing in a frame', async (t) => {
  const { world, other } = await serve(t);
  const elsewhere = createServer((_, answer) => {
    answer.setHeader('Content-Type', 'text/html').end('<!doctype html><title>elsewhere</title><p>elsewhere</p>');
  });
  elsewhere.listen(0, '127.0.0.1');
  await once(elsewhere, 'listening');
  t.after(() => elsewhere.close());
  const { port } = elsewhere.address() as AddressInfo;
  const { page, said } = await tab(t);

  // By its address, and by a name that leads to this machine; both know the token.
  for (const host of ['127.0.0.1', foreign_name]) {
    await page.goto(`http://${host}:${port}/`);
    said.length = 0;
    assert.equal(await web_socket(page, `ws://${world.address}/session`), 'closed 1006');
    assert.match(said.join('\n'), /Unexpected response code: 403/);
    for (const path of ['', 'session', 'health', 'world/a%20model.gltf'])
      for (const how of [{}, bearer])
        assert.equal(await read(page, `http://${world.address}/${path}`, how), 'cannot', `${host}: /${path}`);
    // Asked for blindly it is not let in either: the browser obeys the answer's resource policy.
    assert.equal(await read(page, `http://${world.address}/`, { mode: 'no-cors' }), 'cannot');
    const shown = await page.evaluate(async (url) => {
      const frame = document.createElement('iframe');
      frame.src = url;
      await new Promise((resolve) => {
        frame.onload = resolve;
        document.body.append(frame);
      });
      return frame.contentDocument?.title ?? 'out of reach';
    }, world.url);
    assert.equal(shown, 'out of reach');
    assert.match(said.join('\n'), /frame/i);
  }
  const { sessions, entities } = await other.ask(session.GetInfo);
  assert.deepEqual([sessions, entities], [1, 1]);
});

test('a name that is not this server’s is refused, although it leads here', async (t) => {
  const { world, other } = await serve(t);
  const { page, said } = await tab(t);
  const there = `${foreign_name}:${new URL(world.url).port}`;
  for (const path of ['', 'health', 'metrics', 'session', 'world/a%20model.gltf']) {
    const answer = await page.goto(`http://${there}/${path}`);
    assert.equal(answer?.status(), 421, path);
    assert.match(await page.innerText('body'), /use localhost or the loopback address, with this server's port/);
  }
  // A page that came from elsewhere before the name was made to lead here: its scripts are of the origin that they ask now.
  const before = `http://${there}/before`;
  await page.route(before, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><p>before</p>' }),
  );
  await page.goto(before);
  for (const how of [{}, bearer])
    for (const path of ['', 'world/a%20model.gltf'])
      assert.match(await read(page, `http://${there}/${path}`, how), /^421 use localhost/);
  said.length = 0;
  assert.equal(await web_socket(page, `ws://${there}/session`), 'closed 1006');
  assert.match(said.join('\n'), /Unexpected response code: 421/);
  assert.equal((await other.ask(session.GetInfo)).sessions, 1);
});
