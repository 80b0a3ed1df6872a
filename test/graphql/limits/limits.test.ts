// runs: long, late
import { parse } from 'graphql';
import t from 'tap';
import { buildGraphQL, fill } from '#test/helper/graphql.ts';

/** `{ burrow(id: "x") { burrows { parent { … } } } }` with this many levels. */
function nested(levels: number, open = 'burrow(id: "x")'): string {
  const names = Array.from({ length: levels - 2 }, (_, i) => (i % 2 === 0 ? 'burrows(limit: 1)' : 'parent'));
  return `{ ${[open, ...names].join(' { ')} { id ${'}'.repeat(levels)}`;
}
const times = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join(' ');

// One application for all tests without settings of their own: none of them writes.
const { ask, errorsOf } = await buildGraphQL(t);

t.test('depth: 8 levels pass, 9 do not, however they are written', async t => {
  t.same(await ask(nested(8)), { data: { burrow: null } });
  const path = ['burrow', 'burrows', 'parent', 'burrows', 'parent', 'burrows', 'parent', 'burrows', 'id'];
  const refused = [{ extensions: { code: 'DEPTH_LIMIT_EXCEEDED', value: 9, maximum: 8, path } }];
  t.match(await errorsOf(nested(9)), refused);
  t.match(
    await errorsOf(
      '{ burrow(id: "x") { ...A } } fragment A on Burrow { burrows(limit: 1) { parent { ...B } } } fragment B on Burrow { burrows(limit: 1) { parent { burrows(limit: 1) { parent { burrows(limit: 1) { id } } } } } }',
    ),
    refused,
    'named fragments',
  );
  t.match(
    await errorsOf(nested(9).replaceAll('parent {', 'parent { ... on Burrow {').concat('}}}')),
    refused,
    'inline fragments',
  );
});

t.test('aliases: 30 pass, 31 do not, and a fragment counts wherever it is spread', async t => {
  t.equal(Object.keys((await ask(`{ ${times(30, i => `a${i}: usersCount`)} }`)).data).length, 30);
  t.match(await errorsOf(`{ ${times(31, i => `a${i}: usersCount`)} }`), [
    { extensions: { code: 'ALIAS_LIMIT_EXCEEDED', value: 31, maximum: 30, path: ['a30'] } },
  ]);
  const fragment = `fragment F on User { ${times(10, i => `n${i}: name`)} }`;
  t.match(
    await errorsOf(
      `{ a: user(id: "1") { ...F } b: user(id: "2") { ...F } c: user(id: "3") { ...F } } ${fragment}`,
    ),
    [{ extensions: { code: 'ALIAS_LIMIT_EXCEEDED' } }],
  );
});

t.test('nodes: 1000 pass, 1001 do not, and fragments that multiply are not all walked', async t => {
  const labels = (count: number) => times(count, () => 'label');
  const both = (more: number) =>
    `{ burrow(id: "x") { ...F } specimen(id: "x") { burrow { ...F ${labels(15 + more)} } } } fragment F on Burrow { ${labels(490)} }`;
  t.same(await ask(both(0)), { data: { burrow: null, specimen: null } });
  t.match(await errorsOf(both(1)), [
    { extensions: { code: 'NODE_LIMIT_EXCEEDED', value: 1001, maximum: 1000, path: ['specimen', 'burrow'] } },
  ]);
  const doubling = times(40, i => `fragment F${i} on User { ...F${i + 1} ...F${i + 1} }`);
  t.match(await errorsOf(`{ user(id: "x") { ...F0 } } ${doubling} fragment F40 on User { name }`), [
    { extensions: { code: 'NODE_LIMIT_EXCEEDED' } },
  ]);
});

t.test('cost: 5000 pass, 5001 do not, and no variable hides the size', async t => {
  // A page of 98 burrows with 50 burrows each is 98 + 98 * 50 = 4998.
  const pages = 'burrows(limit: 98) { burrows(limit: 50) { id } }';
  t.match(await ask(`{ ${pages} usersCount burrowsCount }`), { data: { burrows: [] } });
  t.match(await errorsOf(`{ ${pages} usersCount burrowsCount user(id: "x") { id } }`), [
    { extensions: { code: 'COST_LIMIT_EXCEEDED', value: 5001, maximum: 5000, path: ['user'] } },
  ]);
  const hidden = 'query($n: Int) { burrows(limit: $n) { burrows(limit: $n) { id } } }';
  t.match(await ask(hidden, { n: 10 }), { data: { burrows: [] } });
  const refused = [{ extensions: { code: 'COST_LIMIT_EXCEEDED', path: ['burrows', 'burrows'] } }];
  t.match(await errorsOf(hidden, { n: 100 }), refused);
  t.match(await errorsOf(hidden.replace('Int', 'Int = 100')), refused, 'nor a default');
  const other = await errorsOf(
    '{ a: users(limit: -100) { id } b: burrows(limit: 100) { burrows(limit: 60) { id } } }',
  );
  t.match(other, [{ extensions: { code: 'COST_LIMIT_EXCEEDED' } }], 'nor a negative page');
});

t.test('cost: a limit given as null counts as no limit, whatever its default', async t => {
  const query = `query ($l: Int = 1) { burrows(limit: 100) { ${times(12, i => `b${i}: burrows(limit: $l) { id }`)} } }`;
  t.notOk((await ask(query, {})).errors);
  t.match(await errorsOf(query, { l: null }), [{ extensions: { code: 'COST_LIMIT_EXCEEDED' } }]);
});

