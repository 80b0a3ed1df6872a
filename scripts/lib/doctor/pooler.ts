import type { Settings } from '../../../schemas/settings.ts';
import { statementTimeout } from '../../../src/config/timeouts.ts';
import type { Connection } from '../../../src/database/connection.ts';
import { type Findings, ok, problem, warning } from './finding.ts';
import { factsOf } from './server.ts';

/** The start of the server, to the microsecond, and the name: the same on both ways, or they lead to two databases. */
const identity = `select pg_postmaster_start_time()::text || current_database() as id,
  (select setting::int from pg_settings where name = 'statement_timeout') as timeout`;
interface Identity {
  id: string;
  timeout: number;
}

/** DATABASE_URL beside a direct QUEUE_DATABASE_URL. */
export async function* checkPooler(direct: Connection, given: Connection, settings: Settings): Findings {
  const { id, timeout } = await factsOf<Identity>(given, identity);
  if (id !== (await factsOf<Identity>(direct, identity)).id)
    return yield problem(
      'DATABASE_URL and QUEUE_DATABASE_URL lead to different databases: events would wait for ever. Both must be one.',
    );
  if (settings.DATABASE_POOLER !== 'transaction')
    return yield ok('DATABASE_URL and QUEUE_DATABASE_URL are one database.');
  const wanted = statementTimeout(settings);
  yield timeout === wanted
    ? ok('The pooler leads to the same database, and sets the time limits.')
    : warning(
        `The pooler gives statements ${timeout === 0 ? 'no time limit' : `${timeout} ms`}: set statement_timeout = ${wanted} in its connect_query, see docs/running-many.md.`,
      );
}
