import t, { type Test } from 'tap';
import { changeSubscriptions } from '#src/subscriptions/changeSubscriptions.ts';
import { bearer, inside, makeKey } from '#test/helper/access.ts';
import { type Answer, build, type Call } from '#test/helper/app.ts';
import { statusEvent } from '#test/helper/events/webhooks.ts';
import { makeRecord, newChange, variedResources } from '#test/helper/resources/records.ts';

const { call, newUser, database } = await build(t);

type Method = 'GET' | 'HEAD' | 'PUT' | 'PATCH' | 'DELETE';
const reads: Method[] = ['GET', 'HEAD'];
const writes: Method[] = ['PUT', 'PATCH', 'DELETE'];
const all = [...reads, ...writes];
const done = { GET: 200, HEAD: 200, PUT: 200, PATCH: 200, DELETE: 204 };

const someId = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';
const [M, N] = ['If-Match', 'If-None-Match'] as const;
interface Row {
  section: string;
  methods: Method[];
  headers: Record<string, string>;
  /** `done` means the status of the same request without conditions. */
  status: 'done' | 304 | 400 | 404 | 412;
  /** The header that the error names. */
  names?: typeof M | typeof N;
  absent?: boolean;
}
const each = (
  section: string,
  methods: Method[],
  name: typeof M | typeof N,
  values: string[],
  status: Row['status'],
  rest: Partial<Row> = {},
): Row[] =>
  values.map(value => ({ section, methods, headers: { [name]: value }, status, names: name, ...rest }));
const row = (
  section: string,
  methods: Method[],
  headers: Row['headers'],
  status: Row['status'],
  names?: Row['names'],
): Row => ({ section, methods, headers, status, ...(names && { names }) });

// Every record is at version 2. A tag may contain commas, but no quotes.
const holding = ['"2"', '"1", "2"', '"2","3"', '"a,b", "2"', ', ,"2",,', '"1"\t,\t"2"', 'W/"2", "2"'];
const others = ['"1"', '"1", "3"', '"02"', '"+2"', '""', '"1,2"', '"W/2"', '"*"'];
const malformed = [
  ...['', ' ', ',', '2', '"2', '2"', "'2'", '"2" "1"', '*, "2"', '"2", *', '**', 'w/"2"', 'W/2', 'W/ "2"'],
  ...['"2"x', '"2 "', '"1, 2"', '"2";q=1', 'W/*'],
];
const before = 'Thu, 01 Jan 1970 00:00:00 GMT';
const later = 'Fri, 31 Dec 2099 23:59:59 GMT';

/** RFC 9110, sections 13.1 and 13.2, for one record. */
const table: Row[] = [
  ...each('13.1.1', all, M, [...holding, '*'], 'done'),
  ...each('13.1.1', all, M, others, 412),
  // If-Match compares strongly: no weak tag matches.
  ...each('13.1.1', all, M, ['W/"2"', '"1", W/"2"'], 412),
  // An absent record is 404, not 412: the client learns that there is nothing to read again.
  ...each('13.1.1', all, M, ['*', '"2"'], 404, { absent: true }),
  ...each('13.1.2', reads, N, [...holding, '*', 'W/"2"', '"1", W/"2"'], 304),
  ...each('13.1.2', writes, N, [...holding, '*', 'W/"2"', '"1", W/"2"'], 412),
  ...each('13.1.2', all, N, [...others, 'W/"1"'], 'done'),
  // A PUT never creates a record, so `*` does not help.
  ...each('13.1.2', all, N, ['*', '"2"'], 404, { absent: true }),
  // Records have no Last-Modified, whose seconds are too coarse: 13.1.3 to 13.1.5 say to ignore the times then.
  row('13.1.3', all, { 'If-Modified-Since': later }, 'done'),
  row('13.1.3', reads, { 'If-Modified-Since': before, [N]: '"2"' }, 304),
  row('13.1.4', all, { 'If-Unmodified-Since': before }, 'done'),
  row('13.1.4', all, { 'If-Unmodified-Since': before, [M]: '"2"' }, 'done'),
  row('13.1.4', all, { 'If-Unmodified-Since': later, [M]: '"1"' }, 412, M),
  // The service has no ranges.
  row('13.1.5', reads, { 'If-Range': '"2"', Range: 'bytes=0-1' }, 'done'),
  // If-Match is judged before If-None-Match.
  row('13.2.2', reads, { [M]: '"2"', [N]: '"2"' }, 304),
  row('13.2.2', reads, { [M]: '*', [N]: '*' }, 304),
  row('13.2.2', writes, { [M]: '"2"', [N]: '"2"' }, 412, N),
  row('13.2.2', all, { [M]: '"1"', [N]: '"2"' }, 412, M),
  row('13.2.2', all, { [M]: '"1"', [N]: '"1"' }, 412, M),
  row('13.2.2', all, { [M]: '"2"', [N]: '"1"' }, 'done'),
  // A condition that cannot be read is refused: if it were ignored, the write could overwrite another one.
  ...each('8.8.3', all, M, malformed, 400),
  ...each('8.8.3', all, N, malformed, 400),
  row('8.8.3', all, { [M]: '"2"', [N]: '2' }, 400, N),
];

