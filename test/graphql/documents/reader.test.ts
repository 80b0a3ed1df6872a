import t from 'tap';
import { keptCharacters, makeReader } from '#plugins/graphql/documents/reader.ts';
import { overhead, setBoundedText } from '#src/core/kept.ts';
import { Metrics } from '#src/telemetry/metrics.ts';

/** The length of a document that takes a tenth of what is kept. */
const length = keptCharacters / 10 - overhead;
const query = (n: number) => ({ query: `{ q${n}: usersCount }`.padEnd(length) });

t.test('a document is parsed once while it is among those used recently', async t => {
  const read = makeReader(100, new Metrics());
  const first = read(query(0));
  const second = read(query(1));
  for (let n = 2; n < 10; n++) read(query(n));
  t.equal(read(query(0)), first, 'still there');
  read(query(10));
  t.equal(read(query(0)), first, 'it has been used since');
  t.not(read(query(1)), second, 'the least recently used one was evicted');
});

t.test('a cache of texts keeps a few long or many short ones', async t => {
  const cache = new Map<string, string>();
  const add = (number: number, length: number) =>
    setBoundedText(cache, `${number}`, 'x'.repeat(length - overhead), 100_000);
  for (let n = 0; n < 1000; n++) add(n, 10_000);
  t.equal(cache.size, 10);
  for (let n = 1000; n < 2000; n++) add(n, 500 + overhead);
  t.equal(cache.size, 100);
  t.ok(cache.has('1999'));
});
