import { hostname } from 'node:os';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { readContext } from '#plugins/http/context.ts';
import { routesOf } from '#plugins/http/routes.ts';
import { ref } from '#schemas/parts/common.ts';
import { Overview } from '#schemas/service/overview.ts';
import type { Settings } from '#schemas/settings.ts';
import { systemContext } from '#src/access/context.ts';
import type { Database } from '#src/database/database.ts';
import { measureRoundTrip } from '#src/database/metrics.ts';
import { listEndingKeys } from '#src/people/apiKeys.ts';
import { countChanges } from '#src/records/audit.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { Metrics } from '#src/telemetry/metrics.ts';
import { startSamples } from '#src/telemetry/samples.ts';
import { summarizeEvents } from '#src/webhooks/backlog.ts';

const route = routesOf('Service');

interface Options {
  settings: Settings;
  database: Database;
  metrics: Metrics;
  log: Log;
  now: () => Date;
}

/** How the service is now, and what happened in each minute of the last day of this process. */
export const overviewRoute: FastifyPluginAsyncTypebox<Options> = async (app, options) => {
  const { settings, database, metrics, log, now } = options;
  const instance = `${hostname()}:${process.pid}`;
  const startedAt = new Date(performance.timeOrigin).toISOString();
  const context = systemContext({ db: database.reads, log, now }, 'overview', 'job');
  const samples = startSamples({
    metrics,
    now,
    isWorker: settings.WORKER === 'inside',
    countChanges: async (from, to) => (database.available() ? countChanges(context, from, to) : null),
  });
  app.addHook('onClose', async () => samples.stop());
  app.get(
    '/overview',
    route('getOverview', 'See how the service is', 'admin', {
      // One looks here when the service is busy.
      config: { shed: false },
      description: `Events and keys are those that the database has now. The samples are one for each minute of the last day, of the process that answers: they are in its memory, and none is left after a restart. With \`WORKER=apart\` they have nothing about processing; the workers have it in their metrics.`,
      response: { 200: ref(Overview) },
    }),
    async request => {
      const context = readContext(request);
      const roundTripMs = await measureRoundTrip(context.db);
      const [events, endingKeys, all] = await Promise.all([
        summarizeEvents(context),
        listEndingKeys(context),
        samples.list(),
      ]);
      const process = { instance, startedAt, worker: settings.WORKER };
      return { ...process, events, endingKeys, database: { kind: database.kind, roundTripMs }, samples: all };
    },
  );
};
