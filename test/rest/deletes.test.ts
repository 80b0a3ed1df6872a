import t from 'tap';
import { sql } from '#drizzle/orm.ts';
import { orm } from '#src/database/connection.ts';
import { build } from '#test/helper/app.ts';
import { burrow } from '#test/world/burrows.ts';

const { call, newUser, make, database } = await build(t);

t.test('a burrow with others is not deleted, and the error counts them', async t => {
  const { id } = await make(burrow);
  for (const total of [1, 2, 3]) {
    await make(burrow, { parentId: id });
    for (const path of [`/api/burrows/${id}`, `/api/burrows/${id}?cascade=false`]) {
      const { error } = (await call('DELETE', path, 409)).body;
      t.same(error.details, { code: 'burrow_has_burrows', burrows: total });
      t.match(error.message, /cascade=true/);
    }
  }
  await call('GET', `/api/burrows/${id}`, 200);
});

t.test('a cascade over too many specimens is refused with their number (bug: it was a 503)', async t => {
  const { id } = await make(burrow);
  await orm(database.writes).execute(sql`
    insert into specimens (id, label, burrow_id, created_at, updated_at)
    select gen_random_uuid(), 'x', ${id}, now(), now() from generate_series(1, 10001)`);
  const { error } = (await call('DELETE', `/api/burrows/${id}?cascade=true`, 409)).body;
  t.same(error.details, { code: 'too_many_specimens', specimens: 10_001, maximum: 10_000 });
  const { data, meta } = (await call('GET', `/api/specimens?burrow=${id}`, 200)).body;
  t.equal(meta.total, 10_001, 'nothing is deleted');
  await call('DELETE', `/api/specimens/${data[0].id}`, 204);
  await call('DELETE', `/api/burrows/${id}?cascade=true`, 204);
  t.equal((await call('GET', `/api/specimens?burrow=${id}`, 200)).body.meta.total, 0);
});

t.test('cascade must be true or false', async t => {
  const { id } = await newUser();
  for (const value of ['1', 'TRUE', '']) {
    const { error } = (await call('DELETE', `/api/users/${id}?cascade=${value}`, 400)).body;
    t.same(error.details, [{ in: 'query', path: '/cascade', message: 'must be a boolean' }], value);
  }
});
