import { createHmac } from 'node:crypto';
import { Agent, get } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, ask, json } from '#test/rig/cluster/ask.ts';
import { burrowId, plain, popular } from './data.ts';

export const secret = 'whsec_load_0123456789';

/** What the honest clients are told. */
export interface HonestOrders {
  port: number;
  /** The API keys by the names of the clients. */
  keys: Record<string, string>;
  seconds: number;
  /** A name that is different in each run: names of customers are made of it. */
  run: string;
}
export type HonestReport = Awaited<ReturnType<typeof beHonest>>;

/** Milliseconds. Three requests a second are a third of what a key may send; a service that has just begun is slow. */
const [pace, patience, warmUp] = [300, 30_000, 3000];

type Send = (status: number, path: string, sent?: Parameters<typeof ask>[1]) => Promise<Answer | undefined>;
type Turn = (send: Send, n: number, run: Run) => Promise<unknown>;

/** What all clients of one run have seen. */
const openRun = (orders: HonestOrders) => ({
  ...orders,
  asked: 0,
  times: [] as number[],
  failures: {} as Record<string, number>,
  changed: new Set<string>(),
  customers: [] as string[],
  deliveries: { accepted: 0, refused: 0 },
});
type Run = ReturnType<typeof openRun>;

const fail = ({ failures }: Run, what: string) => {
  failures[what] = (failures[what] ?? 0) + 1;
};

const lists = [
  (n: number) => `users?page=${1 + (n % 40)}`,
  (n: number) => `specimens?burrow=${burrowId(1 + (n % plain))}`,
  (n: number) => `specimens?grade=rough&page=${1 + (n % 30)}&limit=50`,
  (n: number) => `specimens?label=${encodeURIComponent(`Specimen number ${1 + n}`)}`,
  (n: number) => `specimens?burrow=${burrowId(5 * (1 + (n % 200)))}&grade=rough`,
  () => 'specimens?after=&limit=100',
  (n: number) => `users?email=user${1 + (n % plain)}@example.com`,
];

const read: Turn = async (send, n) => {
  const list = lists[n % lists.length] as (n: number) => string;
  const answer = await send(200, `/api/${list(n)}`);
  if (answer && !(answer.body.data.length > 0)) throw new Error(`empty: ${list(n)}`);
};

const queries = [
  'query($id: ID!) { burrow(id: $id) { label specimensCount specimens(limit: 5) { label } } }',
  'query($id: ID!) { burrow(id: $id) { id } specimens(page: 3, limit: 10) { label burrow { label } } }',
  'query($id: ID!) { burrow(id: $id) { specimensConnection(first: 10) { nodes { label } pageInfo { endCursor } } } }',
];

const query: Turn = async (send, n) => {
  const body = { query: queries[n % queries.length], variables: { id: burrowId(1 + (n % plain)) } };
  const answer = await send(200, '/api/graphql', json(body));
  if (answer && (answer.body.errors || !answer.body.data.burrow))
    throw new Error(`200 with ${answer.body.errors?.[0].extensions.code ?? answer.text}`);
};

/** Creates a specimen, changes it and reads it. */
const write: Turn = async (send, n, { run, changed }) => {
  const said = (answer: Answer | undefined) =>
    answer && changed.add(`${answer.body.id} ${answer.body.version}`);
  const created = await send(201, '/api/specimens', json({ label: `${run} ${n}`, burrowId: popular }));
  if (!said(created)) return;
  await sleep(pace);
  const path = `/api/specimens/${created?.body.id}`;
  const patched = await send(200, path, { ...json({ label: `${run} ${n} again` }), method: 'PATCH' });
  said(patched);
  await sleep(pace);
  const found = await send(200, path);
  if (patched && found && found.body.version !== 2) throw new Error('an old version');
};

