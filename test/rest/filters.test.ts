import t from 'tap';
import { build } from '#test/helper/app.ts';

const { call, newUser } = await build(t);
const ada = await newUser({ name: 'Ada' });
const bob = await newUser({ name: 'Bob & <Co>, "100%"' });
await newUser({ name: 'ada' });

t.test('users are filtered by exact name', async t => {
  const idsFor = async (name: string) => {
    const { body, headers } = await call('GET', `/api/users?${new URLSearchParams({ name })}`, 200);
    t.equal(body.meta.total, body.data.length);
    const again = new URL(/<([^>]*)>; rel="first"/.exec(headers.link ?? '')?.[1] ?? '', 'http://localhost');
    t.equal(again.searchParams.get('name'), name, 'the links keep the filter');
    return body.data.map(({ id }: { id: string }) => id);
  };
  t.same(await idsFor('Ada'), [ada.id]);
  t.same(await idsFor(bob.name), [bob.id]);
  for (const name of ['Ad', 'ADA', 'Ada ', '%', 'A_a', "' or 1=1 --"]) t.same(await idsFor(name), []);
});

t.test('an unknown parameter is refused by name, with the closest known name', async t => {
  for (const [path, name, near] of [
    ['/api/specimens', 'burrowId', 'burrow'],
    ['/api/specimens', 'page[]', 'page'],
    ['/api/users', 'status', ''],
    [`/api/users/${ada.id}`, 'page', ''],
    ['/', 'x', ''],
  ]) {
    const { error } = (await call('GET', `${path}?${encodeURIComponent(String(name))}=1`, 400)).body;
    const message = `is not known${near ? `; did you mean "${near}"?` : ''}`;
    t.same(error.details, [{ in: 'query', path: `/${name}`, message }], `${path}?${name}`);
  }
});

t.test('a repeated parameter is refused as ambiguous', async t => {
  for (const query of ['page=1&page=2', 'page=1&page=1', 'grade=fine&grade=fine']) {
    const { error } = (await call('GET', `/api/specimens?${query}`, 400)).body;
    t.match(error.details[0], { path: `/${query.split('=')[0]}`, message: 'must be given once' });
  }
});
