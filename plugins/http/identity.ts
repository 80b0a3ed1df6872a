import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Scope } from '../../schemas/apiKey.ts';
import type { Credentials } from '../../src/access/credentials.ts';
import type { RateLimits } from '../../src/access/rateLimits.ts';
import { type Actor, anyone, nobody } from '../../src/core/actor.ts';
import { AppError, rateLimited } from '../../src/core/errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a caller must be allowed to do here; `public` asks for nothing and looks at no credentials. */
    scope?: Scope | 'public';
  }
  interface FastifyRequest {
    /** Who asks. */
    readonly actor: Actor;
    /** Who was found to ask, by his credentials. */
    caller: Actor | null;
    /** Why the credentials of this request are no good. */
    refusal: unknown;
  }
}

interface Options {
  /** Absent where everybody may do everything. */
  credentials: Credentials | undefined;
  limits: RateLimits;
}

/** Tells who asks. Whether he may is asked later, because the one who is refused is counted too. */
export default fp<Options>(async (app, { credentials, limits }) => {
  const stranger = credentials ? nobody : anyone;
  app.decorateRequest('caller', null);
  app.decorateRequest('actor', {
    getter(this: FastifyRequest) {
      return this.caller ?? stranger;
    },
  });
  app.decorateRequest('refusal', null);
  if (credentials) identify(app, credentials, limits);
});

function identify(app: FastifyInstance, credentials: Credentials, limits: RateLimits): void {
  /** A credential that must be looked up costs work: who has used up the guesses of his address gets none. */
  async function find(request: FastifyRequest, authorization: string): Promise<void> {
    const { name, maximum } = limits.guessAccountOf(request.ip);
    const usage = await limits.spend(name, 0);
    if (usage.used >= maximum) throw rateLimited(usage.endsIn);
    try {
      request.caller = await credentials.find(authorization);
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated') await limits.spend(name, 1);
      throw error;
    }
  }

  app.addHook('onRequest', (request, reply, done) => {
    const { authorization } = request.headers;
    const { scope } = request.routeOptions.config;
    if (authorization === undefined || scope === 'public' || scope === undefined) return done();
    // What a key was needed for is nothing for a cache on the way.
    reply.header('cache-control', 'no-store');
    const refuse = (error: unknown) => {
      request.refusal = error;
      done();
    };
    try {
      const known = credentials.recall(authorization);
      if (known === undefined) return void find(request, authorization).then(() => done(), refuse);
      request.caller = known;
      done();
    } catch (error) {
      refuse(error);
    }
  });
  app.addHook('onClose', () => credentials.close());
}
