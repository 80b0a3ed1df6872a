import t from 'tap';
import { build } from '../helper/app.ts';
import { specimen } from '../world/specimens.ts';

const { call, newUser, make } = await build(t);

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
