import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { type Limits, tooMany } from '../src/core/limits.ts';
import type { Tally } from '../src/core/tallies.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `false`: requests of this route are not counted. */
    rateLimit?: false;
  }
  interface FastifyRequest {
    /** Counts more than the one request that was counted when it came; refuses, unless told not to. */
    charge(reply: FastifyReply, cost: number, options?: { refuse: boolean }): Promise<void>;
  }
}

/** Counts every request, also one that is refused or finds nothing. */
export default fp<{ limits: Limits }>(async (app, { limits }) => {
  function spend(
    request: FastifyRequest,
    reply: FastifyReply,
    cost: number,
    refuse = true,
  ): void | Promise<void> {
    const account = limits.accountOf(request.actor, request.ip);
    const settle = (tally: Tally) => {
      reply.header('ratelimit-limit', account.maximum);
      reply.header('ratelimit-remaining', Math.max(0, account.maximum - tally.used));
      reply.header('ratelimit-reset', Math.ceil(tally.endsIn / 1000));
      if (refuse && tally.used > account.maximum) throw tooMany(tally);
    };
    const tally = limits.spend(account, cost);
    return tally instanceof Promise ? tally.then(settle) : settle(tally);
  }

  app.decorateRequest(
    'charge',
    async function (this: FastifyRequest, reply: FastifyReply, cost: number, { refuse } = { refuse: true }) {
      await spend(this, reply, cost, refuse);
    },
  );
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.config.rateLimit === false) return done();
    const later = spend(request, reply, 1);
    if (later) later.then(() => done(), done);
    else done();
  });
  app.addHook('onClose', () => limits.close());
});
