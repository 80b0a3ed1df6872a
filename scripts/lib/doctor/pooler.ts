import type { Settings } from '../../../schemas/settings.ts';
import { statementTimeout } from '../../../src/config/timeouts.ts';
import type { Connection } from '../../../src/database/connection.ts';
import { type Findings, ok, warning } from './finding.ts';
import { factsOf } from './server.ts';

const limitsOfSession = `select json_object_agg(name, setting::int) as limits from pg_settings
  where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')`;

/** A server sets the time limits of its sessions itself, but not through a pooler. */
export async function* checkPooler(db: Connection, settings: Settings): Findings {
  const { limits } = await factsOf<{ limits: Record<string, number> }>(db, limitsOfSession);
  const absent = Object.entries(limits).flatMap(([name, value]) => (value === 0 ? [name] : []));
  const wanted = statementTimeout(settings);
  if (absent.length > 0)
    yield warning(
      `Sessions have no ${absent.join(' and no ')}: set them in the connect_query of the pooler, see docs/running-many.md; without a pooler, remove DATABASE_POOLER.`,
    );
  else if (limits.statement_timeout !== wanted)
    yield warning(
      `The pooler gives statements ${limits.statement_timeout} ms: set statement_timeout = ${wanted} in its connect_query, see docs/running-many.md.`,
    );
  else yield ok('The pooler sets the time limits.');
}
