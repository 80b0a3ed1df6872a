import t from 'tap';
import { build } from '#test/helper/app.ts';

const { call, newUser } = await build(t);
const ada = await newUser({ name: 'Ada', email: 'Ada+x@Example.com' });
const bob = await newUser({ name: 'Bob & <Co>, "100%"', email: 'bob@example.com' });
await newUser({ name: 'ada' });

async function idsFor(resource: string, query: Record<string, string>): Promise<string[]> {
  const { body, headers } = await call('GET', `/api/${resource}?${new URLSearchParams(query)}`, 200);
  t.equal(body.meta.total, body.data.length);
  const again = new URL(/<([^>]*)>; rel="first"/.exec(headers.link ?? '')?.[1] ?? '', 'http://localhost');
  for (const [name, value] of Object.entries(query))
    t.equal(again.searchParams.get(name), value, 'the links keep the filter');
  return body.data.map(({ id }: { id: string }) => id);
}

t.test('users are filtered by exact name', async t => {
  t.same(await idsFor('users', { name: 'Ada' }), [ada.id]);
  t.same(await idsFor('users', { name: bob.name }), [bob.id]);
  for (const name of ['Ad', 'ADA', 'Ada ', '%', 'A_a', "' or 1=1 --"])
    t.same(await idsFor('users', { name }), []);
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
