import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Usage } from '#src/access/limits/rateLimitStore.ts';
import type { RateLimits } from '#src/access/limits/rateLimits.ts';
import { rateLimited } from '#src/core/errors.ts';

declare module 'fastify' {
  interface FastifyInstance {
    readonly limits: RateLimits;
  }
  interface FastifyRequest {
    /** How many requests were left when points besides the request itself were last counted. */
    remaining: number | null;
  }
}

/**
 * Counts every request, including those that are refused or reach no route: the limiter is one hook of the whole
 * application, not one of each route as by default. A route opts out with `config: { rateLimit: false }`.
 */
async function register(app: FastifyInstance, { limits }: { limits: RateLimits }): Promise<void> {
  app.decorate('limits', limits);
  app.decorateRequest('remaining', null);
  await app.register(rateLimit, {
    global: false,
    enableDraftSpec: true,
    keyGenerator: ({ caller }) => caller.account.name,
    max: ({ caller }) => caller.account.maximum,
    store: storeOver(limits),
    errorResponseBuilder: (_request, { ttl }) => rateLimited(ttl),
  });
  const countRequest = app.rateLimit();
  app.addHook('onRequest', (request, reply, done) => {
    if (request.config.rateLimit === false) return done();
    countRequest.call(app, request, reply).then(() => done(), done);
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (request.remaining !== null) reply.header('ratelimit-remaining', request.remaining);
    // Closes the connection of a client over its limit, but not that of a proxy, which has requests of others.
    if (reply.statusCode === 429 && request.ip === request.raw.socket.remoteAddress)
      reply.header('connection', 'close');
    done();
  });
  app.addHook('onClose', () => limits.store.close());
}

export default fp(register, { name: 'limits', dependencies: ['identity'] });

/** Counts points besides the request itself, each as a request. Negative points are given back. */
async function count(request: FastifyRequest, points: number): Promise<Usage> {
  const { name, maximum } = request.caller.account;
  const usage = await request.server.limits.store.add(name, points);
  request.remaining = Math.max(0, maximum - usage.used);
  return usage;
}

/** Counts points; fails beyond the limit of the account, unless `refuse` is false. */
export async function charge(request: FastifyRequest, points: number, { refuse } = { refuse: true }) {
  const { used, endsIn } = await count(request, points);
  if (refuse && points >= 0 && used > request.caller.account.maximum) throw rateLimited(endsIn);
}

/** How many points are left. */
export async function readLeft(request: FastifyRequest): Promise<number> {
  const { used } = await count(request, 0);
  return Math.max(0, request.caller.account.maximum - used);
}

/** Counts the points, or as many of them as are left, and returns how many it has counted. */
export async function reserve(request: FastifyRequest, points: number): Promise<number> {
  const { name, maximum } = request.caller.account;
  const known = request.server.limits.store.add(name, 0);
  // The memory store answers at once, so that no other request takes the points before they are counted.
  const { used } = known instanceof Promise ? await known : known;
  const reserved = Math.min(points, Math.max(0, maximum - used));
  await count(request, reserved);
  return reserved;
}

type Done = (error: null, result: { current: number; ttl: number }) => void;

/** Adapts our store to @fastify/rate-limit. It does not await a count in memory: that took 6% of the benchmark W1. */
const storeOver = (limits: RateLimits) =>
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
