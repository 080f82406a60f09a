// Where a world is served, and sockets of Node: a server of the test's own listens.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { TestContext } from 'node:test';

import { connect, connect_stream, read_address_file } from 'muster-client/node';
import type { ByteStream } from 'muster-client/node';

import { test } from './support.js';
import { until } from './world.js';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'muster-node-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A server at `where`, and the sockets that came to it. */
async function listening(t: TestContext, where: { port: number; host: string } | { path: string }) {
  const sockets: Socket[] = [];
  const server: Server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(where, resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { server, sockets, port: (server.address() as AddressInfo).port };
}
function started(stream: ByteStream) {
  const received: number[] = [];
  const ended: string[] = [];
  stream.start({ received: (bytes) => received.push(...bytes), ended: (why) => ended.push(why) });
  return { received, ended };
}

test('a socket carries bytes both ways in their order, and what came before anybody listened', async (t) => {
  const path = join(folder(t), 'socket');
  const tcp = await listening(t, { port: 0, host: '127.0.0.1' });
  const unix = await listening(t, { path });
  for (const [address, { sockets }] of [
    [`127.0.0.1:${tcp.port}`, tcp],
    [`localhost:${tcp.port}`, tcp],
    [`unix:${path}`, unix],
  ] as const) {
    sockets.length = 0;
    const stream = await connect_stream(address, 5000);
    await until('the server has it', () => sockets.length === 1);
    const heard: number[] = [];
    sockets[0].on('data', (bytes: Buffer) => heard.push(...bytes));
    sockets[0].write(Uint8Array.of(1, 2));
    await new Promise((resolve) => setTimeout(resolve, 5));
    const { received, ended } = started(stream);
    sockets[0].write(Uint8Array.of(3));
    await until('all came', () => received.length === 3);
    for (let i = 0; i < 5; ++i) stream.send(Uint8Array.of(i, i));
    assert.ok(stream.unsent_bytes > 0);
    await until('all went', () => heard.length === 10);
    await until('nothing is held', () => stream.unsent_bytes === 0);
    assert.deepEqual([received, heard, ended], [[1, 2, 3], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], []]);
    stream.close();
    stream.send(Uint8Array.of(9));
    await until('the server sees the end', () => sockets[0].destroyed || sockets[0].readableEnded);
    assert.deepEqual([heard.length, ended], [10, []]); // who closes is not told
  }
});

test('the end of a socket is told once, by what ended it', async (t) => {
  const { sockets, port } = await listening(t, { port: 0, host: '127.0.0.1' });
  const open = async () => {
    sockets.length = 0;
    const stream = await connect_stream(`127.0.0.1:${port}`, 5000);
    await until('the server has it', () => sockets.length === 1);
    return { ...started(stream), socket: sockets[0], stream };
  };
  const orderly = await open();
  orderly.socket.end(Uint8Array.of(7));
  await until('it has ended', () => orderly.ended.length > 0);
  const broken = await open();
  broken.socket.resetAndDestroy();
  await until('it is broken', () => broken.ended.length > 0);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual([orderly.ended, orderly.received], [['the server closed the connection'], [7]]);
  assert.equal(broken.ended.length, 1);
  assert.match(broken.ended[0], /^the connection was lost: .*ECONNRESET/);
  orderly.stream.send(Uint8Array.of(1)); // to nobody
});

test('what is no address is told from a place where nobody answers', async (t) => {
  const { server, port } = await listening(t, { port: 0, host: '127.0.0.1' });
  await new Promise((resolve) => server.close(resolve));
  for (const address of ['', 'here', ':7717', '127.0.0.1', '127.0.0.1:', '127.0.0.1:0', '127.0.0.1:65536', '127.0.0.1:1.5', '127.0.0.1:x', '127.0.0.1:-1'])
    await assert.rejects(connect_stream(address, 100), { kind: 'mistaken', message: `'${address}' is not an address: expected HOST:PORT, tls:HOST:PORT or unix:PATH` });
  await assert.rejects(connect_stream('unix:', 100), { kind: 'mistaken', message: "'unix:' does not name a socket" });
  await assert.rejects(connect_stream(`127.0.0.1:${port}`, 5000), { kind: 'lost', message: new RegExp(`^cannot connect to 127\\.0\\.0\\.1:${port}: .*ECONNREFUSED`) });
  const nowhere = join(folder(t), 'nobody');
  await assert.rejects(connect_stream(`unix:${nowhere}`, 5000), { kind: 'lost', message: new RegExp(`^cannot connect to ${nowhere}: .*ENOENT`) });
  await assert.rejects(connect_stream(`[::1]:${port}`, 5000), { kind: 'lost' }); // an address, whether or not there is such a network
});

