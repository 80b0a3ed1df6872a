import { OperatorError } from '../../../src/core/errors.ts';
import { silentLog } from '../../../src/core/log.ts';
import type { Connection } from '../../../src/database/connection.ts';
import { connectionOf, connectTo, refuseHiddenPooler } from '../../../src/database/postgres/client.ts';
import { type Findings, problem, unreachable } from './finding.ts';

/** Examines a PostgreSQL server over one connection. One that cannot be used is a problem. */
export async function* onServer(
  name: string,
  url: string,
  examine: (db: Connection) => Findings,
  pooled = false,
): Findings {
  const pool = connectTo({ url, connections: 1, pooled }, silentLog);
  try {
    const db = connectionOf(pool);
    try {
      await (pooled ? db.rows('select 1', []) : refuseHiddenPooler(db));
    } catch (error) {
      yield error instanceof OperatorError ? problem(error.message) : unreachable(name, error);
      return;
    }
    yield* examine(db);
  } finally {
    await pool.close(0);
  }
}

/** The only row of a statement, as an object. */
export async function factsOf<T>(db: Connection, text: string): Promise<T> {
  const [[facts] = []] = await db.rows(`select to_jsonb(facts) from (${text}) facts`, []);
  return facts as T;
}