/** How to make a record of each resource. It is left at version 2. */
const makers = variedResources.map(resource => ({
  name: resource.plural,
  methods: all,
  missing: someId,
  make: async () => {
    const made = await makeRecord(call, resource);
    const path = `/api/${resource.path}/${made.id}`;
    const { body: record } = await call('PATCH', path, 200, { body: await newChange(call, resource, made) });
    return { path, record, change: await newChange(call, resource, record) };
  },
}));
let customers = 0;
const subscriptions = {
  name: 'subscriptions',
  methods: reads,
  missing: 'nobody',
  make: async () => {
    const customer = `cus_${++customers}`;
    await changeSubscriptions(inside(database), [statusEvent('active', { customer })]);
    await database.writes.rows('update subscriptions set version = 2 where customer = $1', [customer]);
    const path = `/api/subscriptions/${customer}`;
    return { path, record: (await call('GET', path, 200)).body, change: {} };
  },
};

type Made = Awaited<ReturnType<typeof subscriptions.make>>;
const fresh = new Map<string, Made>();
/** A record at version 2: the one that no request has changed yet, or a new one. */
async function nextOf(name: string, make: () => Promise<Made>): Promise<Made> {
  const next = fresh.get(name) ?? (await make());
  fresh.set(name, next);
  return next;
}

const tagAfter = { GET: '"2"', HEAD: '"2"', PUT: '"3"', PATCH: '"3"', DELETE: undefined };
function check(t: Test, { status, names = M }: Row, method: Method, answer: Answer) {
  const { headers, body, text } = answer;
  if (method === 'HEAD' || status === 304) t.equal(text, '');
  if (status === 304) {
    t.match(headers, { etag: '"2"', 'cache-control': 'no-cache' });
    for (const name of ['content-type', 'content-length']) t.notOk(headers[name], `no ${name}`);
  }
  if (status === 412) t.equal(headers.etag, '"2"', 'the client need not read it again to know the tag');
  if (status === 'done') t.equal(headers.etag, tagAfter[method], method);
  if (status === 304 || (status === 'done' && headers.etag))
    t.match(
      headers['cache-control'],
      'no-transform',
      'a proxy that compresses the record would weaken its tag',
    );
  if (method === 'HEAD') return;
  if (status === 412) {
    t.same(body.error.details, { code: 'version_mismatch', version: 2 });
    t.equal(body.error.message, `The record is at version 2, which ${names} excludes. Read it again.`);
  }
  if (status === 400) {
    const message = `of ${names} must be entity tags in double quotes, or *`;
    t.same(body.error.details, [{ in: 'header', path: `/${names.toLowerCase()}`, message }]);
  }
}

for (const { name, methods, missing, make } of [...makers, subscriptions])
  for (const rule of table.filter(rule => rule.methods.some(each => methods.includes(each)))) {
    const { section, headers, status, absent = false } = rule;
    const tried = rule.methods.filter(each => methods.includes(each));
    const state = absent ? 'absent' : 'at version 2';
    const sent = JSON.stringify(headers).replaceAll('\\', '');
    t.test(`${section}: ${name}, ${state}, ${tried.join()}, ${sent}: ${status}`, async t => {
      for (const method of tried) {
        const { path, record, change } = await nextOf(name, make);
        const sends = method === 'PUT' || method === 'PATCH';
        const wanted = status === 'done' ? done[method] : status;
        const body = sends ? { body: { ...record, ...change } } : {};
        const answer = await call(method, absent ? `/api/${name}/${missing}` : path, wanted, {
          headers,
          ...body,
        });
        check(t, rule, method, answer);
        if (status === 'done' && writes.includes(method)) fresh.delete(name);
        else t.same((await call('GET', path, 200)).body, record, `nothing is written by ${method}`);
      }
    });
  }