test('a server that takes the connection and says nothing is late', async (t) => {
  const { port } = await listening(t, { port: 0, host: '127.0.0.1' });
  await assert.rejects(connect({ address: `127.0.0.1:${port}`, time_max_ms: 30 }), { kind: 'late', message: 'the server did not answer within 30 ms' });
});

test('the file beside a world says where it is served; what cannot be used is told in words', (t) => {
  const world = join(folder(t), 'town.muster');
  const beside = `${world}-server.json`;
  const good = { world, address: '127.0.0.1:7717', unix: '', token: 'secret', pid: process.pid };
  const write = (text: string): void => writeFileSync(beside, text, { mode: 0o600 });
  assert.throws(() => read_address_file(world), { kind: 'lost', message: `no server is running for ${world}` });
  write(JSON.stringify(good));
  assert.deepEqual(read_address_file(world), { address: '127.0.0.1:7717', token: 'secret', server: good });
  const unix = { ...good, unix: '/run/town' };
  write(JSON.stringify(unix));
  assert.deepEqual(read_address_file(world), { address: 'unix:/run/town', token: 'secret', server: unix }); // nearer
  write(JSON.stringify({ ...good, tls: 'ab' }));
  assert.deepEqual(read_address_file(world), { address: 'tls:127.0.0.1:7717', token: 'secret', fingerprint: 'ab', server: { ...good, tls: 'ab' } });
  for (const broken of [{ token: '' }, { token: 5 }, { token: undefined }, { pid: 0 }, { pid: -1 }, { pid: undefined }]) {
    write(JSON.stringify({ ...good, ...broken }));
    assert.throws(() => read_address_file(world), { kind: 'mistaken', message: `${beside} is not a server's address file` });
  }
  write('null');
  assert.throws(() => read_address_file(world), { kind: 'mistaken', message: `${beside} is not a server's address file` });
  write('{ "token"');
  assert.throws(() => read_address_file(world), { kind: 'mistaken', message: new RegExp(`^cannot read ${beside}: .*JSON`) });
  write(JSON.stringify({ ...good, pid: 2 ** 30 }));
  assert.throws(() => read_address_file(world), { kind: 'lost', message: `no server is running for ${world} (process ${2 ** 30} has ended)` });
  write(JSON.stringify({ ...good, pid: 1 })); // of somebody else, and alive
  assert.equal(read_address_file(world).server.pid, 1);
  writeFileSync(world, '');
  const not_open = { kind: 'lost', message: `no server is running for ${world}: process 1, which ${beside} names, does not have it open` };
  assert.throws(() => read_address_file(world), not_open);
  writeFileSync(`${world}-lock`, 'muster-lock 1\nprocess 0000000002\n');
  assert.throws(() => read_address_file(world), not_open);
  writeFileSync(`${world}-lock`, 'muster-lock 1\nprocess 0000000001\n');
  assert.equal(read_address_file(world).server.pid, 1);
  chmodSync(beside, 0o640);
  assert.throws(() => read_address_file(world), {
    kind: 'mistaken',
    message: `${beside} can be read by others, so its token is not secret. Remove the file and restart the server`,
  });
});

test('both clients look beside the file itself, whichever links lead to it', (t) => {
  const path = folder(t);
  const [real, links] = [join(path, 'real'), join(path, 'links')];
  for (const each of [real, links]) mkdirSync(each);
  const world = join(real, 'town.muster');
  writeFileSync(world, '');
  symlinkSync('../real/town.muster', join(links, 'file.muster'));
  symlinkSync('file.muster', join(links, 'twice.muster'));
  symlinkSync('../real', join(links, 'folder'));
  symlinkSync('nothing.muster', join(links, 'dangling.muster'));
  const cases = [
    [world, world],
    [`${real}/../real//town.muster`, `${real}/../real//town.muster`],
    [`${links}/file.muster`, world],
    [`${links}/twice.muster`, world],
    [`${links}/folder/town.muster`, world],
    [`${links}/folder/../links/file.muster`, world],
    [`${links}/folder/new.muster`, `${links}/folder/new.muster`],
    [`${links}/dangling.muster`, `${links}/dangling.muster`],
  ];
  // Relative paths too. relative() itself would resolve '..' before links.
  const near = (each: string): string => each.replace(path, relative('', path));
  const relatives = cases.map(([given, file]) => [near(given), file === given ? near(file) : file]);
  for (const [given, expected] of [...cases, ...relatives]) {
    writeFileSync(`${expected}-server.json`, '{}', { mode: 0o600 });
    const message = `${expected}-server.json is not a server's address file`;
    assert.throws(() => read_address_file(given), { kind: 'mistaken', message });
    const { stderr } = spawnSync(process.env.MUSTER!, ['info', '--world', given], { encoding: 'utf8' });
    assert.equal(stderr, `muster: ${message}\n`);
  }
});
