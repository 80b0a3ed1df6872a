import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import { webhookQueue } from '#drizzle/tables/service/webhookQueue.ts';
import { nameOfChange, type RecordedChange } from '#schemas/service/change.ts';
import type { Outbox } from '#src/access/context.ts';
import { ofEffects } from '#src/config/providers.ts';
import { rowsOfTable } from '#src/database/statements/insertRows.ts';
import { builder, rowsOf } from '#src/database/statements/statement.ts';
import { traceparent } from '#src/telemetry/tracing.ts';
import { fingerprintOf } from '#src/webhooks/envelope.ts';
import { inboxRow } from '#src/webhooks/inbox.ts';
import { placeOfEffect } from '#src/webhooks/queue.ts';
import type { Effects } from './effect.ts';

const stored = builder
  .$with('stored')
  .as(builder.insert(webhookEvents).select(rowsOfTable(webhookEvents)).returning({ id: webhookEvents.id }));
const storeChanges = rowsOf(builder.with(stored).insert(webhookQueue).select(rowsOfTable(webhookQueue)));

/**
 * Keeps the changes that have one of these effects, as events of the provider `effects`, and calls the workers once
 * they are committed. Undefined without effects: a change costs nothing more then.
 */
export function openOutbox(effects: Effects, callWorkers: () => void): Outbox | undefined {
  const names = new Set(Object.keys(effects));
  if (names.size === 0) return undefined;
  return {
    has: name => names.has(name),
    async keep({ db, afterwards }, changes) {
      const kept = [...changes].filter(([, change]) => names.has(nameOfChange(change)));
      if (kept.length === 0) return;
      await storeChanges(db, { $rows: JSON.stringify(kept.map(([key, change]) => rowOf(key, change))) });
      afterwards?.push(callWorkers);
    },
  };
}

/** The columns of the event, and those of its place in the queue. */
const rowOf = (key: string, change: RecordedChange) => ({
  ...inboxRow({
    id: key,
    provider: ofEffects,
    preset: ofEffects,
    fingerprint: fingerprintOf(key),
    eventId: key,
    type: nameOfChange(change),
    customer: change.resource === 'subscription' ? change.id.slice(change.id.indexOf(':') + 1) : null,
    status: 'received',
    reason: null,
    deliveries: 1,
    body: Buffer.from(JSON.stringify(change)),
    traceparent: traceparent() ?? null,
    occurredAt: change.at,
    createdAt: change.at,
    updatedAt: change.at,
  }),
  ...placeOfEffect(change),
  alone: false,
});
