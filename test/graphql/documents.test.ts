import t from 'tap';
import { keptDocuments, makeReader } from '../../plugins/graphql/documents/reader.ts';
import { RecentCache } from '../../plugins/graphql/documents/recentCache.ts';

const bounds = { length: 1000, tokens: 100 };
const query = (n: number) => `{ q${n}: usersCount }`;

t.test('a document is parsed once while it is among those used recently', async t => {
  const read = makeReader(bounds, () => {});
  const first = read(query(0), undefined);
  const second = read(query(1), undefined);
  for (let n = 2; n < keptDocuments; n++) read(query(n), undefined);
  t.equal(read(query(0), undefined), first, 'still there');
  read(query(keptDocuments), undefined);
  t.equal(read(query(0), undefined), first, 'it has been used since');
  t.not(read(query(1), undefined), second, 'the least recently used one was evicted');
});

t.test('the cache never exceeds its bound', async t => {
  const kept = new RecentCache<number>(10);
  for (let n = 0; n < 1000; n++) kept.set(String(n), n);
  const there = Array.from({ length: 1000 }, (_, n) => kept.get(String(n))).filter(n => n !== undefined);
  t.same(there, [990, 991, 992, 993, 994, 995, 996, 997, 998, 999]);
});
