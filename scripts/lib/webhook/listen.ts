import { setTimeout as sleep } from 'node:timers/promises';
import type { WebhookEvent } from '#schemas/service/webhookEvent.ts';
import { OperatorError } from '#src/core/errors.ts';
import { printableLines } from '#src/core/text.ts';
import { chosenFilters, type EventList, eventLine, refuseArgument, type Session } from './session.ts';

/** Milliseconds between two requests: 30 a minute leave most of the rate limit to others. */
const pause = 2000;

/** Prints events when they come, and the newest 100 again when they change, until the command is interrupted. */
export async function listen(session: Session): Promise<void> {
  refuseArgument(session);
  let seen = byId((await newestEvents(session)).data);
  session.io.out('Waiting for events. End with Ctrl+C.');
  for (;;) {
    await sleep(pause);
    const events = await eventsUntil(session, seen).catch(error => reportError(error, session));
    if (!events) continue;
    for (const event of events.toReversed())
      if (seen.get(event.id)?.updatedAt !== event.updatedAt) session.io.out(eventLine(event));
    seen = byId(events);
  }
}

const byId = (events: WebhookEvent[]) => new Map(events.map(event => [event.id, event]));

/** Prints an error of the service, which may restart, or refuse more requests for a while. */
function reportError(error: unknown, { io }: Session): undefined {
  if (!(error instanceof OperatorError)) throw error;
  io.err(printableLines(error.message));
}

/** The events of all pages, newest first, until a page ends with an event that was seen before. */
async function eventsUntil(session: Session, seen: Map<string, WebhookEvent>): Promise<WebhookEvent[]> {
  const { data, meta } = await newestEvents(session);
  let { next } = meta;
  while (next !== null && !seen.has(data.at(-1)?.id ?? '')) {
    const page = await newestEvents(session, next);
    data.push(...page.data);
    ({ next } = page.meta);
  }
  return data;
}

function newestEvents(session: Session, after = ''): Promise<EventList> {
  const query = new URLSearchParams({ ...chosenFilters(session), limit: '100', after });
  return session.client.call('GET', `/api/webhook-events?${query}`);
}
