import t from 'tap';
import {
  cursorsAround,
  linkHeader,
  pageOf,
  pagesAround,
  skipped,
} from '../../../src/services/lists/pages.ts';

t.test('a page has an offset, a total and a number of pages', async t => {
  t.equal(skipped({ page: 1, limit: 20 }), 0);
  t.equal(skipped({ page: 2147483647, limit: 100 }), 214748364600, 'without overflow');
  for (const [total, totalPages] of [
    [0, 0],
    [1, 1],
    [20, 1],
    [21, 2],
    [200_000, 10_000],
  ] as const)
    t.same(pageOf([], total, { page: 1, limit: 20 }).meta, { page: 1, limit: 20, total, totalPages });
});

t.test('the Link header keeps the query and moves the page', async t => {
  const meta = { page: 2, limit: 5, total: 20, totalPages: 4 };
  const link = (page: number) => `</api/posts?title=a+%26+%22b%22%2C+%3Cc%3E&page=${page}&limit=5>`;
  t.equal(
    linkHeader('/api/posts', pagesAround({ title: 'a & "b", <c>', page: 2, limit: 5 }, meta)),
    `${link(1)}; rel="first", ${link(1)}; rel="prev", ${link(3)}; rel="next", ${link(4)}; rel="last"`,
  );
});

t.test('an empty list has one page, the first', async t => {
  const meta = { page: 1, limit: 20, total: 0, totalPages: 0 };
  t.equal(
    linkHeader('/x', pagesAround({ page: 1 }, meta)),
    '</x?page=1>; rel="first", </x?page=1>; rel="last"',
  );
});

t.test('past the end, the previous page is the last one', async t => {
  const meta = { page: 9, limit: 20, total: 30, totalPages: 2 };
  t.match(linkHeader('/x', pagesAround({ page: 9 }, meta)), '</x?page=2>; rel="prev"');
  t.notMatch(linkHeader('/x', pagesAround({ page: 9 }, meta)), 'next');
});

t.test('a filter with a line break cannot inject a header', async t => {
  const meta = { page: 1, limit: 20, total: 0, totalPages: 0 };
  t.notMatch(linkHeader('/x', pagesAround({ title: 'a\r\nSet-Cookie: b', page: 1 }, meta)) ?? '', /[\r\n]/);
});

t.test('a list by cursor links to its first page, but not to a last one', async t => {
  const query = { limit: 5, actor: 'a', after: 'old' };
  t.equal(
    linkHeader('/x', cursorsAround(query, { limit: 5, next: 'n', previous: 'p' })),
    '</x?limit=5&actor=a&after=>; rel="first", </x?limit=5&actor=a&before=p>; rel="prev", </x?limit=5&actor=a&after=n>; rel="next"',
  );
  t.equal(
    linkHeader('/x', cursorsAround(query, { limit: 5, next: null, previous: null })),
    '</x?limit=5&actor=a&after=>; rel="first"',
  );
});

// Bug: with a long filter the header was up to 24 kB long: nginx answered 502 and dropped the server.
t.test('a Link header has at most 2,048 characters: beyond that only prev and next, or none', async t => {
  const meta = { page: 2, limit: 5, total: 20, totalPages: 4 };
  const headerOf = (length: number) => linkHeader('/x', pagesAround({ title: 'x'.repeat(length) }, meta));
  const relationsOf = (length: number) =>
    headerOf(length)
      ?.match(/rel="\w+"/g)
      ?.join(' ');
  const lengths = Array.from({ length: 1200 }, (_, i) => i);
  const longest = Math.max(...lengths.map(length => headerOf(length)?.length ?? 0));
  t.ok(longest <= 2048 && longest > 2040, `${longest} characters`);
  const whole = 'rel="first" rel="prev" rel="next" rel="last"';
  t.same(new Set(lengths.map(relationsOf)), new Set([whole, 'rel="prev" rel="next"', undefined]));
  t.equal(linkHeader('/x', { first: { title: 'x'.repeat(2048) } }), undefined, 'and never an empty one');
});
