import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Balancer, type BalancerKind } from './balancer.ts';
import { answers, Part } from './part.ts';
import { LocalPostgres } from './postgres.ts';
import { Prometheus } from './prometheus.ts';

/** The folder of the project. */
export const here = fileURLToPath(new URL('../../..', import.meta.url));
export const webhookSecret = 'whsec_cluster_0123456789';

interface Choices {
  balancer?: BalancerKind;
  servers?: number;
  workers?: number;
  /** A PostgreSQL server that is there already; absent, one is started. */
  databaseUrl?: string | undefined;
  /** Whether a Prometheus collects what is measured. */
  prometheus?: boolean | undefined;
  /** More settings for the servers and workers. */
  env?: Record<string, string>;
}

/** The topology of deploy/compose.yaml, from processes of this machine. */
export class Cluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'triport-cluster-'));
  readonly servers: Part[] = [];
  readonly workers: Part[] = [];
  readonly postgres: LocalPostgres | undefined;
  readonly redis: Part;
  readonly balancer: Balancer;
  readonly prometheus: Prometheus | undefined;
  readonly url: string;
  readonly serverUrls: string[];
  readonly databaseUrl: string;
  readonly #settings: Record<string, string>;
  readonly #metricsPorts: number[];
  #starting: Promise<void> = Promise.resolve();
  #closing = false;

  private constructor({ balancer = 'nginx', databaseUrl, prometheus, env = {} }: Choices, ports: Ports) {
    // Other users must get in: PostgreSQL and nginx do not work as root.
    chmodSync(this.folder, 0o755);
    if (!databaseUrl) this.postgres = new LocalPostgres('postgres', this.folder, ports.postgres);
    this.databaseUrl = databaseUrl ?? this.postgres?.url ?? '';
    this.redis = this.#redis(ports.redis);
    this.url = `http://127.0.0.1:${ports.balancer}`;
    this.serverUrls = ports.servers.map(port => `http://127.0.0.1:${port}`);
    this.#settings = {
      NODE_ENV: 'production',
      AUTH_MODE: 'open',
      DATABASE_URL: this.databaseUrl,
      REDIS_URL: `redis://127.0.0.1:${ports.redis}`,
      WEBHOOK_SECRETS: JSON.stringify({ stripe: [webhookSecret] }),
      WORKER: 'apart',
      TRUST_PROXY: '127.0.0.1',
      // HAProxy asks twice a second: by then it sends nothing more to a server that ends.
      DRAIN_SECONDS: '2',
      ...env,
    };
    this.#metricsPorts = ports.metrics;
    this.servers = this.serverUrls.map((_, i) => this.#server(i, here));
    this.workers = ports.workers.map((_, i) => this.#worker(i));
    this.balancer = new Balancer({
      kind: balancer,
      folder: this.folder,
      port: ports.balancer,
      servers: ports.servers,
    });
    const parts = [...this.servers, ...this.workers];
    const targets = new Map(parts.map(({ name }, i) => [name, ports.metrics[i] ?? 0]));
    if (prometheus)
      this.prometheus = new Prometheus({ folder: this.folder, port: ports.prometheus, targets });
  }

  static async open(choices: Choices = {}): Promise<Cluster> {
    const cluster = await Cluster.prepare(choices);
    await cluster.start();
    return cluster;
  }

  /** Not started yet: for those who must be able to close it while it starts. */
  static async prepare(choices: Choices = {}): Promise<Cluster> {
    return new Cluster(choices, await findPorts(choices));
  }

  /** Starts everything, or as much as there was time for before it was closed. */
  async start(): Promise<void> {
    this.#starting = this.#startParts();
    try {
      await this.#starting;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #startParts(): Promise<void> {
    const steps = [
      () => this.postgres?.create(),
      () => this.redis.start(),
      // All at once: each would migrate, and the first one does.
      () => Promise.all([...this.servers, ...this.workers].map(part => part.start())),
      () => this.balancer.start(),
      () => this.prometheus?.start(),
    ];
    for (const step of steps) if (!this.#closing) await step();
  }

  get closing(): boolean {
    return this.#closing;
  }

  /** Replaces every server, one after the other, as a new release does. */
  async restartServers(): Promise<void> {
    for (const i of this.servers.keys()) await this.replaceServer(i);
  }

  /** Puts a new process in the place of a server, if given one with the code of another release, from its folder. */
  async replaceServer(i: number, release = here): Promise<void> {
    this.balancer.takeOut(i);
    // What the old processes of nginx have begun they finish.
    await sleep(500);
    await this.servers[i]?.stop();
    const server = this.#server(i, release);
    this.servers[i] = server;
    await server.start();
    this.balancer.putBack();
    // And HAProxy finds out that it is back.
    await sleep(1000);
  }

  /** Whether a part has written this to its log. */
  said(name: string, text: string): boolean {
    return readFileSync(join(this.folder, `${name}.log`), 'utf8').includes(text);
  }

  /** Ends everything in the order in which nobody misses what has ended. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.prometheus?.stop();
    await this.balancer.stop();
    await Promise.all([...this.servers, ...this.workers].map(part => part.stop()));
    await this.redis.stop();
    // A database that is just being made can be stopped only once it is there. Nothing is begun after it.
    await this.#starting.catch(() => {});
    await this.postgres?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #redis(port: number): Part {
    const log = join(this.folder, 'redis.log');
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const ready: Ready = written => written().includes('Ready to accept');
    return new Part({ name: 'redis', command: 'redis-server', args, log, ready });
  }

  #server(i: number, release: string): Part {
    const url = this.serverUrls[i] ?? '';
    const env = { ...this.#settings, PORT: new URL(url).port, METRICS_PORT: `${this.#metricsPorts[i]}` };
    return this.#node(`server${i + 1}`, join(release, 'src/main.ts'), env, () =>
      answers(`${url}/health/ready`),
    );
  }

  #worker(i: number): Part {
    const env = { ...this.#settings, METRICS_PORT: `${this.#metricsPorts[this.servers.length + i]}` };
    return this.#node(`worker${i + 1}`, join(here, 'src/worker.ts'), env, written =>
      written().includes('The worker waits'),
    );
  }

  #node(name: string, path: string, env: Record<string, string>, ready: Ready): Part {
    return new Part({
      name,
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', path],
      env,
      log: join(this.folder, `${name}.log`),
      ready,
    });
  }
}

type Ready = ConstructorParameters<typeof Part>[0]['ready'];
type Ports = Awaited<ReturnType<typeof findPorts>>;

async function findPorts({ servers = 3, workers = 2 }: Choices) {
  const free = await freePorts(4 + 2 * servers + workers);
  const [postgres = 0, redis = 0, balancer = 0, prometheus = 0] = free.splice(0, 4);
  const [ports, metrics] = [free.slice(0, servers), free.slice(servers)];
  return {
    postgres,
    redis,
    balancer,
    prometheus,
    servers: ports,
    workers: Array.from({ length: workers }),
    metrics,
  };
}

/** Ports that nobody uses; all are held until all are found, so that none is given twice. */
export async function freePorts(count: number): Promise<number[]> {
  const probes = await Promise.all(
    Array.from({ length: count }, async () => {
      const probe = createServer().listen(0, '127.0.0.1');
      await new Promise(resolve => probe.once('listening', resolve));
      return probe;
    }),
  );
  const ports = probes.map(probe => (probe.address() as { port: number }).port);
  await Promise.all(probes.map(probe => new Promise(resolve => probe.close(resolve))));
  return ports;
}
