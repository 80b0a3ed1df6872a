import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { Need } from '#src/access/need.ts';
import { backend, hold } from '#test/helper/database.ts';
import {
  buildOwned,
  cellsOf,
  distinctResources,
  expected,
  nameOf,
  ownedResources,
} from '#test/helper/resources/owned.ts';
import { makeRecord, newBody, newChange } from '#test/helper/resources/records.ts';
import { tending } from '#test/world/tendings.ts';

const { app, send, call, newToken, prepare, database } = await buildOwned(t);
const onPostgres = backend === 'postgres' ? {} : { skip: 'the embedded database has one connection' };
type Headers = Record<string, string>;
const ask = async (headers: Headers, method: string, path: string, body?: object) => {
  const { answer, lie } = await send(method, path, { headers, ...(body && { body }) });
  t.notOk(lie, `${method} ${path}: ${answer.text.slice(0, 300)}`);
  return answer;
};

for (const resource of distinctResources) {
  const list = `/api/${resource.path}`;
  const routes = app.routes.filter(
    ({ method, url, config }) => url.startsWith(list) && config?.scope !== 'public' && method !== 'HEAD',
  );
  t.ok(routes.length >= 6, `${list} has ${routes.length} routes`);
  for (const { method, url, schema, config = {} } of routes)
    t.test(`${method} ${url} answers each caller, about own and others' records`, async t => {
      const verb = String(method);
      const writes = verb !== 'GET';
      const isOfIdentities = url.endsWith('/identities');
      const creates = url === list && verb === 'POST';
      for (const cell of cellsOf(resource)) {
        const { headers, record, newInput } = await prepare(cell);
        const identity = { issuer: 'https://a.example', subject: randomUUID() };
        const bodies: Record<string, object> = {
          PUT: record,
          PATCH: await newInput(),
          POST: isOfIdentities ? identity : await newInput(),
        };
        const query = isOfIdentities && verb === 'DELETE' ? `?${new URLSearchParams(identity)}` : '';
        const path = url.replace(/:\w+/, record.id) + query;
        if (query) await call('POST', path.replace(query, ''), 201, { body: identity });
        const sent = schema?.body ? bodies[verb] : undefined;
        const { status, body, headers: answered } = await ask(headers, verb, path, sent);
        const wanted = expected(cell, { scope: config.scope as Need, writes, creates });
        // A list hides a record by leaving it out.
        const isList = url === list && !writes;
        const verdict =
          { 401: 401, 404: isList ? 'done' : 404, 403: body?.error?.details.code }[status] ?? 'done';
        const what = `${nameOf(cell)}: ${status}`;
        t.equal(verdict, isList && wanted === 404 ? 'done' : wanted, what);
        t.ok(verdict !== 'done' || isList || status < 300, what);
        if (status === 403)
          t.equal('www-authenticate' in answered, wanted === 'forbidden', 'only another scope would help');
      }
    });
}

for (const resource of ownedResources) {
  const { owner = '', isPrivate, plural } = resource;
  const list = `/api/${resource.path}`;
  const newRecord = (id: string) => makeRecord(call, resource, { [owner]: id });

  t.test(`${plural} are given to nobody else, and what else is wrong comes later`, async t => {
    const [ada, bob] = [await newToken(), await newToken()];
    const [{ id }, others] = [await newRecord(ada.id), await newRecord(bob.id)];
    const stale = { ...ada.headers, 'if-match': '"9"' };
    const refusal = async (status: number, method: string, path: string, body: object) => {
      const answer = await ask(method === 'POST' ? ada.headers : stale, method, path, body);
      t.equal(answer.status, status, answer.text);
      return answer.body.error.details;
    };
    for (const to of [bob.id, randomUUID()]) {
      const given = { [owner]: to };
      const refused = { code: 'not_yours', path: `/${owner}` };
      t.same(await refusal(403, 'PATCH', `${list}/${id}`, given), refused);
      t.same(await refusal(403, 'POST', list, await newBody(call, resource, given)), refused);
    }
    const { [owner]: _, ...absent } = await newBody(call, resource);
    t.match(await refusal(400, 'POST', list, absent), [{ path: `/${owner}` }], 'never filled in');
    const change = await newChange(call, resource, others);
    t.match(await refusal(isPrivate ? 404 : 403, 'PATCH', `${list}/${others.id}`, change), {
      code: isPrivate ? 'not_found' : 'not_yours',
    });
    t.match(await refusal(412, 'PATCH', `${list}/${id}`, change), { code: 'version_mismatch' });
  });

  if (!isPrivate) continue;
  t.test(`nothing leaks of ${plural}`, async t => {
    const [ada, bob] = [await newToken(), await newToken()];
    for (const { id } of [ada, bob, bob, bob]) await newRecord(id);
    const read = (query: string, { headers } = ada) => ask(headers, 'GET', `${list}?${query}`);
    const filter = resource.parentRelations.find(({ member }) => member === owner)?.name;
    t.match((await read(`${filter}=${bob.id}`)).body, { data: [], meta: { total: 0 } });
    t.match((await read(`${filter}=${ada.id}`)).body.meta, { total: 1 });
    const page = await read('limit=1');
    t.match(page.body.meta, { total: 1, totalPages: 1 });
    t.notMatch(page.headers.link ?? '', /page=2|rel="next"/);
    t.not((await read('limit=1', bob)).headers.etag, page.headers.etag);
    const { next } = (await read('after=&limit=1', bob)).body.meta;
    t.equal((await read(`after=${next}&limit=1`)).status, 400, 'the cursor of somebody else');
    const { error } = (await ask(bob.headers, 'DELETE', `/api/users/${bob.id}`)).body;
    t.same(error.details, { code: `user_has_${resource.nouns.replaceAll(' ', '_')}` }, 'without a number');
    for (const { child, member } of resource.childRelations.filter(({ child }) =>
      ownedResources.includes(child),
    )) {
      const members = async ({ id }: { id: string }) => ({
        [member]: (await newRecord(id)).id,
        [child.owner ?? '']: ada.id,
      });
      const { id } = await makeRecord(call, child, await members(ada));
      const hidden = await newBody(call, child, await members(bob));
      for (const [method, path] of [
        ['POST', child.path],
        ['PATCH', `${child.path}/${id}`],
      ] as const) {
        const { error } = (await ask(ada.headers, method, `/api/${path}`, hidden)).body;
        t.match(error.details, [{ path: `/${member}`, message: /is the id of no/ }], `${method} ${path}`);
      }
    }
  });
}

t.test('a person cannot become another one', async t => {
  const { id, headers } = await newToken();
  const { body } = await ask(headers, 'PATCH', `/api/users/${id}`, { id: (await newToken()).id });
  t.match(body.error, { status: 400, details: [{ path: '/id', message: /read-only/ }] });
});

t.test('a record is judged before its lock, and again under it', onPostgres, async t => {
  const [ada, bob] = [await newToken(), await newToken()];
  const { id } = await makeRecord(call, tending, { userId: ada.id });
  const move = `update tendings set user_id = '${bob.id}' where id = '${id}'`;
  const commit = await hold(database, tx => tx.rows(move, []));
  const change = async ({ headers }: typeof ada) =>
    ask(headers, 'PATCH', `/api/tendings/${id}`, await newChange(call, tending, {}));
  const waiting = change(ada);
  t.equal((await change(await newToken())).status, 403, 'a stranger waits for no lock');
  await commit();
  t.match((await waiting).body.error, { status: 403, details: { code: 'not_yours' } });
  t.equal((await change(bob)).status, 200);
});
