import { setTimeout as sleep } from 'node:timers/promises';
import type { Static } from '@sinclair/typebox';
import type { Replayed, WebhookEventDetail, WebhookEventList } from '../schemas/event.ts';
import { commandNamed, type Given, runCommand, UsageError } from '../src/command.ts';
import { readProviders } from '../src/config/providers.ts';
import { keptSecrets } from '../src/config/secrets.ts';
import { loadSettings } from '../src/config/settings.ts';
import { OperatorError } from '../src/core/errors.ts';
import { newId } from '../src/core/ids.ts';
import { sign } from '../src/webhooks/signature.ts';
import payment from './lib/payment_intent.succeeded.json' with { type: 'json' };
import { ServiceClient } from './lib/serviceClient.ts';

const usage = `Sends test webhooks, and manages received events. The service must be running.

  npm run webhook -- send <type> [--customer cus_123] [--provider stripe] [--id evt_1]
  npm run webhook -- list [--status dead] [--type …] [--customer …] [--provider …]
  npm run webhook -- show <id>
  npm run webhook -- replay <id>
  npm run webhook -- replay --all [--status dead] [--type …] [--customer …] [--provider …]

  --url  the service; http://HOST:PORT of the settings by default
  --key  an API key with the scope admin; API_KEY of the environment by default`;

const text = { type: 'string' } as const;
const options = {
  status: text,
  type: text,
  customer: text,
  provider: text,
  id: text,
  url: text,
  key: text,
  all: { type: 'boolean' },
} as const;
type Flags = Given<typeof options>;
type EventList = Static<typeof WebhookEventList>;

interface Session {
  values: Flags['values'];
  /** The argument of the subcommand. */
  argument: string;
  settings: ReturnType<typeof loadSettings>;
  client: ServiceClient;
}

function openSession({ values, positionals: [, argument = ''] }: Flags): Session {
  const settings = loadSettings();
  const host = settings.HOST === '0.0.0.0' ? '127.0.0.1' : settings.HOST;
  const base = values.url ?? `http://${host}:${settings.PORT}`;
  const client = new ServiceClient(base, values.key ?? process.env.API_KEY);
  return { values, argument, settings, client };
}

function providerOf({ settings, values: { provider: name = 'stripe' } }: Session) {
  const { providers } = readProviders(settings.WEBHOOK_SECRETS ?? keptSecrets(settings.DATA_DIR));
  const provider = providers.get(name);
  if (provider) return provider;
  throw new OperatorError(
    `No secret is known for ${name}. Start the service first, and set its DATA_DIR or WEBHOOK_SECRETS here too.`,
  );
}

async function send(session: Session) {
  const { values, argument, client } = session;
  const provider = providerOf(session);
  const { id = `evt_${newId(Date.now()).replaceAll('-', '')}`, customer = 'cus_123' } = values;
  const body = Buffer.from(
    JSON.stringify(eventOf(argument || 'payment_intent.succeeded', id, customer), null, 2),
  );
  const headers = { ...sign(provider, body, { now: new Date(), id }), 'content-type': 'application/json' };
  const path = `/api/webhooks/${provider.name}`;
  const answer = await client.request(path, { method: 'POST', headers, body });
  console.log(`${answer.status} ${await answer.text()}   (event ${id}, ${body.length} bytes)`);
  if (!answer.ok) throw new OperatorError('The service did not accept the event.');
  await follow(client, provider.name, customer);
}

/** A payment as the provider sends it; an event of another type has the same object. */
function eventOf(type: string, id: string, customer: string) {
  const created = Math.floor(Date.now() / 1000);
  const object = { ...payment.data.object, customer, created };
  return { ...payment, id, type, created, data: { ...payment.data, object } };
}

/** Waits until the event is processed and prints its effect. */
async function follow(client: ServiceClient, provider: string, customer: string) {
  const query = new URLSearchParams({ provider, customer, limit: '1' });
  for (let tries = 0; tries < 50; tries++) {
    const [event] = (await client.call<EventList>('GET', `/api/webhook-events?${query}`)).data;
    if (event && !['received', 'processing'].includes(event.status)) {
      console.log(`${event.type} is ${event.status}${event.lastError ? `: ${event.lastError}` : ''}`);
      if (event.status !== 'processed') return;
      const path = `/api/subscriptions/${encodeURIComponent(customer)}?provider=${provider}`;
      return console.log(JSON.stringify(await client.call('GET', path), null, 2));
    }
    await sleep(100);
  }
  console.log('The event is stored, but no worker processes it: with WORKER=apart, start `npm run worker`.');
}

/** The filters among the options. */
function filtersOf({ values: { status, type, customer, provider } }: Session): Record<string, string> {
  const filters = Object.entries({ status, type, customer, provider });
  return Object.fromEntries(filters.filter((filter): filter is [string, string] => filter[1] !== undefined));
}

async function list(session: Session) {
  const query = new URLSearchParams({ ...filtersOf(session), limit: '50' });
  const { data, meta } = await session.client.call<EventList>('GET', `/api/webhook-events?${query}`);
  for (const { id, createdAt, status, attempts, type, customer, lastError } of data)
    console.log([id, createdAt, status, attempts, type, customer, lastError ?? ''].join('  '));
  console.log(`${data.length} shown, newest first${meta.next === null ? '' : '; there are more'}`);
}

const pathOf = (id: string) => `/api/webhook-events/${encodeURIComponent(id)}`;

async function show({ client, argument }: Session) {
  if (!argument) throw new UsageError('Name the id of an event');
  console.log(JSON.stringify(await client.call<WebhookEventDetail>('GET', pathOf(argument)), null, 2));
}

async function replay(session: Session) {
  const { values, argument, client } = session;
  if (values.all) return replayAll(session);
  if (!argument) throw new UsageError('Name the id of an event, or pass --all');
  const event = await client.call<WebhookEventDetail>('POST', `${pathOf(argument)}/replay`);
  console.log(`${event.status}, replay ${event.replays}`);
}

async function replayAll(session: Session) {
  const path = '/api/webhook-events/replay';
  const { replayed, remaining } = await session.client.call<Replayed>('POST', path, filtersOf(session));
  console.log(`${replayed} are processed again, ${remaining} are left`);
}

const commands: Record<string, (session: Session) => Promise<void>> = { send, list, show, replay };

await runCommand({
  usage,
  options,
  most: 2,
  run: async given => commandNamed(commands, given.positionals[0])(openSession(given)),
});
