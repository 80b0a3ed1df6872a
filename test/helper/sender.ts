import { setTimeout as sleep } from 'node:timers/promises';
import { paymentEvent, secret, signatureOf } from './webhooks.ts';

export const secrets = JSON.stringify({ stripe: [secret] });

/** Sends one payment to a running service, and returns the status; undefined when there was no answer. */
export async function pay(url: string, id: string, customer: string): Promise<number | undefined> {
  const body = JSON.stringify(paymentEvent({ id, customer }));
  const headers = { 'content-type': 'application/json', 'stripe-signature': signatureOf(body) };
  try {
    const answer = await fetch(`${url}/api/webhooks/stripe`, { method: 'POST', headers, body });
    await answer.text();
    return answer.status;
  } catch {
    return undefined;
  }
}

/** Sends many payments, each of a customer of its own, so many at a time; returns what was acknowledged. */
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
        // Refusals are fast: without a pause all the rest would be refused before the outage is over.
        else await sleep(100);
        each(acknowledged.size);
      }
    }),
  );
  return acknowledged;
}

export async function total(url: string, path: string): Promise<number> {
  const answer = await fetch(`${url}${path}`);
  return answer.ok ? ((await answer.json()) as { meta: { total: number } }).meta.total : -1;
}

/** Every record of a list. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into records of every shape
export async function all(url: string, path: string): Promise<any[]> {
  const records = [];
  for (let page = 1; ; page++) {
    const answer = await fetch(`${url}${path}?limit=100&page=${page}`);
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const { data } = (await answer.json()) as any;
    if (data.length === 0) return records;
    records.push(...data);
  }
}
