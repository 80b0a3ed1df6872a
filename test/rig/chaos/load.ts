import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { paymentEvent } from '#test/helper/events/webhooks.ts';
import { type Answer, ask, json } from '#test/rig/cluster/ask.ts';
import { deliver } from '#test/rig/sender.ts';

/** Clients and a payment provider that keep sending during faults and record what was acknowledged. */
export class Load {
  /** Requests by outcome: `refused` is a 503, `lost` has no complete answer, `wrong` is anything unexpected. */
  readonly counts = { sent: 0, answered: 0, refused: 0, lost: 0, wrong: 0 };
  /** The customers of acknowledged events and the addresses of acknowledged users. */
  readonly customers: string[] = [];
  readonly emails: string[] = [];
  /** The different unexpected answers. */
  readonly wrongAnswers = new Set<string>();
  readonly #url: string;
  readonly #name: string;
  /** Returns the local address of each request. */
  readonly #from: (n: number) => string;
  #stopped = false;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(url: string, name: string, from = (_: number) => '127.0.0.1') {
    this.#url = url;
    this.#name = name;
    this.#from = from;
  }

  start(clients: number): void {
    this.#ended = Promise.all(Array.from({ length: clients }, (_, client) => this.#client(client)));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#ended;
  }

  async #client(client: number): Promise<void> {
    for (let i = 0; !this.#stopped; i++) {
      const id = `${this.#name}-${client}-${i}`;
      if (i % 3 === 0) await this.#send(from => ask(`${this.#url}/api/users?limit=5`, { from }), isPage);
      else if (i % 3 === 1) await this.#pay(id);
      else if (await this.#create(id)) this.emails.push(`${id}@example.com`);
    }
  }

  #create(id: string): Promise<boolean> {
    const user = { name: 'Ada', email: `${id}@example.com` };
    return this.#send(
      from => ask(`${this.#url}/api/users`, { ...json(user), from }),
      text => text.includes(user.email),
    );
  }

  /** Sends an unacknowledged event again and some acknowledged ones twice, as a provider does. */
  async #pay(id: string): Promise<void> {
    const body = JSON.stringify(paymentEvent({ id: `evt_${id}`, customer: `cus_${id}` }));
    const send = (from: string) => deliver(this.#url, body, { from });
    const acknowledged = (await this.#send(send, isOk)) || (await this.#send(send, isOk));
    if (acknowledged) this.customers.push(`cus_${id}`);
    if (acknowledged && Math.random() < 0.2) await this.#send(send, isOk);
  }

  /** Sends a request and returns whether the answer is the expected one. */
  async #send(
    request: (from: string) => Promise<Answer>,
    isExpected: (text: string) => boolean,
  ): Promise<boolean> {
    const from = this.#from(this.counts.sent++);
    const answer = await request(from).catch(() => undefined);
    const status = answer?.status;
    const outcome =
      status === undefined
        ? 'lost'
        : status === 503
          ? 'refused'
          : status === 409 || (status < 300 && isExpected(answer?.text ?? ''))
            ? 'answered'
            : 'wrong';
    this.counts[outcome]++;
    if (outcome === 'wrong') this.wrongAnswers.add(`${status} ${answer?.text.slice(0, 300)}`);
    // The pause leaves time to the servers. Refusals are fast: with a short one, most requests would be refused.
    await sleep(outcome === 'answered' ? 5 : 50);
    return outcome === 'answered' && status !== 409;
  }
}

const isOk = (text: string) => text === 'OK';

function isPage(text: string): boolean {
  try {
    const { data, meta } = JSON.parse(text);
    return data.length === Math.min(meta.total, 5) && data.every((user: { email?: string }) => user.email);
  } catch {
    return false;
  }
}

/** Whether all that was acknowledged is in the database; false while it is away. Nothing may be there twice. */
export async function isAllKept(databaseUrl: string, { customers, emails }: Load): Promise<boolean> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {}, connect_timeout: 2 });
  const counting = sql`
    select
      (select count(*)::int from subscriptions where customer = any(${customers}) and status = 'active') as effects,
      (select count(*)::int from subscriptions where customer = any(${customers}) and updated_at <> created_at) as twice,
      (select count(*)::int from users where email = any(${emails})) as users`;
  const [row] = await counting.catch(() => []);
  await sql.end({ timeout: 1 });
  if (row?.twice > 0) throw new Error(`${row?.twice} events had their effect twice.`);
  return row?.effects === customers.length && row.users === emails.length;
}
