import type { Static } from '@sinclair/typebox';
import type { WebhookEvent, WebhookEventList } from '#schemas/service/webhookEvent.ts';
import { serviceAt } from '#scripts/lib/serviceClient.ts';
import { type Arguments, type Io, UsageError } from '#src/command.ts';
import { OperatorError } from '#src/core/errors.ts';
import { isId } from '#src/core/ids.ts';
import { printable } from '#src/core/text.ts';

const text = { type: 'string' } as const;
export const options = {
  status: text,
  type: text,
  customer: text,
  provider: text,
  id: text,
  file: text,
  fail: text,
  url: text,
  key: text,
  all: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
} as const;
export type Flags = Arguments<typeof options>;
export type EventList = Static<typeof WebhookEventList>;

/** What every subcommand gets, with its own argument. */
export type Session = ReturnType<typeof openSession>;

/** Where this machine reaches a service that listens on all addresses. */
const fromHere: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

export function openSession({ values, positionals: [, argument = ''] }: Flags, io: Io) {
  const settings = io.settings();
  const host = fromHere[settings.HOST] ?? settings.HOST;
  const base = values.url ?? `http://${host.includes(':') ? `[${host}]` : host}:${settings.PORT}`;
  if (!URL.canParse(base)) throw new UsageError(`--url is not a URL: ${base}`);
  const client = serviceAt(base, values.key ?? io.env.API_KEY);
  return { values, argument, settings, client, io };
}

/** Refuses an argument: ignoring it could act on all events when the caller named one. */
export function refuseArgument({ argument }: Session): void {
  if (argument) throw new UsageError(`Unexpected argument '${argument}'`);
}

/** The filters among the options. */
export function chosenFilters({
  values: { status, type, customer, provider },
}: Session): Record<string, string> {
  const filters = Object.entries({ status, type, customer, provider });
  return Object.fromEntries(filters.filter((filter): filter is [string, string] => filter[1] !== undefined));
}

/** The path of the event that the argument names, by our id or by the provider's. */
export async function pathOfEvent(session: Session): Promise<string> {
  const { client, argument, values } = session;
  if (!argument) throw new UsageError('Name the id of an event');
  const query = new URLSearchParams({
    event: argument,
    ...(values.provider && { provider: values.provider }),
  });
  const { data } = await client.call<EventList>('GET', `/api/webhook-events?${query}`);
  const [event, ...others] = data;
  // A provider's id may look like one of ours, so the argument was first tried as a provider's.
  if (!event && isId(argument)) return eventPath(argument);
  if (!event) throw new OperatorError(`No event has the id ${argument}.`);
  if (others.length === 0) return eventPath(event.id);
  const providers = data.map(({ provider }) => provider).join(', ');
  throw new OperatorError(`Events of several providers have this id: add --provider, one of ${providers}.`);
}

const eventPath = (id: string) => `/api/webhook-events/${encodeURIComponent(id)}`;

/** An event as one line. */
export const eventLine = (event: WebhookEvent): string =>
  printable(
    [
      ...[event.id, event.createdAt, event.status, event.attempts, event.provider, event.eventId, event.type],
      ...[event.customer, event.lastError ?? event.reason ?? ''],
    ].join('  '),
  );
