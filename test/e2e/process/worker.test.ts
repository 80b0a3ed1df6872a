import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { parse } from 'yaml';
import { createPostgres } from '#test/helper/database.ts';
import { ask } from '#test/rig/cluster/ask.ts';
import { spawnService, startService, until } from '#test/rig/process.ts';
import { freePort } from '#test/rig/servers/ports.ts';

t.test('a worker says whether it is alive, and whether it waits for events', async t => {
  const METRICS_PORT = String(await freePort());
  const statusOf = async (path: string) =>
    (await ask(`http://127.0.0.1:${METRICS_PORT}${path}`).catch(() => undefined))?.status;

  const { services } = parse(readFileSync('deploy/compose.yaml', 'utf8'), { merge: true });
  const [, , ...command]: string[] = services.worker.healthcheck.test;
  /** Runs the health check of the Compose file and returns its exit code. */
  const check = () =>
    spawnSync(
      process.execPath,
      command.map(part => part.replace('9464', METRICS_PORT)),
    ).status;
  t.equal(check(), 1, 'nothing listens');

  const absent = { DATABASE_URL: 'postgres://x:x@127.0.0.1:1/x', METRICS_PORT };
  const lonely = spawnService(t, absent, 'src/worker.ts');
  await until('it is alive', async () => (await statusOf('/health/live')) === 200);
  t.equal(
    await statusOf('/health/ready'),
    503,
    'without a database it is not ready, and not to be restarted',
  );
  t.equal(check(), 1);
  await lonely.kill();

  const env = { DATABASE_URL: await createPostgres(t), METRICS_PORT };
  const worker = spawnService(t, env, 'src/worker.ts');
  await until('it is ready', async () => (await statusOf('/health/ready')) === 200);
  t.equal(check(), 0);
  // The log comes by another pipe than the answer, and may come later.
  await until('it says so', () => worker.lines.some(({ msg }) => msg.includes('waits for webhook events')));
  t.equal(await worker.kill('SIGTERM'), 0);
});

t.test('a server says on METRICS_PORT what it says on PORT', async t => {
  const METRICS_PORT = String(await freePort());
  const statusOf = async () => (await ask(`http://127.0.0.1:${METRICS_PORT}/health/ready`)).status;
  const absent = { DATABASE_URL: 'postgres://x:x@127.0.0.1:1/x', METRICS_PORT };
  const lonely = await startService(t, absent, { ready: false });
  t.equal(await statusOf(), 503, 'without a database');
  await lonely.kill();

  const server = await startService(t, {
    DATABASE_URL: await createPostgres(t),
    METRICS_PORT,
    DRAIN_SECONDS: '2',
  });
  t.equal(await statusOf(), 200);
  server.child.kill('SIGTERM');
  await until('balancers are told that it ends', async () => (await statusOf()) === 503);
  t.equal(await server.ended, 0);
});
