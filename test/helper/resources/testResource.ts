import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { readOnly } from '#schemas/parts/common.ts';
import type { Operations, Relation } from '#src/records/resource.ts';
import { buildGraphQL } from '#test/helper/graphql.ts';
import { makeRecord, newBody, newChange } from './records.ts';

type Members = Record<string, unknown>;
type Operation = 'create' | 'replace' | 'change' | 'remove';
const methods = { create: 'POST', replace: 'PUT', change: 'PATCH', remove: 'DELETE' } as const;

/**
 * Tests over REST and GraphQL what every resource promises. Versions and keys of repeated requests are in
 * test/http/requests, for all resources. One with rules of its own may need `samples` (test/domain/samples.ts) that fit them.
 */
export function testResource(t: Test, operations: Operations): void {
  const { resource } = operations;
  let started: Promise<Service> | undefined;
  const test = (promise: string, needs: Operation[], run: (t: Test, service: Service) => Promise<void>) =>
    needs.every(name => operations[name]) &&
    t.test(`${resource.nouns}: ${promise}`, async inner => {
      started ??= start(t, operations);
      await run(inner, await started);
    });
  const all: Operation[] = ['create', 'replace', 'change', 'remove'];
  // Lists come first, because their test counts what is there.
  test('lists are sorted and filtered', ['create'], testLists);
  test('a record is created, read, replaced, changed and deleted', all, testLife);
  test('what is absent gets its default, and what cannot be is refused by its name', all, testBodies);
  test('the same data over GraphQL', all, testGraphQL);
  for (const relation of resource.parentRelations)
    test(
      `${relation.name} exists, and a deletion says what becomes of what belongs to it`,
      all,
      (t, service) => testRelation(t, service, relation),
    );
  for (const name of all.filter(name => !operations[name]))
    test(`there is no ${methods[name]}`, [], async (_, { call, path }) => {
      await call(methods[name], name === 'create' ? path : `${path}/1`, 405);
    });
}

type Service = Awaited<ReturnType<typeof start>>;

async function start(t: Test, { resource }: Operations) {
  const { call, ask } = await buildGraphQL(t);
  const path = `/api/${resource.path}`;
  return {
    call,
    ask,
    resource,
    path,
    body: (given: Members = {}) => newBody(call, resource, given),
    make: (given: Members = {}) => makeRecord(call, resource, given),
    change: (record: Members) => newChange(call, resource, record),
  };
}

const inputOf = (record: Members) =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !Object.hasOwn(readOnly, name)));

async function testLife(t: Test, { call, resource, path, body, change }: Service) {
  const input = await body();
  const { body: created, headers } = await call('POST', path, 201, { body: input });
  t.same(inputOf(created), input, 'it has what was sent');
  t.same(Object.keys(created), Object.keys(resource.contract.record.properties));
  t.equal(created.updatedAt, created.createdAt);
  t.equal(headers.location, `${path}/${created.id}`);
  const one = headers.location ?? '';
  t.same((await call('GET', one, 200)).body, created);
  t.same((await call('PUT', one, 200, { body: created })).body, created, 'what was read can be sent back');
  const changes = await change(created);
  const { body: changed } = await call('PATCH', one, 200, { body: changes });
  t.same(changed, { ...created, ...changes, version: 2, updatedAt: changed.updatedAt });
  t.same((await call('PATCH', one, 200, { body: changes })).body, changed, 'the same again changes nothing');
  t.match((await call('PUT', one, 409, { body: created })).body.error.details, { code: 'stale' });
  await call('DELETE', one, 204);
  await call('DELETE', one, 404);
  t.match((await call('GET', one, 404)).body.error.message, /not found/);
  const { data } = (await call('GET', `/api/audit?record=${created.id}`, 200)).body;
  const actions = ['delete', 'change', 'create'].map(each => `${resource.name}.${each}`);
  t.match(
    data,
    actions.map(action => ({ action })),
    'each write is in the audit log',
  );
}

async function testBodies(t: Test, { call, resource, path, body, make }: Service) {
  const { properties, required = [] } = resource.contract.create;
  const input = await body();
  const needed = Object.fromEntries(required.map(name => [name, input[name]]));
  const optional = Object.entries(properties).filter(([name]) => !required.includes(name));
  const defaults = Object.fromEntries(optional.map(([name, member]) => [name, member.default]));
  const { body: created } = await call('POST', path, 201, { body: needed });
  t.match(created, defaults);
  const full = await make();
  const requiredOnly = Object.fromEntries(required.map(name => [name, full[name]]));
  t.match((await call('PUT', `${path}/${full.id}`, 200, { body: requiredOnly })).body, defaults);
  for (const [name, member] of Object.entries(properties)) {
    const { error } = (await call('POST', path, 400, { body: { ...needed, [name]: { a: '\0' } } })).body;
    t.equal(error.details[0].path, `/${name}`);
    if (member.format !== 'date-time') continue;
    const sent = { [name]: '2026-12-01T01:00:00.000+01:00' };
    const made = await make(sent);
    t.equal(made[name], '2026-12-01T00:00:00.000Z', 'times are in UTC');
    t.same((await call('PATCH', `${path}/${made.id}`, 200, { body: sent })).body, made, 'the same instant');
  }
  const other = await make();
  for (const { members, taken } of resource.unique) {
    const same = Object.fromEntries(members.map(name => [name, other[name]]));
    const { error } = (await call('POST', path, 409, { body: { ...(await body()), ...same } })).body;
    t.equal(error.details.code, taken.code);
  }
  const unknown = (await call('POST', path, 400, { body: { ...needed, colour: 'red' } })).body;
  t.match(unknown.error.details, [{ path: '/colour' }]);
}

