import { sql } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import type { EventStatus } from '../../schemas/event.ts';
import { need } from '../access/need.ts';
import type { Context, Job } from '../core/context.ts';
import { statement } from '../database/statements/statement.ts';
import { fingerprintsOf, hasFingerprint } from './fingerprints.ts';

const { id, fingerprint, replays, status } = webhookEvents;

export const unfinishedStatuses: EventStatus[] = ['received', 'processing', 'failed'];

const findRounds = statement({ id, round: replays, status }, (builder, columns) =>
  builder.select(columns).from(webhookEvents).where(hasFingerprint),
);

/**
 * The jobs that still have something to do. A claim decides again: another worker may be faster. So has a job whose event
 * is not there: a distributed database shows the job as soon as it is committed, but the event may follow.
 */
export async function unfinishedJobs<J extends Job>(context: Context, jobs: J[]): Promise<J[]> {
  need(context, 'admin');
  if (jobs.length === 0) return jobs;
  const found = await findRounds(context.db, { fingerprints: fingerprintsOf(jobs) });
  const events = new Map(found.map(event => [event.id, event]));
  return jobs.filter(job => {
    const event = events.get(job.event);
    const isDone = event?.round === job.round && !unfinishedStatuses.includes(event.status);
    return event === undefined || !(event.round > job.round || isDone);
  });
}

const findFingerprints = statement({ id, fingerprint }, (builder, columns) =>
  builder
    .select(columns)
    .from(webhookEvents)
    .where(sql`${id} = any(${sql.placeholder('ids')}::text::uuid[])`),
);

/** Adds the fingerprints to jobs of a release that did not write them. */
export async function withFingerprints<J extends Job>(context: Context, jobs: J[]): Promise<J[]> {
  need(context, 'admin');
  const lacking = jobs.filter(({ fingerprint }) => fingerprint === undefined);
  if (lacking.length === 0) return jobs;
  const found = await findFingerprints(context.db, { ids: `{${lacking.map(({ event }) => event).join()}}` });
  const fingerprints = new Map(found.map(({ id, fingerprint }) => [id, fingerprint.toString('hex')]));
  return jobs.map(job => ({ ...job, fingerprint: job.fingerprint ?? fingerprints.get(job.event) ?? '' }));
}
