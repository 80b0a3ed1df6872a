// runs: also on embedded
import t from 'tap';
import { type Answer, build } from '#test/helper/app.ts';
import { countRows } from '#test/helper/database.ts';
import { batch, burrows, digging } from '#test/helper/resources/batches.ts';
import { newBody, newChange } from '#test/helper/resources/records.ts';
import { burrow, burrowTable } from '#test/world/burrows.ts';
import { domain } from '#test/world/index.ts';

const { app, call, make, database } = await build(t);
const specimens = '/api/specimens';
const absent = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';

const statusOf = ({ status }: { status: number }) => status;
/** Returns the paths of what a refused batch says is wrong. */
const pathsIn = ({ body }: Answer): string[] =>
  body.error.details.map(({ in: part, path }: { in: string; path: string }) => `${part} ${path}`);

t.test('a record and what belongs to it are written as one, with the answers of their routes', async t => {
  const finding = { method: 'POST', path: specimens, body: { label: 'A molar', burrowId: '$1' } };
  const { body, headers } = await batch(call, 200, [
    digging('Old'),
    digging('Under the oak', { parentId: '$0' }),
    finding,
    finding,
  ]);
  t.notOk('etag' in headers || 'location' in headers);
  t.same(body.results.map(statusOf), [201, 201, 201, 201]);
  const [old, oak, ...molars] = body.results.map((result: { body: object }) => result.body);
  t.match(oak, { parentId: old.id, version: 1 });
  for (const molar of molars) {
    t.match(molar, { burrowId: oak.id, label: 'A molar', grade: 'rough', version: 1 });
    t.same((await call('GET', `${specimens}/${molar.id}`, 200)).body, molar);
  }
  const path = `${specimens}/${molars[0].id}`;
  const { results } = (
    await batch(call, 200, [
      { method: 'PATCH', path, body: { bones: 3 }, ifMatch: '"1"' },
      { method: 'PUT', path, body: { label: 'B', burrowId: old.id }, ifMatch: '"2"' },
      { method: 'DELETE', path: `${burrows}/${oak.id}?cascade=true`, ifMatch: '"7", "1"' },
    ])
  ).body;
  t.match(results, [
    { status: 200, body: { bones: 3, version: 2 } },
    { status: 200, body: { bones: 0, version: 3, burrowId: old.id } },
  ]);
  t.same(results[2], { status: 204 });
  t.same((await call('GET', path, 200)).body, results[1].body);
  await call('GET', `${specimens}/${molars[1].id}`, 404);
});

t.test('the example of the document can be sent as it is', async t => {
  const document = (await app.documentWriter()).swagger();
  const { BatchBody } = Object(document).components.schemas;
  const [operations] = BatchBody.properties.operations.examples;
  t.match(JSON.stringify(operations), '"$0"');
  const { body } = await batch(call, 200, operations);
  t.equal(body.results.length, operations.length);
});

t.test('it takes every write that a resource offers, and nothing else', async t => {
  for (const { resource, create, replace, change, remove } of domain.resources) {
    const list = `/api/${resource.path}`;
    const record =
      create &&
      (await batch(call, 200, [{ method: 'POST', path: list, body: await newBody(call, resource) }])).body
        .results[0].body;
    t.ok(record?.id, `POST ${list}`);
    const path = `${list}/${record.id}`;
    if (replace) await batch(call, 200, [{ method: 'PUT', path, body: record }]);
    if (change)
      await batch(call, 200, [{ method: 'PATCH', path, body: await newChange(call, resource, record) }]);
    if (remove) await batch(call, 200, [{ method: 'DELETE', path }]);
  }
  const others = app.routes
    .filter(({ url, method }) => method !== 'HEAD' && url.startsWith('/api/'))
    .map(({ method, url }) => ({ method: String(method), path: url.replace(/:\w+/g, absent) }))
    .filter(({ method, path }) => {
      const [, , name, id, ...rest] = path.split('/');
      const resource = domain.resources.find(each => each.resource.path === name);
      return !resource || rest.length > 0 || method === 'GET' || (method === 'POST') === (id !== undefined);
    });
  t.ok(others.length > 25, `${others.length} other routes`);
  const strange = [
    '',
    '/',
    'api/burrows',
    '/api',
    '/api/',
    '/api/burrows/',
    `/api/burrows/${absent}/`,
    '//api/burrows',
    '/API/burrows',
    'http://localhost/api/burrows',
    '/api/constructor',
    '/api/burrows#a',
  ];
  const asked = [
    ...others,
    ...strange.map(path => ({ method: 'POST', path })),
    ...['GET', 'post', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', '', '__proto__'].map(method => ({
      method,
      path: burrows,
    })),
    { method: 'POST', path: `${burrows}/${absent}` },
    { method: 'PATCH', path: `${burrows}/%zz` },
    { method: 'DELETE', path: `${burrows}/%E0%A4` },
  ];
  for (let at = 0; at < asked.length; at += 100) {
    const some = asked.slice(at, at + 100);
    const paths = pathsIn(await batch(call, 400, some));
    t.same(
      paths,
      some.map((_, n) => `body /operations/${n}/path`),
    );
  }
});

