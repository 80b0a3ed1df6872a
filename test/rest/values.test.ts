// runs: also on embedded
import t from 'tap';
import { buildGraphQL } from '#test/helper/graphql.ts';
import { specimen } from '#test/world/specimens.ts';

const { call, ask, newUser, make } = await buildGraphQL(t);

t.test('text comes back exactly as it was written', async t => {
  for (const name of [
    ' two  spaces ',
    '0',
    'null',
    `O'Brien "Bob" \\ {{x}} $1 <b>%s`,
    'é e\u0301 ß İ 日本語 עברית',
    '😀'.repeat(200),
    'line\nbreak\ttab\u2028\u0001\ufeff',
    '2024-01-01T00:00:00Z',
    '\ufeff',
    '\ufeffAda',
  ]) {
    const user = await newUser({ name });
    t.equal(user.name, name);
    t.equal((await call('GET', `/api/users/${user.id}`, 200)).body.name, name);
    const list = await call('GET', `/api/users?${new URLSearchParams({ name })}`, 200);
    t.same(
      list.body.data.map((each: { id: string }) => each.id),
      [user.id],
      'the filter finds it',
    );
  }
});

t.test('an address keeps its case; the longest has 254 characters', async t => {
  const local = `${'Ab.'.repeat(20)}c`;
  const host = `${'d'.repeat(60)}.`.repeat(3);
  const email = `${local}@${host}${'e'.repeat(254 - local.length - host.length - 1)}`;
  t.equal(email.length, 254);
  t.equal((await newUser({ email })).email, email);
  await call('POST', '/api/users', 400, { body: { name: 'x', email: `${email}e` } });
});

t.test('the longest label has 500 characters, however many bytes each takes', async t => {
  const label = '😀'.repeat(500);
  const made = await make(specimen, { label });
  t.equal(made.label, label);
  await call('POST', '/api/specimens', 400, { body: { label: `${label}x`, burrowId: made.burrowId } });
});

t.test('cents are exact far beyond 32 bits, over REST and GraphQL', async t => {
  for (const cents of [2 ** 31, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
    const { id, burrowId } = await make(specimen, { cents });
    t.match((await call('GET', `/api/specimens?cents=${cents}&sort=cents`, 200)).body.data, [{ id, cents }]);
    t.same(await ask(`{ specimens(cents: ${cents}) { id cents } }`), {
      data: { specimens: [{ id, cents }] },
    });
    const create = `mutation { createSpecimen(input: { label: "x", burrowId: "${burrowId}", cents: ${cents} }) { cents } }`;
    t.same(await ask(create), { data: { createSpecimen: { cents } } });
  }
  const { burrowId } = await make(specimen);
  for (const cents of [2 ** 53, 1.5])
    await call('POST', '/api/specimens', 400, { body: { label: 'x', burrowId, cents } });
});
