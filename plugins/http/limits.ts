import rateLimit from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Usage } from '../../src/access/rateLimitStore.ts';
import type { Account, RateLimits } from '../../src/access/rateLimits.ts';
import { rateLimited } from '../../src/core/errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who pays for this request, once it was counted. */
    account: Account | null;
    /** Counts more than the one request that was counted when it came; refuses, unless told not to. */
    charge(reply: FastifyReply, cost: number, options?: { refuse: boolean }): Promise<void>;
  }
}

/**
 * Counts every request, also one that is refused or finds nothing: so the limiter is one hook of the whole
 * application and not, as it would do by itself, one of each route. A route leaves the count with
 * `config: { rateLimit: false }`.
 */
export default fp<{ limits: RateLimits }>(async (app, { limits }) => {
  app.decorateRequest('account', null);
  const accountOf = (request: FastifyRequest) => {
    request.account ??= limits.accountOf(request.actor, request.ip);
    return request.account;
  };
  await app.register(rateLimit, {
    global: false,
    enableDraftSpec: true,
    keyGenerator: request => accountOf(request).name,
    max: request => accountOf(request).maximum,
    store: storeOf(limits),
    errorResponseBuilder: (_request, { ttl }) => rateLimited(ttl),
  });
  const count = app.rateLimit();
  app.addHook('onRequest', async function (request, reply) {
    if (request.routeOptions.config.rateLimit !== false) await count.call(this, request, reply);
  });

  app.decorateRequest('charge', async function (reply, cost, { refuse } = { refuse: true }) {
    const account = accountOf(this);
    const usage = await limits.spend(account.name, cost);
    reply.header('ratelimit-remaining', Math.max(0, account.maximum - usage.used));
    if (refuse && usage.used > account.maximum) throw rateLimited(usage.endsIn);
  });
  app.addHook('onClose', () => limits.close());
});

/** What the limiter asks of a place that counts. */
const storeOf = (limits: RateLimits) =>
  class Store {
    incr(name: string, done: (error: Error | null, result?: { current: number; ttl: number }) => void) {
      const settle = ({ used, endsIn }: Usage) => done(null, { current: used, ttl: endsIn });
      const usage = limits.spend(name, 1);
      if (usage instanceof Promise) usage.then(settle, done);
      else settle(usage);
    }
    child() {
      return this;
    }
  };
