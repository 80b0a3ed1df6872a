import { fastify } from 'fastify';
import t from 'tap';
import gate from '../../plugins/http/gate.ts';
import identity from '../../plugins/http/identity.ts';
import { MemoryRateLimitStore } from '../../src/access/rateLimitStore.ts';
import { RateLimits } from '../../src/access/rateLimits.ts';

t.test('an application with a route that does not say its scope does not start', async t => {
  const app = fastify();
  const limits = new RateLimits(new MemoryRateLimitStore(1000), undefined);
  await app.register(identity, { credentials: undefined, limits });
  await app.register(gate);
  app.get('/new', () => 'forgotten');
  await t.rejects(async () => void (await app.ready()), { message: /config\.scope .* GET \/new/ });
});
