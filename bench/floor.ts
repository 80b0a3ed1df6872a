import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import postgres from 'postgres';

/**
 * The floor: one process of node:http, the service's driver, and prepared SQL written by hand. It validates, limits and
 * logs nothing, looks at a GraphQL text only to tell its two queries apart, keeps no totals, and only stores an event.
 */
const sql = postgres(process.env.DATABASE_URL ?? '', {
  max: 4,
  fetch_types: false,
  // The 0 is text, because the driver leaves out a setting that is the number 0.
  connection: {
    search_path: 'floor',
    TimeZone: 'UTC',
    max_parallel_workers_per_gather: '0' as unknown as number,
  },
  // Times stay text, because making a Date of each and a text of the Date would cost more than the row.
  types: { date: { to: 1184, from: [1184], serialize: (text: string) => text, parse: isoOf } },
});
const secret = process.env.BENCH_SECRET ?? '';

const query = (text: string, values: (string | number)[] = []) => sql.unsafe(text, values, { prepare: true });

/** Turns `2026-11-21 09:30:00.5+00` into `2026-11-21T09:30:00.5Z`. */
function isoOf(time: string): string {
  return `${time.slice(0, 10)}T${time.slice(11, -3)}Z`;
}

const specimen = `id, label, grade, is_wet as "isWet", bones, weight, cents, finder, remark, found_at as "foundAt",
  found_on as "foundOn", extra, burrow_id as "burrowId", created_at as "createdAt"`;
const filtered = (column: string) => ({
  list: `select ${specimen} from specimens where ${column} = $3 order by id limit $1 offset $2`,
  count: `select count(*)::int as total from specimens where ${column} = $1`,
});
const lists = {
  all: {
    list: `select ${specimen} from specimens order by id limit $1 offset $2`,
    count: 'select count(*)::int as total from specimens',
  },
  burrow: filtered('burrow_id'),
  grade: filtered('grade'),
};
const burrowWithSpecimens = `select burrows.label, specimens.label as found from burrows
  left join specimens on burrow_id = burrows.id where burrows.id = $1`;
const specimensOfBurrows = 'select burrow_id, label from specimens where burrow_id = any($1::int[])';
const createUser = 'insert into users (name, email) values ($1, $2) returning id, name, email';
const storeEvent = `insert into webhook_events (id, provider, type, payload) values ($1, 'stripe', $2, $3::text::jsonb)
  on conflict do nothing`;

const listPath = /^\/api\/specimens\?page=(\d+)&limit=(\d+)(?:&(burrow|grade)=(\w+))?$/;

async function listSpecimens(url: string): Promise<string> {
  const [, pageText, limitText, filter = 'all', value] = listPath.exec(url) ?? [];
  const [page, limit] = [Number(pageText), Number(limitText)];
  const texts = lists[filter as keyof typeof lists];
  const values = value === undefined ? [] : [value];
  const [data, [count]] = await Promise.all([
    query(texts.list, [limit, (page - 1) * limit, ...values]),
    query(texts.count, values),
  ]);
  const total = count?.total;
  return JSON.stringify({ data, meta: { page, limit, total, totalPages: Math.ceil(total / limit) } });
}

async function oneBurrow(id: number): Promise<string> {
  const rows = await query(burrowWithSpecimens, [id]);
  const burrow = { label: rows[0]?.label, specimens: rows.map(({ found }) => ({ label: found })) };
  return JSON.stringify({ data: { burrow } });
}

async function manyBurrows(): Promise<string> {
  const burrows = await query('select id, label from burrows order by id limit 20');
  for (const burrow of burrows) burrow.specimens = [];
  const byId = new Map(burrows.map(burrow => [burrow.id, burrow]));
  for (const { burrow_id, label } of await query(specimensOfBurrows, [`{${[...byId.keys()]}}`]))
    byId.get(burrow_id)?.specimens.push({ label });
  return JSON.stringify({ data: { burrows } });
}

async function receive(request: IncomingMessage, body: Buffer): Promise<string> {
  const header = String(request.headers['stripe-signature']);
  const [, time = '', signature = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? [];
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
  if (!timingSafeEqual(expected, Buffer.from(signature, 'hex'))) throw new Error('Invalid signature');
  const text = body.toString();
  const { id, type } = JSON.parse(text);
  await query(storeEvent, [id, type, text]);
  return 'OK';
}

async function read(url: string): Promise<string> {
  if (url.startsWith('/api/specimens')) return listSpecimens(url);
  const [user] = await query('select id, name, email from users where id = $1', [Number(url.slice(11))]);
  return JSON.stringify(user);
}

async function write(request: IncomingMessage, body: Buffer): Promise<string> {
  if (request.url === '/api/webhooks/stripe') return receive(request, body);
  const { query: document, variables, name, email } = JSON.parse(body.toString());
  if (document !== undefined)
    return document.includes('burrow(') ? oneBurrow(Number(variables.id)) : manyBurrows();
  return JSON.stringify((await query(createUser, [name, email]))[0]);
}

function send(response: ServerResponse, status: number, text: string): void {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  };
  response.writeHead(status, headers).end(text);
}

const server = createServer((request, response) => {
  const { method, url = '' } = request;
  if (!url.startsWith('/api/')) return send(response, 404, '');
  const fail = (error: unknown) => send(response, 500, String(error));
  if (method === 'GET') return void read(url).then(text => send(response, 200, text), fail);
  let body = Buffer.alloc(0);
  request.on('data', chunk => {
    body = body.length === 0 ? chunk : Buffer.concat([body, chunk]);
  });
  const status = url === '/api/users' ? 201 : 200;
  request.on('end', () => write(request, body).then(text => send(response, status, text), fail));
});
server.listen(Number(process.env.PORT), '127.0.0.1');
