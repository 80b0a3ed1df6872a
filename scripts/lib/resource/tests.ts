import { withArticle } from '../../../src/core/text.ts';
import type { Field, Plan } from './plan.ts';

const other: Record<Field['type'], string> = { string: "'Another'", integer: '2', boolean: 'false' };

/** test/rest/<plural>.test.ts: first what works, then each refusal. */
export function restTestFile({ name, plural, parents, fields }: Plan): string {
  const [field] = fields as [Field];
  const change = `{ ${field.name}: ${other[field.type]} }`;
  const members = [...fields.map(each => each.name), ...parents.map(parent => `${parent.name}Id`)];
  return `import t from 'tap';
import { ${name} } from '../../src/services/${plural}.ts';
import { build } from '../helper/app.ts';
import { makeRecord } from '../helper/records.ts';

t.test('${withArticle(name)} is created, read, listed, replaced, updated and deleted', async t => {
  const { call } = await build(t);
  const created = await makeRecord(call, ${name});
  const path = \`/api/${plural}/\${created.id}\`;
  t.same((await call('GET', path, 200)).body, created);
  t.same((await call('PUT', path, 200, { body: created })).body, created, 'what was read can be sent back');
  const { body: changed } = await call('PATCH', path, 200, { body: ${change} });
  t.match(changed, ${change});
  const { error } = (await call('PUT', path, 409, { body: created })).body;
  t.match(error.details, { code: 'stale' });
  await makeRecord(call, ${name});
  const { body: page } = await call('GET', '/api/${plural}?limit=1', 200);
  t.same(page, { data: [changed], meta: { page: 1, limit: 1, total: 2, totalPages: 2 } });
  const { body: walked } = await call('GET', '/api/${plural}?after=', 200);
  t.equal(walked.data.length, 2);
  await call('DELETE', path, 204);
  await call('GET', path, 404);
  await call('DELETE', path, 404);
});

t.test('a change or deletion that expects an older version is refused', async t => {
  const { call } = await build(t);
  const { id } = await makeRecord(call, ${name});
  const path = \`/api/${plural}/\${id}\`;
  const { etag } = (await call('GET', path, 200)).headers as { etag: string };
  await call('GET', path, 304, { headers: { 'if-none-match': etag } });
  const change = { body: ${change}, headers: { 'if-match': etag } };
  await call('PATCH', path, 200, change);
  const { error } = (await call('PATCH', path, 412, change)).body;
  t.match(error.details, { code: 'version_mismatch', version: 2 });
  await call('DELETE', path, 412, { headers: change.headers });
});

t.test('a request that is repeated with its key creates one ${name}', async t => {
  const { call } = await build(t);
  const created = await makeRecord(call, ${name});
  const body = { ${members.map(member => `${member}: created.${member}`).join(', ')} };
  const request = { body, headers: { 'idempotency-key': 'one' } };
  const first = await call('POST', '/api/${plural}', 201, request);
  const again = await call('POST', '/api/${plural}', 201, request);
  t.same(again.body, first.body);
  t.equal((await call('GET', '/api/${plural}', 200)).body.meta.total, 2);
});

t.test('writes are in the audit log', async t => {
  const { call } = await build(t);
  const { id } = await makeRecord(call, ${name});
  await call('PATCH', \`/api/${plural}/\${id}\`, 200, { body: ${change} });
  await call('DELETE', \`/api/${plural}/\${id}\`, 204);
  const { data } = (await call('GET', \`/api/audit?record=\${id}\`, 200)).body;
  t.match(data, [{ action: '${name}.delete' }, { action: '${name}.change', changed: ['${field.name}'] }, { action: '${name}.create' }]);
});

t.test('an unknown member, a wrong type and another method are refused', async t => {
  const { call } = await build(t);
  const { body } = await call('POST', '/api/${plural}', 400, { body: { ${field.name}: [], colour: 'red' } });
  t.ok(body.error.details.some(({ path }: { path: string }) => path === '/colour'));
  t.ok(body.error.details.some(({ path }: { path: string }) => path === '/${field.name}'));
  await call('PUT', '/api/${plural}', 405);
});
${parents.map(parent => relationTest({ name, plural }, parent)).join('')}`;
}

