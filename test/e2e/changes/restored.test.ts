// runs: long
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { bin, skip, startInstalled } from '#test/e2e/storage/contents.ts';
import { openEvents } from '#test/helper/eventStream.ts';
import { openLocalPostgres } from '#test/rig/openCluster.ts';
import { call, makeFolder, startService, untilReady } from '#test/rig/process.ts';

/** Starts a service on a database, with a way to change much and a way to read changes. */
async function serve(t: Test, DATABASE_URL: string) {
  const service = await startService(t, { DATABASE_URL });
  let made = 0;
  /** Creates users, and returns their ids. */
  async function create(amount: number): Promise<string[]> {
    const ids: string[] = [];
    for (let i = 0; i < amount; i++) {
      const user = { name: 'Ada', email: `${service.port}.${++made}@example.com` };
      const { status, body } = await call(service, 'POST', '/api/users', user);
      t.equal(status, 201);
      ids.push(body.id);
    }
    return ids;
  }
  const open = (position?: string) =>
    openEvents(t, `${service.url}/api/changes`, position ? { headers: { 'last-event-id': position } } : {});
  /** Returns the newest position. */
  async function position(): Promise<string> {
    const stream = await open();
    const [first] = await stream.next(1, () => true);
    stream.close();
    return first?.id ?? '';
  }
  /** Returns the status of a stream after this position, and the ids of this many records in it. */
  async function after(position: string, amount: number) {
    const stream = await open(position);
    const { status } = stream.response;
    // A history that lacks changes would keep the reader waiting.
    setTimeout(stream.close, 5000).unref();
    const changes = status === 200 ? await stream.next(amount) : [];
    stream.close();
    return { status, ids: changes.map(({ data }) => data.id) };
  }
  return { create, position, after, ready: () => untilReady(service), end: () => service.kill('SIGTERM') };
}

/** Checks that a database that was set back knows what it has, and refuses what only the lost history had. */
async function setBack(t: Test, from: string, restore: (write: () => Promise<unknown>) => Promise<string>) {
  const first = await serve(t, from);
  await first.create(5);
  const kept = await first.position();
  const ids = await first.create(5);
  const last = await first.position();
  let lost = { amount: 7, position: '' };
  const to = await restore(async () => {
    await first.ready();
    await first.create(lost.amount);
    lost = { ...lost, position: await first.position() };
    await first.end();
  });
  const second = await serve(t, to);
  const gone = { status: 410, ids: [] };
  t.same(await second.after(kept, ids.length), { status: 200, ids }, 'what both histories have');
  t.same(await second.after(lost.position, 1), gone, 'a position of the lost history');
  const later = await second.create(lost.amount + 5);
  t.same(await second.after(lost.position, 1), gone, 'also when as much has been written again');
  t.same(await second.after(last, later.length), { status: 200, ids: later });
  t.same(await second.after(kept, ids.length + later.length), { status: 200, ids: [...ids, ...later] });
}

t.test('a dump that is restored into a new database has another history', { skip }, async t => {
  const [from, to] = [await startInstalled(t), await startInstalled(t)];
  await setBack(t, from.DATABASE_URL, async write => {
    const file = join(makeFolder(t), 'dump');
    const run = (program: string, args: string[]) =>
      t.equal(spawnSync(join(bin, program), args, { stdio: 'inherit' }).status, 0);
    run('pg_dump', ['--format=custom', `--file=${file}`, from.DATABASE_URL]);
    await write();
    run('pg_restore', ['--dbname', to.DATABASE_URL, file]);
    return to.DATABASE_URL;
  });
});

t.test('the files of a database from before have another history', async t => {
  const postgres = await openLocalPostgres(t);
  await setBack(t, postgres.url, async write => {
    const copy = `${postgres.folder}.copy`;
    await postgres.stop();
    spawnSync('cp', ['-a', postgres.folder, copy]);
    await postgres.start();
    await write();
    await postgres.stop();
    rmSync(postgres.folder, { recursive: true });
    spawnSync('mv', [copy, postgres.folder]);
    await postgres.start();
    return postgres.url;
  });
});
