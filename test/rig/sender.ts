import { setTimeout as sleep } from 'node:timers/promises';
import { paymentEvent, secret, signatureOf } from '../helper/webhooks.ts';

export const secrets = JSON.stringify({ stripe: [secret] });

/** Sends one payment to a running service and returns the status, or undefined without an answer. */
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

/** The number of records in a list, or -1 if the request fails. */
export async function total(url: string, path: string): Promise<number> {
  const answer = await fetch(`${url}${path}`);
  if (!answer.ok) return -1;
  const { meta } = (await answer.json()) as { meta: { total?: number } };
  // Logs have no total.
  return meta.total ?? (await all(url, path)).length;
}

/** Every record of a list. */
// biome-ignore lint/suspicious/noExplicitAny: tests read records of every shape
export async function all(url: string, path: string): Promise<any[]> {
  const records = [];
  for (let next: string | undefined = `${path}${path.includes('?') ? '&' : '?'}limit=100`; next; ) {
    const answer: Response = await fetch(`${url}${next}`);
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const { data } = (await answer.json()) as any;
    records.push(...data);
    next = /<([^>]*)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  return records;
}
