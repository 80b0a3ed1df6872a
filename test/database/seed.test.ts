// runs: also on embedded
import t from 'tap';
import { readAmounts, seed, seedRecord } from '#scripts/lib/seed.ts';
import { user } from '#src/domain/users.ts';
import { build } from '#test/helper/app.ts';
import { domain } from '#test/world/index.ts';

const quietly = () => {};
const timeOf = (id: string) => Number.parseInt(id.slice(0, 13).replace('-', ''), 16);
const names = domain.records.map(({ plural }) => plural);
const amounts = readAmounts(domain.records, [...names.map(name => `${name}=50`), 'users=20']);

t.test(
  'the seed looks like the data of the service, and a second one adds what is missing and changes nothing',
  async t => {
    const { call, database } = await build(t);
    const fill = () => seed(database.writes, domain.records, amounts, quietly);
    // A user already has an address that the seed would use.
    const email = String(seedRecord(user, 0, amounts).email).toUpperCase();
    const { body: own } = await call('POST', '/api/users', 201, { body: { name: 'Somebody', email } });
    await fill();
    const { body: users } = await call('GET', '/api/users?sort=name', 200);
    await call('PATCH', `/api/users/${users.data[0].id}`, 200, { body: { name: 'Changed' } });
    await call('DELETE', `/api/users/${users.data[1].id}?cascade=true`, 204);

    await fill();
    const { body: again } = await call('GET', '/api/users', 200);
    t.equal(again.meta.total, 20, 'nineteen from the seed, and the existing user');
    t.equal((await call('GET', `/api/users/${users.data[0].id}`, 200)).body.name, 'Changed');
    t.same((await call('GET', `/api/users/${own.id}`, 200)).body, own);
    const read = () =>
      Promise.all(domain.records.map(({ path }) => call('GET', `/api/${path}?limit=100`, 200)));
    const before = (await read()).map(({ body }) => body);
    for (const { data } of before) {
      t.ok(data.length >= 20, `${data.length} records`);
      for (const { id, createdAt } of data.filter(({ id }: { id: string }) => id !== own.id))
        t.equal(timeOf(id), Date.parse(createdAt), 'ids are those of the service');
    }
    await fill();
    t.same(
      (await read()).map(({ body }) => body),
      before,
    );
  },
);

t.test('named lists are filled with those that they belong to, and no others', async t => {
  t.same(readAmounts(domain.records, ['users=7']), { users: 7 });
  t.same(readAmounts(domain.records, ['tendings=3', 'users=7']), { burrows: 200_000, users: 7, tendings: 3 });
  t.ok(Object.values(readAmounts(domain.records, [])).length >= 6);
});

t.test('an amount that cannot be is refused', async t => {
  const wrong = (text: string) => readAmounts(domain.records, [text]);
  t.throws(() => wrong('colours=3'), { message: /There is no list 'colours': use one of users, / });
  for (const amount of ['', '-1', 'x', '5000001'])
    t.throws(() => wrong(`users=${amount}`), { message: /users must be a whole number up to 5,000,000/ });
});
