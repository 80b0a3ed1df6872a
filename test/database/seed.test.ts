import { spawn } from 'node:child_process';
import t from 'tap';
import { seed } from '../../scripts/lib/seed.ts';
import { userOf } from '../../scripts/lib/seedRecords.ts';
import { openEmbedded } from '../../src/database/embedded/embedded.ts';
import { build } from '../helper/app.ts';
import { backend, createPostgres, openTestDatabase, testLog } from '../helper/database.ts';

// Starting whole processes takes long on a busy machine.
t.setTimeout(180_000);

const size = { users: 60, posts: 2100 };
const quietly = () => {};
const uuidv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const timeOf = (id: string) => Number.parseInt(id.slice(0, 13).replace('-', ''), 16);

t.test('the seed creates users and posts that look like those of the service', async t => {
  const database = await openTestDatabase(t);
  const progress: number[] = [];
  await seed(database.writes, size, done => progress.push(done));
  t.same(progress, [60, 1060, 2060, 2160]);
  const { call } = await build(t, { database });

  const { body: people } = await call('GET', '/api/users?limit=100', 200);
  t.same(people.meta, { page: 1, limit: 100, total: 60, totalPages: 1 });
  t.ok(people.data.every(({ id }: Created) => uuidv7.test(id)));
  t.ok(
    people.data.every(({ id, createdAt }: Created) => timeOf(id) === Date.parse(createdAt)),
    'the id holds the time of creation',
  );
  t.same(people.data.map(created), people.data.map(created).sort(), 'ids and times ascend together');

  const { body: last } = await call('GET', '/api/posts?page=21&limit=100', 200);
  t.same(last.meta, { page: 21, limit: 100, total: 2100, totalPages: 21 });
  t.equal(last.data.length, 100);
  t.same(last.data.map(created), last.data.map(created).sort());
  const { body: drafts } = await call('GET', '/api/posts?status=draft', 200);
  t.ok(drafts.meta.total > 420 && drafts.meta.total < 630, 'about a quarter are drafts');
  const [first, later] = [people.data[0], people.data[50]];
  const { body: many } = await call('GET', `/api/posts?author=${first.id}`, 200);
  const { body: few } = await call('GET', `/api/posts?author=${later.id}`, 200);
  t.ok(many.meta.total > 5 * few.meta.total, 'a few authors write a lot');
});

t.test('a second seed adds what is missing and changes nothing', async t => {
  const database = await openTestDatabase(t);
  const { call } = await build(t, { database });
  // A user already has an address that the seed would use.
  const { body: own } = await call('POST', '/api/users', 201, {
    body: { name: 'Somebody', email: userOf(0).email },
  });
  await seed(database.writes, { users: 20, posts: 50 }, quietly);
  const { body: user } = await call('GET', '/api/users?sort=name', 200);
  await call('PATCH', `/api/users/${user.data[0].id}`, 200, { body: { name: 'Changed' } });
  await call('DELETE', `/api/users/${user.data[1].id}?cascade=true`, 204);

  await seed(database.writes, { users: 20, posts: 50 }, quietly);
  const { body: again } = await call('GET', '/api/users', 200);
  t.equal(again.meta.total, 20, 'nineteen from the seed, and the existing user');
  t.equal((await call('GET', `/api/users/${user.data[0].id}`, 200)).body.name, 'Changed');
  t.same((await call('GET', `/api/users/${own.id}`, 200)).body, own);
  const before = await call('GET', '/api/posts?limit=100', 200);
  await seed(database.writes, { users: 20, posts: 50 }, quietly);
  t.same((await call('GET', '/api/posts?limit=100', 200)).body, before.body);
});

t.test('the command seeds the configured database, and prints no bar without a terminal', async t => {
  const folder = t.testdir();
  const target: Record<string, string> =
    backend === 'postgres'
      ? { DATABASE_URL: await createPostgres(t, { empty: true }) }
      : { DATA_DIR: folder };
  const first = await run(target, '--users', '30', '--posts', '970');
  t.match(first, {
    code: 0,
    out: /(?<!%.*\n)users: 30, 30 of them new\nposts: 970, 970 of them new\n/,
  });
  t.notMatch(first.out, '\r');
  const second = await run(target, '--users', '30', '--posts', '970');
  t.match(second, { code: 0, out: /users: 30, 0 of them new\nposts: 970, 0 of them new\n/ });

  if (backend === 'postgres') return;
  const owner = await openEmbedded({ folder }, testLog);
  t.teardown(() => owner.close());
  const refused = `Another process uses the data folder ${folder}. Stop it, or set DATA_DIR or DATABASE_URL.\n`;
  t.match(await run(target), { code: 1, err: refused }, 'a data folder in use is left alone');
});

type Created = { id: string; createdAt: string };
const created = ({ id, createdAt }: Created) => `${createdAt} ${id}`;

/** Runs the command without the environment variables of the test runner. */
async function run(settings: Record<string, string>, ...flags: string[]) {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'scripts/seed.ts', ...flags],
    { env: { PATH: process.env.PATH, ...settings } },
  );
  const output = { out: '', err: '' };
  child.stdout.on('data', data => (output.out += data));
  child.stderr.on('data', data => (output.err += data));
  const code = await new Promise<number | null>(resolve => child.on('close', resolve));
  return { code, ...output };
}
