import t from 'tap';
import { sql } from '../../../drizzle/orm.ts';
import { orm } from '../../../src/database/connection.ts';
import { listPosts } from '../../../src/services/posts.ts';
import { createUser, listUsers } from '../../../src/services/users.ts';
import { inside } from '../../helper/access.ts';
import { openTestDatabase } from '../../helper/database.ts';

t.test('the pages of a list contain every record once, in order, with correct totals', async t => {
  const context = inside(await openTestDatabase(t));
  const { db } = context;
  const user = await createUser(context, { name: 'Ada', email: 'ada@example.com' });
  await orm(db).execute(sql`
    insert into posts (id, title, status, author_id, created_at, updated_at)
    select (lpad(to_hex(1751328000000 + n * 7), 12, '0') || '70008002' || lpad(to_hex(n), 12, '0'))::uuid, 'title ' || n % 7,
      case when n % 3 = 0 then 'draft' else 'published' end, ${user.id}, to_timestamp((1751328000000 + n * 7) / 1000.0), now()
    from generate_series(1, 4000) as n`);

  for (const filter of [
    {},
    { status: 'draft' },
    { author: user.id },
    { status: 'draft', title: 'title 1' },
  ] as const)
    for (const sort of ['createdAt', '-createdAt', 'title', '-title'] as const) {
      const walked: { id: string; createdAt: string; title: string }[] = [];
      let total = 1;
      for (let page = 1; walked.length < total && page < 50; page++) {
        const { data, meta } = await listPosts(context, { page, limit: 100, sort, ...filter });
        walked.push(...data);
        total = meta.total;
      }
      const text = `${sort} ${Object.entries(filter)}`;
      t.equal(walked.length, total, `${text}: the total is correct`);
      t.equal(new Set(walked.map(({ id }) => id)).size, total, `${text}: no record twice`);
      const key = sort.replace('-', '') as 'title' | 'createdAt';
      const keys = walked.map(post => `${post[key]} ${post.id}`);
      const sorted = keys.toSorted();
      t.same(keys, sort.startsWith('-') ? sorted.reverse() : sorted, `${text}: in order`);
    }
  const past = await listPosts(context, { page: 1000, limit: 20, sort: '-createdAt' });
  t.match(past, { data: [], meta: { total: 4000, totalPages: 200 } });
  t.match(await listUsers(context, { page: 1, limit: 20, sort: 'createdAt' }), {
    data: [user],
    meta: { total: 1 },
  });
});
