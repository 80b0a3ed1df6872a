import type { Test } from 'tap';
import { stripe } from '#src/domain/handlers/stripe.ts';
import { user } from '#src/domain/users.ts';
import type { Metrics } from '#src/telemetry/metrics.ts';
import { buildReceiver, paymentEvent } from '#test/helper/events/webhooks.ts';
import { until } from '#test/rig/process.ts';
import { makeTables } from '#test/world/tables.ts';
import { composePictured, invoice } from './pictured.ts';

/** The end of the hour that the pictures show: the time in the examples of the README. */
export const historyEnd = Date.UTC(2026, 10, 21, 12, 17, 5);
const minutes = 60;

/** A clock that goes on from the time to which it was set last. */
function openClock() {
  let ahead = 0;
  const set = (time: number) => {
    ahead = time - performance.now();
  };
  return { set, now: () => new Date(ahead + performance.now()) };
}
type Clock = ReturnType<typeof openClock>;

/** Starts a service of users and invoices. What it calls for a dispute does not answer. */
async function startService(t: Test, { now }: Clock) {
  const handle = async () => {
    throw new Error('the ledger does not answer');
  };
  const service = await buildReceiver(t, {
    domain: composePictured(),
    handlers: new Map([['stripe', new Map([...stripe, ['charge.dispute.created', { effect: '', handle }]])]]),
    settings: { AUTH_MODE: 'open', WEBHOOK_RETRIES: 1 },
    retryDelay: 0.05,
    now,
  });
  await makeTables(service.database.writes, [invoice]);
  let delivered = 0;
  const deliver = async (id: string, customer: string, type?: string) => {
    const seconds = Math.floor(now().getTime() / 1000);
    const event = { ...paymentEvent({ id, customer }), ...(type && { type }), created: seconds };
    await service.deliver(event, 200, {}, seconds);
    delivered++;
    // Does not ask the service: its requests are counted.
    await until('the event is done', async () => (await countDone(service.metrics)) === delivered);
  };
  const write = async (method: 'POST' | 'PATCH', path: string, body: object) =>
    (await service.call(method, path, method === 'POST' ? 201 : 200, { body })).body;
  return { ...service, deliver, write };
}

async function countDone({ eventsProcessed, attemptsFailed }: Metrics): Promise<number> {
  const [processed, failed] = await Promise.all([eventsProcessed.get(), attemptsFailed.get()]);
  const dead = failed.values.filter(({ labels }) => labels.outcome === 'dead');
  return [...processed.values, ...dead].reduce((sum, { value }) => sum + value, 0);
}
type Service = Awaited<ReturnType<typeof startService>>;

/** Starts a service that has worked for an hour: with requests, records, and events, two of which are dead. */
export async function startWithHistory(t: Test) {
  const clock = openClock();
  const at = (minute: number) => clock.set(historyEnd - (minutes - minute) * 60_000);
  at(-1);
  const service = await startService(t, clock);
  const begin = async (minute: number) => {
    at(minute);
    // Ends the minute before in the overview.
    await service.app.inject('/api/overview');
  };
  const people: { id: string }[] = [];
  for (const name of names) {
    const email = `${name.split(' ')[0]?.toLowerCase()}@example.com`;
    people.push(await service.make(user, { name, email }));
  }
  const invoices: { id: string }[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    await begin(minute);
    await read(service, minute);
    await bill(service, minute, people, invoices);
    for (let i = 0; i <= (minute * 5) % 3; i++) await service.deliver(`evt_${minute}_${i}`, `cus_${i}`);
    if (disputed.includes(minute))
      await service.deliver(`evt_dispute_${minute}`, 'cus_grace', 'charge.dispute.created');
  }
  await begin(minutes);
  await begin(minutes);
  const dead = await service.eventually('status=dead', 'dead');
  return { ...service, now: clock.now, ids: { user: String(people[1]?.id), event: String(dead.id) } };
}
const names = 'Ada Lovelace,Grace Hopper,Alan Turing,Barbara Liskov,Edsger Dijkstra,Frances Allen'.split(',');
const disputed = [41, 52];

/** Reads in two waves, so that the plots look like those of a service that people use, and is refused at times. */
async function read({ app }: Service, minute: number): Promise<void> {
  const number = Math.round(12 + 6 * Math.sin(minute / 5) + 3 * Math.sin(minute / 1.7));
  for (let i = 0; i < number; i++) await app.inject(readPaths[(minute + i) % readPaths.length] ?? '');
  if (minute % 7 === 3) await app.inject('/api/users?limit=1000');
  if (minute % 11 === 6) await app.inject('/api/invoices/none');
}
const readPaths = ['/api/users', '/api/invoices?status=sent', '/api/subscriptions', '/api/invoices'];

/** Makes an invoice every third minute, and sends or pays those before. */
async function bill(
  { write }: Service,
  minute: number,
  people: { id: string }[],
  invoices: { id: string }[],
) {
  if (minute === 31) await write('PATCH', `/api/users/${people[1]?.id}`, { name: 'Grace Brewster Hopper' });
  if (minute % 3 === 0) {
    const number = `INV-${2041 + invoices.length}`;
    const payer = people[invoices.length % 4 === 1 ? 1 : invoices.length % people.length];
    const amount = 4900 + ((minute * 7919) % 300) * 100;
    invoices.push(
      await write('POST', '/api/invoices', { number, amount, dueOn: '2026-12-05', userId: payer?.id }),
    );
  }
  const status = minute % 8 === 2 ? 'sent' : 'paid';
  if (minute % 4 === 2)
    for (const { id } of invoices.slice(-3, -1)) await write('PATCH', `/api/invoices/${id}`, { status });
}