const relationTest = ({ name, plural }: Pick<Plan, 'name' | 'plural'>, parent: Plan['parents'][number]) => `
t.test('${withArticle(name)} belongs to ${withArticle(parent.name)}, which is not deleted unless cascade is true', async t => {
  const { call } = await build(t);
  const { id, ${parent.name}Id } = await makeRecord(call, ${name});
  const parent = \`/api/${parent.plural}/\${${parent.name}Id}\`;
  const { meta } = (await call('GET', \`/api/${plural}?${parent.name}=\${${parent.name}Id}\`, 200)).body;
  t.equal(meta.total, 1);
  const { error } = (await call('PATCH', \`/api/${plural}/\${id}\`, 400, { body: { ${parent.name}Id: id } })).body;
  t.same(error.details, [{ in: 'body', path: '/${parent.name}Id', message: 'is the id of no ${parent.name}' }]);
  const refused = (await call('DELETE', parent, 409)).body;
  t.match(refused.error.details.code, /^${parent.name}_has_/);
  await call('DELETE', \`\${parent}?cascade=true\`, 204);
  await call('GET', \`/api/${plural}/\${id}\`, 404);
  const { data } = (await call('GET', \`/api/audit?record=\${id}\`, 200)).body;
  t.match(data[0], { action: '${name}.delete' });
});
`;

/** test/graphql/<plural>.test.ts: the same data over GraphQL. */
export function graphqlTestFile({ name, plural, Type, parents, fields }: Plan): string {
  const [field] = fields as [Field];
  const both = parents.map(parent => `${parent.name} { id ${plural}Count ${plural} { id } }`).join(' ');
  const expected = parents
    .map(parent => `${parent.name}: { id: created.${parent.name}Id, ${plural}Count: 1, ${plural}: [{ id }] }`)
    .join(', ');
  return `import t from 'tap';
import { ${name} } from '../../src/services/${plural}.ts';
import { buildGraphQL } from '../helper/graphql.ts';
import { makeRecord } from '../helper/records.ts';

t.test('${withArticle(name)} is read with what it belongs to, in both directions', async t => {
  const { ask, call } = await buildGraphQL(t);
  const created = await makeRecord(call, ${name});
  const { id } = created;
  const query = '($id: ID!) { ${name}(id: $id) { id ${both} } }';
  t.same(await ask(\`query\${query}\`, { id }), { data: { ${name}: { id, ${expected} } } });
  t.same(await ask('{ ${plural} { id } ${plural}Count ${plural}Connection { nodes { id } totalCount } }'), {
    data: { ${plural}: [{ id }], ${plural}Count: 1, ${plural}Connection: { nodes: [{ id }], totalCount: 1 } },
  });
});

t.test('${withArticle(name)} is updated and deleted', async t => {
  const { ask, call } = await buildGraphQL(t);
  const { id } = await makeRecord(call, ${name});
  const update =
    'mutation($id: ID!, $input: ${Type}UpdateInput!) { update${Type}(id: $id, expectedVersion: 1, input: $input) { version ${field.name} } }';
  const input = { ${field.name}: ${other[field.type]} };
  t.same(await ask(update, { id, input }), { data: { update${Type}: { version: 2, ...input } } });
  t.match(await ask(update, { id, input }), { errors: [{ extensions: { code: 'CONFLICT' } }] });
  const remove = 'mutation($id: ID!) { delete${Type}(id: $id) }';
  t.same(await ask(remove, { id }), { data: { delete${Type}: id } });
  t.match(await ask(remove, { id }), { errors: [{ extensions: { code: 'NOT_FOUND' } }] });
});
`;
}
