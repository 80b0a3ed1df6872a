import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Transport } from '../../schemas/audit.ts';
import { Budget } from '../../src/access/budget.ts';
import type { Context } from '../../src/access/context.ts';
import { Shares } from '../../src/access/shares.ts';
import { unavailable } from '../../src/core/errors.ts';
import type { Connection } from '../../src/database/connection.ts';
import type { Database } from '../../src/database/database.ts';
import type { Replicas } from '../../src/database/replicas/replicas.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The API that this route belongs to; `rest` when absent. */
    transport?: Transport;
  }
  interface FastifyRequest {
    /** Works on the connection for what takes long, after what else the account does there. */
    onDear<T>(work: (db: Connection) => Promise<T>, deadline?: number): Promise<T>;
    readonly context: Context;
    /** The context of a request that only reads, whatever its method; it may be that of a replica. */
    readonly readingContext: Context;
    /** The same for what takes long, when it is its turn. */
    readonly dearContext: Context;
    /** The replica that this caller may read from, if there is one. */
    replica: Connection | undefined;
    /** Whether the request may have written something. */
    wrote: boolean;
  }
}

interface Options {
  database: Database;
  replicas: Replicas | undefined;
  now: () => Date;
}

/** Gives every request the context that the services work in, or refuses while there is no database. */
export default fp<Options>(async (app, { database, replicas, now }) => {
  const contextOf = (request: FastifyRequest, db: Connection): Context => {
    if (!database.available()) throw unavailable();
    const { transport = 'rest' } = request.config;
    const { deadline, log, actor } = request;
    const budget = new Budget(request);
    return { db, deadline, now, log, actor, transport, origin: request, budget };
  };
  const turns = new Shares(1);
  app.decorateRequest('onDear', function (work, deadline) {
    return turns.inTurn(this.account.name, deadline ?? this.deadline, () => work(database.dear));
  });
  app.decorateRequest('dearContext', {
    getter(this: FastifyRequest) {
      return contextOf(this, database.dear);
    },
  });
  app.decorateRequest('readingContext', {
    getter(this: FastifyRequest) {
      return contextOf(this, this.replica ?? database.reads);
    },
  });
  app.decorateRequest('context', {
    getter(this: FastifyRequest) {
      if (isSafe(this)) return this.readingContext;
      this.wrote = true;
      return contextOf(this, database.writes);
    },
  });
  app.decorateRequest('replica', undefined);
  app.decorateRequest('wrote', false);
  if (replicas) readFrom(replicas, app);
});

const isSafe = ({ method }: FastifyRequest) => method === 'GET' || method === 'HEAD';

/** A caller is identified as for rate limits: by credentials, or else by address. */
function readFrom(replicas: Replicas, app: FastifyInstance): void {
  const hasCaller = ({ config }: FastifyRequest) => config.scope !== undefined && config.scope !== 'public';
  app.addHook('preValidation', async request => {
    const mayRead = isSafe(request) || request.config.transport === 'graphql';
    if (mayRead && hasCaller(request)) request.replica = await replicas.readerFor(request.account.name);
  });
  // Whatever the answer: after an error, too, something may be written.
  app.addHook('onSend', async request => {
    if (request.wrote && hasCaller(request)) await replicas.wrote(request.account.name);
  });
  app.addHook('onClose', () => replicas.close());
}
