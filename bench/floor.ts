import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import postgres from 'postgres';
import { newId } from './ids.ts';

/**
 * The floor: only node:http and prepared, hand-written SQL, without validation, error envelope, limits, logs or
 * GraphQL parsing. The cost of the service is reported as a ratio to this.
 */
const sql = postgres(process.env.DATABASE_URL ?? '', { max: 4, onnotice: () => {} });
const secret = process.env.BENCH_SECRET ?? '';
type Handler = (url: URL, body: Buffer) => Promise<unknown>;

const userJson = (row: postgres.Row) => ({
  id: row.id,
  name: row.name,
  email: row.email,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
const postJson = (row: postgres.Row) => ({
  id: row.id,
  title: row.title,
  status: row.status,
  authorId: row.author_id,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
const pageOf = (url: URL) => {
  const page = Number(url.searchParams.get('page') ?? 1);
  const limit = Number(url.searchParams.get('limit') ?? 20);
  return { page, limit, skip: (page - 1) * limit };
};
const envelope = (data: unknown[], total: number, page: number, limit: number) => ({
  data,
  meta: { page, limit, total, totalPages: Math.ceil(total / limit) },
});

const user: Handler = async url => {
  const [row] = await sql`select * from users where id = ${url.pathname.slice(11)}`;
  return row && userJson(row);
};

const posts: Handler = async url => {
  const { page, limit, skip } = pageOf(url);
  const author = url.searchParams.get('author');
  const [[count], rows] = author
    ? await Promise.all([
        sql`select count(*)::int as total from posts where author_id = ${author}`,
        sql`select * from posts where author_id = ${author} order by id limit ${limit} offset ${skip}`,
      ])
    : await Promise.all([
        sql`select count(*)::int as total from posts`,
        sql`select * from posts order by id limit ${limit} offset ${skip}`,
      ]);
  return envelope(rows.map(postJson), count?.total, page, limit);
};

const create: Handler = async (_url, body) => {
  const { name, email } = JSON.parse(body.toString());
  const now = new Date();
  const [row] = await sql`
    insert into users (id, name, email, created_at, updated_at) values (${newId()}, ${name}, ${email}, ${now}, ${now}) returning *`;
  return row && userJson(row);
};

/** Answers the two GraphQL queries of the benchmark as hand-written endpoints would. */
const graphql: Handler = async (_url, body) => {
  const { variables } = JSON.parse(body.toString());
  const people = variables.id
    ? await sql`select id, name from users where id = ${variables.id}`
    : await sql`select id, name from users order by id limit 20`;
  const texts = await sql`
    select p.id, p.title, p.author_id from unnest(${people.map(person => person.id)}::uuid[]) as author (id)
    cross join lateral (select * from posts where author_id = author.id order by id limit 20) p`;
  const byAuthor = Map.groupBy(texts, text => text.author_id);
  const found = people.map(({ id, name }) => ({
    id,
    name,
    posts: (byAuthor.get(id) ?? []).map(post => ({ id: post.id, title: post.title })),
  }));
  return { data: variables.id ? { user: found[0] } : { users: found } };
};

async function webhook(request: IncomingMessage, body: Buffer): Promise<string> {
  const [, time = '', given = ''] =
    /^t=(\d+),v1=([0-9a-f]+)/.exec(String(request.headers['stripe-signature'])) ?? [];
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
  if (!timingSafeEqual(expected, Buffer.from(given, 'hex'))) throw new Error('Invalid signature');
  const { id } = JSON.parse(body.toString());
  await sql`insert into bench_events (id, body) values (${id}, ${body}) on conflict do nothing`;
  return 'OK';
}

async function answer(request: IncomingMessage, body: Buffer): Promise<[number, string]> {
  const url = new URL(request.url ?? '/', 'http://floor');
  if (url.pathname.startsWith('/api/webhooks/')) return [200, await webhook(request, body)];
  const handler =
    url.pathname === '/api/graphql'
      ? graphql
      : url.pathname === '/api/posts'
        ? posts
        : request.method === 'POST'
          ? create
          : user;
  return [handler === create ? 201 : 200, JSON.stringify(await handler(url, body))];
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', chunk => chunks.push(chunk));
  request.on('end', () => {
    answer(request, Buffer.concat(chunks)).then(
      ([status, text]) =>
        response
          .writeHead(status, {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(text),
          })
          .end(text),
      error => response.writeHead(500).end(String(error)),
    );
  });
}

await sql`create table if not exists bench_events (id text primary key, body bytea not null)`;
const server = createServer(serve).listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => {
  server.close(() => void sql.end());
  server.closeAllConnections();
});
