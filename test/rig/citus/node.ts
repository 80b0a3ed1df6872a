import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chownSync, existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { OperatorError } from '../../../src/core/errors.ts';
import { Part } from '../cluster/part.ts';
import { queryPostgres } from '../servers/postgresServer.ts';

const isRoot = process.getuid?.() === 0;
/** PostgreSQL refuses to run as root. */
const idOf = (option: '-u' | '-g') => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
const owner = () => (isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {});

/** The programs of a PostgreSQL for which Citus is installed. */
export const citusPrograms = (): string | undefined =>
  process.env.PATH?.split(delimiter).find(
    folder => existsSync(join(folder, 'postgres')) && existsSync(join(folder, '../lib/citus.so')),
  );

const settings = (port: number) => `
shared_preload_libraries = 'citus'
listen_addresses = '127.0.0.1'
port = ${port}
unix_socket_directories = ''
max_connections = 400
max_worker_processes = 200
max_prepared_transactions = 400
wal_level = logical
fsync = off
# A statement of one node that another node sends has no limits of its own.
lock_timeout = 2000
# What a node left open when it died is ended so soon; the default is a minute.
citus.recover_2pc_interval = '2s'
`;

/** One PostgreSQL server of a Citus. */
export class CitusNode extends Part {
  readonly port: number;
  readonly #programs: string;
  readonly #folder: string;
  readonly #settings: string;

  constructor(programs: string, folder: string, port: number, extra: string) {
    super({
      name: `the node on port ${port}`,
      command: join(programs, 'postgres'),
      args: ['-D', folder],
      log: `${folder}.log`,
      ready: () => this.query('postgres', 'select 1').then(isTrue, isFalse),
      owner: owner(),
    });
    this.port = port;
    this.#programs = programs;
    this.#folder = folder;
    this.#settings = settings(port) + extra;
  }

  async create(): Promise<void> {
    mkdirSync(this.#folder);
    const { uid, gid } = owner();
    if (uid !== undefined && gid !== undefined) chownSync(this.#folder, uid, gid);
    const flags = [
      '-D',
      this.#folder,
      '-U',
      'triport',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
    ];
    // Not in the group of this process: Ctrl-C would end it halfway.
    const options = { ...owner(), cwd: '/', detached: true, stdio: 'ignore' } as const;
    const [code] = await once(spawn(join(this.#programs, 'initdb'), flags, options), 'exit');
    if (code !== 0) throw new OperatorError(`initdb failed for ${this.#folder}`);
    appendFileSync(join(this.#folder, 'postgresql.conf'), this.#settings);
    await this.start();
  }

  urlOf(database: string): string {
    return `postgres://triport@127.0.0.1:${this.port}/${database}`;
  }

  query(database: string, text: string): Promise<Record<string, unknown>[]> {
    return queryPostgres(this.urlOf(database), text);
  }
}

const isTrue = () => true;
const isFalse = () => false;
