import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { vary } from '#plugins/http/headers.ts';
import type { Credentials } from '#src/access/credentials/credentials.ts';
import type { Account, RateLimits } from '#src/access/limits/rateLimits.ts';
import type { Need } from '#src/access/need.ts';
import { type Actor, anyone, nobody } from '#src/core/actor.ts';
import { rateLimited } from '#src/core/errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that callers need; with `public`, credentials are not even read, unless the route is `identified`. */
    scope?: Need | 'public';
    /** A public route that tells some callers more. Refused credentials count as none. */
    identified?: true;
  }
  interface FastifyRequest {
    /** Who calls. Absent before the hook of this file. */
    caller: Caller;
    /** Finds out whose credentials these are. With `again`, for an open stream, this does not count as a guess. */
    identify(again?: 'again'): Promise<void>;
  }
}

export interface Caller {
  readonly actor: Actor;
  /** What the request and its streams count against. */
  readonly account: Account;
  /** Why the credentials are not accepted. */
  readonly refusal?: unknown;
}

/** Identifies the caller. A refusal is thrown later, because refused requests count against the rate limit too. */
async function register(
  app: FastifyInstance,
  { credentials, limits }: { credentials: Credentials | undefined; limits: RateLimits },
): Promise<void> {
  const unknown = credentials ? nobody : anyone;
  const callerFor = (actor: Actor, { ip }: FastifyRequest): Caller => ({
    actor,
    account: limits.accountOf(actor, ip),
  });
  app.decorateRequest('caller');
  app.decorateRequest('identify', async function (again) {
    const { authorization } = this.headers;
    if (!credentials || authorization === undefined) return;
    try {
      const { credential, verifier } = credentials.read(authorization);
      const find = () => verifier.find(credential);
      const actor =
        (await verifier.recall(credential)) ?? (await (again ? find() : lookUp(limits, this.ip, find)));
      this.caller = callerFor(actor, this);
    } catch (refusal) {
      this.caller = { ...this.caller, refusal };
    }
  });
  app.addHook('onRequest', (request, _reply, done) => {
    request.caller = callerFor(unknown, request);
    done();
  });
  if (!credentials) return;

  app.addHook('onRequest', async (request, reply) => {
    const { scope, identified } = request.config;
    if (scope === undefined || (scope === 'public' && !identified)) return;
    vary(reply, 'authorization');
    if (request.headers.authorization === undefined) return;
    // A response to credentials is only for their owner.
    reply.header('cache-control', 'private, no-cache');
    await request.identify();
  });
  app.addHook('onClose', async () => credentials.close());
}

export default fp(register, { name: 'identity', dependencies: ['proxies', 'pressure'] });

/** Limits how many lookups from an address may find nobody, or a token that belongs to no user: each costs work. */
async function lookUp({ store, guessAccountOf }: RateLimits, address: string, find: () => Promise<Actor>) {
  const { name, maximum } = guessAccountOf(address);
  // Counts the lookup before it is made, so that many at once do not all pass.
  const { used, endsIn } = await store.add(name, 1);
  const giveBack = () => store.add(name, -1);
  if (used > maximum) {
    await giveBack();
    throw rateLimited(endsIn);
  }
  const actor = await find();
  if (actor.kind === 'key' || actor.person !== null) await giveBack();
  return actor;
}
