import t from 'tap';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { startPair } from '#test/rig/pair.ts';
import type { Service } from '#test/rig/process.ts';

interface Read {
  version: number;
  name: string;
}

const each = 150;

const send = async (url: string, method: string, body: object, headers = {}) =>
  (await ask(url, { ...json(body, headers), method })).body;

/** The ways to refuse a change of what has changed since it was read; each returns the answer to a late change. */
const ways = [
  async ({ url }: Service, id: string, { version }: Read, name: string) => {
    const headers = { 'if-match': `"${version}"` };
    const { error } = await send(`${url}/api/users/${id}`, 'PATCH', { name }, headers);
    return error && `${error.status} ${error.details.code}`;
  },
  async ({ url }: Service, id: string, { version }: Read, name: string) => {
    const { error } = await send(`${url}/api/users/${id}`, 'PATCH', { name, version });
    return error && `${error.status} ${error.details.code}`;
  },
  async ({ url }: Service, id: string, { version }: Read, name: string) => {
    const query = `mutation { updateUser(id: "${id}", expectedVersion: ${version}, input: { name: "${name}" }) { id } }`;
    const { errors } = await send(`${url}/api/graphql`, 'POST', { query });
    return errors?.[0].extensions.code;
  },
];

/** Counts up in the name of a user until `each` changes have succeeded; returns the answers to late changes. */
async function count(server: Service, id: string): Promise<string[]> {
  const late: string[] = [];
  for (let done = 0, attempt = 0; done < each && attempt < 20 * each; attempt++) {
    const read: Read = (await ask(`${server.url}/api/users/${id}`)).body;
    const refusal = await ways[attempt % 3]?.(server, id, read, `${Number(read.name) + 1}`);
    if (refusal) late.push(refusal);
    else done++;
  }
  return late;
}

t.test(`two clients change a record ${2 * each} times through two servers: no update is lost`, async t => {
  const { servers, userId, query } = await startPair(t);
  await query(`update users set name = '0'`);
  const late = (await Promise.all(servers.map(server => count(server, userId)))).flat();
  t.comment(`${late.length} came too late`);
  t.same([...new Set(late)].toSorted(), ['409 stale', '412 version_mismatch', 'CONFLICT']);
  const { body } = await ask(`${servers[0].url}/api/users/${userId}`);
  t.match(body, { name: `${2 * each}`, version: 1 + 2 * each });
  const entries = `select count(*)::int from audit_log where action = 'user.change' and record_id = '${userId}'`;
  t.same(await query(entries), [{ count: 2 * each }]);
});
