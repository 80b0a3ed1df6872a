import t from 'tap';
import { idempotencyKeys } from '#drizzle/tables/service/idempotencyKeys.ts';
import { build } from '#test/helper/app.ts';
import { countRows } from '#test/helper/database.ts';
import { essence, isReplayed, keyed } from '#test/helper/events/replays.ts';
import { newPerson } from '#test/helper/resources/records.ts';

// The tests name sections of draft-ietf-httpapi-idempotency-key-header.
let time = Date.now();
const now = () => new Date(time);
const { call, send, newUser, database } = await build(t, { now });

let keys = 0;
const newKey = () => `key-${++keys}`;
const create = (key: string, body: object, status = 201, headers: Record<string, string> = {}) =>
  call('POST', '/api/users', status, { body, headers: { ...keyed(key), ...headers } });

const stored = () => countRows(database.writes, idempotencyKeys);

for (const key of ['!', 'x'.repeat(255), '"quoted-key"'])
  t.test(`2.1: ${key.slice(0, 40)} is a key`, async t => {
    const body = newPerson();
    const first = await create(key, body);
    const again = await create(key, body);
    t.same([isReplayed(first), isReplayed(again)], [false, true]);
    t.same(essence(again), essence(first));
  });

t.test('2.1: quotes are a part of the key', async t => {
  await create('quoted', newPerson());
  t.notOk(isReplayed(await create('"quoted"', newPerson())));
});

// Node joins two headers by a comma and a space.
for (const key of ['', 'x'.repeat(256), 'a, b', 'ä', '\u007f'])
  t.test(
    `2.1, 2.7: ${JSON.stringify(key.slice(0, 10))} is not a key, and the 400 names the header`,
    async t => {
      const before = await stored();
      const { error } = (await create(key, newPerson(), 400)).body;
      const message = 'must be 1 to 255 visible ASCII characters';
      t.same(error.details, [{ in: 'header', path: '/idempotency-key', message }]);
      t.equal(await stored(), before);
    },
  );

t.test('2.3: a key is kept for 24 hours, and is a new one after that', async t => {
  const [key, body, start] = [newKey(), newPerson(), time];
  const first = await create(key, body);
  time = start + 24 * 3_600_000;
  t.same(essence(await create(key, body)), essence(first));
  time++;
  const other = newPerson();
  const next = await create(key, other);
  t.notOk(isReplayed(next), 'not a 422: the first request is forgotten');
  time = start + 47 * 3_600_000;
  t.same(essence(await create(key, other)), essence(next), 'and is kept as long');
});

t.test('2.4: the same key with any other byte, or another path, is refused', async t => {
  const key = newKey();
  const { name, email } = newPerson();
  const text = JSON.stringify({ name, email });
  const send = (raw: string, status: number, path = '/api/users') =>
    call('POST', path, status, { raw, headers: { ...keyed(key), 'content-type': 'application/json' } });
  const first = await send(text, 201);
  const whisper = JSON.stringify({ words: 'A', keeperId: first.body.id });
  for (const [raw, path] of [
    [`${text} `],
    [JSON.stringify({ name, email }, null, 1)],
    [JSON.stringify({ email, name })],
    [JSON.stringify({ name: 'Bea', email })],
    [`\ufeff${text}`],
    [whisper, '/api/whispers'],
  ] as [string, string?][]) {
    const { error } = (await send(raw, 422, path)).body;
    t.same(error.details, { code: 'idempotency_key_reused' });
    t.match(error.message, /Idempotency-Key/);
  }
  t.same(essence(await send(text, 201)), essence(first), 'the first request can still be sent again');
});

t.test('2.4: what the client prefers to get is no part of the request', async t => {
  const minimal = { prefer: 'return=minimal' };
  const [one, other] = [newPerson(), newPerson()];
  const [key, otherKey] = [newKey(), newKey()];
  const full = await create(key, one);
  const short = await create(key, one, 204, minimal);
  const { location, etag } = full.headers;
  t.match(short, { text: '', headers: { location, etag, 'preference-applied': 'return=minimal' } });
  t.ok(isReplayed(short));

  const first = await create(otherKey, other, 204, minimal);
  const later = await create(otherKey, other);
  t.match(later.body, other);
  t.match(later.headers, { location: first.headers.location, etag: '"1"', 'idempotency-replayed': 'true' });
});

t.test('2.5, 2.6: the answer stays the first one when the record is changed or deleted since', async t => {
  const [key, body] = [newKey(), newPerson()];
  const first = await create(key, body);
  const path = first.headers.location ?? '';
  await call('PATCH', path, 200, { body: { name: 'Changed' } });
  t.same(essence(await create(key, body)), essence(first));
  await call('DELETE', path, 204);
  t.same(essence(await create(key, body)), essence(first));
  await call('GET', path, 404);
});

t.test('2.6: a request that failed is tried again, and may be corrected under its key', async t => {
  const taken = await newUser();
  const body = { ...newPerson(), email: taken.email };
  const before = await stored();
  const [invalid, conflicting] = [newKey(), newKey()];
  await create(invalid, { name: '' }, 400);
  await create(conflicting, body, 409);
  await create(conflicting, body, 409);
  t.equal(await stored(), before, 'nothing of them is kept');
  t.notOk(isReplayed(await create(invalid, newPerson())));
  await call('DELETE', `/api/users/${taken.id}`, 204);
  t.notOk(isReplayed(await create(conflicting, body)));
  t.ok(isReplayed(await create(conflicting, body)));
});

t.test('2.6: of twenty requests at once, one takes effect and all get its answer', async t => {
  const [key, body] = [newKey(), newPerson()];
  const total = async () => (await call('GET', '/api/users', 200)).body.meta.total;
  const before = await total();
  /** Repeats a request as clients do: on a busy machine the first may take longer than the others wait. */
  const createOnce = async () => {
    for (;;) {
      const { answer } = await send('POST', '/api/users', { body, headers: keyed(key) });
      if (answer.body.error?.details.code !== 'idempotency_in_progress') return answer;
    }
  };
  const answers = await Promise.all(Array.from({ length: 20 }, createOnce));
  t.equal(new Set(answers.map(answer => JSON.stringify(essence(answer)))).size, 1);
  t.equal(answers.filter(isReplayed).length, 19);
  t.equal(await total(), before + 1);
});