t.test('the form is judged before any body, and all of it at once', async t => {
  const before = await countRows(database.writes, burrowTable);
  const good = digging('Good');
  const remove = { method: 'DELETE', path: `${burrows}/${absent}` };
  for (const [operations, ...expected] of [
    [[], 'body /operations'],
    [Array(101).fill(good), 'body /operations'],
    [{}, 'body /operations'],
    [[good, 1, null], 'body /operations/1', 'body /operations/2'],
    [[{ method: 'POST' }, { ...good, headers: {} }], 'body /operations/0/path', 'body /operations/1/headers'],
    [
      [
        { ...good, path: 1 },
        { ...good, ifMatch: 1 },
      ],
      'body /operations/0/path',
      'body /operations/1/ifMatch',
    ],
    [
      [
        { method: 'POST', path: burrows },
        { ...remove, body: null },
        { ...good, ifMatch: '"1"' },
        { ...remove, ifMatch: '1' },
        { ...remove, ifMatch: '' },
        { ...remove, path: '/api/keys' },
        digging(''),
      ],
      'body /operations/0/body',
      'body /operations/1/body',
      'body /operations/2/ifMatch',
      'body /operations/3/ifMatch',
      'body /operations/4/ifMatch',
      'body /operations/5/path',
    ],
  ] as const)
    t.same(pathsIn(await batch(call, 400, operations as never)), expected);
  for (const body of [{}, [], { operations: [good], dryRun: true }])
    await call('POST', '/api/batch', 400, { body });
  await call('POST', '/api/batch?pretty=true', 400, { body: { operations: [good] } });
  t.equal(await countRows(database.writes, burrowTable), before);
});

t.test('all bodies, references and queries are checked before the first write', async t => {
  const { id, version } = await make(burrow);
  const before = await countRows(database.writes, burrowTable);
  const path = `${burrows}/${id}`;
  const answer = await batch(call, 400, [
    digging(''),
    digging('$0', { parentId: '$0' }),
    digging('x', { parentId: '$2' }),
    digging('x', { parentId: '$9' }),
    digging('x', { parentId: '$01' }),
    digging('x', { parentId: '$-1' }),
    digging('x', { parentId: '$' }),
    digging('x', { parentId: 'x', more: 1 }),
    { method: 'PATCH', path: `${path}?cascade=true`, body: { parentId: '$8' } },
    { method: 'DELETE', path: `${path}?cascade=1&casade=true` },
    { method: 'PATCH', path, body: [] },
    { method: 'DELETE', path: `${path}?${'&'.repeat(1000)}dryRun=true` },
    { method: 'PATCH', path, body: null },
    { method: 'PATCH', path, body: { parentId: '$10' } },
    { method: 'PATCH', path, body: { label: '$1', parentId: '$1' } },
  ]);
  t.same(pathsIn(answer), [
    'body /operations/0/body/label',
    ...[2, 3, 4, 5, 6].map(n => `body /operations/${n}/body/parentId`),
    'body /operations/7/body/more',
    'body /operations/7/body/parentId',
    'body /operations/8/body/parentId',
    'body /operations/8/path',
    'body /operations/9/path',
    'body /operations/9/path',
    'body /operations/10/body',
    'body /operations/11/path',
    'body /operations/12/body',
    'body /operations/13/body/parentId',
  ]);
  t.same((await call('GET', path, 200)).body.version, version);
  t.equal(await countRows(database.writes, burrowTable), before);
});

t.test('only ids can be references: a text that looks like one is a text', async t => {
  const extra = { colour: '$0' };
  const { body } = await batch(call, 200, [
    digging('$0'),
    { method: 'POST', path: specimens, body: { label: '$0', remark: '$1', extra, burrowId: '$0' } },
  ]);
  const [{ body: dug }, { body: found }] = body.results;
  t.match(dug, { label: '$0' });
  t.match(found, { label: '$0', remark: '$1', extra, burrowId: dug.id });
  const { body: refused } = await batch(call, 404, [
    digging('A'),
    { method: 'DELETE', path: `${burrows}/$0` },
  ]);
  t.match(refused.error, { message: 'Burrow not found.', details: { code: 'not_found', operation: 1 } });
});
