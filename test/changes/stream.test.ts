import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { recordWrites } from '../../src/records/audit.ts';
import { inside } from '../helper/access.ts';
import { openFeed } from '../helper/eventStream.ts';

t.test('each committed change is an event, with the record as it is now', async t => {
  const { call, newUser, newPost, follow } = await openFeed(t);
  const before = await newUser();
  const { response, next } = await follow();
  t.match(Object.fromEntries(response.headers), {
    'content-type': 'text/event-stream',
    'x-accel-buffering': 'no',
    'cache-control': 'no-cache',
  });
  const [first] = await next(1, () => true);
  t.match(first, { retry: /^\d+$/, id: /^\d/ });
  t.notOk(first?.data);

  const ada = await newUser();
  const told = {
    resource: 'user',
    id: ada.id,
    action: 'create',
    version: 1,
    changed: [],
    at: /Z$/,
    record: ada,
  };
  t.match(await next(1), [{ event: 'user.create', id: /^\d/, data: told }]);
  const post = await newPost({ authorId: ada.id });
  const path = `/api/posts/${post.id}`;
  await next(1);
  const { body: changed } = await call('PATCH', path, 200, { body: { title: 'Other', status: 'published' } });
  const [event] = await next(1);
  t.match(event, { event: 'post.change', data: { version: 2, at: /Z$/, record: changed } });
  t.same(event?.data.changed, ['title', 'status']);
  await call('PATCH', path, 200, { body: { title: 'Other' } });
  await call('POST', '/api/keys', 201, { body: { name: 'a key', scopes: ['read'] } });
  await call('DELETE', `/api/users/${ada.id}?cascade=true`, 204);
  const last = await next(2);
  t.same(
    last.map(({ event, data }) => [event, data.id, data.version, data.changed, data.record]),
    [
      ['post.delete', post.id, 3, [], null],
      ['user.delete', ada.id, 2, [], null],
    ],
    'posts before their author; neither a write without a change nor a key is an event',
  );
  await call('DELETE', `/api/users/${before.id}`, 204);
  t.match(await next(1), [{ event: 'user.delete', data: { id: before.id } }]);
});

t.test('an action of its own, such as that of a handler, is a change', async t => {
  const { newUser, follow, database } = await openFeed(t);
  const { id: recordId } = await newUser();
  const { next } = await follow();
  await next(1, () => true);
  await recordWrites(inside(database), 'user.pay', [{ recordId, version: 2, sides: [{}] }]);
  t.match(await next(1), [{ event: 'user.change', data: { id: recordId, action: 'change', version: 2 } }]);
});

t.test('a reader that was cut goes on after the last event, and misses nothing', async t => {
  const { newUser, follow } = await openFeed(t);
  const { next, close } = await follow();
  const [beginning] = await next(1, () => true);
  const users = [await newUser(), await newUser(), await newUser()];
  const [one] = await next(1);
  close();
  users.push(await newUser());
  const idsAfter = async (after: string, last: string | undefined, amount: number) => {
    const query = after && `?after=${encodeURIComponent(after)}`;
    const stream = await follow(query, { ...(last && { 'last-event-id': last }) });
    return (await stream.next(amount)).map(({ data }) => data.id);
  };
  const ids = users.map(({ id }) => id);
  const start = beginning?.id ?? '';
  t.same(await idsAfter(start, undefined, 4), ids);
  t.same(await idsAfter('', one?.id, 3), ids.slice(1));
  t.same(await idsAfter(start, one?.id, 3), ids.slice(1), 'a browser repeats its URL: the header counts');
});

t.test('filters choose the changes, and a post that moves to another author reaches both', async t => {
  const { call, newUser, newPost, follow } = await openFeed(t);
  const [ada, bob] = [await newUser(), await newUser()];
  const [ofAda, ofBob] = [await follow(`?author=${ada.id}`), await follow(`?resource=post&author=${bob.id}`)];
  const users = await follow('?resource=user');
  const one = await follow(`?id=${ada.id}`);
  const post = await newPost({ authorId: ada.id });
  await call('PATCH', `/api/posts/${post.id}`, 200, { body: { authorId: bob.id } });
  await call('PATCH', `/api/users/${bob.id}`, 200, { body: { name: 'Bob' } });
  await call('DELETE', `/api/posts/${post.id}`, 204);
  await call('PATCH', `/api/users/${ada.id}`, 200, { body: { name: 'A' } });
  const names = async ({ next }: typeof ofAda, amount: number) =>
    (await next(amount)).map(({ event, data }) => `${event} ${data.version}`);
  t.same(await names(ofBob, 2), ['post.change 2', 'post.delete 3']);
  t.same(await names(users, 2), ['user.change 2', 'user.change 2']);
  t.same(await names(one, 1), ['user.change 2']);
  const last = await newPost({ authorId: ada.id });
  t.same(await names(ofAda, 3), ['post.create 1', 'post.change 2', 'post.create 1']);
  t.equal(ofAda.received.at(-1)?.data.id, last.id);
});

