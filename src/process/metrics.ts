import { collectDefaultMetrics } from 'prom-client';
import type { Database } from '#src/database/database.ts';
import { watchDatabase } from '#src/database/metrics.ts';
import { watchTotals } from '#src/database/totals.ts';
import { Metrics } from '#src/telemetry/metrics.ts';
import { watchBacklog } from '#src/webhooks/backlog.ts';

/** The metrics of a process and of its database. */
export function openMetrics(database: Database): Metrics {
  const metrics = new Metrics();
  collectDefaultMetrics({ register: metrics.registry });
  watchDatabase(metrics, database);
  watchTotals(metrics, database);
  watchBacklog(metrics, database);
  return metrics;
}
