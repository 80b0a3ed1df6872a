import rateLimit from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Payer } from '../../../src/access/budget.ts';
import type { Usage } from '../../../src/access/rateLimitStore.ts';
import type { Account, RateLimits } from '../../../src/access/rateLimits.ts';
import { rateLimited } from '../../../src/core/errors.ts';

declare module 'fastify' {
  interface FastifyRequest extends Pick<Payer, 'hasLeft' | 'left' | 'reserve'> {
    /** What this request and its streams count against. */
    readonly account: Account;
    /** The same, once somebody has asked for it; null when the caller is another one. */
    keptAccount: Account | null;
    /** Counts further requests, besides the one itself. Refuses beyond the limit, unless `refuse` is false. */
    charge(points: number, options?: { refuse: boolean }): Promise<void>;
    /** How many requests were left when the last ones were counted besides the request itself. */
    remaining: number | null;
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

  app.decorateRequest('remaining', null);
  async function use(request: FastifyRequest, points: number): Promise<Usage> {
    const { name, maximum } = request.account;
    const usage = await limits.store.add(name, points);
    request.remaining = Math.max(0, maximum - usage.used);
    return usage;
  }
  app.decorateRequest('reserve', async function (points) {
    const { name, maximum } = this.account;
    const known = limits.store.add(name, 0);
    // In memory, nothing comes between the two.
    const { used } = known instanceof Promise ? await known : known;
    const reserved = Math.min(points, Math.max(0, maximum - used));
    await use(this, reserved);
    return reserved;
  });
  app.decorateRequest('left', async function () {
    const { used } = await use(this, 0);
    return Math.max(0, this.account.maximum - used);
  });
  app.decorateRequest('charge', async function (points, { refuse } = { refuse: true }) {
    const { used, endsIn } = await use(this, points);
    if (refuse && points >= 0 && used > this.account.maximum) throw rateLimited(endsIn);
  });
  app.decorateRequest('hasLeft', function () {
    return this.raw.socket.destroyed;
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (request.remaining !== null) reply.header('ratelimit-remaining', request.remaining);
    // The connection of a proxy has requests of others.
    if (reply.statusCode === 429 && request.ip === request.raw.socket.remoteAddress)
      reply.header('connection', 'close');
    done();
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
