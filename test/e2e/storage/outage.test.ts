// runs: long, late
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { serviceName, serviceTitle } from '#schemas/name.ts';
import { isAllKept, Load } from '#test/rig/chaos/load.ts';
import type { Answer } from '#test/rig/cluster/ask.ts';
import type { LocalPostgres } from '#test/rig/cluster/postgres.ts';
import { openLocalPostgres } from '#test/rig/openCluster.ts';
import { call, type Service, startService, until, untilReady } from '#test/rig/process.ts';
import { pay, secrets } from '#test/rig/sender.ts';

const refused = {
  status: 503,
  headers: { 'retry-after': '1', 'content-type': /^application\/json/, 'x-request-id': /./ },
  body: { error: { status: 503, details: { code: 'unavailable' } } },
};

const summarize = ({ status, seconds, text }: Answer) => `${status} after ${seconds} s: ${text}`;

/** Checks that 20 requests at once are all refused within this many seconds. */
async function checkRefusals(t: Test, service: Service, seconds: number) {
  const replies = await Promise.all(Array.from({ length: 20 }, () => call(service, 'GET', '/api/users')));
  for (const reply of replies) {
    t.match(reply, refused);
    t.ok(reply.seconds < seconds, summarize(reply));
  }
}

async function startLoad(service: Service, name: string): Promise<Load> {
  const load = new Load(service.url, name);
  load.start(8);
  await until('much is acknowledged', () => load.customers.length > 20 && load.emails.length > 20);
  return load;
}

/** Checks that no connection of a client and nothing acknowledged is lost, and that the pool is as large as before. */
async function checkRecovery(t: Test, service: Service, server: LocalPostgres, load: Load) {
  await untilReady(service);
  const before = load.counts.answered;
  await until('requests are answered again', () => load.counts.answered > before + 20);
  await load.stop();
  t.match(load.counts, { lost: 0, wrong: 0 }, [...load.wrongAnswers].join());
  t.ok(load.counts.refused > 20, load.counts);
  t.equal(service.child.exitCode, null, 'the process is still running');
  t.same(
    service.lines.filter(({ msg }) => msg === 'Internal error.'),
    [],
  );
  await until('everything is there', () => isAllKept(server.url, load));

  const replies = await Promise.all(
    load.emails.slice(0, 50).map(email => call(service, 'GET', `/api/users?email=${email}`)),
  );
  t.same(replies.filter(({ status }) => status !== 200).map(summarize), []);
  const [connections] = await server.query(
    `select count(*)::int as n from pg_stat_activity where application_name = '${serviceName}'`,
  );
  const count = Number(connections?.n);
  t.ok(count > 4 && count <= 7, `of four for writes, two for reads and one for costly lists: ${count}`);
}

t.test('while Postgres is away', async t => {
  const server = await openLocalPostgres(t);
  await server.stop();
  const env = { DATABASE_URL: server.url, WEBHOOK_SECRETS: secrets };

  await t.test('the service starts without it, refuses quickly, and recovers by itself', async t => {
    const service = await startService(t, env, { ready: false });
    t.match(service.lines, [
      { reason: /ECONNREFUSED/, msg: 'The database is out of reach. Trying until it is back.' },
      { msg: /^The database cannot be used yet: the service waits for it/ },
      { msg: new RegExp(`^${serviceTitle} serves`) },
    ]);
    t.match(await call(service, 'GET', '/health/live'), { status: 200, body: { status: 'ok' } });
    for (const [method, path] of [
      ['GET', '/health/ready'],
      ['GET', '/api/users'],
      ['POST', '/api/users'],
    ] as const) {
      const body = method === 'POST' ? { name: 'Ada', email: 'ada@example.com' } : undefined;
      const reply = await call(service, method, path, body);
      t.match(reply, refused, `${method} ${path}`);
      t.ok(reply.seconds < 1, `in ${reply.seconds} s`);
    }
    t.equal(await pay(service.url, 'evt_early', 'cus_early'), 503, 'so the provider sends it again');
    t.notMatch(JSON.stringify(service.lines), '"stack"', 'a reason says enough');
    const other = await startService(t, env, { ready: false });
    const signalled = Date.now();
    t.equal(await other.kill('SIGTERM'), 0);
    t.ok(Date.now() - signalled < 5000, 'a service that never reached its database ends at once');
    await server.start();
    await untilReady(service);
    t.equal((await call(service, 'GET', '/api/users')).status, 200);
  });

  await t.test(
    'the server crashes twice under load: requests are refused, then the service recovers, and nothing is lost',
    async t => {
      const service = await startService(t, env);
      const load = await startLoad(service, 'crashed');
      for (let crash = 0; crash < 2; crash++) {
        await sleep(800);
        await server.stop('SIGQUIT');
        await sleep(300);
        await checkRefusals(t, service, 1);
        await sleep(1000);
        await server.start();
        await untilReady(service);
      }
      await checkRecovery(t, service, server, load);
    },
  );

  await t.test(
    'the server freezes: requests are refused within a bounded time, then at once, then the service recovers',
    async t => {
      const service = await startService(t, env);
      const load = await startLoad(service, 'frozen');
      server.freeze();
      await checkRefusals(t, service, 9);
      await until('refusals come at once', async () => {
        const { status, seconds } = await call(service, 'GET', '/api/users');
        return status === 503 && seconds < 0.2;
      });
      t.match(await call(service, 'GET', '/health/ready'), { status: 503 });
      const line = service.lines.find(({ msg }) => msg.startsWith('The database is out of reach'));
      t.match(line, { reason: 'no answer within 5 s' });
      await sleep(1000);
      server.thaw();
      await checkRecovery(t, service, server, load);
    },
  );

  await t.test(
    'a request that takes longer than REQUEST_TIMEOUT gets 503, with or without a body',
    async t => {
      const service = await startService(t, { ...env, REQUEST_TIMEOUT: '2' });
      const ada = { name: 'Ada', email: 'ada@example.com' };
      const { body: user } = await call(service, 'POST', '/api/users', ada);
      // A frozen server cannot cancel a statement by its own timeout.
      server.freeze();
      const both = await Promise.all([
        call(service, 'GET', `/api/users/${user.id}`),
        call(service, 'PUT', `/api/users/${user.id}`, ada),
      ]);
      server.thaw();
      for (const reply of both) {
        t.match(reply, { ...refused, text: /took too long/ });
        t.ok(reply.seconds >= 2 && reply.seconds < 5, summarize(reply));
      }
      t.equal((await call(service, 'GET', `/api/users/${user.id}`)).status, 200);
    },
  );
});

t.test('a server that lets no new session in is noticed, though the probe keeps its own', async t => {
  const server = await openLocalPostgres(t);
  await server.query('create role visitor login superuser');
  const url = Object.assign(new URL(server.url), { username: 'visitor' }).href;
  const service = await startService(t, { DATABASE_URL: url, WEBHOOK_SECRETS: secrets });
  await server.query('alter role visitor nologin');
  await server.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${serviceName}'`,
  );
  t.match(await call(service, 'GET', '/api/users'), refused);
  t.equal(await pay(service.url, 'evt_locked', 'cus_locked'), 503);
  await until('it is not ready', async () => (await call(service, 'GET', '/health/ready')).status === 503);
  t.match(
    service.lines.find(({ msg }) => msg === 'Requests get no connection to the database.'),
    { reason: /not permitted to log in/ },
  );
  await server.query('alter role visitor login');
  await untilReady(service);
  t.equal((await call(service, 'GET', '/api/users')).status, 200);
});
