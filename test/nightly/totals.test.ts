import t from 'tap';
import { call, type Service, startService, until, untilReady } from '../rig/process.ts';
import { freePort } from '../rig/servers/ports.ts';
import { makePostgres } from '../rig/servers/postgresServer.ts';

t.setTimeout(120_000);

const totals = `select
  (select total from list_position('users', 0, false))::int as users, (select count(*) from users)::int as all_users,
  (select total from list_position('posts', 0, false))::int as posts, (select count(*) from posts)::int as all_posts`;
const insertUsers = (amount: number) => `insert into users (id, name, email, created_at, updated_at)
  select gen_random_uuid(), 'x', gen_random_uuid() || '@example.com', now(), now() from generate_series(1, ${amount})`;

t.test(
  'totals stay right when services are killed and PostgreSQL crashes, and the backlog is folded',
  async t => {
    const postgres = await makePostgres(t);
    await postgres.start();
    const check = async (what: string) => {
      const [row] = await postgres.query(totals);
      t.ok(row?.users === row?.all_users && row?.posts === row?.all_posts, `${what}: ${JSON.stringify(row)}`);
    };
    const folded = () =>
      until('everything is folded', async () => {
        const [row] = await postgres.query('select count(*)::int as waiting from list_log');
        return row?.waiting === 0;
      });
    const metricsPort = await freePort();
    const env = { DATABASE_URL: postgres.url };
    const [killed, kept] = await Promise.all([
      startService(t, env),
      startService(t, { ...env, METRICS_PORT: String(metricsPort) }),
    ]);
    let writing = true;
    const writers = [killed, kept].map(async service => {
      for (let i = 0; writing; i++) await write(service, i);
    });
    await postgres.query(`begin; ${insertUsers(5)}; prepare transaction 'kept'`);
    for (let i = 0; i < 5; i++) {
      await postgres.query(insertUsers(600));
      await check('during writes');
    }
    killed.child.kill('SIGKILL');
    await killed.ended;
    await check('after kill -9 of a service');
    await postgres.crash();
    await postgres.start();
    await untilReady(kept);
    await check('after a crash of the server');
    await postgres.query(insertUsers(100));
    await postgres.query(`commit prepared 'kept'`);
    await check('after the commit of a prepared transaction');
    writing = false;
    await Promise.all(writers);
    const seconds = async (name: string) => {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    };
    await t.resolves(folded(), 'the service that is left folds, also after the outage');
    await check('with everything folded');
    await until('the metric falls', async () => (await seconds('totals_changes_waiting')) === 0);
    await postgres.query(`begin; ${insertUsers(5)}; prepare transaction 'old'`);
    await t.resolves(
      until('the metric shows it', async () => (await seconds('database_oldest_transaction_seconds')) > 1),
    );
    await postgres.query(`rollback prepared 'old'`);
  },
);

async function write(service: Service, i: number): Promise<void> {
  try {
    const email = `${service.url.slice(-4)}-${i}@example.com`;
    const { status, body } = await call(service, 'POST', '/api/users', { name: 'Writer', email });
    if (status === 201) await call(service, 'POST', '/api/posts', { title: 'x', authorId: body.id });
  } catch {
    // The service or the database is away.
  }
}
