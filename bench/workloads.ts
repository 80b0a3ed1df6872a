import { ok, deepStrictEqual as same } from 'node:assert';
import { createHmac, randomUUID } from 'node:crypto';

export interface Sample {
  users: string[];
  /** The number of a page in the middle of all posts. */
  deepPage: number;
  secret: string;
}
export interface Sent {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
}
export interface Workload {
  name: string;
  title: string;
  /** Makes one request; called for each that is sent. */
  request: (sample: Sample) => Sent;
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the body of every workload has a different shape
  check: (body: any) => void;
}

const any = (list: string[]) => list[Math.floor(Math.random() * list.length)] ?? '';
const json = { 'content-type': 'application/json' };

function query(text: string, variables: object): Sent {
  return {
    method: 'POST',
    path: '/api/graphql',
    headers: json,
    body: JSON.stringify({ query: text, variables }),
  };
}

function signed(secret: string): Sent {
  const id = `evt_${randomUUID()}`;
  const object = {
    id: 'pi_1',
    object: 'payment_intent',
    amount: 2000,
    currency: 'eur',
    customer: `cus_${Math.floor(Math.random() * 1000)}`,
  };
  const body = JSON.stringify({ id, object: 'event', type: 'payment_intent.succeeded', data: { object } });
  const time = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  return {
    method: 'POST',
    path: '/api/webhooks/stripe',
    headers: { ...json, 'stripe-signature': `t=${time},v1=${signature}` },
    body,
  };
}

/** One of a hundred pages from this one on. */
export const pagesFrom = (first: number): Workload => ({
  name: `page ${first}`,
  title: 'posts',
  request: () => ({ method: 'GET', path: `/api/posts?page=${first + Math.floor(Math.random() * 100)}` }),
  status: 200,
  check: body => same(body.data.length, 20),
});

export const workloads: Workload[] = [
  {
    name: 'W1',
    title: 'one user by id',
    request: ({ users }) => ({ method: 'GET', path: `/api/users/${any(users)}` }),
    status: 200,
    check: body => ok(body.id && body.email),
  },
  {
    name: 'W2',
    title: 'posts, page 1, with total',
    request: () => ({ method: 'GET', path: '/api/posts' }),
    status: 200,
    check: body => ok(body.data.length === 20 && body.meta.total > 0),
  },
  {
    name: 'W2deep',
    title: 'posts, a page in the middle',
    request: ({ deepPage }) => ({ method: 'GET', path: `/api/posts?page=${deepPage}` }),
    status: 200,
    check: body => ok(body.data.length === 20),
  },
  {
    name: 'W2filter',
    title: 'posts of one author',
    request: ({ users }) => ({ method: 'GET', path: `/api/posts?author=${any(users)}` }),
    status: 200,
    check: body => same(body.data.length, Math.min(20, body.meta.total)),
  },
  {
    name: 'W3',
    title: 'create a user',
    request: () => ({
      method: 'POST',
      path: '/api/users',
      headers: json,
      body: `{"name":"Ada","email":"${randomUUID()}@example.com"}`,
    }),
    status: 201,
    check: body => ok(body.id),
  },
  {
    name: 'W4',
    title: 'GraphQL, one user with 20 posts',
    request: ({ users }) =>
      query('query ($id: ID!) { user(id: $id) { id name posts(limit: 20) { id title } } }', {
        id: any(users),
      }),
    status: 200,
    check: body => ok(body.data.user.posts.length === 20 && !body.errors),
  },
  {
    name: 'W5',
    title: 'GraphQL, 20 users with 20 posts each',
    request: () => query('{ users(limit: 20) { id name posts(limit: 20) { id title } } }', {}),
    status: 200,
    check: body => ok(body.data.users.length === 20 && body.data.users[19].posts.length > 0 && !body.errors),
  },
  {
    name: 'W6',
    title: 'signed webhook, stored before the 200',
    request: ({ secret }) => signed(secret),
    status: 200,
    check: body => same(body, 'OK'),
  },
];
