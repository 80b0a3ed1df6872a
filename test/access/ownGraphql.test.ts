import { buildSchema, type GraphQLObjectType } from 'graphql';
import t from 'tap';
import { schemaText } from '#plugins/graphql/schema.ts';
import { buildOwned, cellsOf, distinctResources, expected, nameOf } from '#test/helper/resources/owned.ts';
import { completeResources } from '#test/helper/resources/records.ts';
import { domain } from '#test/world/index.ts';

const { send, prepare } = await buildOwned(t);

async function ask(headers: Record<string, string>, query: string, variables: object = {}) {
  const { answer } = await send('POST', '/api/graphql', { headers, body: { query, variables } });
  return answer.body;
}

t.test('every field is in the tests below, or reads nothing that belongs to anybody', async t => {
  const schema = buildSchema(schemaText(domain.fields));
  const known = completeResources.flatMap(({ name, plural, title }) => [
    ...[name, plural, `${plural}Count`, `${plural}Connection`],
    ...['create', 'replace', 'update', 'delete'].map(verb => verb + title),
  ]);
  const subscriptions = ['subscription', 'subscriptions', 'subscriptionsCount', 'subscriptionsConnection'];
  const fields = ['Query', 'Mutation'].flatMap(type =>
    Object.keys((schema.getType(type) as GraphQLObjectType).getFields()),
  );
  t.same(fields.sort(), [...known, ...subscriptions, 'me', 'registerMe'].sort());
});

type Records = { id: string }[];

for (const resource of distinctResources) {
  const { name, plural, title, contract } = resource;
  const cells = cellsOf(resource);
  const relations = resource.parentRelations;

  t.test(`GraphQL reads ${plural}, in both directions of every relation`, async t => {
    for (const cell of cells) {
      const { headers, record } = await prepare(cell);
      const wanted = expected(cell, { scope: 'read or own' });
      const seen = wanted === 'done';
      const listsOf = (list: string) =>
        `${list}(limit: 100, sort: createdAt_desc) { id } ${list}Count ${list}Connection(last: 100) { totalCount nodes { id } edges { node { id } } }`;
      const parents = relations.map(({ parent, children, member }, i) =>
        record[member] === null
          ? ''
          : `parent${i}: ${parent.name}(id: "${record[member]}") { ${listsOf(children)} }`,
      );
      const { data, errors } = await ask(
        headers,
        `{ one: ${name}(id: "${record.id}") { id ${relations.map(({ name }) => `${name} { id }`).join(' ')} }
          ${listsOf(plural)} ${parents.join(' ')} }`,
      );
      const what = `${nameOf(cell)}: ${JSON.stringify(errors)}`;
      if (wanted === 401) {
        t.match([data, errors], [undefined, [{ extensions: { code: 'UNAUTHENTICATED' } }]]);
        continue;
      }
      t.equal(errors, undefined, what);
      t.equal(data.one?.id, seen ? record.id : undefined, what);
      const above = relations.map(({ children }, i) => [children, data[`parent${i}`]] as const);
      for (const [list, of] of [[plural, data] as const, ...above].filter(([, of]) => of)) {
        const { [`${list}Count`]: count, [`${list}Connection`]: connection } = of;
        const lists = [
          of[list],
          connection.nodes,
          connection.edges.map(({ node }: { node: object }) => node),
        ] as Records[];
        for (const each of lists)
          t.equal(
            each.some(({ id }) => id === record.id),
            seen,
            `${list}, ${what}`,
          );
        t.same([connection.totalCount, Math.min(count, 100)], [count, lists[0]?.length], `${list}, ${what}`);
      }
      const { answer } = await send('GET', `/api/${resource.path}?limit=1`, { headers });
      t.equal(answer.body.meta.total, data[`${plural}Count`], 'the same total over REST');
    }
  });

  for (const verb of ['create', 'replace', 'update', 'delete'])
    t.test(`GraphQL: ${verb}${title}`, async t => {
      const [creates, deletes] = [verb === 'create', verb === 'delete'];
      const isOwned = resource.owner !== undefined && !(creates && resource.owner === 'id');
      const scope = isOwned ? 'write or own' : 'write';
      for (const cell of cells) {
        const { headers, record, newInput } = await prepare(cell);
        const stored = Object.entries(record).filter(([member]) => member in contract.create.properties);
        const input = verb === 'replace' ? Object.fromEntries(stored) : await newInput();
        const given = [
          ...(creates ? [] : [`id: "${record.id}"`]),
          ...(deletes ? [] : ['input: $input']),
        ].join(', ');
        const type = `${title}${verb.replace(/^./, letter => letter.toUpperCase())}Input`;
        const { data, errors = [] } = await ask(
          headers,
          `mutation${deletes ? '' : `($input: ${type}!)`} { field: ${verb}${title}(${given})${deletes ? '' : ' { id }'} }`,
          deletes ? {} : { input },
        );
        const { code, details } = errors[0]?.extensions ?? { code: 'done' };
        const verdicts = { done: 'done', UNAUTHENTICATED: 401, NOT_FOUND: 404, FORBIDDEN: details?.code };
        const verdict = verdicts[code as keyof typeof verdicts];
        const wanted = expected(cell, { scope, writes: true, creates });
        t.equal(verdict, wanted, `${nameOf(cell)}: ${JSON.stringify(errors)}`);
        t.equal(Boolean(data?.field), wanted === 'done');
      }
    });
}
