// runs: also on embedded
import t from 'tap';
import { buildGraphQL, fill } from '#test/helper/graphql.ts';
import { burrow } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';

const { ask, errorsOf, call, make, statements } = await buildGraphQL(t);
const [oak, elm] = [await make(burrow), await make(burrow), await make(burrow)];
for (let i = 0; i < 8; i++)
  await make(specimen, { burrowId: i % 3 === 0 ? elm.id : oak.id, label: `Label ${i}` });

t.test(
  'a nested list reads the members that fragments and directives select, and the ids of relations',
  async t => {
    statements.length = 0;
    const { data } = await ask(`
    query ($yes: Boolean = true) {
      burrows { id specimens(limit: 2, page: 2) { label ...More ... @include(if: $yes) { version } burrow { id } } }
    }
    fragment More on Specimen { grade ... on Specimen { createdAt } }`);
    t.equal(statements.length, 3, 'none for each burrow');
    for (const { id, specimens } of data.burrows) {
      const { data: whole } = (await call('GET', `/api/specimens?burrow=${id}&limit=2&page=2`, 200)).body;
      const expected = whole.map(({ label, grade, version, createdAt }: Record<string, unknown>) => ({
        label,
        grade,
        createdAt,
        version,
        burrow: { id },
      }));
      t.same(specimens, expected);
    }
  },
);

t.test('a nested list refuses what the REST list refuses', async t => {
  for (const [args, path] of [
    ['limit: 0', '/limit'],
    ['limit: 101', '/limit'],
    ['page: 0, sort: label', '/page'],
    ['label: ""', '/label'],
    ['createdSince: "today"', '/createdSince'],
  ])
    t.match(
      await errorsOf(`{ burrows { specimens(${args}) { id } } }`),
      [{ path: ['burrows', 0, 'specimens'], extensions: { code: 'BAD_USER_INPUT', details: [{ path }] } }],
      String(args),
    );
  for (const argument of ['burrow: "x"', 'after: ""', 'sort: name'])
    t.match(await errorsOf(`{ burrows { specimens(${argument}) { id } } }`), [
      { extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } },
    ]);
});

t.test('a list without a page is cut at the maximum, nested or not, and says so with its path', async t => {
  const { ask, database } = await buildGraphQL(t, { GRAPHQL_MAX_COST: 1000 });
  await fill(database, 2, 201);
  const { data, errors } = await ask(`{ burrows {
    desc: specimens(sort: createdAt_desc, grade: rough) { label }
    some: specimens(label: "Specimen 1 of 1") { label }
    page: specimens(limit: 4) { label }
    none: specimens(grade: fine) { label }
  } all: specimens { label } }`);
  const labels = (burrow: number, ...numbers: number[]) =>
    numbers.map(n => ({ label: `Specimen ${n} of ${burrow}` }));
  const latest = Array.from({ length: 200 }, (_, i) => 201 - i);
  t.same(data.burrows, [
    { desc: labels(1, ...latest), some: labels(1, 1), page: labels(1, 1, 2, 3, 4), none: [] },
    { desc: labels(2, ...latest), some: [], page: labels(2, 1, 2, 3, 4), none: [] },
  ]);
  const paths = errors.map(({ path }: { path: object }) => path);
  const cut = [['all'], ['burrows', 0, 'desc'], ['burrows', 1, 'desc']];
  t.same(paths.sort(), cut, 'with integers in the path');
  t.match(errors, Array(3).fill({ extensions: { code: 'LIST_TRUNCATED', maximum: 200 } }));
  t.equal(data.all.length, 200);
});
