import { deepStrictEqual as same } from 'node:assert';
import { createHmac, randomBytes } from 'node:crypto';
import { size } from './database.ts';

export const secret = 'whsec_bench';

/** What one request asks for, chosen at random. */
interface Choice {
  /** The number of a user or of a burrow, and its id. */
  number: number;
  id: string;
  page: number;
  /** A text that is in no other request. */
  unique: string;
}
export interface Sent {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: string;
}
export interface Workload {
  name: string;
  title: string;
  /** The highest ratio to the cost of the floor that is accepted. */
  target: number;
  /** No request may be sent twice. */
  isNew?: true;
  request: (choice: Choice) => Sent;
  /** Throws unless the body is right. */
  // biome-ignore lint/suspicious/noExplicitAny: the body of every workload has a different shape
  check: (body: any, choice: Choice) => void;
}

const random = (most: number) => 1 + Math.floor(Math.random() * most);
const pages = size.specimens / 20;
const perBurrow = size.specimens / size.burrows;
/** One specimen in five is rough. */
const fine = size.specimens * 0.8;
const run = randomBytes(4).toString('hex');
let chosen = 0;

export function choose(idOf: (number: number) => string): Choice {
  const number = random(size.users);
  return { number, id: idOf(number), page: random(pages), unique: `${run}${chosen++}` };
}

const get = (path: string): Sent => ({ method: 'GET', path, headers: {} });

function post(path: string, body: string, signature: Record<string, string> = {}): Sent {
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length), ...signature };
  return { method: 'POST', path, headers, body };
}

/** A signed event of one of 5,000 customers, as large as those of Stripe. */
function signed(unique: string): Sent {
  const time = Math.floor(Date.now() / 1000);
  const body =
    `{"id":"evt_${unique}","object":"event","api_version":"2025-03-31","created":${time},"livemode":false,
    "type":"payment_intent.succeeded","pending_webhooks":1,"data":{"object":{"id":"pi_${unique}","currency":"eur",
    "object":"payment_intent","amount":2000,"amount_received":2000,"customer":"cus_${random(5000)}",
    "status":"succeeded","payment_method_types":["card"],"metadata":{"order":"6735","plan":"pro"},
    "description":"Subscription creation","latest_charge":"ch_${unique}"}}}`.replaceAll('\n    ', '');
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  return post('/api/webhooks/stripe', body, { 'stripe-signature': `t=${time},v1=${signature}` });
}

type Query = { page: number; burrow?: string; grade?: string };

/** A page of a list. */
const list = (
  name: string,
  title: string,
  target: number,
  total: number,
  queryOf: (choice: Choice) => Query,
): Workload => ({
  name,
  title,
  target,
  request: choice => {
    const { page, ...filter } = queryOf(choice);
    return get(`/api/specimens?${new URLSearchParams({ page: String(page), limit: '20', ...filter })}`);
  },
  check: ({ data, meta }, choice) =>
    same([data.length, meta.page, meta.limit, meta.total], [20, queryOf(choice).page, 20, total]),
});

const graphql = (query: string, variables?: object) =>
  post('/api/graphql', JSON.stringify({ query, variables }));

export const workloads: Workload[] = [
  {
    name: 'W1',
    title: 'one user by id',
    target: 0.85,
    request: ({ id }) => get(`/api/users/${id}`),
    check: ({ id, name }, choice) => same([String(id), name], [choice.id, `User ${choice.number}`]),
  },
  list('W2', 'specimens, page 1, with total', 0.03, size.specimens, () => ({ page: 1 })),
  list('W2any', 'specimens, any page', 0.05, size.specimens, ({ page }) => ({ page })),
  list('W2deep', 'specimens, the page in the middle', 0.05, size.specimens, () => ({ page: pages / 2 })),
  list('W2filter', 'specimens of one burrow', 1.3, perBurrow, ({ id }) => ({ page: 1, burrow: id })),
  list('W2status', 'specimens of one grade, any page', 0.05, fine, ({ page }) => ({
    page: Math.ceil((page * fine) / size.specimens),
    grade: 'fine',
  })),
  {
    name: 'W3',
    title: 'create a user',
    target: 1.6,
    isNew: true,
    request: ({ unique }) => post('/api/users', `{"name":"Ada","email":"n${unique}@example.com"}`),
    check: ({ email }, { unique }) => same(email, `n${unique}@example.com`),
  },
  {
    name: 'W4',
    title: 'GraphQL, one burrow with 20 specimens',
    target: 2,
    request: ({ id }) => graphql('query($id: ID!) { burrow(id: $id) { label specimens { label } } }', { id }),
    check: ({ data }, { number }) =>
      same([data.burrow.label, data.burrow.specimens.length], [`Burrow ${number}`, perBurrow]),
  },
  {
    name: 'W5',
    title: 'GraphQL, 20 burrows with 20 specimens each',
    target: 1.5,
    request: () => graphql('{ burrows(limit: 20) { id label specimens { label } } }'),
    check: ({ data }) => same([data.burrows.length, data.burrows[19].specimens.length], [20, perBurrow]),
  },
  {
    name: 'W6',
    title: 'signed webhook, stored before the 200',
    target: 1.4,
    isNew: true,
    request: ({ unique }) => signed(unique),
    check: body => same(body, 'OK'),
  },
];
