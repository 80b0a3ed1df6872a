import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { sql } from '../../drizzle/orm.ts';
import { type Connection, orm } from '../../src/database/connection.ts';
import { recordWrites } from '../../src/services/audit.ts';
import { inside } from '../helper/access.ts';
import { build } from '../helper/app.ts';
import { openTestDatabase } from '../helper/database.ts';
import { seed } from '../helper/values/random.ts';
import { buildDoor, paymentEvent } from '../helper/webhooks.ts';

/** U+FEFF, which a TextDecoder takes for a byte order mark and drops unless it is made with `ignoreBOM`. */
const mark = '\ufeff';

t.test('bug: a payment by the customer U+FEFF + "cus_1" activated cus_1', async t => {
  const { call, deliver, eventually } = await buildDoor(t);
  for (const [i, customer] of [`${mark}cus_1`, `${mark}${mark}cus_2`, mark].entries()) {
    await deliver(paymentEvent({ id: `${mark}evt_${i}`, customer }));
    const event = await eventually(`customer=${encodeURIComponent(customer)}`, 'processed');
    t.match(event, { customer, eventId: `${mark}evt_${i}` });
    const { body } = await call('GET', `/api/subscriptions/${encodeURIComponent(customer)}`, 200);
    t.match(body, { customer, status: 'active' });
  }
  await call('GET', '/api/subscriptions/cus_1', 404);
  await call('GET', `/api/subscriptions/${encodeURIComponent(`${mark}cus_2`)}`, 404);
  t.equal((await call('GET', '/api/subscriptions', 200)).body.meta.total, 3);
});

t.test('bug: a name of U+FEFF alone was read as an empty one', async t => {
  const { call, newUser, newPost } = await build(t);
  const users = [
    await newUser({ name: mark }),
    await newUser({ name: `${mark}Ada` }),
    await newUser({ name: 'Ada' }),
  ];
  const [first] = users;
  const post = await newPost({ authorId: first?.id ?? '', title: `${mark}${mark}Notes` });
  const ask = async (query: string) =>
    (await call('POST', '/api/graphql', 200, { body: { query } })).body.data;
  const names = users.map(({ name }) => name);
  t.same(names, [mark, `${mark}Ada`, 'Ada']);
  t.same((await call('GET', '/api/users', 200)).body.data, users);
  t.same(
    (await ask('{ users { name } }')).users.map(({ name }: { name: string }) => name),
    names,
  );
  for (const user of users) {
    t.same((await call('GET', `/api/users/${user.id}`, 200)).body, user);
    t.same(await ask(`{ user(id: "${user.id}") { name } }`), { user: { name: user.name } });
    t.same((await call('GET', `/api/users?${new URLSearchParams({ name: user.name })}`, 200)).body.data, [
      user,
    ]);
    t.same(await ask(`{ users(name: "${user.name}") { id } }`), { users: [{ id: user.id }] });
  }
  t.same(await ask('{ posts { title author { name } } }'), {
    posts: [{ title: post.title, author: { name: mark } }],
  });
  t.same((await call('GET', `/api/posts?${new URLSearchParams({ title: post.title })}`, 200)).body.data, [
    post,
  ]);
});

t.test('lists of texts in the audit log keep a leading U+FEFF', async t => {
  const { call, database } = await build(t);
  const changed = [`${mark}name`, mark, 'email'];
  const writes = ['id', `${mark}id`].map(recordId => ({ recordId, changed }));
  await recordWrites(inside(database), 'user.change', writes);
  const { body } = await call('GET', '/api/audit', 200);
  t.match(body.data, [
    { recordId: `${mark}id`, changed },
    { recordId: 'id', changed },
  ]);
  const found = await call('GET', `/api/audit?${new URLSearchParams({ record: `${mark}id` })}`, 200);
  t.same(found.body.data, body.data.slice(0, 1));
});

t.test('every text that is read keeps its leading U+FEFF', async t => {
  const { writes } = await openTestDatabase(t);
  const text = fc.string({ unit: 'binary' }).map(rest => mark + rest.replaceAll('\0', ''));
  const texts = fc.array(fc.oneof(text, fc.constantFrom(null, '', mark, 'plain')), { minLength: 1 });
  const read = (db: Connection, given: (string | null)[]) =>
    orm(db)
      .select({ value: sql`value`, list: sql`list`, json: sql`to_jsonb(list)` })
      .from(sql`(
      select value, coalesce(array_agg(value) filter (where value is not null) over (), '{}') as list
      from json_array_elements_text(${JSON.stringify(given)}::json) as value
    ) as given`);
  await fc.assert(
    fc.asyncProperty(texts, fc.boolean(), async (given, isInside) => {
      const rows = await (isInside ? writes.transaction(tx => read(tx, given)) : read(writes, given));
      const list = given.filter(value => value !== null);
      assert.deepEqual(
        rows,
        given.map(value => ({ value, list, json: list })),
      );
    }),
    { seed, numRuns: 200 },
  );
});

t.test('an error of the database keeps a leading U+FEFF', async t => {
  const db = orm((await openTestDatabase(t)).writes);
  const raised = db.execute(
    sql.raw(
      `do $$ begin raise exception '${mark}%', 'text' using detail = '${mark}detail', hint = '${mark}hint'; end $$`,
    ),
  );
  await t.rejects(raised, {
    cause: { message: `${mark}text`, detail: `${mark}detail`, hint: `${mark}hint` },
  });
  await t.rejects(db.execute(sql`select ${`${mark}1`}::text::integer`), {
    cause: { message: `"${mark}1"`, code: '22P02' },
  });
  t.same(await db.select({ value: sql`${mark}::text` }).from(sql`(select) as nothing`), [{ value: mark }]);
});
