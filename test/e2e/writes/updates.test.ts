import { createHash } from 'node:crypto';
import t from 'tap';
import { type Pair, startPair } from '../../rig/pair.ts';
import type { Service } from '../../rig/process.ts';

t.setTimeout(180_000);

interface Read {
  version: number;
  name: string;
}

/** A successful change: what was read, and what was written. */
interface Change {
  read: Read;
  written: Read;
}

const each = 200;

/** The name after a change: it tells how many there were, and which. */
function next({ name }: Read, by: string): string {
  const digest = createHash('sha256').update(`${name} ${by}`).digest('hex').slice(0, 16);
  return `${Number.parseInt(name, 10) + 1} ${digest}`;
}

async function send({ url }: Service, method: string, path: string, body?: object, headers = {}) {
  const reply = await fetch(`${url}/api${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as any };
}
type Sent = Awaited<ReturnType<typeof send>>;

/** Each way to change only what was read: how it is sent, and what the answer to a late one looks like. */
const ways = {
  async '412 version_mismatch'(server: Service, id: string, { version }: Read, name: string) {
    const sent = await send(server, 'PATCH', `/users/${id}`, { name }, { 'if-match': `"${version}"` });
    return { sent, record: sent.body, current: sent.body.error?.details.version };
  },
  async '409 stale'(server: Service, id: string, { version }: Read, name: string) {
    const sent = await send(server, 'PATCH', `/users/${id}`, { name, version });
    return { sent, record: sent.body, current: sent.body.error?.details.version };
  },
  async '200 CONFLICT'(server: Service, id: string, { version }: Read, name: string) {
    const query = `mutation ($id: ID!, $version: Int, $name: String) {
      updateUser(id: $id, expectedVersion: $version, input: { name: $name }) { version name }
    }`;
    const sent = await send(server, 'POST', '/graphql', { query, variables: { id, version, name } });
    return { sent, record: sent.body.data.updateUser, current: sent.body.errors?.[0].extensions.version };
  },
};

const codeOf = ({ status, body }: Sent) =>
  `${status} ${body.error?.details.code ?? body.errors?.[0].extensions.code ?? 'changed'}`;

/** A client that reads, changes and writes, until `each` of its changes have succeeded. */
async function client(server: Service, id: string, by: string) {
  const changes: Change[] = [];
  const answers: Record<string, number> = {};
  const wrong: unknown[] = [];
  for (let attempt = 0; changes.length < each && attempt < 20 * each; attempt++) {
    const { body: read } = await send(server, 'GET', `/users/${id}`);
    const name = next(read, `${by}${attempt}`);
    const [late, write] = Object.entries(ways)[attempt % 3] ?? [];
    const { sent, record, current } = (await write?.(server, id, read, name)) ?? {};
    const code = sent ? codeOf(sent) : '';
    answers[code] = (answers[code] ?? 0) + 1;
    if (code.endsWith('changed')) changes.push({ read, written: record });
    else if (code !== late || !(current > read.version)) wrong.push({ code, late, current, read });
    if (code.endsWith('changed') && (record.name !== name || sent?.status !== 200)) wrong.push(sent);
  }
  return { changes, answers, wrong };
}

const idOf = async ({ query }: Pair, email: string) =>
  String(
    (
      await query(`insert into users values (gen_random_uuid(), '0', '${email}', now(), now()) returning id`)
    )[0]?.id,
  );

t.test(`two clients change a record ${2 * each} times through two servers: no update is lost`, async t => {
  const pair = await startPair(t);
  const id = await idOf(pair, 'counter@example.com');
  const [first, second] = await Promise.all(
    pair.servers.map((server, i) => client(server, id, 'ab'[i] ?? '')),
  );
  if (!first || !second) throw new Error('There are two clients.');
  t.comment(first.answers, second.answers);

  t.same(
    [...first.wrong, ...second.wrong],
    [],
    'each late write gets the answer of its kind, with the version',
  );
  for (const late of Object.keys(ways))
    t.ok((first.answers[late] ?? 0) + (second.answers[late] ?? 0) > 0, `some are ${late}`);

  const changes = [...first.changes, ...second.changes].sort((a, b) => a.written.version - b.written.version);
  t.equal(changes.length, 2 * each);
  const broken: object[] = [];
  let stored: Read = { version: 1, name: '0' };
  for (const { read, written } of changes) {
    const follows = read.version === stored.version && read.name === stored.name;
    if (!follows || written.version !== stored.version + 1) broken.push({ stored, read, written });
    stored = written;
  }
  t.same(broken, [], 'each change was made to the state that its client had read');
  const { body: final } = await send(pair.servers[0], 'GET', `/users/${id}`);
  t.match(final, stored, 'the state is that of the changes one after the other');
  t.equal(final.version, 1 + changes.length);
  t.equal(Number.parseInt(final.name, 10), changes.length);
  t.same(
    await pair.query(
      `select action, changed, count(*)::int from audit_log where record_id = '${id}' group by 1, 2`,
    ),
    [{ action: 'user.change', changed: ['name'], count: changes.length }],
  );
});
