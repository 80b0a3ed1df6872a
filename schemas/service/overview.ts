import { type Static, type TObject, Type } from '@sinclair/typebox';
import {
  integer,
  nullableTime,
  oneOf,
  readOnly,
  ref,
  storedTime,
  strict,
  string,
} from '#schemas/parts/common.ts';
import { Backlog } from './webhookEvent.ts';

const orNull = <T extends TObject>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }] });
const seconds = (description: string) =>
  Type.Unsafe<number | null>({ type: ['number', 'null'], description, examples: [0.4] });
const number = (description: string, example: number) => Type.Number({ description, examples: [example] });

const requests = strict(
  {
    succeeded: integer('Those with a status below 400.', 118),
    refused: integer('Those with another status of 4xx than the next.', 2),
    denied: integer('Those with the status 401 or 403.', 0),
    limited: integer('Those with the status 429.', 0),
    failed: integer('Those with a status of 5xx.', 0),
  },
  {
    description: 'Requests to this process by their answer. Those whose client left before it are left out.',
  },
);

const processing = strict(
  {
    processed: integer('Events and effects that are done.', 3),
    failed: integer('Attempts that failed and will be repeated.', 0),
    dead: integer('Attempts that failed for the last time.', 0),
    halfWithin: seconds('Seconds from arrival to effect for half of them, without replays; null for none.'),
    mostWithin: seconds('Seconds from arrival to effect for 95 of 100, without replays; null for none.'),
  },
  { description: 'What this process did with events; null when workers process them apart from it.' },
);

const changes = strict(
  {
    create: integer('Records that were created.', 4),
    change: integer('Changes of records.', 1),
    delete: integer('Records that were deleted.', 0),
  },
  { description: 'Changes of records by all instances; null when the database was away.' },
);

const connections = strict(
  {
    streams: integer('Open streams of changes, and WebSockets.', 2),
    reading: integer('Connections to the database that read.', 0),
    writing: integer('Connections to the database that write.', 0),
    idle: integer('Connections to the database that wait. An embedded database has none.', 6),
  },
  { description: 'What was open at the end of the minute.' },
);

const Sample = strict(
  {
    at: storedTime('The start of its minute.'),
    requests,
    deliveriesRefused: integer('Deliveries to this process whose signature was refused.', 0),
    received: integer('Genuine deliveries of new events that this process stored; no repeated ones.', 3),
    processing: orNull(processing),
    changes: orNull(changes),
    connections,
  },
  { $id: 'OverviewSample', description: 'What happened in one minute.' },
);
export type Sample = Static<typeof Sample>;

const EndingKey = strict({
  id: readOnly.id,
  name: string('What the key is for.', 'nightly import'),
  expiresAt: storedTime('When it stops working.'),
  lastUsedAt: nullableTime('When it was last used, to the minute; null for never.'),
});
export type EndingKey = Static<typeof EndingKey>;

const events = strict(
  {
    ...Backlog.properties.counts.properties,
    oldestWaitingSeconds: Backlog.properties.oldestWaitingSeconds,
    oldestDeadAt: nullableTime('When the dead event arrived that came first; null if none is dead.'),
  },
  { description: 'The events that are not done now, of all instances.' },
);
export type EventSummary = Static<typeof events>;

/** Minutes. */
export const longestPast = 1440;

export const Overview = strict(
  {
    instance: string('The process that answers, as `<host>:<process id>`.', 'web-1:4711'),
    startedAt: storedTime('When this process started.'),
    worker: oneOf(['inside', 'apart'], 'Whether this process also processes events.'),
    events,
    endingKeys: Type.Array(EndingKey, {
      description: 'At most 10 keys that will stop working within seven days, the next one first.',
    }),
    database: strict(
      {
        kind: oneOf(['embedded', 'postgres'], 'The kind of database.', 'postgres'),
        roundTripMs: number('Milliseconds of a statement that does nothing, measured for this answer.', 0.6),
      },
      { description: 'The database.' },
    ),
    samples: Type.Array(ref(Sample), {
      description: `The full minutes since this process started, at most ${longestPast}, oldest first; then the minute that is running.`,
    }),
  },
  { $id: 'Overview', description: 'How the service is, and what happened in the last day.' },
);
