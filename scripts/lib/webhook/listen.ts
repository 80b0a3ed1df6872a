import { setTimeout as sleep } from 'node:timers/promises';
import type { WebhookEvent, WebhookEventDetail } from '../../../schemas/event.ts';
import { type EventList, filtersOf, lineOf, pathOf, type Session } from './session.ts';

/** Milliseconds between two requests. */
const pause = 1000;
/** Milliseconds by which an event can be stored after one with a later `createdAt`. */
const overlap = 10_000;

const isOpen = ({ status }: WebhookEvent) => ['received', 'processing', 'failed'].includes(status);

/** Prints each event when it comes, and again when its status changes, until the command is interrupted. */
export async function listen(session: Session): Promise<void> {
  const { client } = session;
  const { data } = await client.call<EventList>('GET', '/api/webhook-events?limit=100');
  let newest = data[0]?.createdAt ?? new Date(0).toISOString();
  const seen = new Map<string, WebhookEvent>(data.map(event => [event.id, event]));
  const print = (event: WebhookEvent) => {
    if (seen.get(event.id)?.updatedAt !== event.updatedAt) console.log(lineOf(event));
    seen.set(event.id, event);
    if (event.createdAt > newest) newest = event.createdAt;
  };
  console.log('Waiting for events. End with Ctrl+C.');
  for (;;) {
    const since = new Date(Date.parse(newest) - overlap).toISOString();
    for (const { id } of [...seen.values()].filter(isOpen))
      print(await client.call<WebhookEventDetail>('GET', pathOf(id)));
    for await (const event of eventsSince(session, since)) if (!seen.has(event.id)) print(event);
    for (const [id, event] of seen) if (event.createdAt < since && !isOpen(event)) seen.delete(id);
    await sleep(pause);
  }
}

/** The oldest first. */
async function* eventsSince(session: Session, createdSince: string) {
  let before: string | null = '';
  while (before !== null) {
    const query: URLSearchParams = new URLSearchParams({
      ...filtersOf(session),
      createdSince,
      before,
      limit: '100',
    });
    const { data, meta }: EventList = await session.client.call('GET', `/api/webhook-events?${query}`);
    yield* data.toReversed();
    before = meta.previous;
  }
}
