import t from 'tap';
import { build } from '#test/helper/app.ts';
import { completeResources, newBody, newChange } from '#test/helper/resources/records.ts';

const { call, newUser } = await build(t);

/** RFC 7240, sections 2 and 4.2: what is preferred. */
const table: [header: string, preferred: 'minimal' | 'representation' | undefined][] = [
  ['Return=MINIMAL', 'minimal'],
  ['return=representation', 'representation'],
  ['foo="a, b",, return =\t"minimal"; level="a, b"; x,', 'minimal'],
  ['return=representation, return=minimal', 'representation'],
  ['return=minimalist', undefined],
  ['', undefined],
  // Parameters and quoted text are no preferences.
  ['foo; return=minimal', undefined],
  [String.raw`foo="\", return=minimal, \""`, undefined],
];

for (const [prefer, preferred] of table)
  t.test(`Prefer: ${prefer} means ${preferred ?? 'nothing'}`, async t => {
    const path = `/api/users/${(await newUser()).id}`;
    const status = preferred === 'minimal' ? 204 : 200;
    const options = { headers: { prefer }, body: { name: 'Bea' } };
    const { headers, body } = await call('PATCH', path, status, options);
    t.equal(headers['preference-applied'], preferred && `return=${preferred}`);
    t.equal(headers.etag, '"2"');
    t.equal(body?.name, status === 200 ? 'Bea' : undefined);
  });

for (const resource of completeResources)
  t.test(`a write of a ${resource.name} may return nothing but Location and ETag`, async t => {
    const headers = { prefer: 'return=minimal' };
    const body = await newBody(call, resource);
    const created = await call('POST', `/api/${resource.path}`, 204, { headers, body });
    const path = created.headers.location ?? '';
    t.match((await call('GET', path, 200)).body, body);

    const patched = await call('PATCH', path, 204, { headers, body: await newChange(call, resource, body) });
    const same = await call('PATCH', path, 204, { headers, body: {} });
    const put = await call('PUT', path, 204, { headers, body });
    t.match((await call('GET', path, 200)).body, body);
    for (const [answer, etag] of [
      [created, '"1"'],
      [patched, '"2"'],
      [same, '"2"'],
      [put, '"3"'],
    ] as const) {
      t.match(answer, {
        text: '',
        headers: { location: path, etag, 'preference-applied': 'return=minimal' },
      });
      t.notOk(answer.headers['content-type'] ?? answer.headers['content-length']);
    }
  });

t.test('reads, deletions, errors and answers that must be seen keep their body', async t => {
  const { id, email } = await newUser();
  const path = `/api/users/${id}`;
  const headers = { prefer: 'return=minimal' };
  const query = `{ user(id: "${id}") { id } }`;
  const mutation = `mutation { updateUser(id: "${id}", input: { name: "B" }) { id } }`;
  for (const [method, target, status, more] of [
    ['GET', path, 200, {}],
    ['GET', '/api/users', 200, {}],
    ['POST', '/api/graphql', 200, { body: { query } }],
    ['POST', '/api/graphql', 200, { body: { query: mutation } }],
    ['POST', '/api/keys', 201, { body: { name: 'x', scopes: ['read'] } }],
    ['POST', '/api/webhook-events/replay', 200, { body: { status: 'dead' } }],
    ['POST', '/api/users', 400, { body: {} }],
    ['POST', '/api/users', 409, { body: { name: 'B', email } }],
    ['PATCH', path, 409, { body: { name: 'C', version: 1 } }],
    ['PATCH', path, 412, { body: { name: 'C' }, headers: { 'if-match': '"1"' } }],
    ['DELETE', path, 412, { headers: { 'if-match': '"1"' } }],
  ] as const) {
    const all = { ...headers, ...('headers' in more && more.headers) };
    const answer = await call(method, target, status, { ...more, headers: all });
    t.ok(answer.text, `${method} ${target} ${status}`);
    t.notOk(answer.headers['preference-applied']);
  }
  t.notOk((await call('DELETE', path, 204, { headers })).headers['preference-applied']);
});
