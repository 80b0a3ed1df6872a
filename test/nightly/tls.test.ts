import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import t from 'tap';
import { answers } from '#test/rig/cluster/part.ts';
import { has, openBalancer } from '#test/rig/openCluster.ts';
import { makeDataFolder, makeFolder, startService } from '#test/rig/process.ts';
import { freePort } from '#test/rig/servers/ports.ts';

t.test('nginx with TLS', { skip: !has('nginx') && 'nginx is not installed' }, async t => {
  const env = { DATA_DIR: makeDataFolder(t), TRUST_PROXY: '127.0.0.1', AUTH_MODE: 'open' };
  const service = await startService(t, env);
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
  const { url } = await openBalancer(t, [service.port], folder);

  /** Returns the response to a client that trusts this certificate alone. */
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
