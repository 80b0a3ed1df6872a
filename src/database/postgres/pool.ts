import type postgres from 'postgres';
import { OperatorError } from '#src/core/errors.ts';
import { afterAwake } from '#src/core/standstill.ts';

/** The version of patches/postgres+3.4.9.patch that this code needs, and what that patch adds to the driver. */
const patch = 'fixed-10';
interface Patched {
  /** Fails the statements that have waited this many milliseconds for a connection. They were never sent. */
  refuse: (age: number) => void;
  /** Connections at work, and statements that wait for one. */
  load: () => { used: number; waiting: number };
}

const isPatched = (sql: postgres.Sql): sql is postgres.Sql & Patched => 'patch' in sql && sql.patch === patch;

function open(connect: () => postgres.Sql): postgres.Sql & Patched {
  const sql = connect();
  if (isPatched(sql)) return sql;
  throw new OperatorError(
    'The postgres driver is not patched: run `npx patch-package`. Unpatched, it ends the process when the server goes away.',
  );
}

/** Connections that can be dropped all at once. No statement waits for a connection without a limit. */
export class Pool {
  /** The current client. Do not keep it: a reset replaces it. */
  sql: postgres.Sql & Patched;
  readonly #connect: () => postgres.Sql;
  readonly #sweep: NodeJS.Timeout;
  #closed = false;

  /** `connect` is called again at each reset. `wait`: seconds that a statement may wait for a connection. */
  constructor(connect: () => postgres.Sql, wait = 2) {
    this.#connect = connect;
    this.sql = open(connect);
    let [last, goesOn] = [performance.now(), 0];
    // Keeps requests from piling up behind those that hold every connection.
    this.#sweep = setInterval(() => {
      const now = performance.now();
      // While this process stood still, its connections did nothing, so waiting statements get their whole time again.
      if (now - last > 1000) goesOn = now;
      last = now;
      if (now - goesOn > wait * 1000) this.sql.refuse(wait * 1000);
    }, 100).unref();
  }

  /** The rows of an answer; rejects when the server does not answer in time. */
  async ask(text: string, timeout: number): Promise<Record<string, unknown>[]> {
    let isSilent = false;
    const stop = afterAwake(timeout, () => {
      isSilent = true;
      this.reset();
    });
    try {
      return await this.sql.unsafe(text);
    } catch (error) {
      if (!isSilent) throw error;
      // The driver would only say that the connection was destroyed.
      throw Object.assign(new Error(`no answer within ${timeout / 1000} s`), { code: 'CONNECTION_TIMEOUT' });
    } finally {
      stop();
    }
  }

  /** Fails every statement and drops every connection: a dead server may keep them silent for 15 minutes. */
  reset(): void {
    const dead = this.sql;
    if (!this.#closed) this.sql = open(this.#connect);
    void dead.end({ timeout: 0 });
  }

  /** Closes every connection. Running statements get `grace` seconds. */
  async close(grace = 1): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweep);
    await this.sql.end({ timeout: grace });
  }
}
