import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Answer } from '../../rig/cluster/ask.ts';
import type { LocalPostgres } from '../../rig/cluster/postgres.ts';
import { openLocalPostgres } from '../../rig/openCluster.ts';
import { call, type Service, startService, until, untilReady } from '../../rig/process.ts';
import { all, pay, secrets } from '../../rig/sender.ts';

const refused = {
  status: 503,
  headers: { 'retry-after': '1', 'content-type': /^application\/json/, 'x-request-id': /./ },
  body: { error: { status: 503, details: { code: 'unavailable' } } },
};

const summarize = ({ status, seconds, text }: Answer) => `${status} after ${seconds} s: ${text}`;

/** Clients that read, create and replace, and a provider that sends payments, in parallel until they are stopped. */
function makeLoad(service: Service, round: string) {
  let running = true;
  const replies: Answer[] = [];
  const lost: string[] = [];
  const created: string[] = [];
  /** The customers of acknowledged payments. */
  const paid: string[] = [];
  /** The last acknowledged replacement of each record. */
  const replaced = new Map<string, number>();
  async function repeat(work: (i: number) => Promise<Answer>) {
    for (let i = 0; running; i++, await sleep(5))
      await work(i).then(
        reply => replies.push(reply),
        error => lost.push(String(error)),
      );
  }
  async function write(client: number, i: number) {
    const body = { name: 'Writer', email: `${round}-${client}-${i}@example.com` };
    const reply = await call(service, 'POST', '/api/users', body);
    if (reply.status === 201) created.push(reply.body.id);
    return reply;
  }
  async function startReplacing(client: number) {
    const email = `${round}-replaced-${client}@example.com`;
    const { body } = await call(service, 'POST', '/api/users', { name: '0', email });
    await repeat(async i => {
      const reply = await call(service, 'PUT', `/api/users/${body.id}`, { name: String(i + 1), email });
      if (reply.status === 200) replaced.set(body.id, i + 1);
      return reply;
    });
  }
  async function receivePayments(client: number) {
    for (let i = 0; running; i++, await sleep(20)) {
      const customer = `${round}-${client}-${i}`;
      const status = await pay(service.url, `evt_${customer}`, customer);
      if (status === 200) paid.push(customer);
      else if (status !== 503) lost.push(`payment: ${status}`);
    }
  }
  const clients = Array.from({ length: 8 }, (_, client) => [
    repeat(() => call(service, 'GET', '/api/users?limit=5')),
    repeat(i => write(client, i)),
    startReplacing(client),
    receivePayments(client),
  ]).flat();
  return {
    replies,
    /** Until all clients have been answered, however slow the machine is. */
    begun: () =>
      until('all clients write', () => replaced.size === 8 && created.length > 20 && paid.length > 20),
    stop: async () => {
      running = false;
      await Promise.all(clients);
      return { replies, lost, created, paid, replaced };
    },
  };
}

/** Compares the answers with what is stored, and the pool with its size before. */
async function checkAfter(
  t: Test,
  service: Service,
  server: LocalPostgres,
  { lost, created, paid, replaced, replies }: Awaited<ReturnType<ReturnType<typeof makeLoad>['stop']>>,
) {
  t.same(lost, [], 'no client lost its connection');
  t.equal(service.child.exitCode, null, 'the process is still running');
  t.same(
    service.lines.filter(({ msg }) => msg === 'Internal error.'),
    [],
  );
  const statuses = new Set(replies.map(({ status }) => status));
  t.same([...statuses].sort(), [200, 201, 503]);
  const stored = new Map((await server.query('select id, name from users')).map(row => [row.id, row.name]));
  t.ok(created.length > 20, `${created.length} users were acknowledged`);
  t.same(
    created.filter(id => !stored.has(id)),
    [],
    'each is stored',
  );
  // A replacement without an answer may have been stored; one older than the last acknowledged may not be.
  for (const [id, last] of replaced) t.ok(Number(stored.get(id)) >= last, `${stored.get(id)} >= ${last}`);

  t.ok(paid.length > 20, `${paid.length} payments were acknowledged`);
  await pay(service.url, `evt_${paid[0]}_after`, `${paid[0]}-after`);
  await until('each has its effect, and one that comes now', async () => {
    const active = new Set((await all(service.url, '/api/subscriptions')).map(({ customer }) => customer));
    return [...paid, `${paid[0]}-after`].every(customer => active.has(customer));
  });

  const changed = await Promise.all(
    Array.from({ length: 50 }, (_, i) => {
      const [id] = [...replaced][i % replaced.size] ?? [];
      return call(service, 'PUT', `/api/users/${id}`, {
        name: `After ${i}`,
        email: `after-${id}@example.com`,
      });
    }),
  );
  t.same(changed.filter(({ status }) => status !== 200).map(summarize), []);
  const [connections] = await server.query(
    "select count(*)::int as n from pg_stat_activity where application_name = 'triport'",
  );
  const count = Number(connections?.n);
  t.ok(count > 4 && count <= 8, `all four for writes, and at most four for reads: ${count}`);
}

t.test('while Postgres is away', async t => {
  const server = await openLocalPostgres(t);
  await server.stop();
  const env = { DATABASE_URL: server.url, WEBHOOK_SECRETS: secrets };
  let round = 0;

  await t.test('the service starts without it, refuses quickly, and recovers by itself', async t => {
    const service = await startService(t, env, { ready: false });
    t.match(service.lines, [
      { reason: /ECONNREFUSED/, msg: 'The database is out of reach. Trying until it is back.' },
      { msg: /^The database cannot be used yet: the service waits for it/ },
      { msg: /^Triport serves/ },
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
    t.ok(Date.now() - signalled < 5000, 'a service that never reached it ends at once');
    await server.start();
    await untilReady(service);
    t.equal((await call(service, 'GET', '/api/users')).status, 200);
  });

  await t.test(
    'the server crashes twice under load: requests are refused, then the service recovers, and nothing is lost',
    async t => {
      const service = await startService(t, env);
      const load = makeLoad(service, `crashed${++round}`);
      for (let crash = 0; crash < 2; crash++) {
        await sleep(800);
        await server.stop('SIGQUIT');
        await sleep(300);
        const before = load.replies.length;
        await sleep(1000);
        const during = load.replies.slice(before);
        t.ok(during.length > 50, `${during.length} answers while it was away`);
        t.same(during.filter(reply => reply.status !== 503 || reply.seconds > 1).map(summarize), []);
        t.match(during[0], refused);
        await server.start();
        await untilReady(service);
      }
      await sleep(500);
      await checkAfter(t, service, server, await load.stop());
    },
  );

  await t.test(
    'the server freezes: requests are refused within a bounded time, then at once, then the service recovers',
    async t => {
      const service = await startService(t, env);
      const load = makeLoad(service, `frozen${++round}`);
      await load.begun();
      server.freeze();
      await sleep(100);
      const before = load.replies.length;
      await until('refusals come at once', () => {
        const last = load.replies.slice(before).at(-1);
        return last?.status === 503 && last.seconds < 0.2;
      });
      t.match(await call(service, 'GET', '/health/ready'), { status: 503 });
      const during = load.replies.slice(before);
      t.same(during.filter(reply => reply.status !== 503 || reply.seconds > 9).map(summarize), []);
      await sleep(1000);
      server.thaw();
      await untilReady(service);
      await sleep(500);
      await checkAfter(t, service, server, await load.stop());
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
