import t from 'tap';
import { bearer, openIssuer } from '#test/helper/access.ts';
import { newPerson } from '#test/helper/resources/records.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { startPair } from '#test/rig/pair.ts';
import { until } from '#test/rig/process.ts';

t.test('a token registers one user on two servers, and ends there on both within five seconds', async t => {
  const issuer = await openIssuer(t);
  const { servers, query } = await startPair(t, issuer.settings);
  const headers = bearer(await issuer.sign({ scope: 'own' }));
  const same = newPerson();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      ask(`${servers[i % 2]?.url}/api/me`, json(i < 10 ? same : newPerson(), headers)),
    ),
  );
  t.same(answers.map(({ status }) => status).sort(), [201, ...Array(19).fill(409)]);
  const codes = answers.flatMap(({ body }) => body.error?.details.code ?? []);
  t.same(new Set(codes), new Set(['person_exists']), 'never the address');
  t.equal((await query('select from users')).length, 2, 'with the owner of the pair');
  const statuses = () =>
    Promise.all(servers.map(async ({ url }) => (await ask(`${url}/api/me`, { headers })).status));
  t.same(await statuses(), [200, 200]);
  const start = performance.now();
  await query('delete from identities');
  await until('the token stands for nobody', async () => String(await statuses()) === '404,404');
  t.ok(performance.now() - start < 5000);
});
