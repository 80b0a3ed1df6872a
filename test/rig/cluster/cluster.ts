import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { secrets } from '#test/rig/sender.ts';
import { freePort, freePorts } from '#test/rig/servers/ports.ts';
import { LocalRedis } from '#test/rig/servers/redis.ts';
import { Balancer } from './balancer.ts';
import { answers, Part } from './part.ts';
import { LocalPostgres } from './postgres.ts';

/** The root folder of the project. */
export const projectFolder = fileURLToPath(new URL('../../..', import.meta.url));

interface Options {
  /** An existing PostgreSQL database; without it, a server is started. */
  databaseUrl?: string;
  /** More settings for the servers and workers. */
  env?: Record<string, string>;
}

interface Ports {
  balancer: number;
  postgres: number;
  redis: number;
  servers: number[];
  metrics: number[];
}

/** The topology of deploy/compose.yaml as local processes. */
export class Cluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'triport-cluster-'));
  readonly servers: Part[];
  readonly workers: Part[];
  readonly redis: LocalRedis;
  readonly balancer: Balancer;
  readonly url: string;
  readonly serverUrls: string[];
  readonly databaseUrl: string;
  /** The ports of the metrics of servers and workers, by name. */
  readonly metricsPorts: Map<string, number>;
  readonly #postgres: LocalPostgres | undefined;
  readonly #settings: Record<string, string>;

  private constructor({ databaseUrl, env = {} }: Options, ports: Ports) {
    // PostgreSQL and nginx run as other users under root, and need access.
    chmodSync(this.folder, 0o755);
    if (!databaseUrl) this.#postgres = new LocalPostgres('postgres', this.folder, ports.postgres);
    this.databaseUrl = databaseUrl ?? this.#postgres?.url ?? '';
    this.redis = new LocalRedis(this.folder, ports.redis);
    this.url = `http://127.0.0.1:${ports.balancer}`;
    this.serverUrls = ports.servers.map(port => `http://127.0.0.1:${port}`);
    const names = ['server1', 'server2', 'server3', 'worker1', 'worker2'];
    this.metricsPorts = new Map(names.map((name, i) => [name, ports.metrics[i] ?? 0]));
    this.#settings = {
      NODE_ENV: 'production',
      AUTH_MODE: 'open',
      DATABASE_URL: this.databaseUrl,
      REDIS_URL: this.redis.url,
      WEBHOOK_SECRETS: secrets,
      WORKER: 'apart',
      TRUST_PROXY: '127.0.0.1',
      // A shorter time than in compose.yaml, because tests restart many servers.
      DRAIN_SECONDS: '2',
      ...env,
    };
    this.servers = [0, 1, 2].map(i => this.#server(i, projectFolder));
    this.workers = ['worker1', 'worker2'].map(name => this.#worker(name));
    this.balancer = new Balancer({ folder: this.folder, port: ports.balancer, servers: ports.servers });
  }

  /** Creates a cluster without starting it, so that it is closed also when its start fails. */
  static async prepare(options: Options = {}): Promise<Cluster> {
    const [balancer, postgres, redis] = [await freePort(), await freePort(), await freePort()];
    const [servers, metrics] = [await freePorts(3), await freePorts(5)];
    return new Cluster(options, { balancer, postgres, redis, servers, metrics });
  }

  async start(): Promise<void> {
    await this.#postgres?.create();
    await this.redis.start();
    // All start at once, and whichever comes first migrates.
    await Promise.all([...this.servers, ...this.workers].map(part => part.start()));
    await this.balancer.start();
  }

  /** Replaces every server one by one, as a deployment does. */
  async restartServers(): Promise<void> {
    for (const i of this.servers.keys()) await this.replaceServer(i);
  }

  /** Replaces a server by a new process, which can run the release in another folder. */
  async replaceServer(i: number, release = projectFolder): Promise<void> {
    await this.balancer.takeOut(i);
    await this.servers[i]?.stop();
    const server = this.#server(i, release);
    this.servers[i] = server;
    await server.start();
    await this.balancer.putBack();
  }

  /** Whether the log of a part contains this text. */
  logIncludes(name: string, text: string): boolean {
    return readFileSync(join(this.folder, `${name}.log`), 'utf8').includes(text);
  }

  /** Stops every part before those that it depends on. */
  async close(): Promise<void> {
    await this.balancer.stop();
    await Promise.all([...this.servers, ...this.workers].map(part => part.stop()));
    await this.redis.stop();
    await this.#postgres?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #server(i: number, release: string): Part {
    const url = this.serverUrls[i] ?? '';
    return this.#node(`server${i + 1}`, join(release, 'src/main.ts'), { PORT: new URL(url).port }, () =>
      answers(`${url}/health/ready`),
    );
  }

  #worker(name: string): Part {
    return this.#node(name, join(projectFolder, 'src/worker.ts'), {}, written =>
      written().includes('The worker waits'),
    );
  }

  #node(name: string, path: string, env: Record<string, string>, ready: Ready): Part {
    return new Part({
      name,
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', path],
      env: { ...this.#settings, METRICS_PORT: String(this.metricsPorts.get(name)), ...env },
      log: join(this.folder, `${name}.log`),
      ready,
    });
  }
}

type Ready = ConstructorParameters<typeof Part>[0]['ready'];