t.test('what cannot be followed is refused before the stream begins', async t => {
  const { call, newUser } = await openFeed(t);
  const { id } = await newUser();
  const refused = {
    '?resource=key': /must be one of/,
    '?nope=1': /is not known/,
    '?resource=user&resource=post': /must be/,
    [`?resource=user&author=${id}`]: /does not fit the resource "user"/,
    '?resource=post&customer=cus_1': /does not fit the resource "post"/,
    [`?author=${id}&customer=cus_1`]: /does not fit the other filters/,
    '?author=x': /must be/,
    '?status=draft': /is not known/,
    '?after=': /is not a position/,
    '?after=x': /is not a position/,
    '?after=1795613972086.7:5:': /is not a position/,
    '?after=1795613972086.7:9:8,7': /is not a position/,
    '?after=1795613972086.0:0:': /is not a position/,
    '?after=1795613972086.5:5:.5:5:.x': /is not a position/,
    '?after=1795613972086.5:5:.5:5:.1.1': /is not a position/,
  };
  for (const [query, message] of Object.entries(refused)) {
    const { error } = (await call('GET', `/api/changes${query}`, 400)).body;
    t.match(error.details, [{ in: 'query', message }], query);
  }
  for (const last of ['', 'x', '1795613972086.7:5:']) {
    const options = { headers: { 'last-event-id': last } };
    const { error } = (await call('GET', '/api/changes?after=x', 400, options)).body;
    t.match(error.details, [{ in: 'header', path: '/last-event-id' }]);
  }
  const gone = {
    'older than what is kept': `${Date.now() - 366 * 86_400_000}.700:700:`,
    'of another database': `${Date.now()}.700:999999999:`,
  };
  for (const [why, after] of Object.entries(gone))
    t.match(
      (await call('GET', `/api/changes?after=${after}`, 410)).body.error.details,
      { code: 'gone' },
      why,
    );
});

t.test('a caller has a tenth of MAX_IN_FLIGHT as streams', async t => {
  const { app, follow } = await openFeed(t, { settings: { MAX_IN_FLIGHT: 30 } });
  const streams = [await follow(), await follow(), await follow()];
  const { response } = await follow();
  t.equal(response.status, 429);
  t.ok(response.headers.get('retry-after'));
  t.match(await response.json(), { error: { details: { code: 'rate_limited' } } });
  streams[0]?.close();
  for (let open = 429; open === 429; await sleep(20)) open = (await follow()).response.status;
  t.equal(app.pressure.inFlight, 0, 'streams are not requests in flight');
});

t.test('at the end of the service streams end, after the time to come back', async t => {
  const { app, follow } = await openFeed(t);
  const { ended, received } = await follow();
  await app.close();
  await ended;
  t.match(received.at(-1), { retry: /^\d{4}$/ });
});

t.test('hostile: clients that leave while their stream opens leave nothing behind', async t => {
  const { url, call, follow } = await openFeed(t, { settings: { MAX_IN_FLIGHT: 1000 } });
  for (let i = 0; i < 150; i++) {
    const leaving = new AbortController();
    setTimeout(() => leaving.abort(), Math.random() * 6);
    await fetch(`${url}/api/changes`, { signal: leaving.signal }).catch(() => {});
    leaving.abort();
  }
  const open = async () =>
    Number(/^streams_open (\d+)$/m.exec((await call('GET', '/metrics', 200)).text)?.[1]);
  for (const end = Date.now() + 10_000; (await open()) > 0 && Date.now() < end; ) await sleep(20);
  t.equal(await open(), 0);
  t.equal((await follow()).response.status, 200);
});
