import t from 'tap';
import { sql } from '../../drizzle/orm.ts';
import { auditLog } from '../../drizzle/tables/auditLog.ts';
import { lowestId, newId, timeOf } from '../../src/core/ids.ts';
import { orm } from '../../src/database/connection.ts';
import { trimAudit } from '../../src/services/audit.ts';
import { bearer, inside, makeKey } from '../helper/access.ts';
import { build } from '../helper/app.ts';
import { countRows } from '../helper/database.ts';

t.test('every write is logged with actor, action, time, address and transport', async t => {
  const { call, database } = await build(t, { settings: { AUTH_MODE: 'required' } });
  const admin = await makeKey(database, ['admin']);
  const headers = { ...bearer(admin.key), 'x-request-id': 'test-1' };
  const { body: user } = await call('POST', '/api/users', 201, {
    headers,
    body: { name: 'A', email: 'a@b.example' },
  });
  const path = `/api/users/${user.id}`;
  await call('PATCH', path, 200, { headers, body: { name: 'B', email: 'a@b.example' } });
  await call('PATCH', path, 200, { headers, body: { name: 'B' } });
  const body = { title: 'T', authorId: user.id };
  const { body: post } = await call('POST', '/api/posts', 201, { headers, body });
  const { body: other } = await call('POST', '/api/posts', 201, { headers, body });
  await call('PATCH', `/api/posts/${post.id}`, 200, { headers, body: { status: 'published' } });
  await call('DELETE', `/api/posts/${post.id}`, 204, { headers });
  await call('DELETE', `${path}?cascade=true`, 204, { headers });
  const { body: key } = await call('POST', '/api/keys', 201, {
    headers,
    body: { name: 'k', scopes: ['read'] },
  });
  await call('DELETE', `/api/keys/${key.id}`, 204, { headers });

  const data = (await call('GET', `/api/audit?actor=${admin.id}`, 200, { headers })).body.data.reverse();
  const short = data.map(({ action, recordId, changed }: Record<string, unknown>) => [
    action,
    recordId,
    changed,
  ]);
  t.same(short, [
    ['user.create', user.id, []],
    ['user.change', user.id, ['name']],
    ['post.create', post.id, []],
    ['post.create', other.id, []],
    ['post.change', post.id, ['status']],
    ['post.delete', post.id, []],
    ['post.delete', other.id, []],
    ['user.delete', user.id, []],
    ['key.create', key.id, []],
    ['key.revoke', key.id, []],
  ]);
  t.match(data[0], {
    actorKind: 'key',
    actorId: admin.id,
    actorName: 'admin',
    transport: 'rest',
    address: '127.0.0.1',
    requestId: 'test-1',
  });
  const { body: made } = await call('GET', `/api/audit?record=${admin.id}`, 200, { headers });
  t.match(made.data, [{ action: 'key.create', actorKind: 'system', transport: 'command', address: null }]);
});

t.test('a refused or rolled back write leaves no entry', async t => {
  const { call } = await build(t);
  const ada = { name: 'A', email: 'a@b.example' };
  const { body: user } = await call('POST', '/api/users', 201, { body: ada });
  await call('POST', '/api/users', 409, { body: ada });
  await call('POST', '/api/posts', 201, { body: { title: 'T', authorId: user.id } });
  await call('DELETE', `/api/users/${user.id}`, 409);
  await call('DELETE', '/api/posts/019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90', 404);
  const { body } = await call('GET', '/api/audit', 200);
  t.same(
    body.data.map(({ action }: { action: string }) => action),
    ['post.create', 'user.create'],
  );
  t.match(body.data[0], { actorKind: 'anyone', actorId: null });
});

// Bug: ids never go back, so after the clock stepped back the time in an id was later than `createdAt`. Time filters
// compare ids and missed the entry.
t.test('an entry is found by its time even after the clock steps back', async t => {
  let clock = Date.now() + 60_000;
  const { call } = await build(t, { now: () => new Date(clock) });
  for (let i = 0; i < 3; i++) {
    const { id } = (await call('POST', '/api/users', 201, { body: { name: 'A', email: `a${i}@b.example` } }))
      .body;
    await call('PATCH', `/api/users/${id}`, 200, { body: { name: 'B' } });
    clock -= 5000;
  }
  const { data } = (await call('GET', '/api/audit', 200)).body;
  t.equal(data.length, 6);
  for (const { id, createdAt } of data) t.equal(timeOf(id).toISOString(), createdAt);
  const oldest = data.at(-1).createdAt;
  t.equal((await call('GET', `/api/audit?createdSince=${oldest}`, 200)).body.data.length, 6);
  t.equal((await call('GET', `/api/audit?createdBefore=${oldest}`, 200)).body.data.length, 0);
});

t.test('the log is append-only, and only old entries can be trimmed', async t => {
  const { call, database } = await build(t);
  await call('POST', '/api/users', 201, { body: { name: 'A', email: 'a@b.example' } });
  for (const statement of [
    'update audit_log set transport = null',
    'delete from audit_log',
    'truncate audit_log',
  ])
    await t.rejects(orm(database.writes).execute(sql.raw(statement)), statement);
  const entry = (await orm(database.writes).select().from(auditLog))[0] as typeof auditLog.$inferSelect;
  const day = 86_400_000;
  const ago = (time: number) => new Date(Date.now() - time);
  const entryOf = (time: Date) => ({
    ...entry,
    id: lowestId(time).replace(/.{12}$/, newId(0).slice(-12)),
    createdAt: time.toISOString(),
  });
  for (let i = 0; i < 3; i++)
    await orm(database.writes)
      .insert(auditLog)
      .values(entryOf(ago(400 * day)));
  t.equal(await trimAudit(inside(database), ago(365 * day)), 3);
  t.equal(await trimAudit(inside(database), ago(365 * day)), 0);
  t.equal(await countRows(database.writes, auditLog), 1);

  await orm(database.writes)
    .insert(auditLog)
    .values([entryOf(ago(day + 60_000)), entryOf(ago(day - 60_000))]);
  t.equal(
    await trimAudit(inside(database), ago(day - 120_000)),
    1,
    'an entry that only our clock takes for a day old is kept, and the others are trimmed (bug: none was)',
  );
});
