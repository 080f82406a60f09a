// The client of npm's SDK for the Model Context Protocol connects to `muster mcp`, which therefore
// speaks the protocol as others understand it. `sdk_test.mjs MUSTER SERVER GAME_BFBS`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [muster, server_program, game] = process.argv.slice(2).map((path) => resolve(path));
const folder = mkdtempSync(join(tmpdir(), 'muster-agent-'));
const arguments_ = ['w.muster', '--listen', '127.0.0.1:0', '--quiet', '--level', '--schema', game];
const server = spawn(server_program, arguments_, { cwd: folder, stdio: 'inherit' });
const late = setTimeout(() => {
  console.error('the test took longer than 50 s');
  server.kill('SIGKILL');
  process.exit(1);
}, 50_000);

async function check() {
  while (!existsSync(join(folder, 'w.muster-server.json'))) {
    assert.equal(server.exitCode, null, 'the server has ended');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const client = new Client({ name: 'sdk', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: muster, args: ['mcp', '--name', 'Robo'], cwd: folder }));
  assert.equal(client.getServerVersion().name, 'muster');
  assert.match(client.getInstructions(), /20,000 characters/);
  await client.ping();

  const { tools } = await client.listTools();
  assert.equal(tools.length, 16);
  for (const tool of tools) {
    assert.ok(tool.description.length > 20, tool.name);
    assert.equal(tool.inputSchema.type, 'object');
  }
  const call = async (name, args = {}) => {
    const answer = await client.callTool({ name, arguments: args });
    assert.equal(answer.content[0].type, 'text');
    return answer.isError ? answer.content[0].text : JSON.parse(answer.content[0].text);
  };
  assert.deepEqual((await call('info')).people, [{ name: 'Robo', kind: 'agent' }]);
  const components = { Health: { value: 30.5 } };
  const edits = [
    { op: 'create', name: 'gate', as: 'gate' },
    { op: 'create', name: 'door', under: '$gate', components },
  ];
  assert.equal((await call('edit', { edits, dry_run: true })).would_apply, 2);
  assert.equal((await call('edit', { edits, label: 'A gate' })).applied, 2);
  const found = await call('find', { having: ['Health'], show: ['Health.value'] });
  assert.deepEqual(found.entities.map((each) => [each.path, each['Health.value']]), [['/gate/door', 30.5]]);
  assert.match(await call('show', { entities: ['nothing'] }), /no entity is named 'nothing'/);
  await call('undo');
  assert.equal((await call('find')).total, 0);
  await assert.rejects(client.callTool({ name: 'explode', arguments: {} }), /there is no tool/);
  await client.close();
}

try {
  await check();
  console.log('1 passed, 0 failed');
} finally {
  clearTimeout(late);
  server.kill('SIGTERM');
  await new Promise((resolve) => server.once('exit', resolve));
  rmSync(folder, { recursive: true, force: true });
}