async function testLists(t: Test, { call, resource, path, make }: Service) {
  const records = [await make(), await make(), await make()];
  const idsOf = async (query: object) => {
    const { data } = (await call('GET', `${path}?${new URLSearchParams({ ...query })}`, 200)).body;
    return data.map(({ id }: { id: string }) => id);
  };
  const page = (await call('GET', `${path}?limit=2`, 200)).body;
  t.same(page.meta, { page: 1, limit: 2, total: 3, totalPages: 2 });
  t.same(page.data, records.slice(0, 2));
  for (const sort of resource.contract.sorts) {
    const sorted = await idsOf({ sort });
    t.same(await idsOf({ sort, after: '' }), sorted);
    t.same(await idsOf({ sort: `-${sort}` }), sorted.toReversed());
    const { data, meta } = (await call('GET', `${path}?sort=${sort}&after=&limit=1`, 200)).body;
    t.same([data[0].id, ...(await idsOf({ sort, after: meta.next }))], sorted, `${sort} by cursor`);
  }
  for (const filter of resource.contract.filters) {
    const [{ [filter]: value = records[0][`${filter}Id`] }] = records;
    const expected = records.filter(record => [record[filter], record[`${filter}Id`]].includes(value));
    if (value !== null)
      t.same(
        await idsOf({ [filter]: value }),
        expected.map(({ id }) => id),
        `filter ${filter}`,
      );
  }
}

async function testGraphQL(t: Test, { call, ask, resource, path, make, change }: Service) {
  const { name, plural, title } = resource;
  const record = await make();
  const { id } = record;
  const members = Object.keys(resource.contract.record.properties).join(' ');
  const parents = resource.parentRelations.map(
    ({ name, children }) =>
      `${name} { id ${children}Count ${children} { id } ${children}Connection { nodes { id } } }`,
  );
  const read = await ask(`query($id: ID!) { ${name}(id: $id) { ${members} ${parents.join(' ')} } }`, { id });
  const children = [{ id }];
  const expected = resource.parentRelations.map(({ name, member, children: key }) => [
    name,
    record[member] && {
      id: record[member],
      [`${key}Count`]: 1,
      [key]: children,
      [`${key}Connection`]: { nodes: children },
    },
  ]);
  t.same(read, { data: { [name]: { ...record, ...Object.fromEntries(expected) } } });
  const { data, meta } = (await call('GET', `${path}?limit=100`, 200)).body;
  const nodes = data.map(({ id }: { id: string }) => ({ id }));
  const list = `{ ${plural}(limit: 100) { id } ${plural}Count
    ${plural}Connection(first: 100) { nodes { id } totalCount } }`;
  t.match(nodes.at(-1), { id }, 'REST is right');
  t.same(await ask(list), {
    data: {
      [plural]: nodes,
      [`${plural}Count`]: meta.total,
      [`${plural}Connection`]: { nodes, totalCount: meta.total },
    },
  });
  const input = await change(record);
  const [member = ''] = Object.keys(input);
  const update = `mutation($id: ID!, $input: ${title}UpdateInput!) {
    update${title}(id: $id, expectedVersion: 1, input: $input) { version ${member} } }`;
  t.same(await ask(update, { id, input }), { data: { [`update${title}`]: { version: 2, ...input } } });
  t.match(await ask(update, { id, input }), { errors: [{ extensions: { code: 'CONFLICT' } }] });
  const remove = `mutation($id: ID!) { delete${title}(id: $id) }`;
  t.same(await ask(remove, { id }), { data: { [`delete${title}`]: id } });
  t.match(await ask(remove, { id }), { errors: [{ extensions: { code: 'NOT_FOUND' } }] });
}

async function testRelation(
  t: Test,
  { call, ask, resource, path, make }: Service,
  { parent, name, member, children, cascade, conflicts }: Relation,
) {
  const above = (await makeRecord(call, parent)).id;
  const { id } = await make({ [member]: above });
  const { error } = (await call('PATCH', `${path}/${id}`, 400, { body: { [member]: randomUUID() } })).body;
  t.match(error.details, [{ path: `/${member}`, message: /is the id of no/ }]);
  t.equal((await call('GET', `${path}?${name}=${above}`, 200)).body.meta.total, 1);
  const up = `{ ${resource.name}(id: "${id}") { ${name} { id ${children}Count } } }`;
  t.same((await ask(up)).data[resource.name], { [name]: { id: above, [`${children}Count`]: 1 } });
  const one = `/api/${parent.path}/${above}`;
  if (cascade === 'always') await call('DELETE', one, 204);
  else {
    const refused = (await call('DELETE', one, 409)).body.error;
    t.equal(refused.details.code, conflicts.hasChildren.code);
    await call('DELETE', `${one}?cascade=true`, 204);
  }
  await call('GET', `${path}/${id}`, 404);
  const { data } = (await call('GET', `/api/audit?record=${id}`, 200)).body;
  t.match(data[0], { action: /\.delete$/ });
}
