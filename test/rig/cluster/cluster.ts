import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { checkPort } from '../../../src/process/ports.ts';
import { secrets } from '../sender.ts';
import { freePorts } from '../servers/ports.ts';
import { LocalRedis } from '../servers/redis.ts';
import { Balancer, type BalancerKind } from './balancer.ts';
import { answers, Part } from './part.ts';
import { LocalPostgres } from './postgres.ts';
import { Prometheus } from './prometheus.ts';

/** The root folder of the project. */
export const projectFolder = fileURLToPath(new URL('../../..', import.meta.url));

interface Options {
  balancer?: BalancerKind;
  servers?: number;
  workers?: number;
  /** An existing PostgreSQL database; without it, a server is started. */
  databaseUrl?: string | undefined;
  /** Whether to start a Prometheus that collects the metrics. */
  prometheus?: boolean | undefined;
  /** The port of the balancer; the others follow it. By default they are any free ones. */
  port?: number;
  /** More settings for the servers and workers. */
  env?: Record<string, string>;
}

/** The topology of deploy/compose.yaml as local processes. */
export class Cluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'triport-cluster-'));
  readonly servers: Part[] = [];
  readonly workers: Part[] = [];
  readonly postgres: LocalPostgres | undefined;
  readonly redis: LocalRedis;
  readonly balancer: Balancer;
  readonly prometheus: Prometheus | undefined;
  readonly url: string;
  readonly serverUrls: string[];
  readonly databaseUrl: string;
  readonly #settings: Record<string, string>;
  readonly #metricsPorts: number[];
  #starting: Promise<void> = Promise.resolve();
  #closing = false;

  private constructor({ balancer = 'nginx', databaseUrl, prometheus, env = {} }: Options, ports: Ports) {
    // Under root, PostgreSQL and nginx run as other users, which need access.
    chmodSync(this.folder, 0o755);
    if (!databaseUrl) this.postgres = new LocalPostgres('postgres', this.folder, ports.postgres);
    this.databaseUrl = databaseUrl ?? this.postgres?.url ?? '';
    this.redis = new LocalRedis(this.folder, ports.redis);
    this.url = `http://127.0.0.1:${ports.balancer}`;
    this.serverUrls = ports.servers.map(port => `http://127.0.0.1:${port}`);
    this.#settings = {
      NODE_ENV: 'production',
      AUTH_MODE: 'open',
      DATABASE_URL: this.databaseUrl,
      REDIS_URL: this.redis.url,
      WEBHOOK_SECRETS: secrets,
      WORKER: 'apart',
      TRUST_PROXY: '127.0.0.1',
      // HAProxy checks twice a second, so it has noticed by then that a server is stopping.
      DRAIN_SECONDS: '2',
      ...env,
    };
    this.#metricsPorts = ports.metrics;
    this.servers = this.serverUrls.map((_, i) => this.#server(i, projectFolder));
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

  /** Creates a cluster without starting it, so that it can be closed during the start. */
  static async prepare(options: Options = {}): Promise<Cluster> {
    return new Cluster(options, await findPorts(options));
  }

  /** Starts all parts, until it is closed. */
  async start(): Promise<void> {
    this.#starting = this.#startParts();
    await this.#starting;
  }

  async #startParts(): Promise<void> {
    const steps = [
      () => this.postgres?.create(),
      () => this.redis.start(),
      // All at once: whichever comes first migrates.
      () => Promise.all([...this.servers, ...this.workers].map(part => part.start())),
      () => this.balancer.start(),
      () => this.prometheus?.start(),
    ];
    for (const step of steps) if (!this.#closing) await step();
  }

  /** Replaces every server one by one, as a deployment does. */
  async restartServers(onStep: OnStep = () => {}): Promise<void> {
    for (const i of this.servers.keys()) await this.replaceServer(i, projectFolder, onStep);
  }

  /** Replaces a server by a new process, which can run the release in another folder. */
  async replaceServer(i: number, release = projectFolder, onStep: OnStep = () => {}): Promise<void> {
    const server = this.#server(i, release);
    onStep(server.name, 'is stopping');
    await this.balancer.takeOut(i);
    await this.servers[i]?.stop();
    onStep(server.name, 'has stopped');
    this.servers[i] = server;
    await server.start();
    await this.balancer.putBack();
    // HAProxy needs a moment to notice that the server is back.
    await sleep(1000);
    onStep(server.name, 'is back');
  }

  /** Whether the log of a part contains this text. */
  logIncludes(name: string, text: string): boolean {
    return readFileSync(join(this.folder, `${name}.log`), 'utf8').includes(text);
  }

  /** Stops every part before those that it depends on. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.prometheus?.stop();
    await this.balancer.stop();
    await Promise.all([...this.servers, ...this.workers].map(part => part.stop()));
    await this.redis.stop();
    // A database can be stopped only once it is created; no later part is started meanwhile.
    await this.#starting.catch(() => {});
    await this.postgres?.stop();
    rmSync(this.folder, { recursive: true, force: true });
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
    return this.#node(`worker${i + 1}`, join(projectFolder, 'src/worker.ts'), env, written =>
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

type OnStep = (server: string, step: string) => void;
type Ready = ConstructorParameters<typeof Part>[0]['ready'];
type Ports = Awaited<ReturnType<typeof findPorts>>;

async function findPorts({ servers = 3, workers = 2, port }: Options) {
  const count = 4 + 2 * servers + workers;
  const free = port === undefined ? await freePorts(count) : await portsFrom(port, count);
  const [balancer = 0, ...others] = free;
  const ports = others.splice(0, servers);
  const [postgres = 0, redis = 0, prometheus = 0, ...metrics] = others;
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

/** This port and those that follow it; an error that names the first one in use. */
async function portsFrom(first: number, count: number): Promise<number[]> {
  const ports = Array.from({ length: count }, (_, n) => first + n);
  for (const port of ports) await checkPort('--port', port, '127.0.0.1');
  return ports;
}
