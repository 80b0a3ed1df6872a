// runs: also on embedded
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { recordWrites } from '#src/records/audit.ts';
import { inside } from '#test/helper/access.ts';
import { openFeed } from '#test/helper/eventStream.ts';
import { burrow } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';

t.test('each committed change is an event, with the record as it is now', async t => {
  const { call, make, follow } = await openFeed(t);
  const before = await make(burrow);
  const { response, next } = await follow();
  t.match(Object.fromEntries(response.headers), {
    'content-type': 'text/event-stream',
    'x-accel-buffering': 'no',
    'cache-control': 'no-cache',
  });
  const [first] = await next(1, () => true);
  t.match(first, { retry: /^\d+$/, id: /^\d/ });
  t.notOk(first?.data);

  const oak = await make(burrow);
  const told = { resource: 'burrow', action: 'create', version: 1, changed: [], at: /Z$/ };
  t.match(await next(1), [{ event: 'burrow.create', id: /^\d/, data: { ...told, id: oak.id, record: oak } }]);
  const { id } = await make(specimen, { burrowId: oak.id });
  const path = `/api/specimens/${id}`;
  await next(1);
  const { body: changed } = await call('PATCH', path, 200, { body: { label: 'Other', isWet: false } });
  const [event] = await next(1);
  t.match(event, { event: 'specimen.change', data: { version: 2, at: /Z$/, record: changed } });
  t.same(event?.data.changed, ['label', 'isWet']);
  await call('PATCH', path, 200, { body: { label: 'Other' } });
  await call('POST', '/api/keys', 201, { body: { name: 'a key', scopes: ['read'] } });
  await call('DELETE', `/api/burrows/${oak.id}?cascade=true`, 204);
  const last = await next(2);
  t.same(
    last.map(({ event, data }) => [event, data.id, data.version, data.changed, data.record]),
    [
      ['specimen.delete', id, 3, [], null],
      ['burrow.delete', oak.id, 2, [], null],
    ],
    'specimens before their burrow; neither a write without a change nor a key is an event',
  );
  await call('DELETE', `/api/burrows/${before.id}`, 204);
  t.match(await next(1), [{ event: 'burrow.delete', data: { id: before.id } }]);
});

t.test(
  'the changes of a batch are told after its commit, each once, and those of a refused one never',
  async t => {
    const { call, make, follow } = await openFeed(t);
    const { id } = await make(burrow);
    const { next } = await follow();
    await next(1, () => true);
    const digging = (members: object) => ({ method: 'POST', path: '/api/burrows', body: members });
    const operations = [digging({ label: 'A' }), digging({ label: 'B', parentId: '$0' })];
    const absent = { method: 'DELETE', path: '/api/burrows/nobody' };
    await call('POST', '/api/batch', 404, { body: { operations: [...operations, absent] } });
    operations.push({ method: 'PATCH', path: `/api/burrows/${id}`, body: { label: 'C' } });
    const { body } = await call('POST', '/api/batch', 200, { body: { operations } });
    const told = (await next(3)).map(({ event, data }) => [event, data.record]);
    const records = body.results.map((result: { body: object }) => result.body);
    t.same(told, [
      ['burrow.create', records[0]],
      ['burrow.create', records[1]],
      ['burrow.change', records[2]],
    ]);
    await call('DELETE', `/api/burrows/${id}`, 204);
    t.match(await next(1), [{ event: 'burrow.delete', data: { id } }]);
  },
);

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

t.test('filters choose the changes, and a specimen that moves to another burrow reaches both', async t => {
  const { call, make, follow } = await openFeed(t);
  const [oak, elm] = [await make(burrow), await make(burrow)];
  const ofOak = await follow(`?burrow=${oak.id}`);
  const ofElm = await follow(`?resource=specimen&burrow=${elm.id}`);
  const [burrows, one] = [await follow('?resource=burrow'), await follow(`?id=${oak.id}`)];
  const { id } = await make(specimen, { burrowId: oak.id });
  await call('PATCH', `/api/specimens/${id}`, 200, { body: { burrowId: elm.id } });
  await call('PATCH', `/api/burrows/${elm.id}`, 200, { body: { label: 'Elm' } });
  await call('DELETE', `/api/specimens/${id}`, 204);
  await call('PATCH', `/api/burrows/${oak.id}`, 200, { body: { label: 'Oak' } });
  const names = async ({ next }: typeof ofOak, amount: number) =>
    (await next(amount)).map(({ event, data }) => `${event} ${data.version}`);
  t.same(await names(ofElm, 2), ['specimen.change 2', 'specimen.delete 3']);
  t.same(await names(burrows, 2), ['burrow.change 2', 'burrow.change 2']);
  t.same(await names(one, 1), ['burrow.change 2']);
  const last = await make(specimen, { burrowId: oak.id });
  t.same(await names(ofOak, 3), ['specimen.create 1', 'specimen.change 2', 'specimen.create 1']);
  t.equal(ofOak.received.at(-1)?.data.id, last.id);
});

t.test('what cannot be followed is refused before the stream begins', async t => {
  const { call, make } = await openFeed(t);
  const { id } = await make(burrow);
  const refused = {
    '?resource=key': /must be one of/,
    '?nope=1': /is not known/,
    '?resource=user&resource=specimen': /must be/,
    [`?resource=user&burrow=${id}`]: /does not fit the resource "user"/,
    '?resource=specimen&customer=cus_1': /does not fit the resource "specimen"/,
    [`?burrow=${id}&customer=cus_1`]: /does not fit the other filters/,
    '?burrow=x': /must be/,
    '?grade=rough': /is not known/,
    '?after=': /is not a position/,
    '?after=x': /is not a position/,
    '?after=1': /is not a position/,
    [`?after=${id}`]: /is not a position/,
    [`?after=-1.${id}`]: /is not a position/,
    [`?after=1.${id}.1`]: /is not a position/,
    [`?after=1.${id.toUpperCase()}`]: /is not a position/,
    [`?after=${'9'.repeat(16)}.${id}`]: /is not a position/,
    [`?after=${'9'.repeat(99)}.${id}`]: /must be at most 100 characters/,
  };
  for (const [query, message] of Object.entries(refused)) {
    const { error } = (await call('GET', `/api/changes${query}`, 400)).body;
    t.match(error.details, [{ in: 'query', message }], query);
  }
  for (const last of ['', 'x', `1.${id}.1`]) {
    const options = { headers: { 'last-event-id': last } };
    const { error } = (await call('GET', '/api/changes?after=x', 400, options)).body;
    t.match(error.details, [{ in: 'header', path: '/last-event-id' }]);
  }
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
  const closing = app.close();
  await ended;
  // Closes the connection that the client has opened in advance: the service waits for a request on it.
  app.server.closeAllConnections();
  await closing;
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
