import t from 'tap';
import { seed } from '../../scripts/lib/seed.ts';
import { userOf } from '../../scripts/lib/seedRecords.ts';
import { build } from '../helper/app.ts';

const quietly = () => {};
const timeOf = (id: string) => Number.parseInt(id.slice(0, 13).replace('-', ''), 16);

t.test(
  'the seed looks like the data of the service, and a second one adds what is missing and changes nothing',
  async t => {
    const { call, database } = await build(t);
    // A user already has an address that the seed would use.
    const { body: own } = await call('POST', '/api/users', 201, {
      body: { name: 'Somebody', email: userOf(0).email },
    });
    await seed(database.writes, { users: 20, posts: 50 }, quietly);
    const { body: user } = await call('GET', '/api/users?sort=name', 200);
    await call('PATCH', `/api/users/${user.data[0].id}`, 200, { body: { name: 'Changed' } });
    await call('DELETE', `/api/users/${user.data[1].id}?cascade=true`, 204);

    await seed(database.writes, { users: 20, posts: 50 }, quietly);
    const { body: again } = await call('GET', '/api/users', 200);
    t.equal(again.meta.total, 20, 'nineteen from the seed, and the existing user');
    t.equal((await call('GET', `/api/users/${user.data[0].id}`, 200)).body.name, 'Changed');
    t.same((await call('GET', `/api/users/${own.id}`, 200)).body, own);
    const before = await call('GET', '/api/posts?limit=100', 200);
    for (const { id, createdAt } of before.body.data)
      t.equal(timeOf(id), Date.parse(createdAt), 'ids are those of the service');
    await seed(database.writes, { users: 20, posts: 50 }, quietly);
    t.same((await call('GET', '/api/posts?limit=100', 200)).body, before.body);
  },
);
