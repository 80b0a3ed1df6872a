import { bytes, textByCode } from '../columns.ts';
import { foreignKey, integer, pgTable, primaryKey } from '../orm.ts';
import { webhookEvents } from './webhookEvents.ts';

/** Apart from the events, whose rows are locked while they are processed: a delivery must not wait for that. */
export const webhookRepeats = pgTable(
  'webhook_event_repeats',
  {
    fingerprint: bytes().notNull(),
    provider: textByCode().notNull(),
    repeats: integer().notNull(),
  },
  table => [
    primaryKey({ name: 'webhook_event_repeats_primary_key', columns: [table.fingerprint, table.provider] }),
    foreignKey({
      name: 'webhook_event_repeats_event_fkey',
      columns: [table.fingerprint, table.provider],
      foreignColumns: [webhookEvents.fingerprint, webhookEvents.provider],
    }).onDelete('cascade'),
  ],
);
