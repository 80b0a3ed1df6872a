// runs: long
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { makeFeed, type RunCostly } from '#src/changes/feed.ts';
import { follow } from '#src/changes/follow.ts';
import type { Followed } from '#src/changes/followed.ts';
import { numberChanges } from '#src/changes/numbers.ts';
import { readPage } from '#src/changes/pages.ts';
import type { ChangePosition } from '#src/changes/position.ts';
import { type Actor, anyone } from '#src/core/actor.ts';
import { newId } from '#src/core/ids.ts';
import type { Database } from '#src/database/database.ts';
import { recordWrites } from '#src/records/audit.ts';
import { creationOf } from '#src/records/records.ts';
import { inside } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { backend, hold, testLog } from '#test/helper/database.ts';
import { openFeed } from '#test/helper/eventStream.ts';
import { until } from '#test/rig/process.ts';
import { burrow } from '#test/world/burrows.ts';
import { domain } from '#test/world/index.ts';
import { specimen } from '#test/world/specimens.ts';
import { whisper } from '#test/world/whispers.ts';

const { followed } = domain;

t.test(
  'a transaction that began early and commits late is neither skipped nor waited for',
  {
    skip: backend === 'embedded' && 'it has one session',
  },
  async t => {
    const { newUser, follow, database } = await openFeed(t);
    const { next, close } = await follow();
    await next(1, () => true);
    const commit = await hold(database, db =>
      creationOf(burrow)({ ...inside(database), db }, { label: 'Late', parentId: null }),
    );
    const early = await newUser();
    const [first] = await next(1);
    t.equal(first?.data.id, early.id, 'what is committed is sent');
    close();
    // A reader that comes back has a position between the two.
    const stream = await follow('', { 'last-event-id': first?.id ?? '' });
    await stream.next(1, () => true);
    const { id } = await commit();
    const last = await newUser();
    t.same(
      (await stream.next(2)).map(({ data }) => data.id),
      [id, last.id],
      'each once, though the ordinal of the late one is lower',
    );
  },
);

/** A function that follows all changes of these resources, and returns what it gets. */
function watcherOf(t: Test, database: Database, resources: Followed[]) {
  const feed = makeFeed(resources, { database, log: testLog, now: () => new Date() });
  const ending = new AbortController();
  t.teardown(() => ending.abort());
  return async (actor: Actor, filters: Record<string, string> = {}) => {
    const onCostly: RunCostly = work => work(database.costly);
    const follower = { caller: () => ({ actor }), onCostly, signal: ending.signal, isBehind: false };
    const news = follow(feed, follower, { resources, filters }, { in: 'query', path: '', text: undefined });
    await news.next();
    const got: unknown[] = [];
    void (async () => {
      for await (const { changes } of news)
        got.push(
          ...changes.map(({ resource, action, record }) => [`${resource}.${action}`, record !== null]),
        );
    })();
    return got;
  };
}

t.test('with own, a private resource shows only what is theirs, also when the owner changes', async t => {
  const { call, newUser, make, database } = await build(t);
  const open = watcherOf(t, database, followed);
  const [ada, bob] = [await newUser(), await newUser()];
  const own = (person: string | null) => open({ kind: 'key', id: 'k', name: 'k', scopes: ['own'], person });
  const [all, ofAda, ofBob, ofNobody] = [
    await open(anyone),
    await own(ada.id),
    await own(bob.id),
    await own(null),
  ];
  const { id } = await make(whisper, { keeperId: ada.id });
  await sleep(1100);
  await call('PATCH', `/api/whispers/${id}`, 200, { body: { keeperId: bob.id } });
  await sleep(1100);
  await call('DELETE', `/api/whispers/${id}`, 204);
  await call('PATCH', `/api/users/${bob.id}`, 200, { body: { name: 'Bob' } });
  await sleep(1100);
  const [user, gone] = [
    ['user.change', true],
    ['whisper.delete', false],
  ];
  t.same(all, [['whisper.create', true], ['whisper.change', true], gone, user]);
  t.same(ofAda, [['whisper.create', true], ['whisper.change', false], user], 'it is theirs no more');
  t.same(ofBob, [['whisper.change', true], gone, user]);
  t.same(ofNobody, [user]);
});

// Bug: the member of the first resource with a filter was used for all, so a new resource silenced the others.
t.test('a filter of several resources means what it means in each', async t => {
  const { make, database } = await build(t);
  const open = watcherOf(
    t,
    database,
    followed.map(each => (each.name === 'user' ? { ...each, parents: { burrow: 'lairId' } } : each)),
  );
  const [oak, elm] = [await make(burrow), await make(burrow)];
  const got = await open(anyone, { burrow: oak.id });
  for (const { id } of [oak, elm]) await make(specimen, { burrowId: id });
  await until('the change of one is there', () => got.length > 0, 10);
  await sleep(1100);
  t.same(got, [['specimen.create', true]]);
});

// Bug: a row that somebody had deleted made the page, and all readers with it, wait for 2 s.
t.test('a page ends before a change whose record does not show yet, and waits for none', async t => {
  const { newUser, database } = await build(t);
  const newest = () => numberChanges(inside(database));
  const from = await newest();
  const { id } = await newUser();
  const entry = { recordId: 'stripe:cus_1', version: 2, sides: [] };
  await recordWrites(inside(database), 'subscription.change', [entry]);
  // Reads the time of the entry: ids never go back, so it is ahead of now if another test moved the clock.
  const [[at] = []] = await database.writes.rows(
    'select created_at from audit_log order by ordinal desc limit 1',
    [],
  );
  const read = async (milliseconds: number, from: ChangePosition) => {
    const now = () => new Date(Date.parse(String(at)) + milliseconds);
    return readPage({ ...inside(database), now }, followed, from, await newest());
  };
  const page = await read(0, from);
  t.match(page, { changes: [{ resource: 'user', id }], isCut: true });
  t.equal(page.changes.length, 1);
  const again = await read(0, page.to);
  t.same(again, { changes: [], to: page.to, isCut: true }, 'it is read again');
  const show = (version: number) =>
    database.writes.rows(
      `insert into subscriptions (id, provider, customer, status, version, created_at, updated_at)
      values ($1, 'stripe', 'cus_1', 'active', $2, now(), now())
      on conflict (provider, customer) do update set version = excluded.version`,
      [newId(Date.now()), version],
    );
  await show(1);
  t.same(await read(0, page.to), again, 'as it was before');
  const old = await read(4000, page.to);
  t.match(old.changes, [{ resource: 'subscription', record: { version: 1 } }], 'for two seconds');
  await show(2);
  const last = await read(0, page.to);
  t.match(last.changes, [{ resource: 'subscription', record: { version: 2 } }]);
  t.notOk(last.isCut, 'when it shows');
});

t.test('a change whose record never shows holds up no reader for good', async t => {
  const { newUser, database } = await build(t);
  const got = await watcherOf(t, database, followed)(anyone);
  await recordWrites(inside(database), 'subscription.change', [{ recordId: 'stripe:cus_1', version: 2 }]);
  await newUser();
  await until('the next one is there', () => got.length > 0, 30);
  t.same(got, [['user.create', true]]);
});