t.test(
  'records: one that is in the response many times counts each time (bug: a short query was a 500)',
  async t => {
    const { post, database } = await buildGraphQL(t, { GRAPHQL_MAX_COST: 1_000_000 });
    await fill(database, 1, 300);
    const again = (page: string) => `{ burrows { specimens${page} { burrow { specimens${page} { id } } } } }`;
    t.notOk((await post(again('(limit: 99)'))).body.errors, '1 + 99 + 99 + 9,801 records');
    const { text, body } = await post(again(''));
    t.match(body.errors[0], {
      extensions: { code: 'RECORD_LIMIT_EXCEEDED', value: 90_601, maximum: 50_000 },
    });
    t.ok(text.length < 100_000, `${text.length} characters`);
  },
);

t.test('records: a parent, a count, a node of a connection and an empty list count as one each', async t => {
  const { post, database } = await buildGraphQL(t, { GRAPHQL_MAX_COST: 1_000_000 });
  await fill(database, 1000, 2);
  const lookups = [
    times(6, i => `empty${i}: specimens(limit: 1, page: 9) { id }`),
    times(3, i => `both${i}: specimensConnection(first: 1, label: "none") { totalCount }`),
    'page: specimensConnection(first: 2) { nodes { id } }',
  ].join(' ');
  const query = (counts: number) =>
    `{ burrows { specimens { burrow { ${lookups} ${times(counts, i => `count${i}: specimensCount`)} } } } }`;
  t.notOk(
    (await post(query(8))).body.errors,
    '1,000 burrows, 2,000 specimens and their burrows, and 22 lookups for each',
  );
  t.match((await post(query(9))).body.errors, [
    {
      path: ['burrows', Number, 'specimens'],
      extensions: { code: 'RECORD_LIMIT_EXCEEDED', value: Number, maximum: 50_000 },
    },
  ]);
});

t.test('tokens: 1000 pass, 1001 do not; nor do thousands of fields or directives', async t => {
  const names = (count: number) => `{ ${times(count, () => 'name')} }`;
  const both = (more: number) => `{ user(id: "x") ${names(491)} b: user(id: "y") ${names(489 + more)} }`;
  t.same(await ask(both(0)), { data: { user: null, b: null } });
  const refused = [{ extensions: { code: 'TOKEN_LIMIT_EXCEEDED', value: 1001, maximum: 1000 } }];
  t.match(await errorsOf(both(1)), refused);
  t.match(await errorsOf('{a'.repeat(20_000)), refused);
  t.match(await errorsOf(`{ users { name ${times(3000, () => '@skip')} } }`), refused);
  t.match(await errorsOf(`{ ${times(5000, () => 'a:id')} }`), refused);
  t.match(await errorsOf(`{ usersCount } # ${'x'.repeat(60_000)}`), [
    { extensions: { code: 'LENGTH_LIMIT_EXCEEDED', value: 60_017, maximum: 50_000 } },
  ]);
});

t.test('variables: 1000 values pass, 1001 do not, and what is sent is not repeated without end', async t => {
  const { post } = await buildGraphQL(t);
  const query = 'mutation ($input: UserCreateInput!) { createUser(input: $input) { id } }';
  const unknown = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]));
  const most = await post(query, { input: unknown(999) });
  t.match(most.body.errors, [{ message: /^Variable "\$input" got invalid value/ }]);
  t.ok(most.text.length < 20_000, `${most.text.length} characters for 20 errors`);
  const { body } = await post(query, { input: unknown(1000) });
  const message = 'The variables have more than 1000 values.';
  t.match(body.errors, [{ message, extensions: { code: 'BAD_USER_INPUT' } }]);
  const many = await post('{ usersCount }', unknown(20_000));
  t.match(many.body.errors, [{ message }]);
  const long = await post(`{ ${'x'.repeat(40_000)} }`);
  t.match(long.body.errors, [{ message: /^Cannot query field "x{480}/ }]);
  t.ok(long.text.length < 1000, 'a name of any length');
});

t.test('a document that exhausts the stack of the parser is an error of the client', async t => {
  const { errorsOf } = await buildGraphQL(t, { GRAPHQL_MAX_COST: 500_000 });
  const refused = [{ extensions: { code: 'GRAPHQL_PARSE_FAILED' } }];
  t.match(await errorsOf('{a'.repeat(20_000)), refused);
  t.match(await errorsOf(`{ users(limit: ${'['.repeat(49_000)}`), refused);
  t.match(await errorsOf(`{ users(limit: ${'['.repeat(900)}${']'.repeat(900)}) { id } }`), [
    { extensions: { code: /GRAPHQL_(PARSE|VALIDATION)_FAILED/ } },
  ]);
});

t.test('a document of 3000 tokens runs if that many are allowed', async t => {
  const { ask } = await buildGraphQL(t, { GRAPHQL_MAX_COST: 25_000 });
  const document = `{ ${times(20, i => `u${i}: user(id: "x") { ${times(150, () => 'name')} }`)} }`;
  t.same((await ask(document)).data.u19, null);
});

t.test('fragments that include each other are refused', async t => {
  for (const document of [
    '{ users { ...A } } fragment A on User { ...B } fragment B on User { ...A }',
    '{ burrows { ...A } } fragment A on Burrow { burrows { parent { ...A } } }',
    '{ users { ...A } }',
  ])
    t.match(await errorsOf(document), [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }]);
});

t.test('a JSON syntax tree is not accepted as a query', async t => {
  const tree = JSON.stringify(parse('{ usersCount }', { noLocation: true }));
  for (const query of [tree, '5', 'null', '[]', '"x"', '{}'])
    t.match(await errorsOf(query), [{ extensions: { code: 'GRAPHQL_PARSE_FAILED' } }], query);
});
