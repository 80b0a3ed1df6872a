// runs: also on embedded
import t from 'tap';
import { build } from '#test/helper/app.ts';
import { burrow } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';

const { call, make } = await build(t);
const burrowId = (await make(burrow)).id;
const labels = ['b', 'a', 'b', '\u{10FFFF}'.repeat(500), 'b', 'c'];
for (const label of labels) await make(specimen, { label, burrowId, grade: 'rough' });

/** Follows one relation of the Link header, or the cursor that it would have, to the end. */
async function follow(path: string, relation: 'next' | 'prev') {
  const seen: string[][] = [];
  for (let next: string | undefined = path; next; ) {
    const { body, headers } = await call('GET', next, 200);
    seen.push(body.data.map(({ label }: { label: string }) => label.slice(0, 2)));
    t.same(Object.keys(body.meta), ['limit', 'next', 'previous']);
    t.ok((headers.link?.length ?? 0) <= 2048);
    const cursor: string | null = relation === 'next' ? body.meta.next : body.meta.previous;
    const linked = new RegExp(`<([^>]*)>; rel="${relation}"`).exec(headers.link ?? '')?.[1];
    if (linked)
      t.equal(new URL(linked, 'http://x').searchParams.get(relation === 'next' ? 'after' : 'before'), cursor);
    const url = new URL(path, 'http://x');
    for (const name of ['after', 'before']) url.searchParams.delete(name);
    url.searchParams.set(relation === 'next' ? 'after' : 'before', cursor ?? '');
    next = cursor === null ? undefined : (linked ?? `${url.pathname}${url.search}`);
  }
  return seen;
}

t.test('an empty cursor starts at one end, and the links lead to the other', async t => {
  const path = '/api/specimens?limit=2&sort=label';
  const largest = '\u{10FFFF}';
  t.same(await follow(`${path}&after=`, 'next'), [
    ['a', 'b'],
    ['b', 'b'],
    ['c', largest],
  ]);
  t.same(await follow(`${path}&before=`, 'prev'), [
    ['c', largest],
    ['b', 'b'],
    ['a', 'b'],
  ]);
  const last = (await call('GET', `${path}&before=`, 200)).headers.link ?? '';
  t.match(last, '</api/specimens?limit=2&sort=label&after=>; rel="first"');
  t.match(last, /rel="prev"/);
  t.notMatch(last, /rel="(next|last)"/);
});

t.test(
  'a cursor of a long label works in a URL, and the links that would be too long are left out',
  async t => {
    const path = '/api/specimens?limit=1&sort=-label';
    const { body, headers } = await call('GET', `${path}&after=`, 200);
    t.equal(body.data[0].label, labels[3]);
    t.ok(body.meta.next.length > 2048);
    t.equal(headers.link, undefined);
    t.same((await call('GET', `${path}&after=${body.meta.next}`, 200)).body.data[0].label, 'c');
  },
);

t.test('a cursor keeps its place when its record is gone, and an empty page has one back', async t => {
  const { call, newUser } = await build(t);
  for (const name of ['a', 'b', 'c', 'd']) await newUser({ name });
  const get = async (query: string) => (await call('GET', `/api/users?sort=name&limit=3&${query}`, 200)).body;
  const first = await get('after=');
  const [{ id: last }] = (await get(`after=${first.meta.next}`)).data;
  for (const id of [first.data[2].id, last]) await call('DELETE', `/api/users/${id}`, 204);
  const empty = await get(`after=${first.meta.next}`);
  t.match(empty, { data: [], meta: { limit: 3, next: null, previous: String } });
  t.same((await get(`before=${empty.meta.previous}`)).data, first.data.slice(0, 2), 'with all that is left');
});

t.test('page, after and before are refused together, and so is a cursor of another list', async t => {
  const cursorOf = async (query: string) =>
    (await call('GET', `/api/specimens?limit=1&after=&${query}`, 200)).body.meta.next;
  const [next, filtered] = [await cursorOf(''), await cursorOf('grade=rough')];
  const fits = 'is not a cursor of this list with these filters and this sort';
  const years = 'must be a time with its zone from the year 1 to 9999, such as 2026-11-23T00:00:00Z';
  for (const [query, name, message] of [
    ['after=&page=1', 'page', 'cannot be combined with "after"'],
    [`before=${next}&page=2`, 'page', 'cannot be combined with "before"'],
    [`after=${next}&before=${next}`, 'before', 'cannot be combined with "after"'],
    [`after=${next}&grade=rough`, 'after', fits],
    [`after=${next}&sort=label`, 'after', fits],
    [`after=${next}&sort=-createdAt`, 'after', fits],
    [`after=${next}&burrow=${burrowId}`, 'after', fits],
    [`after=${next}&createdSince=2026-01-01T00:00:00Z`, 'after', fits],
    [`after=${filtered}`, 'after', fits],
    [`after=${filtered}&grade=fine`, 'after', fits],
    ['createdSince=0000-01-01T00:00:00Z', 'createdSince', years],
    ['after=&createdBefore=0000-01-01T00:00:00Z', 'createdBefore', years],
    [`before=${next}x`, 'before', fits],
    ['before=%00', 'before', fits],
    [`after=${'x'.repeat(4001)}`, 'after', 'must be at most 4000 characters long'],
  ]) {
    const { error } = (await call('GET', `/api/specimens?${query}`, 400)).body;
    t.same(error.details, [{ in: 'query', path: `/${name}`, message }], `${query}`.slice(0, 80));
  }
  await call('GET', `/api/users?after=${next}`, 400);
  await call('GET', '/api/audit?page=1', 400);
  const { data } = (await call('GET', `/api/specimens?limit=5&after=${next}`, 200)).body;
  t.equal(data.length, 5, 'the size may change');
});

t.test('every list is filtered by time, by page and by cursor', async t => {
  const all = (await call('GET', '/api/specimens', 200)).body.data;
  const since = all[2].createdAt;
  const expected = all.filter(({ createdAt }: { createdAt: string }) => createdAt >= since);
  const { body } = await call('GET', `/api/specimens?createdSince=${since}&limit=1`, 200);
  t.same(body.meta, { page: 1, limit: 1, total: expected.length, totalPages: expected.length });
  t.same((await call('GET', `/api/specimens?createdSince=${since}&after=`, 200)).body.data, expected);
  const before = (await call('GET', `/api/specimens?createdBefore=${since}`, 200)).body;
  t.equal(before.meta.total, all.length - expected.length, 'a time is excluded by `createdBefore`');
  for (const list of ['users', 'subscriptions', 'keys']) {
    const none = '9999-01-01T00:00:00Z';
    for (const mode of ['', '&after=', '&before=']) {
      const path = `/api/${list}?createdSince=${none}${mode}`;
      t.same((await call('GET', path, 200)).body.data, [], path);
    }
  }
});
