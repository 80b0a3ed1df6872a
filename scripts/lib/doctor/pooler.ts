import type { Settings } from '../../../schemas/settings.ts';
import { statementTimeout } from '../../../src/config/timeouts.ts';
import type { Connection } from '../../../src/database/connection.ts';
import { type Findings, ok, warning } from './finding.ts';
import { factsOf } from './server.ts';

const timeoutOfSession = `select setting::int as timeout from pg_settings where name = 'statement_timeout'`;

/** A server sets the time limits of its sessions itself, but not through a pooler. */
export async function* checkPooler(db: Connection, settings: Settings): Findings {
  const { timeout } = await factsOf<{ timeout: number }>(db, timeoutOfSession);
  const wanted = statementTimeout(settings);
  yield timeout === wanted
    ? ok('The pooler sets the time limits.')
    : warning(
        `The pooler gives statements ${timeout === 0 ? 'no time limit' : `${timeout} ms`}: set statement_timeout = ${wanted} in its connect_query, see docs/running-many.md.`,
      );
}
