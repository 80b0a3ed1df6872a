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
  const event = file ? eventFromFile(provider, file, wanted) : sampleEvent(provider, wanted);
  const { body, headers, eventId } = event;
  const path = `/api/webhooks/${provider.name}`;
  const answer = await client.request(path, { method: 'POST', headers, body });
  console.log(
    `${answer.status} ${await answer.text()}   (event ${eventId ?? 'without an id'}, ${body.length} bytes)`,
  );
  if (!answer.ok) throw new OperatorError('The service did not accept the event.');
  await follow(session, provider, eventId);
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
async function follow({ client }: Session, provider: Provider, id: string | null) {
  // Without an id, it is the newest, unless others arrive at the same time.
  const query = new URLSearchParams({
    provider: provider.name,
    ...(id === null ? { limit: '1' } : { event: id }),
  });
  for (let tries = 0; tries < 50; tries++) {
    const [event] = (await client.call<EventList>('GET', `/api/webhook-events?${query}`)).data;
    if (event && !['received', 'processing'].includes(event.status)) {
      const why = event.lastError ?? event.reason;
      const again = event.deliveries > 1 ? `, delivered ${event.deliveries} times` : '';
      console.log(`${event.type} is ${event.status}${again}${why ? `: ${why}` : ''}`);
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
