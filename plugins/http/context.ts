import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Transport } from '#schemas/service/audit.ts';
import type { Context } from '#src/access/context.ts';
import { Budget, type Payer } from '#src/access/limits/budget.ts';
import { unavailable } from '#src/core/errors.ts';
import { Shares } from '#src/core/shares.ts';
import type { Connection } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { charge, readLeft, reserve } from './admission/limits.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The API that this route belongs to; `rest` when absent. */
    transport?: Transport;
  }
  interface FastifyInstance {
    /** What the contexts of all requests have in common. */
    readonly contextParts: ContextParts & { costlyTurns: Shares };
  }
}

interface ContextParts extends Pick<Context, 'now' | 'effects'> {
  database: Database;
}

/** Keeps what the functions below need to make the contexts in which a request calls services. */
async function register(app: FastifyInstance, { database, now, effects }: ContextParts): Promise<void> {
  app.decorate('contextParts', { database, now, effects, costlyTurns: new Shares(1) });
}

export default fp(register, { name: 'contexts', dependencies: ['pressure', 'gate'] });

/** Fails while the database cannot be reached. */
export function requireDatabase({ server }: FastifyRequest): void {
  if (!server.contextParts.database.available()) throw unavailable();
}

/** The context of a request, or of a part of it, that only reads. */
export const readContext = (request: FastifyRequest) => contextOn('reads', request);

/** The context of a request that writes, and reads what it has written. */
export const writeContext = (request: FastifyRequest) => contextOn('writes', request);

/** The context of a request that reads what takes long. It must have waited for its turn. */
export const costlyContext = (request: FastifyRequest) => contextOn('costly', request);

function contextOn(connection: 'reads' | 'writes' | 'costly', request: FastifyRequest): Context {
  requireDatabase(request);
  const { server, deadline, log, caller, config } = request;
  const { database, now, effects } = server.contextParts;
  const { transport = 'rest' } = config;
  const budget = new Budget(payerOf(request));
  return {
    db: database[connection],
    deadline,
    now,
    log,
    actor: caller.actor,
    transport,
    origin: request,
    budget,
    effects,
  };
}

/** Works on the connection for what takes long, when the earlier work of the same account there has ended. */
export const workOnCostly = <T>(
  { server, caller }: FastifyRequest,
  work: (db: Connection) => Promise<T>,
  deadline: number,
) =>
  server.contextParts.costlyTurns.inTurn(caller.account.name, deadline, () =>
    work(server.contextParts.database.costly),
  );

/** The account that pays for what a request asks, until the client leaves or the deadline has passed. */
export const payerOf = (request: FastifyRequest, deadline = request.deadline): Payer => ({
  account: request.caller.account,
  deadline,
  hasLeft: () => request.raw.socket.destroyed,
  charge: points => charge(request, points),
  left: () => readLeft(request),
  reserve: points => reserve(request, points),
  onCostly: work => workOnCostly(request, work, deadline),
});
