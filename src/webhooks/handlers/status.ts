import { type TSchema, Type } from '@sinclair/typebox';
import { oneOf } from '../../../schemas/common.ts';
import type { SubscriptionStatus } from '../../../schemas/subscription.ts';
import type { StatusEvent } from '../../services/subscriptions/applyEvents.ts';
import { member } from '../envelope.ts';
import type { Handler } from './handler.ts';
import { payloadReader } from './payloads.ts';

/** The event means this status, whatever its body says. */
export const becomes = (status: SubscriptionStatus): Handler => ({
  effect: `The customer's subscription becomes \`${status}\`.`,
  needsCustomer: true,
  handle: async (_, events) => ({ statuses: events.map(event => ({ event, status })) }),
});

/** The event has the whole subscription: its status is at this path, in these words of the provider. */
export function becomesAsSaid(path: string, words: Record<string, SubscriptionStatus>): Handler {
  const names = path.split('.');
  const word: TSchema = oneOf(Object.keys(words), 'The status of the subscription.');
  const readPayloads = payloadReader(
    names.reduceRight((inner, name) => Type.Object({ [name]: inner }), word),
  );
  return {
    effect: `The customer's subscription becomes what \`${path}\` says.`,
    needsCustomer: true,
    status: { path, words: Object.keys(words) },
    handle: async (context, events) => {
      const statuses: StatusEvent[] = [];
      for await (const { event, payload } of readPayloads(context, events))
        statuses.push({ event, status: words[String(names.reduce(member, payload))] as SubscriptionStatus });
      return { statuses };
    },
  };
}
