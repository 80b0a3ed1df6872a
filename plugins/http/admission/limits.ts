import rateLimit from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Usage } from '../../../src/access/rateLimitStore.ts';
import type { Account, RateLimits } from '../../../src/access/rateLimits.ts';
import { rateLimited } from '../../../src/core/errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What this request and its streams count against. */
    readonly account: Account;
    /** The same, once somebody has asked for it; null when the caller is another one. */
    keptAccount: Account | null;
    /** Counts further requests, besides the one itself. Refuses beyond the limit, unless `refuse` is false. */
    charge(reply: FastifyReply | undefined, cost: number, options?: { refuse: boolean }): Promise<void>;
  }
}

/**
 * Counts every request, including those that are refused or reach no route: so the limiter is one hook of the whole
 * application, not one of each route as by default. A route opts out with `config: { rateLimit: false }`.
 */
export default fp<{ limits: RateLimits }>(async (app, { limits }) => {
  app.decorateRequest('keptAccount', null);
  app.decorateRequest('account', {
    getter(this: FastifyRequest) {
      this.keptAccount ??= limits.accountOf(this.actor, this.ip);
      return this.keptAccount;
    },
  });
  await app.register(rateLimit, {
    global: false,
    enableDraftSpec: true,
    keyGenerator: request => request.account.name,
    max: request => request.account.maximum,
    store: storeOf(limits),
    errorResponseBuilder: (_request, { ttl }) => rateLimited(ttl),
  });
  const count = app.rateLimit();
  app.addHook('onRequest', (request, reply, done) => {
    if (request.config.rateLimit === false) return done();
    count.call(app, request, reply).then(() => done(), done);
  });

  app.decorateRequest('charge', async function (reply, cost, { refuse } = { refuse: true }) {
    const { name, maximum } = this.account;
    const usage = await limits.store.add(name, cost);
    reply?.header('ratelimit-remaining', Math.max(0, maximum - usage.used));
    if (refuse && usage.used > maximum) throw rateLimited(usage.endsIn);
  });
  app.addHook('onClose', () => limits.store.close());
});

type Done = (error: null, result: { current: number; ttl: number }) => void;

/** The store of @fastify/rate-limit over ours. It does not wait for what is in memory: that took 6% of W1. */
const storeOf = (limits: RateLimits) =>
  class Store {
    incr(name: string, done: Done) {
      const usage = limits.store.add(name, 1);
      const answer = ({ used, endsIn }: Usage) => done(null, { current: used, ttl: endsIn });
      if (usage instanceof Promise) void usage.then(answer);
      else answer(usage);
    }
    child() {
      return this;
    }
  };
