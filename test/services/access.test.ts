import { globSync } from 'node:fs';
import t from 'tap';
import { need } from '../../src/access/need.ts';
import { type Actor, anyone, nobody, system, withIncludedScopes } from '../../src/core/actor.ts';

t.test('each scope includes the ones before it, and unknown names mean nothing', async t => {
  t.same(withIncludedScopes(['read']), ['read']);
  t.same(withIncludedScopes(['write']), ['read', 'write']);
  t.same(withIncludedScopes(['openid', 'admin']), ['read', 'write', 'admin']);
  t.same(withIncludedScopes(['Admin', 'root', '']), []);
});

t.test('need lets in who has the scope, and says to others what is missing', async t => {
  const reader: Actor = { kind: 'key', id: '1', name: 'reader', scopes: withIncludedScopes(['read']) };
  need({ actor: anyone }, 'admin');
  need({ actor: system('job') }, 'admin');
  need({ actor: reader }, 'read');
  t.throws(() => need({ actor: reader }, 'write'), { code: 'forbidden', details: { scope: 'write' } });
  t.throws(() => need({ actor: nobody }, 'read'), { code: 'unauthenticated' });
});

/** Work inside functions that have asked already; of an event, its signature is the right. */
const helpers = ['recordWrites', 'receiveEvent'];

t.test('every service function asks before it does anything', async t => {
  const context = {
    actor: nobody,
    db: trap('the database'),
    now: trap('the clock'),
    door: 'rest',
    origin: null,
  };
  let asked = 0;
  for (const file of globSync('src/{services,webhooks}/*.ts')) {
    const module = await import(`../../${file}`);
    for (const [name, service] of Object.entries(module)) {
      if (typeof service !== 'function' || helpers.includes(name)) continue;
      if (!/^(async )?function\s*\w*\(\s*context\b/.test(service.toString())) continue;
      asked++;
      await t.rejects(
        async () => service(context, {}, {}),
        { code: 'unauthenticated' },
        `${name} in ${file} asks for a right first`,
      );
    }
  }
  t.ok(asked >= 16, `${asked} service functions were found`);
});

/** Whatever is done with it fails the test. */
function trap(name: string): never {
  const fail = () => {
    throw new Error(`${name} was used before the right was asked`);
  };
  return new Proxy(() => {}, { get: fail, apply: fail }) as never;
}