t.test('13.2.1: a request that fails without its conditions fails the same way with them', async t => {
  const path = `/api/users/${(await newUser()).id}`;
  const text = { raw: 'x', headers: { 'content-type': 'text/plain' } };
  for (const value of ['"1"', '"2"', '*', 'malformed'])
    for (const [method, target, status, more = {}] of [
      ['GET', '/api/nothing', 404],
      ['GET', `${path}?page=1`, 400],
      ['GET', '/api/users?limit=0', 400],
      ['POST', path, 405],
      ['PATCH', path, 400, { body: { name: '' } }],
      ['PATCH', path, 400, { body: { nickname: 'A' } }],
      ['PUT', path, 400, { body: {} }],
      ['PUT', path, 415, text],
      ['POST', '/api/users', 400, { body: {} }],
      ['OPTIONS', path, 204],
      ['GET', '/api/keys/x', 404],
    ] as [string, string, number, Call?][]) {
      const plain = await call(method, target, status, more);
      const headers = { ...more.headers, [M]: value, [N]: value };
      const answer = await call(method, target, status, { ...more, headers });
      t.same(answer.body, plain.body, `${method} ${target} ${value}`);
    }
});

t.test('13.2.1: credentials are judged before conditions', async t => {
  const { call, database } = await build(t, { settings: { AUTH_MODE: 'required' } });
  const { key } = await makeKey(database, ['read']);
  for (const value of ['"1"', '*', 'malformed']) {
    const headers = { [M]: value, [N]: value };
    await call('GET', `/api/users/${someId}`, 401, { headers });
    await call('DELETE', `/api/users/${someId}`, 403, { headers: { ...headers, ...bearer(key) } });
  }
});

let made = 0;
t.test('13.1: the path of a list exists and has no strong tag, so a POST may require no more', async t => {
  for (const [headers, status] of [
    [{ [M]: '*' }, 201],
    [{ [N]: '"1"' }, 201],
    [{ [M]: '"1"' }, 412],
    [{ [M]: 'W/"1"' }, 412],
    [{ [N]: '*' }, 412],
    [{ [M]: '1' }, 400],
    [{ [N]: '' }, 400],
  ] as [Record<string, string>, number][]) {
    const total = async () => (await call('GET', '/api/users', 200)).body.meta.total;
    const before = await total();
    const body = { name: 'Ada', email: `u${++made}@example.com` };
    const { body: answer } = await call('POST', '/api/users', status, { headers, body });
    if (status !== 201) t.match(JSON.stringify(answer), new RegExp(Object.keys(headers)[0] ?? '', 'i'));
    t.equal(await total(), before + (status === 201 ? 1 : 0), JSON.stringify(headers));
  }
});

t.test(
  '13.1.1: a key never changes and has no tag, so it is not revoked under another condition',
  async t => {
    const { body: key } = await call('POST', '/api/keys', 201, { body: { name: 'Key', scopes: ['read'] } });
    const path = `/api/keys/${key.id}`;
    await call('DELETE', path, 412, { headers: { [M]: '"1"' } });
    await call('DELETE', path, 412, { headers: { [N]: '*' } });
    await call('DELETE', path, 400, { headers: { [M]: 'malformed' } });
    t.equal((await call('GET', path, 200)).body.id, key.id);
    await call('DELETE', path, 204, { headers: { [M]: '*' } });
    // A record that does not exist is 404 under any condition.
    const { body: user } = await call('POST', '/api/users', 201, {
      body: { name: 'Ada', email: `u${++made}@example.com` },
    });
    const identity = `/api/users/${user.id}/identities?issuer=a&subject=b`;
    for (const absent of [`/api/keys/${someId}`, identity])
      await call('DELETE', absent, 404, { headers: { [M]: '"1"' } });
  },
);
