import type { Static, TSchema } from '@sinclair/typebox';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import type { Context } from '#src/access/context.ts';
import { parseJson } from '#src/core/json.ts';
import { compileCheck } from '#src/core/validation.ts';
import { arrayText } from '#src/database/statements/insertRows.ts';
import { statement } from '#src/database/statements/statement.ts';
import type { IncomingEvent } from './handler.ts';
import { hasFingerprint } from './queue.ts';

/** A body may have 2 MiB, so those of a batch must not all be in memory at once. */
const readAtOnce = 20;

const { id, body } = webhookEvents;
export const findBodies = statement({ id, body }, (builder, columns) =>
  builder.select(columns).from(webhookEvents).where(hasFingerprint),
);

/**
 * A function that reads the bodies of events, in their order, as the schema describes them. It throws when one does not
 * fit, and the message becomes the `lastError` of the event.
 */
export function payloadReader<T extends TSchema>(schema: T) {
  const check = compileCheck(schema, 'body');
  return async function* read({ db }: Context, events: IncomingEvent[]) {
    for (let first = 0; first < events.length; first += readAtOnce) {
      const some = events.slice(first, first + readAtOnce);
      const fingerprints = arrayText(some.map(event => event.fingerprint));
      const rows = await findBodies(db, { fingerprints });
      const bodies = new Map(rows.map(({ id, body }) => [id, body]));
      for (const event of some) {
        const payload = parseJson(bodies.get(event.id) as Buffer);
        const [violation] = check(payload) ?? [];
        if (violation)
          throw new Error(`The payload is not as expected: ${violation.path || 'it'} ${violation.message}.`);
        yield { event, payload: payload as Static<T> };
      }
    }
  };
}
