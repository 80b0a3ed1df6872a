import t from 'tap';
import { linkHeader, pagesAround } from '#src/records/lists/pages.ts';

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
