import t from 'tap';
import { buildGraphQL, fill } from '#test/helper/graphql.ts';

const { call, post, database } = await buildGraphQL(t);
await fill(database, 1, 100);
const [oak] = (await call('GET', '/api/burrows', 200)).body.data;
const times = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join(' ');
/** Selects the ids of 100 specimens and of the burrow of each, with 74 specimens of that burrow. */
const below = (labels: number, list = `specimens(limit: 74) { ${times(labels, i => `l${i}: label`)} }`) =>
  `specimens { id burrow { id ${list} } }`;
const query = (...how: Parameters<typeof below>) => `{ burrow(id: "${oak.id}") { ${below(...how)} } }`;
const tooMany = (value: unknown, maximum: number, what = /values in the response/) => [
  { message: what, extensions: { code: 'RESPONSE_LIMIT_EXCEEDED', value, maximum, requestId: String } },
];

t.test('an answer has at most 200,000 values, and an alias is one of them', async t => {
  const { body } = await post(query(27));
  t.notOk(body.errors, '100 × (2 + 74 × 27)');
  const { specimens } = body.data.burrow;
  t.equal(specimens[99].burrow.specimens[73].l26, specimens[73].burrow.specimens[73].l0);
  const oneMore = (await post(`{ usersCount ${query(27).slice(2)}`)).body;
  t.match(oneMore, { errors: tooMany(200_001, 200_000), data: undefined });
  t.notOk('data' in oneMore, 'it is refused as a whole');
  // Edges and nodes count separately, and the records of a connection count like those of a list.
  const labels = times(10, i => `l${i}: label`);
  const page = `edges { cursor node { ${labels} } } nodes { ${labels} } pageInfo { endCursor }`;
  for (const [first, isAllowed] of [
    [95, true],
    [96, false],
  ] as const) {
    const both = (await post(query(0, `specimensConnection(first: ${first}) { ${page} }`))).body;
    t.equal(both.errors?.[0].extensions.code, isAllowed ? undefined : 'RESPONSE_LIMIT_EXCEEDED');
  }
});

t.test('an answer that is refused has the status of its media type, and no data', async t => {
  for (const [type, status] of [
    ['application/json', 200],
    ['application/graphql-response+json', 400],
  ] as const) {
    const answer = await call('POST', '/api/graphql', status, {
      body: { query: query(28) },
      headers: { accept: type },
    });
    t.match(answer.headers['content-type'], type);
    t.match(answer.body.errors, tooMany(Number, 200_000));
    t.notOk('data' in answer.body);
  }
});

t.test('an answer has at most 10 MB of text, with the names of its aliases and in bytes', async t => {
  /** Asks for 100 × 100 ids under a name of this length. */
  const named = (length: number) => post(query(1, `specimens { ${'a'.repeat(length)}: id }`));
  t.notOk((await named(950)).body.errors);
  const { body } = await named(960);
  t.match(body, { errors: tooMany(Number, 10_000_000, /bytes in the response/), data: undefined });
  t.notOk('data' in body);
  await database.writes.rows(`update specimens set label = rpad(label, 330, 'é')`, []);
  const labels = (limit: number) => post(query(0, `specimens(limit: ${limit}) { a: label b: label }`));
  t.notOk((await labels(73)).body.errors, '4.9 million characters');
  t.match((await labels(77)).body.errors, tooMany(Number, 10_000_000, /bytes in the response/));
});

// Bug: such a query was a 500 after 5 s and 1.6 GB, and ended the process in a container.
t.test('hostile: a short query for gigabytes takes no memory', async t => {
  const { post, database } = await buildGraphQL(t);
  await fill(database, 1, 1000);
  await database.writes.rows(`update specimens set label = rpad(label, 500, 'x')`, []);
  const ask = async (selected: string) => (await post(query(0, `specimens(limit: 47) { ${selected} }`))).body;
  const before = process.resourceUsage().maxRSS;
  const labels = await ask(times(30, i => `l${i}: label`));
  t.match(labels, { errors: tooMany(Number, 200_000), data: undefined });
  const name = await ask(`${'a'.repeat(45_000)}: id`);
  t.match(name, { errors: tooMany(Number, 10_000_000, /bytes in the response/), data: undefined });
  const megabytes = (process.resourceUsage().maxRSS - before) / 1024;
  t.ok(megabytes < 100, `${Math.round(megabytes)} MB`);
});

t.test('what a mutation has written stays without an Idempotency-Key, and is undone with one', async t => {
  const input = { label: 'Written', burrowId: oak.id };
  const body = {
    query: `mutation ($input: SpecimenCreateInput!) { createSpecimen(input: $input) { burrow { ${below(28)} } } }`,
    variables: { input },
  };
  const written = async () => (await call('GET', '/api/specimens?label=Written', 200)).body.meta.total;
  t.equal(await written(), 0);
  const send = (headers = {}) => call('POST', '/api/graphql', 200, { body, headers });
  t.match((await send()).body.errors, tooMany(Number, 200_000));
  t.equal(await written(), 1);
  const headers = { 'idempotency-key': 'again' };
  for (let i = 0; i < 2; i++) {
    const answer = await send(headers);
    t.match(answer.body.errors, tooMany(Number, 200_000));
    t.notOk('data' in answer.body || answer.headers['idempotency-replayed']);
    t.equal(await written(), 1);
  }
});
