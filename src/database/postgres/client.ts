import postgres from 'postgres';
import { serviceName } from '#schemas/name.ts';
import type { Settings } from '#schemas/settings.ts';
import { statementTimeout } from '#src/config/timeouts.ts';
import { OperatorError } from '#src/core/errors.ts';
import { type Connection, workInside } from '#src/database/connection.ts';
import { withSpans } from '#src/database/tracedConnection.ts';
import { Pool } from './pool.ts';

export interface Server {
  url: string;
  /** The connections of one pool. */
  connections: number;
  /** Whether a pooler gives each transaction another session. */
  pooled?: boolean;
  /** Milliseconds that one statement may take; 0 is no limit. */
  statementTimeout?: number;
  /** Milliseconds that a statement may wait for a lock. */
  lockTimeout?: number;
}

/** The server of this deployment. */
export const serverFrom = (settings: Settings): Server => ({
  url: settings.DATABASE_URL ?? '',
  connections: settings.DATABASE_POOL_SIZE,
  pooled: settings.DATABASE_POOLER === 'transaction',
  statementTimeout: statementTimeout(settings),
});

type ClientOptions = postgres.Options<Record<string, postgres.PostgresType>>;

/** Settings that a pooler keeps for each client. */
const carried = { application_name: serviceName, TimeZone: 'UTC' };

/** A setting that no pooler passes on: poolers refuse settings of a session, or drop those they are told to ignore. */
const mark = `${serviceName}.session`;

const sessionSettings = ({ statementTimeout = 6000, lockTimeout = 2000 }: Server) => ({
  ...carried,
  [mark]: 'own',
  statement_timeout: String(statementTimeout),
  lock_timeout: lockTimeout,
  idle_in_transaction_session_timeout: 15_000,
  // Statements that wait for others, such as the numbering of changes, must see what those have committed.
  default_transaction_isolation: 'read committed',
  // Parallel workers make a single count faster, but counts under load three times slower. The value is text, because
  // the driver drops the number 0.
  max_parallel_workers_per_gather: '0',
  // Compiling the query of a page and its total took ten times as long as running it, with millions of rows.
  jit: 'off',
});

const asText = (value: unknown) => value;
/** Times and bytes stay the text that the server sends, and JSON parameters are text already. */
export const types = {
  instant: { to: 1184, from: [1184, 1114, 1082], serialize: asText, parse: asText },
  bytes: { to: 17, from: [17], serialize: (value: Buffer) => `\\x${value.toString('hex')}`, parse: asText },
  json: { to: 3802, from: [114, 3802], serialize: asText, parse: JSON.parse },
};

/** Connections to a server, made when they are needed. */
export function connectTo(server: Server, options: ClientOptions = {}): Pool {
  const connect = () =>
    postgres(server.url, {
      max: server.connections,
      // The driver would print notices.
      onnotice: () => {},
      // Seconds. A server that needs longer counts as out of reach.
      connect_timeout: 3,
      backoff: () => 0,
      // A pooler changes sessions, to which prepared statements belong, and refuses most settings of a session.
      prepare: !server.pooled,
      // A pooler gives the session to another client after a statement, and never answers what was sent behind it.
      ...(server.pooled && { max_pipeline: 0 }),
      connection: server.pooled ? carried : sessionSettings(server),
      types,
      ...options,
    });
  return new Pool(connect);
}

/** One connection that is used only for health checks, and for notifications of the channel that it listens to. */
export function connectProbe(server: Server, onMessage: (message: string) => void): Pool {
  const connection = { application_name: `${serviceName} probe` };
  // The driver's types lack this option.
  const onnotify = (_channel: string, message: string) => onMessage(message);
  const options = { max_lifetime: null, connection, onnotify };
  return connectTo({ ...server, connections: 1 }, options);
}

/** Refuses a pooler that DATABASE_POOLER does not name: prepared statements fail, and pipelined ones get no answer. */
export async function refuseHiddenPooler(db: Connection): Promise<void> {
  const [[own] = []] = await db.rows(`select current_setting('${mark}', true)`, []).catch(error => {
    if (error.message.startsWith('unsupported startup parameter')) return [];
    throw error;
  });
  if (own !== 'own')
    throw new OperatorError(
      'The database is behind a pooler such as PgBouncer, which does not pass on the settings of a session: set DATABASE_POOLER=transaction.',
    );
}

/** The adapter of this driver. */
export function pooledConnection(pool: Pool): Connection {
  const { prepare } = pool.sql.options;
  return withSpans({
    isTransaction: false,
    rows: (...statement) => repeatIfOutdated(prepare, prepare => rowsBy(pool.sql, prepare)(...statement)),
    transaction: work =>
      repeatIfOutdated(prepare, async prepare => {
        const { value } = await pool.sql.begin(async sql => ({
          value: await workInside(rowsBy(sql, prepare), work),
        }));
        return value;
      }),
  });
}

const rowsBy =
  (sql: Pick<postgres.Sql, 'unsafe'>, prepare: boolean): Connection['rows'] =>
  (text, params, isRare = false) =>
    sql.unsafe(text, params as never[], { prepare: prepare && !isRare }).values();

/**
 * Does the work with prepared statements. When the schema has changed since a statement was prepared, the server
 * refuses the statement and its transaction, so nothing was done. The work is then done again without prepared
 * statements, because other connections have outdated ones too.
 */
async function repeatIfOutdated<T>(prepare: boolean, work: (prepare: boolean) => Promise<T>): Promise<T> {
  try {
    return await work(prepare);
  } catch (error) {
    if (!isOutdated(error)) throw error;
    return work(false);
  }
}

/** Whether the driver met an outdated statement. The driver has dropped it, so the next call prepares it again. */
const isOutdated = (error: unknown): boolean =>
  error instanceof Error && ('outdated' in error || isOutdated(error.cause));
