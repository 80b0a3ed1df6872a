import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { commandNamed, type Given, loadSettings, runCommand, UsageError } from '../src/command.ts';
import { readProviders } from '../src/config/providers.ts';
import { keptSecrets } from '../src/config/secrets.ts';
import { newId } from '../src/core/ids.ts';
import { OperatorError } from '../src/core/operatorErrors.ts';
import type { Headers } from '../src/webhooks/schemes.ts';
import { sign } from '../src/webhooks/signature.ts';

const usage = `Tries webhooks, and looks after them. The service must be running.

  npm run webhook -- send <type> [--customer cus_123] [--provider stripe] [--id evt_1]
  npm run webhook -- list [--status dead] [--type …] [--customer …] [--provider …]
  npm run webhook -- show <id>
  npm run webhook -- replay <id>
  npm run webhook -- replay --all [--status dead] [--type …] [--customer …] [--provider …]

  --url  the service, by default http://HOST:PORT of the settings
  --key  an API key with the scope admin, by default API_KEY of the environment`;

const text = { type: 'string' } as const;
const filters = { status: text, type: text, customer: text, provider: text };
const options = { ...filters, id: text, url: text, key: text, all: { type: 'boolean' } } as const;

/** What a command was told, and a way to call the service. */
function openSession({ values, positionals: [, argument = ''] }: Given<typeof options>) {
  const settings = loadSettings();
  const host = settings.HOST === '0.0.0.0' ? '127.0.0.1' : settings.HOST;
  const base = values.url ?? `http://${host}:${settings.PORT}`;
  const key = values.key ?? process.env.API_KEY;

  const request = (path: string, init: RequestInit) =>
    fetch(`${base}${path}`, init).catch(({ cause, message }: Error) => {
      const { message: reason, code } = (cause ?? { message }) as NodeJS.ErrnoException;
      throw new OperatorError(`${base}: ${reason || code}. Is the service running?`);
    });
  async function call(method: string, path: string, body?: object) {
    const headers = {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(body && { 'content-type': 'application/json' }),
    };
    const answer = await request(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    // biome-ignore lint/suspicious/noExplicitAny: every answer has a shape of its own
    const read = (await answer.json().catch(() => undefined)) as any;
    if (answer.ok && read) return read;
    const { message, details } = read?.error ?? { message: `${base} is not this service.` };
    throw new OperatorError([answer.status, message, JSON.stringify(details)].join(' '));
  }
  return { values, argument, settings, request, call };
}
type Session = ReturnType<typeof openSession>;

async function send(session: Session) {
  const { values, argument, settings, request } = session;
  const name = values.provider ?? 'stripe';
  const { providers } = readProviders(settings.WEBHOOK_SECRETS ?? keptSecrets(settings));
  const provider = providers.get(name);
  if (!provider)
    throw new OperatorError(
      `No secret is known for ${name}. Start the service first; its DATA_DIR or WEBHOOK_SECRETS must be set here too.`,
    );
  const id = values.id ?? `evt_${newId(Date.now()).replaceAll('-', '')}`;
  const customer = values.customer ?? 'cus_123';
  const body = Buffer.from(
    JSON.stringify(eventOf(argument || 'payment_intent.succeeded', id, customer), null, 2),
  );
  const headers = { ...sign(provider, body, { now: new Date(), id }), 'content-type': 'application/json' };
  const answer = await request(`/api/webhooks/${name}`, { method: 'POST', headers: flat(headers), body });
  console.log(`${answer.status} ${await answer.text()}   (event ${id}, ${body.length} bytes)`);
  if (answer.ok) await follow(session, name, customer);
  else process.exitCode = 1;
}

const flat = (headers: Headers) =>
  Object.entries(headers).map(([header, value]): [string, string] => [header, String(value)]);

/** A payment as the provider sends it; of another type, the same object under that name. */
function eventOf(type: string, id: string, customer: string) {
  const file = new URL('payment_intent.succeeded.json', import.meta.url);
  const event = JSON.parse(readFileSync(file, 'utf8'));
  const created = Math.floor(Date.now() / 1000);
  Object.assign(event, { id, type, created });
  Object.assign(event.data.object, { customer, created });
  return event;
}

/** Shows what became of the event. */
async function follow({ call }: Session, provider: string, customer: string) {
  const query = new URLSearchParams({ provider, customer, limit: '1' });
  for (let tries = 0; tries < 50; tries++) {
    const [event] = (await call('GET', `/api/webhook-events?${query}`)).data;
    if (event && !['received', 'processing'].includes(event.status)) {
      console.log(`${event.type} is ${event.status}${event.lastError ? `: ${event.lastError}` : ''}`);
      if (event.status !== 'processed') return;
      const path = `/api/subscriptions/${encodeURIComponent(customer)}?provider=${provider}`;
      return console.log(JSON.stringify(await call('GET', path), null, 2));
    }
    await sleep(100);
  }
  console.log('The event is stored, but nobody works on it: with WORKER=apart, start `npm run worker`.');
}

/** The filters that were given. */
const chosen = ({ values }: Session) =>
  Object.fromEntries(
    Object.keys(filters).flatMap(name => {
      const value = values[name as keyof typeof filters];
      return value === undefined ? [] : [[name, value]];
    }),
  );

async function list(session: Session) {
  const query = new URLSearchParams({ ...chosen(session), limit: '50' });
  const { data, meta } = await session.call('GET', `/api/webhook-events?${query}`);
  for (const { id, createdAt, status, attempts, type, customer, lastError } of data)
    console.log([id, createdAt, status, attempts, type, customer, lastError ?? ''].join('  '));
  console.log(`${data.length} shown, the newest first${meta.next === null ? '' : '; there are more'}`);
}

async function show({ call, argument }: Session) {
  if (!argument) throw new UsageError('Name the id of an event');
  console.log(
    JSON.stringify(await call('GET', `/api/webhook-events/${encodeURIComponent(argument)}`), null, 2),
  );
}

async function replay(session: Session) {
  const { values, argument, call } = session;
  if (values.all) {
    const { replayed, remaining } = await call('POST', '/api/webhook-events/replay', chosen(session));
    return console.log(`${replayed} are processed again, ${remaining} are left`);
  }
  if (!argument) throw new UsageError('Name the id of an event, or say --all');
  const { status, replays } = await call(
    'POST',
    `/api/webhook-events/${encodeURIComponent(argument)}/replay`,
  );
  console.log(`${status}, replay ${replays}`);
}

const commands: Record<string, (session: Session) => Promise<void>> = { send, list, show, replay };

await runCommand({
  usage,
  options,
  most: 2,
  run: async given => commandNamed(commands, given.positionals[0])(openSession(given)),
});
