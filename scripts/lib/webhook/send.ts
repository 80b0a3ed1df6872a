import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '../../../src/command.ts';
import { type Provider, readProviders } from '../../../src/config/providers.ts';
import { keptSecrets } from '../../../src/config/secrets.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import { newId } from '../../../src/core/ids.ts';
import { orUndefined } from '../serviceClient.ts';
import { eventFromFile, sampleEvent } from './sampleEvent.ts';
import type { EventList, Session } from './session.ts';

/** Sends an event as its provider does, and prints its effect. */
export async function send(session: Session): Promise<void> {
  const { values, argument, client } = session;
  const provider = providerOf(session);
  const id = idOf(session, provider);
  const wanted = { ...values, type: argument || 'payment_intent.succeeded', id };
  const { file } = values;
  const { body, headers } = file ? eventFromFile(provider, file, wanted) : sampleEvent(provider, wanted);
  const path = `/api/webhooks/${provider.name}`;
  const answer = await client.request(path, { method: 'POST', headers, body });
  console.log(`${answer.status} ${await answer.text()}   (event ${id}, ${body.length} bytes)`);
  if (!answer.ok) throw new OperatorError('The service did not accept the event.');
  await follow(session, provider, file ? undefined : id);
}

function providerOf({ settings, values: { provider: name = 'stripe' } }: Session): Provider {
  const { providers } = readProviders(settings.WEBHOOK_SECRETS ?? keptSecrets(settings.DATA_DIR));
  const provider = providers.get(name);
  if (provider) return provider;
  throw new OperatorError(
    `No secret is known for ${name}. Start the service first, and set its DATA_DIR or WEBHOOK_SECRETS here too.`,
  );
}

/** With --fail it ends in what lets the handler fail, see `failOnRequest`. */
function idOf({ values }: Session, { id: source, name }: Provider): string {
  const id = values.id ?? `evt_${newId(Date.now()).replaceAll('-', '')}`;
  if (values.fail === undefined) return id;
  if (!/^\d{1,3}$/.test(values.fail)) throw new UsageError('--fail must be a number from 0 to 999');
  if (source === undefined || values.file)
    throw new UsageError(
      `--fail works by the id of the event, which ${values.file ? 'a file brings along' : `those of ${name} lack`}`,
    );
  return `${id}_fail_${values.fail}`;
}

/** Waits until the event is processed and prints its effect. */
async function follow({ client }: Session, provider: Provider, id: string | undefined) {
  const known = provider.id !== undefined && id !== undefined;
  const query = new URLSearchParams({ provider: provider.name, ...(known ? { event: id } : { limit: '1' }) });
  for (let tries = 0; tries < 50; tries++) {
    const [event] = (await client.call<EventList>('GET', `/api/webhook-events?${query}`)).data;
    if (event && !['received', 'processing'].includes(event.status)) {
      const why = event.lastError ?? event.reason;
      console.log(`${event.type} is ${event.status}${why ? `: ${why}` : ''}`);
      if (event.status !== 'processed' || event.customer === null) return;
      const path = `/api/subscriptions/${encodeURIComponent(event.customer)}?provider=${provider.name}`;
      const subscription = await client.call<object>('GET', path).catch(orUndefined);
      if (subscription) console.log(JSON.stringify(subscription, null, 2));
      return;
    }
    await sleep(100);
  }
  console.log('The event is stored, but no worker processes it: with WORKER=apart, start `npm run worker`.');
}
