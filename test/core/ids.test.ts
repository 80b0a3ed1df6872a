import t from 'tap';
import { isId, newId } from '../../src/core/ids.ts';

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
    t.equal(new Set(ids).size, ids.length);
  },
);

t.test('100,000 ids are all different in their random part too', async t => {
  const random = new Set(Array.from({ length: 100_000 }, () => newId(now).slice(19)));
  t.equal(random.size, 100_000);
});

t.test('only an id in its one notation is one', async t => {
  const id = newId(now);
  t.ok(isId('00000000-0000-0000-0000-000000000000'), 'any UUID may be asked for');
  for (const wrong of [
    '',
    '1',
    id.toUpperCase(),
    id.replaceAll('-', ''),
    ` ${id}`,
    `${id}\n`,
    `{${id}}`,
    `${id}0`,
  ])
    t.notOk(isId(wrong), wrong);
});
