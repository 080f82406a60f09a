// TLS and proofs of the client in Node, against the real server and against impostors.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { connect, connect_stream, nil, read_address_file } from 'muster-client/node';

import { schema_path, test } from './support.js';
import { World } from './world.js';

test('over TLS a session is as without, trusted by fingerprint or issuer', async (t) => {
  const world = await World.serve(t, undefined, '--self-signed');
  const { token, server } = read_address_file(world.path);
  const fingerprint = server.tls as string;
  const address = `tls:${server.address}`;
  const port = server.address.split(':')[1];
  const ca_file = world.path + '-tls.pem';
  const colons = (fingerprint.toUpperCase().match(/../g) as string[]).join(':');
  for (const trust of [{ fingerprint }, { fingerprint: colons }, { ca_file }, { address: `tls:localhost:${port}`, ca_file }, { address: server.address, fingerprint }]) {
    const client = await connect({ address, token, ...trust });
    const text = 'x'.repeat(60_000) + JSON.stringify(trust);
    const other = await connect({ address, token, fingerprint });
    assert.equal(await other.fetch_text(await client.intern(text)), text);
    client.close();
    other.close();
  }
  const refusals = [
    [{}, /the issuer of the server's certificate is not trusted; the certificate has the fingerprint [0-9a-f]{64}$/],
    [{ fingerprint: '0'.repeat(64) }, new RegExp(`the server's certificate has the fingerprint ${fingerprint}, not 0{64}$`)],
  ] as const;
  for (const [trust, message] of refusals)
    await assert.rejects(connect({ address, token, ...trust }), { kind: 'lost', message });
  await assert.rejects(connect({ address, token, fingerprint: 'xyz' }), { kind: 'mistaken', message: "'xyz' is not a fingerprint: expected 64 hexadecimal digits" });
  await assert.rejects(connect({ address, token, ca_file: '/nothing.pem' }), { kind: 'mistaken', message: /^the trusted issuers cannot be read: .*ENOENT/ });
  await assert.rejects(connect({ address: server.address, token }), { kind: 'lost', message: 'this port needs TLS: connect to tls:HOST:PORT' });
});

test('a client with TLS is told that the server does not use it', async (t) => {
  const world = await World.serve(t);
  const { address } = read_address_file(world.path).server;
  await assert.rejects(connect_stream(`tls:${address}`, 5000), { kind: 'lost', message: `cannot connect to ${address}: the server does not use TLS` });
});

test('without TLS the token is proved, over TCP and a Unix socket, and a wrong one is refused', async (t) => {
  const world = await World.serve(t);
  for (const kind of ['tcp', 'unix'] as const) {
    const client = await world.connect(kind);
    await client.create(nil, kind);
    await assert.rejects(world.connect(kind, { token: 'wrong' }), { kind: 'lost', message: 'the token is not valid here' });
  }
});

test('a program that has taken over the port does not learn the token', async (t) => {
  const world = await World.serve(t);
  const { token, server } = read_address_file(world.path);
  const came: Buffer[] = [];
  // Passes the Hello on to the real server, and its Challenge back with another proof.
  const impostor = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      came.push(bytes);
      const [host, port] = server.address.split(':');
      void connect_stream(`${host}:${port}`, 5000).then((stream) => {
        stream.start({
          received: (answer) => {
            const changed = Uint8Array.from(answer);
            changed[changed.length - 20] ^= 1;
            socket.write(changed);
          },
          ended: () => {},
        });
        stream.send(Uint8Array.from(bytes));
      });
    });
  });
  await new Promise<void>((resolve) => impostor.listen(0, '127.0.0.1', resolve));
  t.after(() => impostor.close());
  const address = `127.0.0.1:${(impostor.address() as AddressInfo).port}`;
  await assert.rejects(connect({ address, token, time_max_ms: 5000 }), { kind: 'lost' });
  const learned = Buffer.concat(came);
  assert.ok(learned.length > 64 && learned.length < 512, String(learned.length));
  assert.equal(learned.indexOf(token), -1);
});

test('a client finds a server with TLS beside its world', async (t) => {
  const world = await World.serve(t, undefined, '--self-signed');
  const beside = world.path + '-server.json';
  const file = JSON.parse(readFileSync(beside, 'utf8')) as { unix: string };
  writeFileSync(beside, JSON.stringify({ ...file, unix: '' }), { mode: 0o600 });
  const found = read_address_file(world.path);
  assert.match(found.address, /^tls:127\.0\.0\.1:/);
  const client = await connect(found);
  await client.create(nil, 'here');
  client.close();
});

test('a certificate that its issuer has revoked is refused', async (t) => {
  const world = new World();
  t.after(() => world.end());
  const openssl = (...words: string[]): void => void execFileSync('openssl', words, { cwd: world.folder, stdio: 'ignore', timeout: 60_000 });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const settings = '[ca]\ndefault_ca=own\n[own]\ndatabase=index.txt\ndefault_md=sha256\ndefault_crl_days=2\n';
  writeFileSync(join(world.folder, 'ca.cnf'), settings);
  writeFileSync(join(world.folder, 'index.txt'), '');
  writeFileSync(join(world.folder, 'names'), 'subjectAltName=IP:127.0.0.1\n');
  openssl('req', '-x509', ...key, '-days', '3', '-subj', '/CN=issuer', '-keyout', 'ca-key.pem', '-out', 'ca.pem');
  openssl('req', ...key, '-subj', '/CN=server', '-keyout', 'key.pem', '-out', 'request.pem');
  openssl('x509', '-req', '-in', 'request.pem', '-CA', 'ca.pem', '-CAkey', 'ca-key.pem', '-CAcreateserial', '-days', '2', '-extfile', 'names', '-out', 'cert.pem');
  const issuer = ['-config', 'ca.cnf', '-cert', 'ca.pem', '-keyfile', 'ca-key.pem'];
  openssl('ca', ...issuer, '-revoke', 'cert.pem');
  openssl('ca', ...issuer, '-gencrl', '-out', 'crl.pem');
  const file = (name: string): string => join(world.folder, name);
  writeFileSync(file('both.pem'), readFileSync(file('ca.pem'), 'utf8') + readFileSync(file('crl.pem'), 'utf8'));
  await world.start('--schema', schema_path('everything.bfbs'), '--cert', file('cert.pem'), '--key', file('key.pem'));
  const { token, server } = read_address_file(world.path);
  const address = `tls:${server.address}`;
  (await connect({ address, token, ca_file: file('ca.pem') })).close();
  const revoked = { kind: 'lost', message: /the server's certificate was revoked by its issuer$/ };
  await assert.rejects(connect({ address, token, ca_file: file('both.pem') }), revoked);
});
