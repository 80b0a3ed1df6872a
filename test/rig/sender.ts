import { setTimeout as sleep } from 'node:timers/promises';
import { paymentEvent, secret, signatureOf } from '#test/helper/events/webhooks.ts';
import { type Answer, ask } from './cluster/ask.ts';

export const secrets = JSON.stringify({ stripe: [secret] });

/** Sends a body to a running service, as the provider does. */
export const deliver = (
  url: string,
  body: string,
  { key = secret, from = '127.0.0.1', headers = {} as Record<string, string> } = {},
) =>
  ask(`${url}/api/webhooks/stripe`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'stripe-signature': signatureOf(body, { key }),
      ...headers,
    },
    body,
    from,
  });

/** Sends one payment and returns the status, or undefined if there is no answer. */
export const pay = (url: string, id: string, customer: string): Promise<number | undefined> =>
  deliver(url, JSON.stringify(paymentEvent({ id, customer }))).then(
    ({ status }) => status,
    () => undefined,
  );

/** Sends payments of different customers, `atOnce` at a time, and returns the acknowledged ones. */
export async function payMany(
  url: () => string,
  {
    from,
    to,
    atOnce = 20,
    each = () => {},
  }: { from: number; to: number; atOnce?: number; each?: (n: number) => void },
): Promise<Set<number>> {
  const acknowledged = new Set<number>();
  let next = from;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < to) {
        const n = next++;
        if ((await pay(url(), `evt_${n}`, `cus_${n}`)) === 200) acknowledged.add(n);
        // Refusals are fast: without a pause, all other payments would be refused during the outage.
        else await sleep(100);
        each(acknowledged.size);
      }
    }),
  );
  return acknowledged;
}

/** Returns the number of records in a list, or -1 if the request fails. */
export async function total(url: string, path: string): Promise<number> {
  const { status, body } = await ask(`${url}${path}`);
  if (status !== 200) return -1;
  // Logs have no total.
  return body.meta.total ?? (await all(url, path)).length;
}

/** Returns every record of a list. */
// biome-ignore lint/suspicious/noExplicitAny: tests read records of every shape
export async function all(url: string, path: string): Promise<any[]> {
  const records = [];
  for (let next: string | undefined = `${path}${path.includes('?') ? '&' : '?'}limit=100`; next; ) {
    const { headers, body }: Answer = await ask(`${url}${next}`);
    records.push(...body.data);
    next = /<([^>]*)>; rel="next"/.exec(`${headers.link}`)?.[1];
  }
  return records;
}
