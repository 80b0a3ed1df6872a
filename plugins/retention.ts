import fp from 'fastify-plugin';
import { systemContext } from '../src/core/context.ts';
import type { Database } from '../src/core/database.ts';
import type { Log } from '../src/core/log.ts';
import { trimAudit } from '../src/services/audit.ts';

const hour = 3_600_000;
const day = 24 * hour;

interface Options {
  database: Database;
  log: Log;
  now: () => Date;
  days: number;
}

/** Trims the audit log once an hour. Instances that do it at the same time only find less to do. */
export default fp<Options>(async (app, { database, log, now, days }) => {
  if (days === 0) return;
  async function trim() {
    if (!database.available()) return;
    const context = systemContext(database.orm, 'retention', 'job', now);
    const trimmed = await trimAudit(context, new Date(now().getTime() - days * day));
    if (trimmed > 0) log.info({ trimmed }, 'Old entries of the audit log were deleted.');
  }
  const timer = setInterval(() => {
    trim().catch(error => log.error({ err: error }, 'The audit log could not be trimmed.'));
  }, hour).unref();
  app.addHook('onClose', async () => clearInterval(timer));
});
