import { integer, pgTable, uuid } from '../orm.ts';
import { webhookEvents } from './webhookEvents.ts';

/** Apart from the events, whose rows are locked while they are processed: a delivery must not wait for that. */
export const webhookRepeats = pgTable('webhook_repeats', {
  event: uuid()
    .primaryKey()
    .references(() => webhookEvents.id, { onDelete: 'cascade' }),
  repeats: integer().notNull(),
});
