import type { Dismissed, Replayed, WebhookEventDetail } from '#schemas/service/webhookEvent.ts';
import { commandNamed, mainOf, UsageError } from '#src/command.ts';
import { parseJson } from '#src/core/json.ts';
import { printable, printableJson } from '#src/core/text.ts';
import { listen } from './lib/webhook/listen.ts';
import { send } from './lib/webhook/send.ts';
import {
  chosenFilters,
  type EventList,
  eventLine,
  openSession,
  options,
  pathOfEvent,
  refuseArgument,
  type Session,
} from './lib/webhook/session.ts';

const usage = `Sends test webhooks, and manages received events. The service must be running.

  npm run webhook -- send <type> [--customer cus_123] [--provider stripe] [--id evt_1] [--status past_due]
  npm run webhook -- send --file body.json [--provider stripe]
  npm run webhook -- send <type> --fail 2
  npm run webhook -- listen [--type …] [--customer …] [--provider …]
  npm run webhook -- list [--status dead] [--type …] [--customer …] [--provider …]
  npm run webhook -- show <id>
  npm run webhook -- replay <id>
  npm run webhook -- replay --all [--dry-run] [--status dead] [--type …] [--customer …] [--provider …]
  npm run webhook -- dismiss <id>
  npm run webhook -- dismiss --all [--dry-run] [--status dead] [--type …] [--customer …] [--provider …]

  <id>      the event's id here, or the one of the provider
  --status  of send: the status of the subscription in the body, in the provider's words
  --file    sends the bytes of this file; id and type can be given too if the provider has them in headers
  --fail    the handler fails this often, then succeeds; only where the service was started with NODE_ENV=development or test
  --type, --customer, --provider
            only events of these; of send, what the event says
  --dry-run only counts the events that match
  --url     the service; http://HOST:PORT of the settings by default
  --key     an API key with the scope admin; API_KEY of the environment by default

Example: npm run -s webhook -- send payment_intent.succeeded --customer cus_123`;

async function list(session: Session) {
  refuseArgument(session);
  const query = new URLSearchParams({ ...chosenFilters(session), limit: '50' });
  const { data, meta } = await session.client.call<EventList>('GET', `/api/webhook-events?${query}`);
  for (const event of data) session.io.out(eventLine(event));
  session.io.out(`${data.length} shown, newest first${meta.next === null ? '' : '; there are more'}`);
}

async function show(session: Session) {
  const event = await session.client.call<WebhookEventDetail>('GET', await pathOfEvent(session));
  const body = parseJson(Buffer.from(event.body)) ?? event.body;
  session.io.out(printableJson(JSON.stringify({ ...event, body }, null, 2)));
}

/** Acts on one event, or on all that match. */
const actOn = (action: 'replay' | 'dismiss') => async (session: Session) => {
  if (session.values.all) return actOnAll(session, action);
  if (!session.argument) throw new UsageError('Name the id of an event, or pass --all');
  // A --dry-run that is ignored would act.
  const unfit = (['dry-run', 'status', 'type', 'customer'] as const).find(name => session.values[name]);
  if (unfit) throw new UsageError(`--${unfit} works only with --all`);
  const path = `${await pathOfEvent(session)}/${action}`;
  const event = await session.client.call<WebhookEventDetail>('POST', path);
  session.io.out(printable(event.status + (action === 'replay' ? `, replay ${event.replays}` : '')));
};

async function actOnAll(session: Session, action: string) {
  refuseArgument(session);
  const { 'dry-run': dryRun = false } = session.values;
  const body = { ...chosenFilters(session), dryRun };
  const result = await session.client.call<Partial<Replayed & Dismissed>>(
    'POST',
    `/api/webhook-events/${action}`,
    body,
  );
  const { replayed, dismissed, remaining } = result;
  const done = replayed === undefined ? `${dismissed} are dismissed` : `${replayed} are processed again`;
  const { status = 'failed or dead' } = session.values;
  session.io.out(
    printable(dryRun ? `${remaining} events match: ${status}` : `${done}, ${remaining} are left`),
  );
}

const commands: Record<string, (session: Session) => Promise<void>> = {
  send,
  listen,
  list,
  show,
  replay: actOn('replay'),
  dismiss: actOn('dismiss'),
};

export const main = await mainOf(import.meta, {
  usage,
  options,
  most: 2,
  run: async (args, io) => commandNamed(commands, args.positionals[0])(openSession(args, io)),
});
