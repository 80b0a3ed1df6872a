// runs: in its own process
import t from 'tap';
import { isId, lowestId, newId, newRecord } from '#src/core/ids.ts';

const now = Date.parse('2026-11-21T09:30:00.000Z');

t.test('an id is a UUIDv7 that holds its time', async t => {
  const id = newId(now);
  t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.equal(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), now);
  t.ok(isId(id));
});

t.test(
  'ids ascend: within a millisecond, past the end of the counter, and when the clock steps back',
  async t => {
    const times = [...Array(10_000).fill(now + 1), ...Array(100).fill(now - 5000), now + 1, now + 60_000];
    const ids = times.map(newId);
    t.same(ids, ids.toSorted());
    t.equal(new Set(ids.map(id => id.slice(19))).size, ids.length, 'also in their random part');
  },
);

t.test('the time of a record is the one in its id, even after the clock has stepped back', async t => {
  for (const clock of [now + 120_000, now]) {
    const { id, createdAt } = newRecord({ now: () => new Date(clock) });
    t.equal(Date.parse(createdAt), now + 120_000);
    t.equal(lowestId(new Date(createdAt)).slice(0, 13), id.slice(0, 13));
  }
});

t.test('the lowest id of a time separates earlier ids from later ones', async t => {
  const time = new Date(newRecord({ now: () => new Date(now + 200_000) }).createdAt);
  const [same, later] = [newId(0), newId(time.getTime() + 1)];
  t.ok(lowestId(time) < same && same < lowestId(new Date(time.getTime() + 1)));
  t.ok(lowestId(new Date(time.getTime() + 1)) < later);
  t.equal(
    lowestId(new Date('0001-01-01T00:00:00Z')),
    lowestId(new Date(0)),
    'ids cannot hold a time before 1970',
  );
  for (const year of [1, 1970, 2026, 9999]) t.ok(isId(lowestId(new Date(Date.UTC(year, 0)))));
});
