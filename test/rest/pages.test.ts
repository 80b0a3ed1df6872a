import t from 'tap';
import type { Post } from '../../schemas/post.ts';
import { build } from '../helper/app.ts';
import { any, below, seed } from '../helper/values/random.ts';

t.test('pages, totals and links are exact for every combination of filters, sorts and periods', async t => {
  const { call, newUser, newPost } = await build(t);
  const authors = [(await newUser()).id, (await newUser()).id, (await newUser()).id];
  const made: Post[] = [];
  for (let i = 0; i < 40; i++)
    made.push(
      await newPost({ authorId: any(authors), title: `T${below(4)}`, status: any(['draft', 'published']) }),
    );
  const times = made.map(({ createdAt }) => createdAt);
  const choices = {
    status: [undefined, 'draft'],
    author: [undefined, authors[0]],
    title: [undefined, 'T1'],
    createdSince: [undefined, times[9]],
    createdBefore: [undefined, times[30]],
    sort: ['createdAt', '-createdAt', 'title', '-title'],
  };
  const combinations = Object.entries(choices).reduce<Record<string, string>[]>(
    (all, [name, values]) =>
      all.flatMap(each => values.map(value => (value ? { ...each, [name]: value } : each))),
    [{}],
  );
  function naively({ sort = '', ...filters }: Record<string, string>, page: number, limit: number) {
    const { status, author, title, createdSince = '', createdBefore = '9' } = filters;
    const chosen = made.filter(
      post =>
        [status ?? post.status, author ?? post.authorId, title ?? post.title].join() ===
          [post.status, post.authorId, post.title].join() &&
        post.createdAt >= createdSince &&
        post.createdAt < createdBefore,
    );
    // The sort is stable, and they were made in the order of their ids.
    if (sort.endsWith('title')) chosen.sort((a, b) => (a.title < b.title ? -1 : Number(a.title > b.title)));
    if (sort.startsWith('-')) chosen.reverse();
    const meta = { page, limit, total: chosen.length, totalPages: Math.ceil(chosen.length / limit) };
    return { data: chosen.slice((page - 1) * limit, page * limit), meta };
  }
  for (const { sort = '', ...filters } of combinations) {
    const [page, limit] = [1 + below(5), 1 + below(12)];
    const asked = `${new URLSearchParams({ ...filters, sort, page: `${page}`, limit: `${limit}` })}`;
    const { body, headers } = await call('GET', `/api/posts?${asked}`, 200);
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

    const { author, ...others } = filters;
    const inGraphQL = (criteria: object) =>
      Object.entries(criteria).map(
        ([name, value]) => `${name}: ${name === 'status' ? value : JSON.stringify(value)}`,
      );
    const order = `sort: ${sort.replace(/-(.*)/, '$1_desc')}, page: ${page}, limit: ${limit}`;
    const lists = (criteria: object) => {
      const chosen = inGraphQL(criteria);
      return `postsCount${chosen.length > 0 ? `(${chosen})` : ''} posts(${[order, ...chosen]}) { id }`;
    };
    const query = `{ ${lists(filters)} users { id ${lists(others)} } }`;
    const { data } = (await call('POST', '/api/graphql', 200, { body: { query } })).body;
    const idsOf = (records: object[]) => records.map(record => ({ id: (record as Post).id }));
    t.same([data.posts, data.postsCount], [idsOf(naive.data), naive.meta.total], query);
    for (const { id, posts, postsCount } of data.users) {
      const { data, meta } = naively({ ...others, author: id, sort }, page, limit);
      t.same([posts, postsCount], [idsOf(data), meta.total], `${id}: ${query}`);
    }
  }
});
