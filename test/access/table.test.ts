// runs: in its own process
import { createHmac } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { serviceName } from '#schemas/name.ts';
import { rankedScopes } from '#schemas/service/apiKey.ts';
import { makeToken } from '#src/access/credentials/apiKeyToken.ts';
import { createKey, revokeKey } from '#src/people/apiKeys.ts';
import { bearer, inside, makeKey, makeUser, openIssuer, seconds } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase } from '#test/helper/database.ts';

const someId = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';
const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

interface Credential {
  name: string;
  /** Makes headers for each request: the token that has just expired must not become older than the tolerance. */
  headers?: () => Promise<Record<string, string>> | Record<string, string>;
  /** The scopes of the credential; absent when it is refused. */
  may?: readonly string[];
}

/** Every kind of credential, and what it allows. */
async function credentials(t: Test, database: Awaited<ReturnType<typeof openTestDatabase>>) {
  const issuer = await openIssuer(t);
  const refused = (name: string, credential: string): Credential => ({
    name,
    headers: () => bearer(credential),
  });
  const good = (name: string, credential: string, may: readonly string[]): Credential => ({
    name,
    headers: () => bearer(credential),
    may,
  });
  const keys = await Promise.all(rankedScopes.map(scope => makeKey(database, [scope])));
  const { key: own } = await makeKey(database, ['own'], { userId: (await makeUser(database)).id });
  const [read, write, admin] = keys.map(({ key }) => key) as [string, string, string];
  const hourAgo = () => new Date(Date.now() - 3_600_000);
  const expired = await createKey(inside(database, hourAgo), {
    name: 'expired',
    scopes: ['admin'],
    expiresAt: new Date(Date.now() - 1000).toISOString(),
  });
  const revoked = await makeKey(database, ['admin']);
  await revokeKey(inside(database), revoked.id);
  const claims = {
    sub: 'x',
    scope: 'admin',
    iss: issuer.settings.AUTH_ISSUER,
    aud: 'triport',
    exp: seconds(99),
  };
  const unsigned = `${base64({ alg: 'none' })}.${base64(claims)}.`;
  const forged = `${base64({ alg: 'HS256', kid: 'first' })}.${base64(claims)}`;
  const publicKey = JSON.stringify(await issuer.publicKey());
  const hmac = createHmac('sha256', publicKey).update(forged).digest('base64url');

  const table: Credential[] = [
    { name: 'no credential' },
    { name: 'another scheme', headers: () => ({ authorization: `Basic ${btoa(`x:${admin}`)}` }) },
    refused('a key with a bad checksum', `${admin.slice(0, -1)}${admin.endsWith('x') ? 'y' : 'x'}`),
    refused('a key that does not exist', makeToken(someId)),
    refused('an existing key with a wrong secret', makeToken(keys[2]?.id ?? '')),
    refused('an expired key', expired.key),
    refused('a revoked key', revoked.key),
    good('a key that may read', read, ['read']),
    good('a key that may write', write, ['read', 'write']),
    good('a key that may administer', admin, ['read', 'write', 'admin']),
    good('a key of a user', own, ['own']),
    good('a token of a user', await issuer.sign({ scope: 'own' }), ['own']),
    good('a token with scope', await issuer.sign({ scope: 'openid read write' }), ['read', 'write']),
    good('a token with scp', await issuer.sign({ scope: undefined, scp: ['admin'] }), [
      'read',
      'write',
      'admin',
    ]),
    good('a token without scopes', await issuer.sign({ scope: 'openid' }), []),
    {
      name: 'a token that expired within the tolerance',
      headers: async () => bearer(await issuer.sign({ exp: seconds(-1) })),
      may: ['read'],
    },
    refused('an expired token', await issuer.sign({ exp: seconds(-60), scope: 'admin' })),
    refused('a token without an expiry', await issuer.sign({ exp: undefined, scope: 'admin' })),
    refused('a token without a subject', await issuer.sign({ sub: undefined, scope: 'admin' })),
    refused('a token of another issuer', await issuer.sign({ iss: 'https://evil.example', scope: 'admin' })),
    refused('a token for another audience', await issuer.sign({ aud: 'others', scope: 'admin' })),
    refused('a token with alg none', unsigned),
    refused('a token with HS256 and the public key', `${forged}.${hmac}`),
    refused('nothing after Bearer', ''),
  ];
  return { table, settings: issuer.settings };
}

t.test('every route admits exactly the credentials that its scope allows', async t => {
  const database = await openTestDatabase(t);
  const { table, settings } = await credentials(t, database);
  const { app } = await build(t, { settings, database });
  const { app: open } = await build(t, { database });
  t.ok(app.routes.length > 20, 'there are routes');

  for (const { method, url, config } of app.routes) {
    const verb = [method].flat()[0] as 'GET';
    // This invalid position lets no stream begin: a stream would not end.
    const query = url === '/api/changes' ? '?after=x' : '';
    const path = url.replace(/:\w+/g, someId).replace('*', 'x') + query;
    const scope = config?.scope ?? 'none';
    const admitting = scope.split(' or ');
    // Collects the problems for one assertion per route: thousands would take longer to print than to check.
    const wrong: string[] = [];
    const anyone = await open.inject({ method: verb, url: path });
    if ([401, 403].includes(anyone.statusCode) !== (scope === 'own')) wrong.push('wrong in an open service');

    for (const { name, headers, may } of table) {
      const answer = await app.inject({ method: verb, url: path, headers: (await headers?.()) ?? {} });
      const verdict = may === undefined ? 401 : admitting.some(each => may.includes(each)) ? 'in' : 403;
      const wanted = scope === 'public' ? 'in' : verdict;
      const problem = problemOf(answer, wanted, admitting[0] ?? '');
      if (problem) wrong.push(`${name}: ${problem}`);
    }
    t.same(wrong, [], `${verb} ${url}, ${scope}`);
  }
});

function problemOf({ statusCode: status, headers }: LightMyRequestResponse, wanted: unknown, scope: string) {
  if (status >= 500) return `server error ${status}`;
  const verdict = status === 401 || status === 403 ? status : 'in';
  if (verdict !== wanted) return `${status}, not ${wanted}`;
  const challenge = String(headers['www-authenticate'] ?? '');
  if (verdict === 'in') return undefined;
  if (!challenge.startsWith(`Bearer realm="${serviceName}"`)) return `${status} without a Bearer challenge`;
  return verdict === 403 && !challenge.includes(`scope="${scope}"`) ? 'does not name the scope' : undefined;
}