/** Delivers an event, signed as its provider does. */
const pay: Turn = async (send, n, { run, customers, deliveries }) => {
  const customer = `cus_${run}_${n}`;
  const type = 'payment_intent.succeeded';
  const body = JSON.stringify({ id: `evt_${run}_${n}`, type, data: { object: { customer } } });
  const time = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  const headers = { 'content-type': 'application/json', 'stripe-signature': `t=${time},v1=${v1}` };
  const answer = await send(200, '/api/webhooks/stripe', { method: 'POST', headers, body });
  deliveries[answer ? 'accepted' : 'refused']++;
  if (answer) customers.push(customer);
};

/** Twenty clients, one of which follows the changes; each has an address and a key of its own. */
export const honestClients = Object.entries({ read, query, write, pay, follow: undefined }).flatMap(
  ([name, turn]) =>
    Array.from({ length: { read: 7, query: 5, write: 6 }[name] ?? 1 }, (_, i) => ({
      name: `${name} ${i}`,
      turn,
    })),
);

/** Returns the function with which a client sends requests; it returns nothing if the status is another one. */
function senderOf(run: Run, name: string, from: string): Send {
  const agent = new Agent({ keepAlive: true });
  return async (status, path, sent = {}) => {
    const headers = { authorization: `Bearer ${run.keys[name]}`, ...sent.headers };
    const started = performance.now();
    run.asked++;
    const asking = ask(`http://127.0.0.1:${run.port}${path}`, { ...sent, headers, from, agent });
    const answer = await Promise.race([
      asking.catch((error: NodeJS.ErrnoException) => error.code ?? 'lost'),
      sleep(patience, 'no answer'),
    ]);
    run.times.push(performance.now() - started);
    if (typeof answer === 'object' && answer.status === status) return answer;
    fail(run, typeof answer === 'string' ? answer : `${answer.status}`);
    return undefined;
  };
}

async function beHonest(orders: HonestOrders) {
  const run = openRun(orders);
  const stream = await followChanges(run.port, run.keys['follow 0'] ?? '');
  const delay = monitorEventLoopDelay({ resolution: 10 });
  const end = performance.now() + warmUp + run.seconds * 1000;
  setTimeout(() => {
    delay.enable();
    run.times.length = 0;
    process.send?.('ready');
  }, warmUp);
  const live = async ({ turn, name }: (typeof honestClients)[number], i: number) => {
    const send = senderOf(run, name, `127.0.1.${i + 1}`);
    // Spreads the clients, so that they do not ask in step.
    await sleep(Math.random() * pace);
    for (let n = i * 100; turn && performance.now() < end; n++) {
      const next = sleep(pace);
      await turn(send, n, run).catch((error: Error) => fail(run, error.message));
      await next;
    }
  };
  await Promise.all(honestClients.map(live));
  const unseen = () => [...run.changed].filter(change => !stream.seen.has(change)).length;
  for (let waits = 0; waits < 100 && unseen() > 0 && !stream.ended(); waits++) await sleep(100);
  const { asked, times, failures, changed, customers, deliveries } = run;
  const changes = { committed: changed.size, unseen: unseen() };
  return { asked, times, failures, changes, customers, deliveries, ownDelay: delay.max / 1e6 };
}

/** Collects what the stream of changes says from its beginning on. */
function followChanges(port: number, key: string) {
  const seen = new Set<string>();
  let [text, isOver] = ['', false];
  const read = (chunk: string) => {
    const lines = `${text}${chunk}`.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines.filter(line => line.startsWith('data: {'))) {
      const { id, version } = JSON.parse(line.slice(6));
      seen.add(`${id} ${version}`);
    }
  };
  const over = () => {
    isOver = true;
  };
  const headers = { authorization: `Bearer ${key}` };
  const options = { headers, localAddress: '127.0.1.200', agent: false };
  return new Promise<{ seen: Set<string>; ended: () => boolean }>((resolve, reject) => {
    const asking = get(`http://127.0.0.1:${port}/api/changes`, options, reply => {
      reply.setEncoding('utf8').on('data', read).on('error', over).on('close', over);
      reply.once('data', () => resolve({ seen, ended: () => isOver }));
    });
    asking.on('error', reject);
  });
}

if (import.meta.main)
  process.once('message', async (orders: HonestOrders) => {
    process.send?.(await beHonest(orders), () => process.exit());
  });
