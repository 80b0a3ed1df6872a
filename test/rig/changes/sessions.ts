import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { newId } from '#src/core/ids.ts';
import { any, below } from '#test/helper/values/random.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { until } from '#test/rig/process.ts';

/** Begins the statement that inserts an entry; the id, the action and the version follow. */
const insertEntry = `insert into audit_log (created_at, record_id, changed, actor_kind, actor_name, transport, sides, id, action, version)
  select now(), id, '{}', 'anonymous', 'test', 'job', '[{}]'`;

/** How many transactions ended in each way. */
export type Endings = Record<'commit' | 'rollback' | 'commit prepared' | 'rollback prepared', number>;

/** Runs one transaction, as no request does: with savepoints, long, prepared, or rolled back at its end. */
async function change(run: (text: string) => Promise<unknown>, burrows: string[]): Promise<keyof Endings> {
  await run('begin');
  for (let left = 1 + below(3); left > 0; left--) {
    const isTried = below(3) === 0;
    if (isTried) await run('savepoint one');
    await run(`with changed as (
        update burrows set version = version + 1, updated_at = now() where id = '${any(burrows)}' returning *)
      ${insertEntry}, '${newId(Date.now())}', 'burrow.change', version from changed`);
    if (isTried && below(2) === 0) await run('rollback to one');
  }
  await sleep([0, 0, 100, 3000][below(4)]);
  const ending = below(4) === 0 ? 'rollback' : 'commit';
  if (below(3) > 0) {
    await run(ending);
    return ending;
  }
  const [name] = burrows;
  await run(`prepare transaction '${name}'`);
  await sleep([0, 0, 100, 3000][below(4)]);
  await run(`${ending} prepared '${name}'`);
  return `${ending} prepared`;
}

/**
 * Changes burrows of its own in some sessions until told to stop. A crash of the server ends sessions. Returns how many
 * transactions ended in each way.
 */
export async function changeInSessions(
  url: string,
  contended: string[],
  isOver: () => boolean,
): Promise<Endings> {
  const endings = { commit: 0, rollback: 0, 'commit prepared': 0, 'rollback prepared': 0 };
  async function work(burrows: string[]): Promise<void> {
    while (!isOver()) {
      const sql = postgres(url, { max: 1, onnotice: () => {} });
      const run = (text: string) => sql.unsafe(text);
      try {
        await run(`set lock_timeout = '5s'`);
        // A crash leaves a prepared transaction open.
        await run(`commit prepared '${burrows[0]}'`).catch(() => {});
        while (!isOver()) endings[await change(run, burrows)]++;
      } catch {
        await sleep(200);
      } finally {
        await sql.end({ timeout: 1 });
      }
    }
  }
  const sets = Array.from({ length: 4 }, () => Array.from({ length: 3 }, () => newId(Date.now())));
  const rows = sets.flat().map(id => `('${id}', 'x', 1, now(), now())`);
  await queryPostgres(
    url,
    `with made as (insert into burrows (id, label, version, created_at, updated_at) values ${rows} returning *)
      ${insertEntry}, gen_random_uuid(), 'burrow.create', version from made`,
  );
  contended.push(...sets.flat());
  await Promise.all(sets.map(work));
  await until('no transaction is prepared', async () => {
    const [open] = await queryPostgres(url, 'select gid from pg_prepared_xacts').catch(() => [{ gid: '' }]);
    if (open?.gid) await queryPostgres(url, `commit prepared '${open.gid}'`).catch(() => {});
    return open === undefined;
  });
  return endings;
}
