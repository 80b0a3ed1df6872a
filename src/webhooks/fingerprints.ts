import { sql } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import { arrayText } from '../database/statements/arrayText.ts';

/**
 * A condition for the placeholder `fingerprints`. A distributed database finds the nodes of events by it; a statement without it
 * would ask all nodes.
 */
export const hasFingerprint = sql`${webhookEvents.fingerprint} = any(${sql.placeholder('fingerprints')}::bytea[])`;

/** The value of that placeholder. Texts are hex. */
export const fingerprintsOf = (events: { fingerprint: Buffer | string }[]) =>
  arrayText(
    events.map(
      ({ fingerprint }) =>
        `\\x${typeof fingerprint === 'string' ? fingerprint : fingerprint.toString('hex')}`,
    ),
  );
