// runs: also on embedded
import t from 'tap';
import { build } from '#test/helper/app.ts';
import { any, below, seed } from '#test/helper/values/random.ts';
import { burrow } from '#test/world/burrows.ts';
import { type Specimen, specimen } from '#test/world/specimens.ts';

t.test('pages, totals and links are exact for every combination of filters, sorts and periods', async t => {
  const { call, make } = await build(t);
  const homes = [(await make(burrow)).id, (await make(burrow)).id, (await make(burrow)).id];
  const made: Specimen[] = [];
  for (let i = 0; i < 40; i++)
    made.push(
      await make(specimen, { burrowId: any(homes), bones: 8 + below(4), grade: any(['rough', 'fine']) }),
    );
  const times = made.map(({ createdAt }) => createdAt);
  const choices = {
    grade: [undefined, 'rough'],
    burrow: [undefined, homes[0]],
    bones: [undefined, '9'],
    createdSince: [undefined, times[9]],
    createdBefore: [undefined, times[30]],
    sort: ['createdAt', '-createdAt', 'bones', '-bones'],
  };
  const combinations = Object.entries(choices).reduce<Record<string, string>[]>(
    (all, [name, values]) =>
      all.flatMap(each => values.map(value => (value ? { ...each, [name]: value } : each))),
    [{}],
  );
  function naively({ sort = '', ...filters }: Record<string, string>, page: number, limit: number) {
    const { grade, burrow, bones, createdSince = '', createdBefore = '9' } = filters;
    const chosen = made.filter(
      each =>
        [grade ?? each.grade, burrow ?? each.burrowId, bones ?? each.bones].join() ===
          [each.grade, each.burrowId, each.bones].join() &&
        each.createdAt >= createdSince &&
        each.createdAt < createdBefore,
    );
    // The sort is stable, and the specimens were made in the order of their ids.
    if (sort.endsWith('bones')) chosen.sort((a, b) => a.bones - b.bones);
    if (sort.startsWith('-')) chosen.reverse();
    const meta = { page, limit, total: chosen.length, totalPages: Math.ceil(chosen.length / limit) };
    return { data: chosen.slice((page - 1) * limit, page * limit), meta };
  }
  for (const { sort = '', ...filters } of combinations) {
    const [page, limit] = [1 + below(5), 1 + below(12)];
    const asked = `${new URLSearchParams({ ...filters, sort, page: `${page}`, limit: `${limit}` })}`;
    const { body, headers } = await call('GET', `/api/specimens?${asked}`, 200);
    const naive = naively({ ...filters, sort }, page, limit);
    t.same(body, naive, `${asked} (TEST_SEED=${seed})`);
    const pages = Object.fromEntries(
      [...`${headers.link}`.matchAll(/[?&]page=(\d+)[^>]*>; rel="(\w+)"/g)].map(([, page, name]) => [
        name,
        Number(page),
      ]),
    );
    const last = Math.max(1, naive.meta.totalPages);
    const prev = page > 1 && { prev: Math.min(page - 1, last) };
    t.same(pages, { first: 1, ...prev, ...(page < last && { next: page + 1 }), last }, asked);

    const { burrow, ...others } = filters;
    const inGraphQL = (criteria: object) =>
      Object.entries(criteria).map(
        ([name, value]) => `${name}: ${['grade', 'bones'].includes(name) ? value : JSON.stringify(value)}`,
      );
    const order = `sort: ${sort.replace(/-(.*)/, '$1_desc')}, page: ${page}, limit: ${limit}`;
    const lists = (criteria: object) => {
      const chosen = inGraphQL(criteria);
      return `specimensCount${chosen.length > 0 ? `(${chosen})` : ''} specimens(${[order, ...chosen]}) { id }`;
    };
    const query = `{ ${lists(filters)} burrows { id ${lists(others)} } }`;
    const { data } = (await call('POST', '/api/graphql', 200, { body: { query } })).body;
    const idsOf = (records: object[]) => records.map(record => ({ id: (record as Specimen).id }));
    t.same([data.specimens, data.specimensCount], [idsOf(naive.data), naive.meta.total], query);
    for (const { id, specimens, specimensCount } of data.burrows) {
      const { data, meta } = naively({ ...others, burrow: id, sort }, page, limit);
      t.same([specimens, specimensCount], [idsOf(data), meta.total], `${id}: ${query}`);
    }
  }
});
