import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { ask } from '../rig/cluster/ask.ts';
import { render } from '../rig/cluster/balancer.ts';
import { answers, Part } from '../rig/cluster/part.ts';
import { has, openBalancer } from '../rig/openCluster.ts';
import { makeDataFolder, makeFolder, startService, until } from '../rig/process.ts';
import { freePort } from '../rig/servers/ports.ts';

const startBackend = (t: Test) =>
  startService(t, { DATA_DIR: makeDataFolder(t), TRUST_PROXY: '127.0.0.1', AUTH_MODE: 'open' });

/** A name server that has no answer until it gets an address, and the names it was asked for. */
async function openNameServer(t: Test) {
  const socket = createSocket('udp4');
  const names = { address: undefined as string | undefined, asked: 0 };
  socket.on('message', (query, { port, address }) => {
    names.asked++;
    const end = query.indexOf(0, 12) + 5;
    const isA = query.readUInt16BE(end - 4) === 1;
    const known = isA && names.address?.split('.').map(Number);
    const head = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, known ? 1 : 0, 0, 0, 0, 0]);
    // A pointer to the name of the question, type A, class IN, 1 s, 4 bytes.
    const record = known ? Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...known]) : Buffer.alloc(0);
    socket.send(Buffer.concat([head, query.subarray(12, end), record]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.teardown(() => socket.close());
  return Object.assign(names, { port: socket.address().port });
}

t.test('HAProxy', { skip: !has('haproxy') && 'haproxy is not installed' }, async t => {
  const service = await startBackend(t);
  const names = await openNameServer(t);
  const folder = makeFolder(t);
  const port = await freePort();
  const path = join(folder, 'haproxy.cfg');
  const config = render({
    kind: 'haproxy',
    folder,
    port,
    servers: [service.port, service.port, service.port],
  });
  // As in a new environment: no server has an address.
  writeFileSync(
    path,
    config
      .replaceAll(`127.0.0.1:${service.port}`, `server.test:${service.port}`)
      .replace('parse-resolv-conf', `nameserver test 127.0.0.1:${names.port}`),
  );
  const url = `http://127.0.0.1:${port}/api/users`;
  const ready = async () => (await ask(url).catch(() => undefined))?.status === 503;
  const log = join(folder, 'haproxy.log');
  const haproxy = new Part({ name: 'haproxy', command: 'haproxy', args: ['-db', '-f', path], log, ready });
  t.teardown(() => haproxy.stop());

  await t.test('starts while the names of the servers are unresolved', async t => {
    await haproxy.start();
    await until('it asks for the name', () => names.asked > 0);
    t.match(await ask(url), { status: 503, headers: { 'retry-after': '1' } });
  });

  await t.test('uses the servers once their names are resolved', async () => {
    names.address = '127.0.0.1';
    await until('a request is answered', async () => (await ask(url)).status === 200);
  });

  await t.test('checks them without a line in any log', async t => {
    const before = readFileSync(log, 'utf8').length;
    const checks = () => metric(service.url, 'route="/health/ready"');
    const first = await checks();
    await until('every server was checked', async () => (await checks()) > first + 6);
    // On a busy machine a check can fail, which is news.
    t.notMatch(readFileSync(log, 'utf8').slice(before), /GET|health/);
    const lines = service.lines as { path?: string; status?: number }[];
    t.notOk(lines.some(({ path, status }) => path?.startsWith('/health/') && status === 200));
  });
});

/** The number of requests of a route that the service has counted. */
async function metric(url: string, label: string): Promise<number> {
  const { text } = await ask(`${url}/metrics`);
  const lines = text.split('\n').filter(line => line.includes('_count{') && line.includes(label));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

t.test('nginx with TLS', { skip: !has('nginx') && 'nginx is not installed' }, async t => {
  const service = await startBackend(t);
  const folder = makeFolder(t);
  const secure = await freePort();
  mkdirSync(join(folder, 'tls'));
  const [key, certificate] = ['tls.key', 'tls.crt'].map(name => join(folder, 'tls', name));
  const args = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost
    -addext subjectAltName=DNS:localhost -keyout ${key} -out ${certificate}`;
  execFileSync('openssl', args.split(/\s+/), { stdio: 'ignore' });
  const text = readFileSync('deploy/nginx-tls.conf', 'utf8');
  writeFileSync(
    join(folder, 'tls.conf'),
    text.replace('listen 8443', `listen 127.0.0.1:${secure}`).replaceAll('/etc/triport', folder),
  );
  const servers = [service.port, service.port, service.port];
  const { url } = await openBalancer(t, 'nginx', servers, folder);

  /** The response to a client that trusts this certificate alone. */
  const get = (path: string, options = {}) =>
    new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; protocol: string }>(
      (resolve, reject) =>
        request(`https://localhost:${secure}${path}`, { ca: readFileSync(certificate ?? ''), ...options })
          .on('response', reply => {
            const protocol = (reply.socket as TLSSocket).getProtocol() ?? '';
            resolve({ status: reply.statusCode ?? 0, headers: reply.resume().headers, protocol });
          })
          .on('error', reject)
          .end(),
    );

  const list = await get('/api/users', { headers: { 'accept-encoding': 'gzip' } });
  t.match(list, { status: 200, protocol: 'TLSv1.3' });
  t.ok(list.headers['strict-transport-security'], 'the service knows that its client used TLS');
  t.match(await get('/api/users', { maxVersion: 'TLSv1.2' }), { status: 200, protocol: 'TLSv1.2' });
  await t.rejects(get('/', { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' }));
  await t.rejects(get('/', { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' }), 'no forward secrecy');
  t.ok(await answers(`${url}/health/ready`), 'within the network, plain HTTP works as well');
});
