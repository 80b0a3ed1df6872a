import { setTimeout as sleep } from 'node:timers/promises';
import { longestEventId } from '#schemas/service/webhookEvent.ts';
import { orUndefined } from '#scripts/lib/serviceClient.ts';
import { UsageError } from '#src/command.ts';
import type { Source } from '#src/config/presets.ts';
import { type Provider, readProviders } from '#src/config/providers.ts';
import { keptSecrets } from '#src/config/secrets.ts';
import { OperatorError } from '#src/core/errors.ts';
import { newId } from '#src/core/ids.ts';
import { printable, printableJson } from '#src/core/text.ts';
import { handlers } from '#src/domain/handlers/index.ts';
import { handlerFor } from '#src/webhooks/handler.ts';
import { eventFromFile, sampleEvent } from './sampleEvent.ts';
import type { EventList, Session } from './session.ts';

/** Sends an event as its provider does, and prints its effect. */
export async function send(session: Session): Promise<void> {
  const { values, argument, client, io } = session;
  const provider = chooseProvider(session);
  const type = argument || 'payment_intent.succeeded';
  checkOptions(session, provider, type);
  const id = newEventId(session);
  const wanted = { ...values, type, id };
  const { file } = values;
  const event = file !== undefined ? eventFromFile(provider, file, wanted) : sampleEvent(provider, wanted);
  const { body, headers, eventId } = event;
  const path = `/api/webhooks/${provider.name}`;
  const answer = await client.request(path, { method: 'POST', headers, body });
  const sent = `event ${eventId ?? 'without an id'}, ${body.length} bytes`;
  io.out(printable(`${answer.status} ${(await answer.text()).trimEnd()}   (${sent})`));
  if (!answer.ok) throw new OperatorError('The service did not accept the event.');
  // An event without an id is found as the newest of its type and customer.
  const filters = eventId === null ? { type: event.type, customer: event.customer } : { event: eventId };
  await awaitEffect(session, { provider: provider.name, ...filters });
}

function chooseProvider({ settings, values: { provider: name = 'stripe' } }: Session): Provider {
  const { providers } = readProviders(settings.WEBHOOK_SECRETS ?? keptSecrets(settings.DATA_DIR));
  const provider = providers.get(name);
  if (provider) return provider;
  throw new OperatorError(
    `No secret is known for ${name}. Start the service first, and set its DATA_DIR or WEBHOOK_SECRETS here too.`,
  );
}

function refuse(isRefused: boolean, problem: string): void {
  if (isRefused) throw new UsageError(problem);
}

/** Refuses options that cannot work, which must not be ignored in silence. */
function checkOptions(session: Session, provider: Provider, type: string): void {
  const { type: option, id = '', fail, file } = session.values;
  refuse(option !== undefined, 'The type is the argument of send');
  refuse(fail !== undefined && !/^\d{1,3}$/.test(fail), '--fail must be a number from 0 to 999');
  const longest = longestEventId - failureSuffix(session).length;
  refuse(id.length > longest, `--id must be at most ${longest} characters long`);
  if (file === undefined) checkSampleOptions(session, provider, type);
  else checkFileOptions(session, provider);
}

function checkSampleOptions({ values }: Session, { preset, id, name }: Provider, type: string): void {
  const { status, fail, customer = '' } = values;
  const handler = handlerFor(handlers, { preset, type, customer });
  const readsStatus = typeof handler !== 'string' && handler.status !== undefined;
  refuse(status !== undefined && !readsStatus, `Events of the type ${type} have no status to set`);
  if (fail === undefined) return;
  refuse(id === undefined, `--fail works by the id of the event, which those of ${name} lack`);
  refuse(typeof handler === 'string', `--fail needs a handler, and events of the type ${type} have none`);
}

/** Refuses options that would change the bytes of the file. What the provider sends in a header can be set. */
function checkFileOptions({ values, argument }: Session, { id, type }: Provider): void {
  const isInHeader = (source: Source = []) => [source].flat().some(path => path.startsWith('header:'));
  const options = {
    '--status': values.status,
    '--customer': values.customer,
    '--fail': values.fail,
    ...(!isInHeader(id) && { '--id': values.id }),
    ...(!isInHeader(type) && { 'A type': argument || undefined }),
  };
  const [option] = Object.entries(options).find(([, value]) => value !== undefined) ?? [];
  refuse(option !== undefined, `${option} does not work with --file, whose bytes are sent as they are`);
}

const newEventId = (session: Session): string =>
  (session.values.id ?? `evt_${newId(Date.now()).replaceAll('-', '')}`) + failureSuffix(session);

/** The end of the id that --fail adds: it makes the handler fail, see `failIfMarked`. */
const failureSuffix = ({ values: { fail } }: Session) => (fail === undefined ? '' : `_fail_${fail}`);

/** Waits until the event is processed and prints its effect. */
async function awaitEffect({ client, io }: Session, filters: Record<string, string | null>) {
  const chosen = Object.entries(filters).filter((filter): filter is [string, string] => filter[1] !== null);
  const query = new URLSearchParams([...chosen, ['limit', '1']]);
  for (let tries = 0; tries < 50; tries++) {
    const [event] = (await client.call<EventList>('GET', `/api/webhook-events?${query}`)).data;
    if (event && event.status !== 'received') {
      const why = event.lastError ?? event.reason;
      const again = event.deliveries > 1 ? `, delivered ${event.deliveries} times` : '';
      io.out(printable(`${event.type} is ${event.status}${again}${why ? `: ${why}` : ''}`));
      if (event.status !== 'processed' || event.customer === null) return;
      const path = `/api/subscriptions/${encodeURIComponent(event.customer)}?provider=${event.provider}`;
      const subscription = await client.call<object>('GET', path).catch(orUndefined);
      if (subscription) io.out(printableJson(JSON.stringify(subscription, null, 2)));
      return;
    }
    await sleep(100);
  }
  io.out('The event is stored, but no worker processes it: with WORKER=apart, start `npm run worker`.');
}
