import { fastify } from 'fastify';
import t from 'tap';
import gate from '#plugins/http/admission/gate.ts';
import identity from '#plugins/http/admission/identity.ts';
import methods from '#plugins/http/methods.ts';
import { openRateLimits } from '#src/access/limits/rateLimits.ts';
import { testLog } from '#test/helper/database.ts';
import { standIn } from '#test/helper/standIn.ts';

t.test('an application does not start if a route declares no scope', async t => {
  const app = fastify();
  const limits = await openRateLimits({ RATE_LIMIT_WINDOW: 1 }, testLog);
  for (const name of ['cors', 'proxies', 'pressure', 'parsing', 'limits']) await app.register(standIn(name));
  await app.register(methods);
  await app.register(identity, { credentials: undefined, limits });
  await app.register(gate);
  app.get('/new', () => 'forgotten');
  await t.rejects(async () => void (await app.ready()), { message: /config\.scope .* GET \/new/ });
});
