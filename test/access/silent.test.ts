import { fastify } from 'fastify';
import t from 'tap';
import gate from '../../plugins/http/gate.ts';
import identity from '../../plugins/http/identity.ts';
import methods from '../../plugins/http/methods.ts';
import { MemoryRateLimitStore } from '../../src/access/rateLimitStore.ts';
import { RateLimits } from '../../src/access/rateLimits.ts';

t.test('an application does not start if a route declares no scope', async t => {
  const app = fastify();
  const limits = new RateLimits(new MemoryRateLimitStore(1000), undefined);
  await app.register(methods);
  await app.register(identity, { credentials: undefined, limits });
  await app.register(gate);
  app.get('/new', () => 'forgotten');
  await t.rejects(async () => void (await app.ready()), { message: /config\.scope .* GET \/new/ });
});
